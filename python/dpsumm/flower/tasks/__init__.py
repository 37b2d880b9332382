"""The subsystems that Flower can carry, by the public setting `task`.

A new one is a class below `Task` in a module of its own, its name here, and the run configuration
``<name>.toml`` next to it.
"""

from __future__ import annotations

from importlib import import_module

from dpsumm.errors import InvalidParameterError
from dpsumm.flower.tasks.task import Task

# Imported when it is asked for: a party's process starts anew for every exchange.
_WHERE = {
    "learn": ("dpsumm.flower.tasks.learn", "Learn"),
    "summarize": ("dpsumm.flower.tasks.summarize", "Summarize"),
    "synthesize": ("dpsumm.flower.tasks.synthesize", "Synthesize"),
}
NAMES = tuple(_WHERE)


def task_of(name: str) -> type[Task]:
    """Return a task by its name."""
    if name not in _WHERE:
        raise InvalidParameterError(f"task must be {' or '.join(NAMES)}, got {name!r}")
    module, kind = _WHERE[name]
    found: type[Task] = getattr(import_module(module), kind)
    return found

"""`flower-superlink` without its counters: ``python -m dpsumm.flower.superlink``, same options.

Flower counts the bytes and the computing time of a run, and tells the totals to every registered
node that asks (the Fleet API's GetRun). Read after each answer, they are the sizes of the other
owners' answers, which depend on their records.
"""

from __future__ import annotations

import sys
from typing import Any

from flwr.server.superlink.linkstate import InMemoryLinkState, SqlLinkState
from flwr.superlink.cli import flower_superlink

COUNTERS = ("store_traffic", "add_clientapp_runtime")


def _nothing(*_: Any, **__: Any) -> None:
    """Count nothing."""


def stop_counting() -> None:
    """Turn the counters of Flower's state off, for this process."""
    for state in (InMemoryLinkState, SqlLinkState):
        for name in COUNTERS:
            if not hasattr(state, name):
                sys.exit(f"this version of Flower has no {name} to turn off; use flwr 1.42")
            setattr(state, name, _nothing)


if __name__ == "__main__":
    stop_counting()
    flower_superlink()

"""What is compared, and how it is timed: CPU-seconds and wall, medians, all in one run."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from threadpoolctl import threadpool_limits

from benches.watch import commanded, in_child, watched
from dpsumm import kernels

OURS = "dpsumm"


@dataclass(frozen=True)
class Missing:
    """A contender that is not run, and why: it has a row all the same."""

    reason: str


@dataclass(frozen=True)
class Isolated:
    """A contender that runs in a process of its own, so that its memory can be told.

    Both functions must be of a module: their names are sent to the process. `before` is not
    measured.
    """

    call: Callable[..., Any]
    arguments: tuple[Any, ...]
    before: Callable[[], None]


@dataclass(frozen=True)
class Command:
    """A contender that is a program of its own, measured from its start to its end."""

    arguments: tuple[str, ...]


Contender = Callable[[], Any] | Isolated | Command | Missing


@dataclass(frozen=True)
class Case:
    """The same work on the same data, done by several contenders.

    Attributes
    ----------
    sizes
        n points, c columns, m target points, d features, p points picked, K owners, T iterations;
        floor, the least effective size of weights.
    contenders
        The first is the one that the others are compared with.
    grows
        The size along which this case is a point of a growth plot; "" for the main cases.
    threads
        Of every contender that can be told.
    operations, moved
        Floating-point operations and bytes that the first contender cannot do without, for the
        roofline; 0 where they do not tell anything.
    check
        From the contenders' last results to facts of their rows: name -> {fact: value}.
    """

    sizes: dict[str, int]
    contenders: Mapping[str, Contender]
    grows: str = ""
    threads: int = 1
    operations: float = 0.0
    moved: float = 0.0
    check: Callable[[dict[str, Any]], dict[str, dict[str, Any]]] | None = None


@dataclass
class _Times:
    cpu: list[float] = field(default_factory=list)
    system: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)
    memory: list[float] = field(default_factory=list)


@contextmanager
def thread_count(count: int) -> Iterator[None]:
    """Set the threads of the core and of BLAS and OpenMP libraries."""
    kernels.set_threads(count)
    try:
        with threadpool_limits(count):
            yield
    finally:
        kernels.set_threads(0)


def measure(case: Case, repeat: int, patience: float) -> list[dict[str, Any]]:
    """Return a row for each contender. Contenders take turns, so that all see the same load.

    One is run `repeat` times, or until it has used `patience` CPU-seconds; rows say how often.
    """
    times = {name: _Times() for name in case.contenders}
    results: dict[str, Any] = {}
    with thread_count(case.threads):
        for _ in range(repeat):
            for name, contender in case.contenders.items():
                if not isinstance(contender, Missing) and sum(times[name].cpu) <= patience:
                    results[name] = _once(contender, times[name], case.threads)
    facts = case.check(results) if case.check else {}
    rows = [_row(case, name, times[name], facts.get(name, {})) for name in case.contenders]
    for row in rows:
        if "cpu" in row and "cpu" in rows[0]:
            row["ratio"] = row["cpu"] / rows[0]["cpu"]
    return rows


def _once(contender: Callable[[], Any] | Isolated | Command, times: _Times, threads: int) -> Any:
    if isinstance(contender, Isolated):
        spent = in_child(contender.call, contender.arguments, contender.before, threads)
        times.memory.append(spent.memory)
    elif isinstance(contender, Command):
        spent = commanded(contender.arguments)
    else:
        spent = watched(contender)
    times.cpu.append(spent.user + spent.system)
    times.system.append(spent.system)
    times.wall.append(spent.wall)
    return spent.result


def _row(case: Case, name: str, times: _Times, facts: dict[str, Any]) -> dict[str, Any]:
    first = name == next(iter(case.contenders))
    row: dict[str, Any] = {"contender": name, "sizes": case.sizes, "grows": case.grows}
    row["threads"] = case.threads
    contender = case.contenders[name]
    if isinstance(contender, Missing):
        return row | {"missing": contender.reason}
    row |= {
        "runs": len(times.cpu),
        "cpu": statistics.median(times.cpu),
        "system": statistics.median(times.system),
        "cpu_range": [min(times.cpu), max(times.cpu)],
        "wall": statistics.median(times.wall),
        "facts": facts,
    }
    if times.memory:
        row["memory"] = statistics.median(times.memory)
    if first and (case.operations or case.moved):
        row |= {"operations": case.operations, "moved": case.moved}
    return row

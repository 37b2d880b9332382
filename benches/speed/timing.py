"""CPU and wall seconds of one piece of work."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass
class Row:
    """One measurement: `who` did the work of `subject` at `size`; seconds are medians."""

    subject: str
    who: str
    size: dict[str, int]
    cpu: float | None = None
    wall: float | None = None
    repeats: int = 0
    extra: dict[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return asdict(self)


def measure(
    subject: str, who: str, size: dict[str, int], work: Callable[[], Any], repeats: int
) -> tuple[Row, Any]:
    """Return the medians over `repeats` runs after one that is not counted, and the last result.

    Long work warms itself up: beyond 10 seconds it runs three times in all, beyond 60 once.
    """
    started, wall = time.process_time(), time.perf_counter()
    result = work()
    first = time.process_time() - started, time.perf_counter() - wall
    spent = []
    if first[0] > 10:
        spent, repeats = [first], 2 if first[0] < 60 else 0
    for _ in range(repeats):
        cpu, wall = time.process_time(), time.perf_counter()
        result = work()
        spent.append((time.process_time() - cpu, time.perf_counter() - wall))
    cpu, wall = (statistics.median(column) for column in zip(*spent, strict=True))
    return Row(subject, who, size, cpu, wall, len(spent)), result


def absent(subject: str, who: str, size: dict[str, int], why: str) -> Row:
    """Return the row of a peer that could not run: it is shown, never left out."""
    return Row(subject, who, size, extra={"note": why})

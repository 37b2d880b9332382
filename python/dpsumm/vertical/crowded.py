"""Columns whose records nearly all share a bin or 'other'. By the noisy tables alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsumm.data.kinds.items import EPOCH
from dpsumm.data.kinds.kind import Kind
from dpsumm.vertical.grid import Cells, Drawn
from dpsumm.vertical.layout import Released
from dpsumm.vertical.levels import Levels

# Of the records that have a value, so many in one bin or in 'other'.
NEARLY_ALL = 0.9
# Standard deviations of its noise from which on a number is seen, and by which the largest count
# of up to a thousand must be beyond that part.
_SEEN, _SURELY = 3.0, 5.0
# So few levels may well be full on purpose, as those of a truth value: only if nothing else is
# seen is one of them told of.
_FEW = 3
# A bin of a user's own that is at most such a part of all bins is there for the values it has, as
# (0, 1) for the nine in ten of Adult's records without a capital gain.
_NARROW = 0.01


@dataclass(frozen=True)
class Crowded:
    """A column whose records nearly all share one level."""

    column: str
    range: str

    def __str__(self) -> str:
        """Return how a note names it."""
        return f"{self.column} ({self.range})" if self.range else self.column


def crowded(released: Released, levels: Sequence[Drawn]) -> list[Crowded]:
    """Return the columns whose records are nearly all in one bin, or in 'other'.

    Privacy
    -------
    Of the released noisy one-way tables alone. Post-processing costs no privacy.
    """
    found = []
    for j, one in enumerate(levels):
        if j in released.plan.counted:
            level = _full(released.singles[j], one, released.plan.std_of(j), released.n_records)
            if level is not None:
                found.append(Crowded(one.name, _range(one, level)))
    return found


def _full(counts: NDArray[Any], levels: Drawn, std: float, n: int) -> int | None:
    """Return the bin, or the level 'other', that nearly all records share, if one is."""
    known, missing = counts[: levels.n_known].astype(np.float64), counts[levels.n_known :]
    level = int(known.argmax())
    if len(known) < 2:
        return None
    # How many records there are is public: noise is in this count, and in that of the missing.
    have = n - float(missing.sum())
    if known[level] - NEARLY_ALL * have < _SURELY * std * math.hypot(1, NEARLY_ALL * len(missing)):
        return None
    others_seen = have - known[level] > _SEEN * std * math.hypot(1, len(missing))
    if len(known) <= _FEW and others_seen:
        return None
    if levels.column.kind is Kind.CATEGORY:
        meant = _meant(levels, level)
    elif isinstance(levels, Cells):
        first, last = levels.ends(level)
        # Values beyond the bounds are at the ends. Many may well have the lowest value, such as 0,
        # if others have another.
        at_end = level == len(known) - 1 or (level == 0 and not others_seen)
        meant = first == last and not at_end
    else:
        meant = _honest(known, levels, level, std)
    return None if meant else level


def _meant(levels: Drawn, level: int) -> bool:
    """Return whether a category is no 'other': many records may well have it."""
    return levels.column.other is None or level != len(levels.column.categories)


def _honest(known: NDArray[np.float64], levels: Levels, level: int, std: float) -> bool:
    """Return whether it says something that a bin is full, and is no slip of bounds or units."""
    assert levels.edges is not None
    first, last = levels.ends(level)
    if first == last:
        return True
    if level in (0, len(known) - 1) and _ends_only(known, level, std):
        return True
    if not levels.given:
        return False
    width = levels.edges[level + 1] - levels.edges[level]
    return bool(width <= _NARROW * (levels.edges[-1] - levels.edges[0]))


def _ends_only(known: NDArray[np.float64], level: int, std: float) -> bool:
    """Return whether all others are in the bin at the other end, as of zeros and ones."""
    other = len(known) - 1 - level
    between = known[1:-1]
    return bool(
        known[other] > _SEEN * std and between.sum() <= _SEEN * std * math.sqrt(len(between))
    )


def _range(levels: Drawn, level: int) -> str:
    if levels.column.kind is Kind.CATEGORY:
        return ""
    ends = levels.ends(level)
    if levels.column.kind is Kind.DATE:
        return " to ".join(date.fromordinal(int(day) + EPOCH).isoformat() for day in ends)
    return " to ".join(f"{end:,.6g}" for end in ends)

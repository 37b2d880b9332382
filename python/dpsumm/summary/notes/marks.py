"""Marks of no value that nobody listed, such as 999 for a blood pressure.

For curator and consumer alone: it depends on private data. No value of a record is in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsumm.basics.checks import listed
from dpsumm.data.kinds.number import NO_LIMITS
from dpsumm.data.schema import Schema
from dpsumm.report.notes import Note, Severity
from dpsumm.summary.notes.limits import MOST_NAMED, MUCH
from dpsumm.summary.notes.numbers import FEWEST_VALUES, Array

# A mark is there so often, and in such a share of the rows: fewer are a few odd records, and what
# most rows have is a value, as 0 is of a gain.
FEWEST_ALIKE, LEAST_SHARE, MOST_SHARE = 3, 1 / 1000, 0.5
# Different values beside it that a column has at least: 20 is no mark among doses of 0, 5 and 10.
FEWEST_DIFFERENT = 10
# Outside the bounds, a mark is apart by more than so many times the gap that such a share of the
# others' gaps on its side do not exceed: rounding and a thin tail make gaps, too.
USUAL, TIMES = 0.99, 2
# And by so much of their range if few differ: 8 is no mark beside counts from 1 to 7, but 99 is.
PART = 0.5
# Values that are looked at, of all parties together; no fewer rows of one.
MOST_CELLS, LEAST_ROWS = 10_000_000, 100
# Rows that are gone through at once.
ABREAST = 32


def mark_notes(parts: Mapping[str, NDArray[Any]], schema: Schema) -> list[Note]:
    """Tell of one value that several rows have and that lies far from all others of its column.

    Inside the bounds that is beyond all others by more than their range. Outside them, where nine
    in ten of the others are inside, it is by twice what nearly all neighbours on that side are
    apart, and by a tenth of the bounds unless it is alone there. Where fewer than 10 others differ,
    by a tenth of the bounds, half of their range and twice the median step.

    Parameters
    ----------
    parts
        Values of each party, (n, c), as they were written; see `Schema.encode`.
    """
    numbers = [j for j, column in enumerate(schema.kernel) if not column.categories]
    limits = np.array([column.limits or NO_LIMITS for column in schema.kernel]).T
    if not numbers or not parts:
        return []
    most = max(MOST_CELLS // (len(numbers) * len(parts)), LEAST_ROWS)
    found: dict[str, list[str]] = {}
    for name, rows in parts.items():
        values = rows
        if len(rows) > most:
            values = rows[np.linspace(0, len(rows) - 1, most).astype(np.int64)]
        for j in _may_have_mark(values, limits):
            if j in numbers and _has_mark(values[:, j], schema.kernel[j].limits):
                found.setdefault(schema.kernel[j].name, []).append(name)
    if not found:
        return []
    said = [f"{column} of {listed(names)}" for column, names in found.items()]
    # What target and owners have may well be a value, and a summary matches it either way.
    shared = all("target" in names and len(names) > 1 for names in found.values())
    more = f" and of {len(said) - MOST_NAMED:,} more columns" if len(said) > MOST_NAMED else ""
    return [
        Note(
            f"Several rows have one and the same value, far from all others, in "
            f"{'; '.join(said[:MOST_NAMED])}{more}. Is it a mark of no value, such as 999, -1 or "
            f"1900-01-01? Then list it in the column's missing: now it counts as a value.",
            Severity.INFO if shared else Severity.WARNING,
        )
    ]


def _may_have_mark(values: NDArray[Any], limits: NDArray[np.float64]) -> list[int]:
    """Return the columns of which an end is there often enough for a mark, and may be apart.

    Inside the bounds `limits` (2, c) no value is nearer to a mark than to the other end, so that a
    few values near an end, those of every 32nd row, rule out most columns.
    """
    if not len(values):
        return []
    # Rows side by side are long ones, which NumPy goes through several times as fast.
    width, abreast = values.shape[1], min(len(values), ABREAST)
    whole = len(values) // abreast * abreast
    wide, rest = values[:whole].reshape(-1, abreast * width), values[whole:]
    (low, lows), (high, highs) = (
        (extreme.reduce(near), near)
        for extreme in (np.fmin, np.fmax)
        for near in [np.concatenate([extreme.reduce(wide).reshape(-1, width), rest]).astype("f8")]
    )
    none_low = ((lows > low) & (lows - low <= high - lows)).any(axis=0) & (low >= limits[0])
    none_high = ((highs < high) & (high - highs <= highs - low)).any(axis=0) & (high <= limits[1])
    left: list[int] = np.flatnonzero(~(none_low & none_high)).tolist()
    ends = (low, high)
    return [j for j in left if any((values[:, j] == end[j]).sum() >= FEWEST_ALIKE for end in ends)]


def _has_mark(column: NDArray[Any], limits: tuple[float, float] | None) -> bool:
    """Return whether the lowest or the highest value of a column is a mark of no value."""
    values: Array = column[~np.isnan(column)].astype(np.float64)
    fewest = max(FEWEST_ALIKE, LEAST_SHARE * len(values))
    if len(values) < FEWEST_VALUES:
        return False
    for sign in (1.0, -1.0):
        signed = sign * values
        alike = signed == signed.min()
        if fewest <= np.count_nonzero(alike) <= MOST_SHARE * len(values):
            ends = None if limits is None else sorted(sign * end for end in limits)
            if _apart(signed.min(), signed[~alike], ends):
                return True
    return False


def _apart(lowest: float, rest: Array, ends: list[float] | None) -> bool:
    """Return whether a value lies below all others by so much that it is none of them."""
    least, most = rest.min(), rest.max()
    gap = least - lowest
    different = np.unique(rest)
    varied = len(different) >= FEWEST_DIFFERENT
    if ends is not None and lowest < ends[0]:
        inside = rest[(rest >= ends[0]) & (rest <= ends[1])]
        far = gap > MUCH * (ends[1] - ends[0])
        steps = np.diff(different[different <= np.median(rest)])
        if varied and len(steps):
            usual, enough = float(np.quantile(steps, USUAL)), far or least >= ends[0]
        else:
            usual, enough = _step(different), far and gap > PART * _range(inside)
        if len(inside) >= (1 - MUCH) * len(rest) and enough and gap > TIMES * usual:
            return True
    return bool(varied and gap > most - least)


def _range(values: Array) -> float:
    return float(values.max() - values.min()) if len(values) else 0.0


def _step(different: Array) -> float:
    """Return the median step between neighbours; of one value 1, as of a count."""
    return float(np.median(np.diff(different))) if len(different) > 1 else 1.0

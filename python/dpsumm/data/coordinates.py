"""One column's part of the kernel's space: a function of public facts alone.

With w the column's weight:

- a number or date with bounds is ``w * (x - low) / (high - low)``, clipped;
- one of k categories is ``w / sqrt(2)`` in its own cell, so two different ones are at distance w;
- an ordered category is ``w * position / (k - 1)``;
- a missing value has a cell of its own: ``w / sqrt(2)`` beside categories. Beside a position it is
  ``w * s`` with the position in the middle, where s**2 is the variance of a uniform position:
  then its mean squared distance to a value, ``w**2 * 2 * s**2``, is that of two values. The same
  for `other` of ordered categories.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpsumm.checks import largest
from dpsumm.data.column import Column

NO_LIMITS = (-math.inf, math.inf)
# One limit, or an array of one per column.
_Number = TypeVar("_Number", float, NDArray[np.float64])


def faults(column: Column, codes: NDArray[Any]) -> Iterator[str]:
    """Yield what the column does not allow among its values, in the words of `table.WAY_OUT`.

    Missing values are named unless they are encoded: whether they cost the data or the row is for
    the caller to judge.
    """
    if (np.abs(codes) > largest(codes.dtype)).any():
        yield "infinite"
    last = len(column.categories) - (column.other is None)
    if column.categories and (((codes < 0) | (codes > last)).any() or has_fractions(codes)):
        yield "in no category"
    if column.whole and has_fractions(codes):
        yield "not whole"
    if not column.encodes_missing and np.isnan(codes).any():
        yield "missing"


def has_fractions(codes: NDArray[Any]) -> bool:
    """Return whether a value that is there is no whole number of at most 2**53 in size."""
    there = codes[~np.isnan(codes)]
    return bool(((there != np.floor(there)) | (np.abs(there) > 2**53)).any())


def is_plain(column: Column) -> bool:
    """Return whether the kernel sees the values as they are."""
    return not column.categories and column.bounds is None and column.weight == 1


def cell_names(column: Column) -> tuple[str, ...]:
    """Return the names of the column's coordinates."""
    unordered = column.categories and not column.ordered
    known = column.categories if unordered else ()
    names = [f"{column.name}={value}" for value in known] if known else [column.name]
    if column.other is not None:
        names.append(f"{column.name}={column.other}")
    if column.encodes_missing:
        names.append(f"{column.name} missing")
    return tuple(names)


def extent(column: Column) -> tuple[tuple[int, float], ...]:
    """Return where the column's cells lie, as parts (cells, limit) in the order of `cell_names`.

    The cells of a part are at least 0 and add up to its limit at the most, whatever the record:
    a position, or cells of which at most one is set. In `float32` they may be larger by its
    rounding. The column has bounds or categories.
    """
    if column.categories and not column.ordered:
        return ((len(cell_names(column)), column.weight / math.sqrt(2)),)
    beside = len(cell_names(column)) - 1
    scale = column.weight * math.sqrt(_variance(column))
    return ((1, column.weight), *(((beside, scale),) if beside else ()))


def spread(column: Column) -> float:
    """Return the mean squared distance of two uniform values, from bounds or categories."""
    if column.categories and not column.ordered:
        return column.weight * column.weight * (1 - 1 / len(column.categories))
    return column.weight * column.weight * 2 * _variance(column)


def _variance(column: Column) -> float:
    """Return the variance of a uniform position in [0, 1], or on k equidistant places of it."""
    k = len(column.categories)
    return (k + 1) / (12 * (k - 1)) if k else 1 / 12


@dataclass(frozen=True)
class Numbers:
    """The columns of one cell that is a number, to be written at once as `write` does.

    Attributes
    ----------
    columns, cells
        Their positions among the values and in the points.
    low, high, weight : (number of columns,)
        Infinite limits where there are none.
    """

    columns: tuple[int, ...]
    cells: tuple[int, ...]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    weight: NDArray[np.float64]

    @classmethod
    def of(cls, columns: Sequence[Column], starts: Sequence[int]) -> Numbers:
        """Return those of all columns that are such."""
        found = [
            (j, start, *(column.limits or NO_LIMITS), column.weight)
            for j, (column, start) in enumerate(zip(columns, starts, strict=True))
            if not column.categories and not column.encodes_missing
        ]
        rows = np.array([row[2:] for row in found], dtype=np.float64).reshape(-1, 3)
        return cls(tuple(row[0] for row in found), tuple(row[1] for row in found), *rows.T)

    def write(self, values: NDArray[Any], out: NDArray[Any]) -> list[int]:
        """Write the columns of (n, c) values into (n, cells); return how many were clipped."""
        codes = values[:, self.columns].astype(np.float64)
        place, beyond = _place(codes, self.low, self.high)
        out[:, self.cells] = self.weight * place
        clipped: list[int] = np.count_nonzero(beyond, axis=0).tolist()
        return clipped


def _place(
    codes: NDArray[np.float64], low: _Number, high: _Number
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return where numbers are within their limits, and which are beyond; see `Numbers`."""
    with np.errstate(invalid="ignore"):
        place = (np.clip(codes, low, high) - low) / (high - low)
    place = np.where(np.isinf(low), codes, np.where(np.isnan(codes), 0.5, place))
    return place, (codes < low) | (codes > high)


def write(column: Column, codes: NDArray[np.float64], out: NDArray[Any]) -> int:
    """Write the column's part of the points; return how many values were clipped.

    Parameters
    ----------
    codes : (n,)
        See `Schema.encode`.
    out : (n, number of `cells`)
        Zero; written to.
    """
    absent = np.isnan(codes)
    if column.encodes_missing:
        scale = column.weight * math.sqrt(
            0.5 if column.categories and not column.ordered else _variance(column)
        )
        out[absent, -1] = scale
    if column.categories:
        _write_category(column, codes, absent, out)
        return 0
    place, beyond = _place(codes, *(column.limits or NO_LIMITS))
    out[:, 0] = column.weight * place
    return int(np.count_nonzero(beyond))


def _write_category(
    column: Column, codes: NDArray[np.float64], absent: NDArray[np.bool_], out: NDArray[Any]
) -> None:
    k = len(column.categories)
    present = np.flatnonzero(~absent)
    which = codes[present].astype(np.int64)
    if not column.ordered:
        out[present, which] = column.weight / math.sqrt(2)
        return
    other = absent | (codes == k)
    out[:, 0] = column.weight * np.where(other, 0.5, codes / (k - 1))
    if column.other is not None:
        out[codes == k, 1] = column.weight * math.sqrt(_variance(column))

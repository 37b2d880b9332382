"""Values of numbers and dates, rounded to a public step, and the public cells that count them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpsumm.data.column import Column
from dpsumm.data.kinds.kind import Kind
from dpsumm.errors import InvalidParameterError
from dpsumm.vertical.levels import Bins, Levels, limits_of, number_of
from dpsumm.vertical.trees import Tree

# Values that are told apart: beyond, numbers are rounded to a power of ten. 8 bytes for each are
# counted, kept and sent.
MOST_VALUES = 200_000
# Up to so many values, each is a cell.
_EACH = 1024
# Else cells of equal width, together with some for each power of ten on both sides of 0 where the
# bounds are near it; more of equal width where they are far.
_EQUAL, _EQUAL_FAR, _A_DECADE, _DECADES, _NEAR = 128, 512, 48, 4, 20
_LEAST_STEP = 1e-300
# Rounded, so that every owner's processor has the same.
_OF_A_DECADE = np.round(10.0 ** (-np.arange(_A_DECADE) / _A_DECADE), 6)


@dataclass(frozen=True, eq=False)
class Grid:
    """Values of one column by their position: ``first + position * step``. A missing one is last.

    Public, as the column is.

    Attributes
    ----------
    known
        Values that are no missing one.
    """

    column: Column
    first: float
    step: float
    known: int
    tree: Tree

    @classmethod
    def of(cls, column: Column) -> Grid:
        """Return the grid of a column with bounds, from these alone."""
        low, high = limits_of(column)
        # No finer than floats are there, and not as small as to be none.
        least = max((high - low) / MOST_VALUES, 4 * math.ulp(max(abs(low), abs(high))), _LEAST_STEP)
        step = 10.0 ** math.ceil(math.log10(least))
        if in_whole(column):
            low, high, step = math.ceil(low), math.floor(high), max(step, 1.0)
        known = round((high - low) / step) + 1
        ends = {0, known - 1} | ({round(-low / step)} if low <= 0 <= high else set())
        starts = np.arange(known) if known <= _EACH else _cells(low, high, step, ends)
        apart = np.searchsorted(starts, sorted(ends)) if known > _EACH else np.zeros(0, int)
        if column.encodes_missing:
            starts, apart = np.append(starts, known), np.append(apart, len(starts))
        size = known + column.encodes_missing
        tree = Tree.of_cells(
            size, tuple(starts.tolist()), tuple(apart.tolist()), missing=column.encodes_missing
        )
        return cls(column, float(low), step, known, tree)

    @property
    def name(self) -> str:
        """The column's name."""
        return self.column.name

    @property
    def size(self) -> int:
        """How many values, a missing one included."""
        return self.tree.size

    @property
    def edges(self) -> None:
        """No bins are agreed on, because they follow from released counts."""

    def encode(self, values: NDArray[np.float64]) -> NDArray[np.uint32]:
        """Return the position of each value, (n,), as `Schema.encode` takes them. Clipped."""
        missing = np.isnan(values)
        at = np.rint((np.where(missing, self.first, values) - self.first) / self.step)
        return np.where(missing, self.known, np.clip(at, 0, self.known - 1)).astype(np.uint32)

    def value(self, positions: NDArray[np.integer[Any]]) -> NDArray[np.float64]:
        """Return the values at positions, within the bounds."""
        digits = max(0, 3 - math.floor(math.log10(self.step)))
        values = np.round(self.first + self.step * positions, digits)
        return np.clip(values, *limits_of(self.column))


@dataclass(frozen=True, eq=False)
class Cells:
    """The levels of one column after its counts were released. They are runs of its grid's values.

    Attributes
    ----------
    starts : (cells,) int64
        Position of the first value of each. A missing value's cell is the last.
    """

    grid: Grid
    starts: NDArray[np.int64]

    @property
    def column(self) -> Column:
        """The column."""
        return self.grid.column

    @property
    def name(self) -> str:
        """The column's name."""
        return self.grid.name

    @property
    def size(self) -> int:
        """How many cells."""
        return len(self.starts)

    @property
    def n_known(self) -> int:
        """How many of them are no missing value. They come first."""
        return self.size - self.column.encodes_missing

    def encode(self, values: NDArray[np.float64]) -> NDArray[np.uint32]:
        """Return the cell of each value, (n,). Clipped."""
        at = np.searchsorted(self.starts, self.grid.encode(values), side="right") - 1
        return at.astype(np.uint32)

    def decode(self, codes: NDArray[np.uint32], rng: np.random.Generator) -> NDArray[np.float64]:
        """Return values of the cells, one as likely as the other; NaN of the missing one's."""
        first, stop = self.starts[codes], np.append(self.starts, self.grid.size)[codes + 1]
        values = self.grid.value(first + np.floor(rng.random(len(codes)) * (stop - first)))
        return np.where(codes >= self.n_known, np.nan, values)

    def level_of(self, value: Any) -> int:
        """Return the cell of one value as users have it; None is a missing one."""
        low, high = limits_of(self.column)
        number = number_of(value)
        if number is None and self.column.encodes_missing:
            return self.n_known
        if number is None or not low <= number <= high:
            raise InvalidParameterError(
                f"given: column {self.name!r} has no such value. Give a number or a date within "
                "its bounds, or None where missing values are encoded"
            )
        return int(self.encode(np.array([number]))[0])

    def ends(self, level: int) -> tuple[float, float]:
        """Return the first and the last value of a cell."""
        last = np.append(self.starts, self.grid.size)[level + 1] - 1
        first, last = self.grid.value(np.array([self.starts[level], last]))
        return float(first), float(last)


# A column as owners count it, and as rows are drawn from it.
Counted: TypeAlias = Levels | Grid
Drawn: TypeAlias = Levels | Cells


def counted_as(column: Column, bins: Bins | None) -> Counted:
    """Return how a column is counted: by categories, by bins that are given, or by a tree."""
    given = bins.get(column.name) if isinstance(bins, Mapping) else bins
    if column.kind is Kind.CATEGORY or given is not None:
        return Levels.of(column, 1 if bins is None else bins)
    Levels.check(column)
    return Grid.of(column)


def drawn_from(counted: Counted, starts: NDArray[np.int64] | None) -> Drawn:
    """Return the levels of a column after its counts were released, `starts` by a tree."""
    if isinstance(counted, Levels):
        return counted
    assert starts is not None
    return Cells(counted, starts)


def in_whole(column: Column) -> bool:
    """Return whether a column's values are whole numbers, as days are."""
    return column.whole or column.kind is Kind.DATE


def _cells(low: float, high: float, step: float, points: set[int]) -> NDArray[np.int64]:
    """Return the first values of cells, in steps from `low`. Each point is a cell of its own."""
    top, least = max(abs(low), abs(high)), min(abs(low), abs(high))
    near = low <= 0 <= high or top > _NEAR * least
    equal = np.linspace(low, high, (_EQUAL if near else _EQUAL_FAR) + 1)
    decades = [top * _OF_A_DECADE / 10.0**k for k in range(_DECADES if near else 0)]
    edges = np.concatenate([equal, *decades, *(-one for one in decades)])
    at = np.rint((edges[(edges > low) & (edges < high)] - low) / step).astype(np.int64)
    apart = np.array(sorted(points), np.int64)
    starts = np.unique(np.concatenate([at, apart, apart + 1]))
    return starts[starts <= max(points)]

"""The number columns of target, summary and points read, of which notes tell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dpsumm.data.column import Column
from dpsumm.data.schema import Schema
from dpsumm.summary.protocols import Selection, Setting

# So much at either end of a column's values is left out: marks of no value, and slips of the pen.
ENDS = 1 / 50
# Fewer values say nothing of where a column lies; nor do fewer points of one owner.
FEWEST_VALUES, FEWEST_POINTS = 20, 16

# Rows that are turned into columns at once: more are slow to gather from.
ROWS = 1000

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Cells:
    """Where the number columns of a schema are among the coordinates of its kernel's space."""

    columns: list[Column]
    first: list[int]
    stop: list[int]

    @classmethod
    def of(cls, schema: Schema) -> Self:
        """Return those of a schema."""
        stops = np.cumsum([len(column.how.cells) for column in schema.kernel]).tolist()
        kept = [j for j, column in enumerate(schema.kernel) if not column.categories]
        return cls(
            [schema.kernel[j] for j in kept],
            [stops[j - 1] if j else 0 for j in kept],
            [stops[j] for j in kept],
        )

    @cached_property
    def units(self) -> Array:
        """Low end, width and weight of each column, (3, k, 1)."""
        facts = [(*(column.limits or (0.0, 1.0)), column.weight) for column in self.columns]
        low, high, weight = np.array(facts, np.float64).reshape(-1, 3, 1).transpose(1, 0, 2)
        return np.array([low, high - low, weight])

    def numbers(self, points: NDArray[np.floating], counts: Sequence[int] | None = None) -> Numbers:
        """Return the number columns of points in the kernel's space, (n, coordinates).

        The points come part by part, `counts` of each; without these they are one part.
        """
        values = np.empty((len(self.first), len(points)), points.dtype)
        for start in range(0, len(points), ROWS):
            values[:, start : start + ROWS] = points[start : start + ROWS].T[self.first]
        for row, first, stop in zip(values, self.first, self.stop, strict=True):
            if stop - first > 1:
                row[(points[:, first + 1 : stop] > 0).any(axis=1)] = np.nan
        made = Numbers.parted(values, [len(points)] if counts is None else counts)
        written, (low, width, weight) = values.astype(np.float64, copy=False), self.units
        if low.any() or (width != 1).any() or (weight != 1).any():
            written /= weight
            written *= width
            written += low
        return replace(made, values=written)


@dataclass(frozen=True, eq=False)
class Numbers:
    """The number columns of some points, as they were written, in their own units, and sorted.

    Attributes
    ----------
    values : (k, n)
        A row for each column: the values of the first part ascending, then those of the next. NaN,
        where a value is missing, is at the end of its part.
    starts : (parts + 1,)
        Where each part begins, and n.
    known : (parts, k)
        How many values are not missing.
    """

    values: Array
    starts: NDArray[np.int64]
    known: NDArray[np.int64]

    @classmethod
    def parted(cls, values: NDArray[Any], counts: Sequence[int]) -> Self:
        """Return columns (k, n) of so many values in each part, which are sorted in their place."""
        starts, known = np.cumsum([0, *counts]), []
        for start, stop in pairwise(starts.tolist()):
            part = values[:, start:stop]
            part.sort(axis=1)
            missing = np.isnan(part[:, -1:]).any() and np.count_nonzero(np.isnan(part), axis=1)
            known.append(np.full(len(values), stop - start) - missing)
        return cls(values, starts, np.array(known))

    def __len__(self) -> int:
        """Return n, the number of points."""
        return int(self.starts[-1])

    def of_columns(self, which: NDArray[np.int64]) -> Self:
        """Return some of the columns, each once."""
        if len(which) == len(self.values):
            return self
        return replace(self, values=self.values[which], known=self.known[:, which])

    def column(self, j: int, part: int = 0) -> Array:
        """Return the values of a column in one part that are there, ascending."""
        start = self.starts[part]
        return self.values[j, start : start + self.known[part, j]]

    def outside(self, parts: NDArray[np.int64], low: Array, high: Array) -> NDArray[np.int64]:
        """Return how many values of some parts, none empty, are beyond limits; all (parts, k)."""
        first, last = self.starts[parts, None], np.maximum(self.known[parts] - 1, 0)
        each, found = np.arange(len(self.values)), np.zeros(low.shape, np.int64)
        beyond = (self.values[each, first] < low) | (self.values[each, first + last] > high)
        for at in np.flatnonzero(beyond.any(axis=1)).tolist():
            own = self.values[:, self.starts[parts[at]] : self.starts[parts[at] + 1]].T
            found[at] = np.count_nonzero((own < low[at]) | (own > high[at]), axis=0)
        return found

    def quantiles(self, at: Sequence[float]) -> Array:
        """Return quantiles of each part's columns, (len(at), parts, k).

        NaN where no value is, and where some are missing and fewer than `FEWEST_POINTS` are there.
        """
        whole = (self.known == np.diff(self.starts)[:, None]).all(axis=1, keepdims=True)
        last = np.maximum(self.known - 1, 0)
        place = np.multiply.outer(at, last)
        before = np.floor(place).astype(np.int64)
        # An empty part may begin after the last point.
        first = np.minimum(self.starts[:-1, None], len(self) - 1)
        each = np.arange(len(self.values))
        low = self.values[each, first + before]
        high = self.values[each, first + np.minimum(before + 1, last)]
        there = self.known >= np.where(whole, 1, FEWEST_POINTS)
        found: Array = np.where(there, low + (high - low) * (place - before), np.nan)
        return found


@dataclass(frozen=True, eq=False)
class Sets:
    """The number columns of all sets of points, looked up once for all notes."""

    schema: Schema
    cells: Cells
    target: Numbers
    summary: Numbers
    read: Numbers

    @property
    def columns(self) -> list[Column]:
        """The number columns, k of them."""
        return self.cells.columns

    @classmethod
    def of(cls, selection: Selection, setting: Setting) -> Self | None:
        """Return them, or None where points have other coordinates than columns of a schema."""
        schema, pool = setting.schema, selection.pool
        if schema is None or len(schema.cells) != pool.scaled.shape[1]:
            return None
        read = pool.scaled
        if (np.diff(pool.owner) < 0).any():
            read = read[np.argsort(pool.owner, kind="stable")]
        counts = np.bincount(pool.owner, minlength=len(setting.names)).tolist()
        cells = Cells.of(schema)
        return cls(
            schema,
            cells,
            cells.numbers(setting.target),
            cells.numbers(selection.scaled),
            cells.numbers(read, counts),
        )

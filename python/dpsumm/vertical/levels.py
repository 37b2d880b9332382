"""Columns as levels: what tables count, and back to values."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpsumm.data.column import Column
from dpsumm.data.kinds.items import EPOCH
from dpsumm.data.kinds.kind import Kind, WhenMissing
from dpsumm.errors import InvalidParameterError
from dpsumm.vertical.trees import Tree

# How many bins, for all columns of numbers and dates or by column, or the edges of a column's bins.
Edges: TypeAlias = Sequence[float] | Sequence[date]
Bins: TypeAlias = int | Mapping[str, int | Edges]

# Bins of a column for which nothing else is said.
USUAL_BINS = 16
MOST_BINS = 1024


@dataclass(frozen=True, eq=False)
class Levels:
    """Categories or bins of one column, and a level for missing values if it has them.

    Public, as the column and its bins are. The level of a value depends on that value alone.
    """

    column: Column
    edges: NDArray[np.float64] | None
    given: bool = False

    @staticmethod
    def check(column: Column) -> None:
        """Refuse a column whose levels depend on its data."""
        if column.when_missing is WhenMissing.DROP:
            raise InvalidParameterError(
                f"schema: column {column.name!r} drops rows with missing values, which would tell "
                "the other owners where they are missing. Use when_missing='encode'"
            )
        if not column.how.classes and column.limits is None:
            raise InvalidParameterError(
                f"bounds: column {column.name!r} needs public bounds, such as (0, 100). They must "
                "not be computed from the data"
            )

    @classmethod
    def of(cls, column: Column, bins: Bins) -> Levels:
        """Return the levels of a column."""
        cls.check(column)
        if column.how.classes:
            if isinstance(bins, Mapping) and column.name in bins:
                raise InvalidParameterError(
                    f"bins: column {column.name!r} has categories, which are counted as they are. "
                    "Leave it out of bins, or list fewer categories in the schema"
                )
            return cls(column, None)
        wanted = bins.get(column.name, USUAL_BINS) if isinstance(bins, Mapping) else bins
        if isinstance(wanted, int | np.integer) and not isinstance(wanted, bool):
            return cls(column, _equal(column, int(wanted)))
        return cls(column, _given(column, wanted), given=True)

    @property
    def name(self) -> str:
        """The column's name."""
        return self.column.name

    @property
    def size(self) -> int:
        """How many levels."""
        return self.n_known + self.column.encodes_missing

    @property
    def tree(self) -> Tree:
        """One table of all levels."""
        return Tree(self.size)

    @property
    def n_known(self) -> int:
        """How many of them are no missing value. They come first."""
        if self.edges is not None:
            return len(self.edges) - 1
        return len(self.column.categories) + (self.column.other is not None)

    def encode(self, values: NDArray[np.float64]) -> NDArray[np.uint32]:
        """Return the level of each value, (n,), as `Schema.encode` takes them. Clipped."""
        missing = np.isnan(values)
        known = np.where(missing, 0.0, values)
        if self.edges is not None:
            known = np.searchsorted(self.edges, known, side="right") - 1
        codes = np.clip(known, 0, self.n_known - 1)
        return np.where(missing, self.n_known, codes).astype(np.uint32)

    def decode(self, codes: NDArray[np.uint32], rng: np.random.Generator) -> NDArray[np.float64]:
        """Return values of the levels: a category's position, a uniform draw from a bin, NaN."""
        known = np.minimum(codes, self.n_known - 1)
        values: NDArray[np.float64]
        if self.edges is None:
            values = known.astype(np.float64)
        else:
            low, high = self.edges[known], self.edges[known + 1]
            values = low + rng.random(len(codes)) * (high - low)
            if self._in_whole:
                # One as likely as the other.
                low, top = self._whole_in(known)
                values = low + np.floor(rng.random(len(codes)) * (top - low + 1))
        return np.where(codes == self.n_known, np.nan, values)

    def level_of(self, value: Any) -> int:
        """Return the level of one value as users have it; None is a missing one."""
        wrong = InvalidParameterError(
            f"given: column {self.name!r} has no such value. Give one of its categories, a number "
            "or a date within its bounds, or None where missing values are encoded"
        )
        if value is None:
            if self.column.encodes_missing:
                return self.n_known
            raise wrong
        if self.edges is None:
            values = (*self.column.categories, self.column.other)
            if value not in values:
                raise wrong
            return values.index(value)
        number = number_of(value)
        if number is None or not self.edges[0] <= number <= self.edges[-1]:
            raise wrong
        return int(self.encode(np.array([number]))[0])

    def ends(self, level: int) -> tuple[float, float]:
        """Return the first and the last value of a bin. They are equal in one of a single value.

        In one that is not of whole numbers or dates, the last one is not in it but at the end.
        """
        assert self.edges is not None
        if not self._in_whole:
            return float(self.edges[level]), float(self.edges[level + 1])
        low, high = self._whole_in(np.array([level]))
        return float(low[0]), float(high[0])

    def _whole_in(
        self, bins: NDArray[np.integer[Any]]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the first and the last whole number in each bin."""
        assert self.edges is not None
        high, at_end = self.edges[bins + 1], bins == self.n_known - 1
        return np.ceil(self.edges[bins]), np.where(at_end, np.floor(high), np.ceil(high) - 1)

    @property
    def _in_whole(self) -> bool:
        return self.column.whole or self.column.kind is Kind.DATE


def _number(value: Any) -> float:
    if isinstance(value, date):
        return float(value.toordinal() - EPOCH)
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise TypeError
    return float(value)


def number_of(value: Any) -> float | None:
    """Return a number or a date as a number; None for anything else."""
    try:
        return _number(value)
    except TypeError:
        return None


def limits_of(column: Column) -> tuple[float, float]:
    """Return a column's bounds as numbers, with a whole number between them if it has such."""
    assert column.limits is not None
    low, high = column.limits
    if column.whole and math.floor(high) < math.ceil(low):
        raise InvalidParameterError(f"bounds: column {column.name!r} has no whole number in them")
    return low, high


def _equal(column: Column, bins: int) -> NDArray[np.float64]:
    """Return edges of bins as wide as each other. Of whole numbers, up to one value."""
    if not 1 <= bins <= MOST_BINS:
        raise InvalidParameterError(
            f"bins must be from 1 to {MOST_BINS}, got {bins} for column {column.name!r}"
        )
    low, high = limits_of(column)
    if not (column.whole or column.kind is Kind.DATE):
        return np.array([low + i * ((high - low) / bins) for i in range(bins)] + [high])
    first, last = math.ceil(low), math.floor(high)
    values = last - first + 1
    bins = min(bins, values)
    starts = [first + -(-i * values // bins) for i in range(bins)]
    return np.array([*starts, max(last, starts[-1] + 0.5)], np.float64)


def _given(column: Column, edges: Any) -> NDArray[np.float64]:
    wrong = InvalidParameterError(
        f"bins: those of column {column.name!r} must be their number, or edges: from 2 to "
        f"{MOST_BINS + 1} finite numbers or dates that rise"
    )
    try:
        values = np.array([_number(edge) for edge in edges], np.float64)
    except TypeError:
        raise wrong from None
    if not 2 <= len(values) <= MOST_BINS + 1 or not np.isfinite(values).all():
        raise wrong
    if not (np.diff(values) > 0).all():
        raise wrong
    low, high = limits_of(column)
    if (values[0], values[-1]) != (low, high):
        ends = (edges[0], edges[-1], *(column.bounds or (low, high)))
        shown = [end.isoformat() if isinstance(end, date) else f"{end:.15g}" for end in ends]
        raise InvalidParameterError(
            f"bins: those of column {column.name!r} go from {shown[0]} to {shown[1]}, its bounds "
            f"from {shown[2]} to {shown[3]}. Let edges begin and end with the bounds"
        )
    return values


def bins_of(given: Sequence[str]) -> int | dict[str, int | list[float] | list[date]]:
    """Return bins from texts: from ``N``, ``COLUMN=N`` and ``COLUMN=EDGE,EDGE,...`` items."""
    wrong = "bins: write N, COLUMN=N or COLUMN=EDGE,EDGE,... with numbers or dates, got {!r}"
    bins: dict[str, int | list[float] | list[date]] = {}
    for item in given:
        name, equals, text = item.rpartition("=")
        try:
            if not equals:
                if len(given) > 1:
                    raise InvalidParameterError(
                        f"bins: {item} is for all columns. Give it alone, or columns only"
                    )
                return int(text)
            if not name or name in bins:
                raise InvalidParameterError(f"bins: give each column once, got {item!r}")
            edges = text.split(",")
            if len(edges) == 1:
                bins[name] = int(text)
            elif edges[0].count("-") == 2:
                bins[name] = [date.fromisoformat(edge) for edge in edges]
            else:
                bins[name] = [float(edge) for edge in edges]
        except ValueError as error:
            if isinstance(error, InvalidParameterError):
                raise
            raise InvalidParameterError(wrong.format(item)) from None
    return bins

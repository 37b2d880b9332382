"""An owner's records as codes side by side, finer and coarser, and tables of such codes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

Table = TypeVar("Table", bound="NDArray[Any]")


@dataclass(frozen=True, eq=False)
class Coding:
    """Codes of each column, as columns of one matrix of zeros and ones.

    Attributes
    ----------
    codes : (n, columns) uint32
        Which columns of that matrix are 1.
    sizes
        Codes of each column.
    bins
        Of each column the bin of each code, which are in the order of their bins.
    """

    codes: NDArray[np.uint32]
    sizes: tuple[int, ...]
    bins: tuple[NDArray[np.int64], ...]

    @classmethod
    def of(cls, columns: Sequence[NDArray[np.int64]], bins: Sequence[NDArray[np.int64]]) -> Coding:
        """Put columns of codes side by side."""
        sizes = tuple(map(len, bins))
        starts = np.cumsum([0, *sizes])
        codes = np.empty((len(columns[0]) if columns else 0, len(columns)), np.uint32)
        for j, column in enumerate(columns):
            codes[:, j] = column + starts[j]
        return cls(codes, sizes, tuple(bins))

    def binned(self) -> Coding:
        """Return the bins of the same records."""
        if all(len(bins) == bins.max() + 1 for bins in self.bins):
            return self
        columns = [
            bins[column - np.uint32(start)]
            for column, bins, start in zip(self.codes.T, self.bins, self._starts, strict=False)
        ]
        return Coding.of(columns, [np.arange(bins.max() + 1) for bins in self.bins])

    @property
    def width(self) -> int:
        """Codes of all columns together."""
        return sum(self.sizes)

    @property
    def _starts(self) -> list[int]:
        return [sum(self.sizes[:j]) for j in range(len(self.sizes) + 1)]

    def block(self, column: int) -> slice:
        """Return where a column's codes are."""
        starts = self._starts
        return slice(starts[column], starts[column + 1])


def add_up(table: Table, bins: NDArray[np.int64], axis: int) -> Table:
    """Return a table of bins from one of codes, which are in the order of their bins."""
    firsts = np.flatnonzero(np.diff(bins, prepend=-1))
    if len(firsts) == table.shape[axis]:
        return table
    return cast(Table, np.add.reduceat(table, firsts, axis=axis, dtype=table.dtype))


def put(whole: Table, block: tuple[slice, slice], table: Table) -> None:
    """Put a table at the start of its block, whose other cells are 0."""
    down, across = (one.start for one in block)
    whole[down : down + table.shape[0], across : across + table.shape[1]] = table


def of_groups(table: Table, down: NDArray[np.int64], across: NDArray[np.int64]) -> Table:
    """Return a table of groups from one of bins, by the group of each bin."""
    return add_up(add_up(table, down, 0), across, 1)

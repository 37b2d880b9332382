"""The candidates among any number of rows, in bounded memory; which: `dpsumm.data.marks`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpsumm.data.marks import Marks, choose, joined
from dpsumm.data.table import Table

# A kept set is cut back when it has grown to so many times what is wanted of each kind.
SLACK = 4


@dataclass(frozen=True, eq=False)
class Candidates:
    """What a sieve kept: a table, rows ascending, with its marks, and counts over all rows seen.

    `counts` (3, c): values clipped, missing and in no category, by column.
    """

    table: Table
    marks: Marks
    counts: NDArray[np.int64]


class Sieve:
    """Keeps candidates among the rows it is shown, block by block, in any order of blocks.

    Parameters
    ----------
    wanted
        Rows to keep of each kind, at least 1. Memory: about 10 times as many rows.
    """

    def __init__(self, wanted: int) -> None:
        self._wanted = wanted
        self._tables: list[Table] = []
        self._marks: list[Marks] = []
        self._least, self._most = -np.inf, np.inf
        self._counts: NDArray[np.int64] | None = None

    def add(self, block: Table, marks: Marks) -> None:
        """Show rows: a table and its marks."""
        counts = np.array([block.n_clipped, block.n_missing, block.n_unknown], np.int64)
        self._counts = counts if self._counts is None else self._counts + counts
        # Most rows are neither among the best nor drawn as things stand: they are not copied.
        index = np.flatnonzero((marks.scores >= self._least) | (marks.keys <= self._most))
        self._tables.append(block.take(index))
        self._marks.append(marks[index])
        if sum(map(len, self._marks)) > SLACK * self._wanted:
            self._cut()

    def candidates(self) -> Candidates:
        """Return what is kept of the rows shown so far, at least one."""
        self._cut()
        assert self._counts is not None
        table, marks = Table.concat(self._tables), joined(self._marks)
        order = np.argsort(marks.rows)
        return Candidates(table.take(order), marks[order], self._counts)

    def _cut(self) -> None:
        marks = joined(self._marks)
        kept = np.sort(choose(marks, self._wanted))
        # Table by table: joined, they would be copied with all that is not kept.
        starts = np.cumsum([0, *map(len, self._marks)])
        bounds = np.searchsorted(kept, starts).tolist()
        parts = [
            kept[first:last] - start
            for first, last, start in zip(bounds, bounds[1:], starts, strict=False)
        ]
        self._tables = [table.take(part) for table, part in zip(self._tables, parts, strict=True)]
        self._marks = [of[part] for of, part in zip(self._marks, parts, strict=True)]
        if len(marks) > self._wanted:
            # What a later row needs to get in, at least.
            last = self._wanted - 1
            self._least = float(-np.partition(-marks.scores, last)[last])
            self._most = float(np.partition(marks.keys, last)[last])

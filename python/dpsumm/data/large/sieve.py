"""The best rows and as many random ones of any number of rows, in bounded memory.

Both sets are the first rows of a total order: by score and row, by random key and row. So what is
kept of a whole is kept of each of its parts, and sieving parts, in any grouping and order, and then
what they kept gives what sieving the whole gives. The random keys belong to rows, not to blocks:
see :func:`keys_from`.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsumm.data.table import Table

# A kept set is cut back when it has grown to so many times what is wanted of each kind.
SLACK = 4


@dataclass(frozen=True, eq=False)
class Marks:
    """What decides which rows are kept: (n,) rows, scores and random keys."""

    rows: NDArray[np.int64]
    scores: NDArray[np.float64]
    keys: NDArray[np.float64]

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.rows)

    def __getitem__(self, index: NDArray[Any]) -> Marks:
        """Return the marks of some of the rows."""
        return Marks(self.rows[index], self.scores[index], self.keys[index])


@dataclass(frozen=True, eq=False)
class Candidates:
    """What a sieve kept: a table, rows ascending, with its marks, and counts over all rows seen.

    `counts` (3, c): values clipped, missing and in no category, by column.
    """

    table: Table
    marks: Marks
    counts: NDArray[np.int64]


def choose(marks: Marks, wanted: int) -> NDArray[np.int64]:
    """Return which to keep, ascending by row: the `wanted` best and the `wanted` of lowest key.

    Of equals the first rows. Between `wanted` and twice as many, or all if there are fewer.
    """
    if len(marks) <= wanted:
        return np.argsort(marks.rows)
    best = np.lexsort((marks.rows, -marks.scores))[:wanted]
    drawn = np.lexsort((marks.rows, marks.keys))[:wanted]
    kept = np.union1d(best, drawn)
    return kept[np.argsort(marks.rows[kept])]


def merged(parts: Sequence[Marks], wanted: int) -> Marks:
    """Return the marks to keep of several sets of rows."""
    marks = _joined_marks(parts)
    return marks[choose(marks, wanted)]


def keys_from(rng: np.random.Generator, row: int) -> np.random.Generator:
    """Return a generator whose ``random(n)`` gives the keys of `row` and the n - 1 rows after it.

    The key of row i is the generator's i-th double from here on. `rng` itself does not move.
    """
    bits: Any = copy.deepcopy(rng.bit_generator)
    return np.random.Generator(bits.advance(row))


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

    def add(self, block: Table, scores: NDArray[np.float64], keys: NDArray[np.float64]) -> None:
        """Show rows: a table with (b,) scores and random keys in [0, 1)."""
        counts = np.array([block.n_clipped, block.n_missing, block.n_unknown], np.int64)
        self._counts = counts if self._counts is None else self._counts + counts
        # Most rows are neither among the best nor drawn as things stand: they are not copied.
        index = np.flatnonzero((scores >= self._least) | (keys <= self._most))
        self._tables.append(block.take(index))
        self._marks.append(Marks(block.rows, scores, keys)[index])
        if sum(map(len, self._marks)) > SLACK * self._wanted:
            self._cut()

    def candidates(self) -> Candidates:
        """Return what is kept of the rows shown so far, at least one."""
        self._cut()
        assert self._counts is not None
        return Candidates(self._tables[0], self._marks[0], self._counts)

    def _cut(self) -> None:
        table, marks = Table.concat(self._tables), _joined_marks(self._marks)
        kept = choose(marks, self._wanted)
        self._tables, self._marks = [table.take(kept)], [marks[kept]]
        if len(marks) > self._wanted:
            # What a later row needs to get in, at least.
            last = self._wanted - 1
            self._least = float(-np.partition(-marks.scores, last)[last])
            self._most = float(np.partition(marks.keys, last)[last])


def _joined_marks(parts: Sequence[Marks]) -> Marks:
    return Marks(
        np.concatenate([part.rows for part in parts]),
        np.concatenate([part.scores for part in parts]),
        np.concatenate([part.keys for part in parts]),
    )

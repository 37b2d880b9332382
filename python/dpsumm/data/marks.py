"""Which rows are kept of any number: the best ones, and those of the least random keys.

Both sets are the first rows of a total order, by score and row or by random key and row. So a row
that is kept of a whole is kept of each of its parts. Marking parts in any grouping and order, and
then the kept rows, gives the rows of the whole. The random keys belong to rows, not to blocks: see
:class:`dpsumm.kernels.Draws`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpsumm import kernels

# Maps scaled points (b, e) to (b, 2) scores and logarithms of rates, row by row.
Score: TypeAlias = Callable[[NDArray[Any]], NDArray[np.float64]]
# Rows kept of each kind, unless a stream says otherwise.
CANDIDATES = 65_536


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

    @classmethod
    def of(
        cls, rows: NDArray[np.int64], scores: NDArray[np.float64], units: NDArray[np.float64]
    ) -> Marks:
        """Return the marks of rows by (n, 2) scores and logarithms of rates, and uniform numbers.

        The keys are those of :func:`dpsumm.kernels.arrivals`.
        """
        return cls(rows, scores[:, 0], kernels.arrivals(scores[:, 1], units))


def choose(marks: Marks, wanted: int) -> NDArray[np.int64]:
    """Return which to keep, ascending by row: the `wanted` best and the `wanted` of lowest key.

    Of equals the first rows. Between `wanted` and twice as many, or all if there are fewer.
    """
    if len(marks) <= wanted:
        return np.argsort(marks.rows)
    rows, is_kept = marks.rows, np.zeros(len(marks), bool)
    is_kept[least(-marks.scores, rows, wanted)] = True
    is_kept[least(marks.keys, rows, wanted)] = True
    kept = np.flatnonzero(is_kept)
    return kept[np.argsort(rows[kept])]


def least(values: NDArray[np.float64], rows: NDArray[np.int64], wanted: int) -> NDArray[np.int64]:
    """Return where the `wanted` least values are, ascending, of equal ones the first rows."""
    # All could be sorted; of many rows most are told from a limit alone.
    index = np.flatnonzero(values <= np.partition(values, wanted - 1)[wanted - 1])
    return index[np.lexsort((rows[index], values[index]))[:wanted]]


def merged(parts: Sequence[Marks], wanted: int) -> Marks:
    """Return the marks to keep of several sets of rows."""
    marks = joined(parts)
    return marks[choose(marks, wanted)]


def joined(parts: Sequence[Marks]) -> Marks:
    """Return the marks of several sets of rows together."""
    return Marks(
        np.concatenate([part.rows for part in parts]),
        np.concatenate([part.scores for part in parts]),
        np.concatenate([part.keys for part in parts]),
    )

"""The table of a streamed owner: a pass over its rows keeps the candidates for its offers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpsumm.data.large.shards import Shards
from dpsumm.data.large.stream import Stream
from dpsumm.data.marks import Marks, Score
from dpsumm.data.schema import Schema
from dpsumm.errors import InvalidDataError

if TYPE_CHECKING:
    from dpsumm.data.table import Reader, Table


class StreamTable:
    """What a run needs to know of a streamed owner before it reads all its rows.

    Parameters
    ----------
    stream
        The source.
    head
        Its first rows as a table: columns, precision and scaling of them all.
    read
        Turns a block into a table with the head's columns and scaling. With shards it is sent to
        their workers.
    """

    n_dropped = 0
    # The rows are never all in memory.
    in_memory = None

    def __init__(self, stream: Stream | Shards, head: Table, read: Reader) -> None:
        self.stream = stream
        self.head = head
        self.n_clipped = self.n_missing = self.n_unknown = (0,) * len(head.columns)
        self._read = read

    def __len__(self) -> int:
        """Return the number of rows."""
        return self.stream.n_rows

    @property
    def name(self) -> str:
        """Name of the owner."""
        return self.head.name

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return self.head.columns

    @property
    def schema(self) -> Schema:
        """What the columns are."""
        return self.head.schema

    @property
    def width(self) -> int:
        """Coordinates of the kernel's space."""
        return self.head.width

    @property
    def labels(self) -> NDArray[Any] | None:
        """Labels of the first rows: whether there are any."""
        return self.head.labels

    @property
    def backend(self) -> Any:
        """The data-frame library of the blocks, None for arrays."""
        return self.head.backend

    @property
    def dtype(self) -> np.dtype[Any]:
        """Precision of the points."""
        return self.head.dtype

    def astype(self, dtype: np.dtype[Any]) -> StreamTable:
        """Return the table with its points in another precision."""
        return StreamTable(self.stream, self.head.astype(dtype), self._read)

    def points_at(self, index: NDArray[np.int64]) -> NDArray[Any]:
        """Return some of the rows, ascending, as the kernel sees them: (s, e); see `rows_at`."""
        return self.rows_at(index).scaled

    def rows_at(self, index: NDArray[np.int64]) -> Table:
        """Return some of the rows, ascending positions.

        A pass over the source that decodes blocks and computes nothing on other rows. Errors as
        for `sift`.
        """
        found = self.stream.take(_reader(self._read, self.head), index)
        return replace(found, rows=index)

    def sift(self, score: Score, rng: np.random.Generator, count: int) -> tuple[Table, Marks]:
        """Return the candidates as a table, rows in order, and their marks.

        Parameters
        ----------
        score
            Maps scaled points (b, e) to (b, 2) scores and logarithms of rates, row by row. With
            shards it is sent to their workers.
        rng
            For the random keys; moves on by one double a row.
        count
            Candidates of each kind are `n_candidates`, or so many if that is more.

        Raises
        ------
        InvalidDataError
            A block is malformed, has missing values or does not fit the first one, or there are
            more or fewer rows than the file declares.
        ShardLostError
            Shards only: a worker was lost more than once, or its node is gone.
        """
        found = self.stream.sift(_reader(self._read, self.head), score, rng, count)
        self.n_clipped, self.n_missing, self.n_unknown = map(tuple, found.counts.tolist())
        return found.table, found.marks


def _reader(read: Reader, head: Table) -> Reader:
    """Return a reader of blocks in the head's precision that refuses what would change silently.

    Only files that differ (shards) can fail here: they would be joined as other types than these.
    """
    name, dtype = head.name, head.dtype

    def checked(raw: Any) -> Table:
        block = read(raw)
        if not np.can_cast(block.dtype, dtype):
            raise InvalidDataError(
                f"{name!r}: some rows are {block.dtype} and the first are {dtype}; write all in "
                f"one precision"
            )
        return block.astype(dtype)

    return checked

"""The table of a streamed owner: one pass over its rows keeps the candidates for its offers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpsumm.data.large.shards import Shards
from dpsumm.data.large.stream import Stream
from dpsumm.data.schema import Schema
from dpsumm.errors import InvalidDataError

if TYPE_CHECKING:
    from dpsumm.data.table import Table


class StreamTable:
    """What a run needs to know of a streamed owner before it reads all its rows.

    Parameters
    ----------
    stream
        The source.
    head
        Its first rows as a table: columns, precision, kind of labels and scaling of them all.
    read
        Turns a block into a table with the head's columns and scaling. With shards it is sent to
        their workers.
    """

    n_dropped = 0
    # The rows are never all in memory.
    in_memory = None

    def __init__(self, stream: Stream | Shards, head: Table, read: Callable[[Any], Table]) -> None:
        self.stream = stream
        self.head = head
        self.n_clipped = self.n_missing = self.n_unknown = (0,) * len(head.columns)
        self._read = read

    def __len__(self) -> int:
        """Return the number of rows."""
        return self.stream.n_rows

    @property
    def n_candidates(self) -> int:
        """Rows of each kind that `sift` keeps."""
        return self.stream.n_candidates

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
        """Labels of the first rows: whether and of which kind there are."""
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

    def sift(
        self,
        score: Callable[[NDArray[Any]], NDArray[np.float64]],
        rng: np.random.Generator,
    ) -> tuple[Table, NDArray[np.float64]]:
        """Return the candidates as a table, rows in order, and their scores.

        Parameters
        ----------
        score
            Maps scaled points (b, c) to (b,) scores, row by row. With shards it is sent to their
            workers.
        rng
            For the uniform half of the candidates; moves on by one double a row.

        Raises
        ------
        InvalidDataError
            A block is malformed, has missing values or does not fit the first one, or there are
            more or fewer rows than the file declares.
        ShardLostError
            Shards only: a worker was lost more than once, or its node is gone.
        """
        found = self.stream.sift(_reader(self._read, self.head), score, rng)
        self.n_clipped, self.n_missing, self.n_unknown = map(tuple, found.counts.tolist())
        return found.table, found.marks.scores


def _reader(read: Callable[[Any], Table], head: Table) -> Callable[[Any], Table]:
    """Return a reader of blocks in the head's precision that refuses what would change silently.

    Only files that differ (shards) can fail here: they would be joined as other types than these.
    """
    name, dtype, is_text = head.name, head.dtype, _is_text(head)

    def checked(raw: Any) -> Table:
        block = read(raw)
        if not np.can_cast(block.dtype, dtype):
            raise InvalidDataError(
                f"{name!r}: some rows are {block.dtype} and the first are {dtype}; write all in "
                f"one precision"
            )
        if _is_text(block) != is_text:
            raise InvalidDataError(
                f"{name!r}: labels of some rows are text and others numbers; write all as one type"
            )
        return block.astype(dtype)

    return checked


def _is_text(table: Table) -> bool:
    return table.labels is not None and table.labels.dtype.kind == "U"

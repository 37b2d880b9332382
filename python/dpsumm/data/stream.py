"""Sources larger than memory, read in blocks. A sieve keeps the candidates for offers."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpsumm.basics.checks import check_whole
from dpsumm.data.guard import guarded, import_pyarrow
from dpsumm.data.marks import CANDIDATES, Marks, Score, choose, joined
from dpsumm.data.table import Reader, Table
from dpsumm.errors import InvalidDataError, InvalidParameterError
from dpsumm.kernels import Draws

SUFFIXES = (".parquet", ".npy")
# Enough rows to tell columns and types.
HEAD_ROWS = 4096
# Bytes of a Parquet file's column that are read at once. Memory for a whole chunk of a column would
# be fetched anew from the system for each.
READ_BYTES = 2**16
# A kept set is cut back when it has grown to so many times what is wanted of each kind.
SLACK = 4


@dataclass(frozen=True, eq=False)
class Candidates:
    """The rows that a sieve kept, ascending, with their marks, and counts over all rows seen.

    `counts` (3, c): values clipped, missing and in no category, by column.
    """

    table: Table
    marks: Marks
    counts: NDArray[np.int64]


class Sieve:
    """Keeps candidates among the rows it is shown, block by block, in any order of blocks."""

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
        """Return the rows kept so far, at least one."""
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


@dataclass(frozen=True)
class Stream:
    """An owner's rows, read in two passes, in memory that does not grow with their number.

    It works with `dpsumm.Offers`. The first pass reads only a few rows, drawn at random. The second
    pass scores every row against the released target. Candidates for the offers are the
    `n_candidates` rows with the highest scores and as many of those that are drawn first. The
    greedy chooses among these. The offers are those of the same data in memory, with as many
    candidates. It does not choose among all rows, because picking p offers costs p kernel values
    for each row, and a pass over the data each.

    Candidates and offers of an owner need no protection from the owner. The number of rows is
    public, as for every owner. A missing value is found during the run, after the target's release
    was charged. The run then ends, and with a ledger and a name it can be resumed without a second
    charge.

    Parameters
    ----------
    source
        Path of a ``.parquet`` or ``.npy`` file (C order), or an (n, c) array, such as a
        ``numpy.memmap``.
    n_candidates
        Rows of each kind to keep, at least 1, and at least the owner's offers. It needs memory for
        about 10 times as many rows.
    block_rows
        Rows read at once, at least 1.
    single
        Take numbers of a Parquet file as float32 instead of float64, in about two thirds of the
        time. An array keeps its type.

    Raises
    ------
    InvalidDataError
        The file does not exist, is empty, or is not a well-formed file of its kind.
    InvalidParameterError
        Another suffix or type, or a number out of range.
    MissingExtraError
        A Parquet file, and pyarrow is not installed.

    See Also
    --------
    dpsumm.data.Shards : Rows in many files, read by workers of Ray.

    Examples
    --------
    >>> import numpy as np, dpsumm
    >>> rng = np.random.default_rng(0)
    >>> large = dpsumm.data.Stream(rng.uniform(0, 1, (5000, 2)))  # or the path of a file
    >>> large.n_rows
    5000
    >>> target = rng.uniform(0.4, 1, (300, 2))
    >>> len(dpsumm.summarize([large], target, size=12, kernel=dpsumm.RBF(4)))
    12
    """

    source: Any
    n_candidates: int = CANDIDATES
    block_rows: int = 65_536
    single: bool = False
    n_rows: int = field(init=False)

    def __post_init__(self) -> None:
        """Check the parameters and read the file's header."""
        check_whole(self.n_candidates, "n_candidates", 1)
        check_whole(self.block_rows, "block_rows", 1)
        if isinstance(self.source, (str, os.PathLike)):
            object.__setattr__(self, "source", Path(self.source))
            count = self._open_parquet() if self._is_parquet else self._open_array()
        elif isinstance(self.source, np.ndarray) and self.source.ndim == 2:
            count = len(self.source)
        else:
            raise InvalidParameterError(
                f"Stream: source must be the path of a file, or an array of shape (rows, columns), "
                f"got {type(self.source).__name__}. Data frames are in memory already: give them "
                f"as they are"
            )
        if not count:
            raise InvalidDataError(f"{self.where}: the data are empty. Leave them out")
        object.__setattr__(self, "n_rows", count)

    @property
    def where(self) -> str:
        """Name for messages."""
        return f"Stream ({self.source})" if isinstance(self.source, Path) else "Stream"

    @property
    def name(self) -> str | None:
        """Default name of an owner with this source. None for arrays."""
        return self.source.name.split(".")[0] if isinstance(self.source, Path) else None

    def blocks(self) -> Iterator[Any]:
        """Yield the rows in order, as pyarrow tables of a Parquet file and otherwise as arrays."""
        if isinstance(self.source, np.ndarray):
            for start in range(0, self.n_rows, self.block_rows):
                yield self.source[start : start + self.block_rows]
        elif self._is_parquet:
            yield from self._parquet_blocks()
        else:
            yield from self._array_blocks()

    def head(self) -> Any:
        """Return the first rows, a block of at most `HEAD_ROWS`."""
        return next(iter(replace(self, block_rows=min(self.block_rows, HEAD_ROWS)).blocks()))

    def sift(self, read: Reader, score: Score, draws: Draws, count: int) -> Candidates:
        """Return the candidates. Parameters and errors as :meth:`StreamTable.sift`."""
        sieve = Sieve(max(self.n_candidates, count))
        self.pour(sieve, read, score, draws)
        return sieve.candidates()

    def take(self, read: Reader, index: NDArray[np.int64]) -> Table:
        """Return some of the rows, ascending. Errors as :meth:`StreamTable.sift`."""
        # A record is read the same whatever is beside it: the others are left alone.
        # They are read together, since a reading takes some time for each column.
        if isinstance(self.source, np.ndarray):
            return read(self.source[index])
        return read(self._parquet_rows(index) if self._is_parquet else self._array_rows(index))

    def pour(
        self,
        sieve: Sieve,
        read: Reader,
        score: Score,
        draws: Draws,
        first_row: int = 0,
    ) -> None:
        """Show all rows to a sieve, numbered from `first_row`, with one draw each."""
        for block in self._numbered(read, first_row):
            units = draws.units(first_row, len(block))
            sieve.add(block, Marks.of(block.rows, score(block.scaled), units))
            first_row += len(block)

    def _numbered(self, read: Reader, first_row: int) -> Iterator[Table]:
        """Yield all rows by blocks, each with its number."""
        seen = 0
        for raw in self.blocks():
            block = read(raw)
            yield replace(block, rows=np.arange(first_row + seen, first_row + seen + len(block)))
            seen += len(block)
        if seen != self.n_rows:
            raise InvalidDataError(
                f"{self.where}: the file declares {self.n_rows} rows and holds {seen}. Write it "
                f"anew"
            )

    @property
    def _is_parquet(self) -> bool:
        suffix = Path(self.source).suffix.lower()
        if suffix not in SUFFIXES:
            raise InvalidParameterError(
                f"{self.where}: the suffix must be one of {', '.join(SUFFIXES)}. Convert the file, "
                f"or give its path without Stream to read it into memory"
            )
        if not self.source.is_file():
            raise InvalidDataError(f"{self.where}: no such file. Check the path")
        return suffix == ".parquet"

    def _open_parquet(self) -> int:
        pyarrow = import_pyarrow()

        def count() -> int:
            with pyarrow.parquet.ParquetFile(self.source) as file:
                return int(file.metadata.num_rows)

        return guarded(count, self.where, "Parquet")

    def _parquet_blocks(self) -> Iterator[Any]:
        pyarrow = import_pyarrow()
        # Buffered ahead, what was read stays in memory until the file is closed.
        with pyarrow.parquet.ParquetFile(
            self.source, pre_buffer=False, buffer_size=READ_BYTES
        ) as file:
            # By this thread: memory that others fill is fetched anew from the system each time,
            # which takes longer than decoding.
            batches = file.iter_batches(self.block_rows, use_threads=False)
            while True:
                batch = guarded(lambda: next(batches, None), self.where, "Parquet")
                if batch is None:
                    return
                yield pyarrow.Table.from_batches([batch])

    def _parquet_rows(self, index: NDArray[np.int64]) -> Any:
        """Return some rows of a Parquet file, all of whose columns must be decoded for them."""
        parts, seen = [], 0
        for block in self._parquet_blocks():
            first, last = np.searchsorted(index, (seen, seen + len(block)))
            if first < last:
                parts.append(block.take(index[first:last] - seen))
            seen += len(block)
        return import_pyarrow().concat_tables(parts)

    def _header(self) -> tuple[tuple[int, ...], np.dtype[Any], int]:
        def read() -> tuple[tuple[int, ...], np.dtype[Any], int]:
            with open(self.source, "rb") as file:
                version = np.lib.format.read_magic(file)
                known = {
                    (1, 0): np.lib.format.read_array_header_1_0,
                    (2, 0): np.lib.format.read_array_header_2_0,
                }
                shape, by_columns, dtype = known[version](file)
                if by_columns or len(shape) != 2 or dtype.kind not in "fiub":
                    raise ValueError
                # Bytes stand for all rows that a header declares, and each row has some.
                room, width = self.source.stat().st_size - file.tell(), shape[1] * dtype.itemsize
                if min(shape) < 0 or not width or (shape[0] and width > room):
                    raise ValueError
                return shape, dtype, file.tell()

        return guarded(read, self.where, "two-dimensional, C-ordered, real .npy")

    def _open_array(self) -> int:
        return self._header()[0][0]

    def _array_rows(self, index: NDArray[np.int64]) -> NDArray[Any]:
        """Return some rows of an array's file."""
        (_, n_columns), dtype, offset = self._header()
        rows = np.empty((len(index), n_columns), dtype)
        with open(self.source, "rb") as file:
            for row, position in zip(rows, index.tolist(), strict=True):
                file.seek(offset + position * row.nbytes)
                if file.readinto(row.view(np.uint8)) < row.nbytes:
                    raise InvalidDataError(f"{self.where}: the file is cut short. Copy it again")
        return rows

    def _array_blocks(self) -> Iterator[Any]:
        # Plain reads: pages of a mapped file would count as this process's memory.
        (n_rows, n_columns), dtype, offset = self._header()
        with open(self.source, "rb") as file:
            file.seek(offset)
            for start in range(0, n_rows, self.block_rows):
                count = min(self.block_rows, n_rows - start) * n_columns
                block = np.fromfile(file, dtype, count)
                if len(block) < count:
                    raise InvalidDataError(f"{self.where}: the file is cut short. Copy it again")
                yield block.reshape(-1, n_columns)


class Rows(Protocol):
    """Rows of an owner that are never all in memory: `Stream`, or `dpsumm.data.Shards`."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""

    def take(self, read: Reader, index: NDArray[np.int64]) -> Table:
        """Return some of the rows, ascending."""

    def sift(self, read: Reader, score: Score, draws: Draws, count: int) -> Candidates:
        """Return the candidates."""


class StreamTable:
    """The facts of a streamed owner that a run needs before it reads all rows.

    Its `head`, the first rows, has the columns, precision and scaling of them all, as has every
    block that `read` turns into a table. With shards it is sent to their workers.
    """

    n_dropped = 0
    # The rows are never all in memory.
    in_memory = None

    def __init__(self, stream: Rows, head: Table, read: Reader) -> None:
        self.stream, self.head = stream, head
        self.name, self.schema, self.backend = head.name, head.schema, head.backend
        self.columns, self.width, self.dtype = head.columns, head.width, head.dtype
        self.labels = head.labels  # of the first rows: whether there are any
        self.n_clipped = self.n_missing = self.n_unknown = (0,) * len(head.columns)
        self._read = read

    def __len__(self) -> int:
        """Return the number of rows."""
        return self.stream.n_rows

    def astype(self, dtype: np.dtype[Any]) -> StreamTable:
        """Return the table with its points in another precision."""
        return StreamTable(self.stream, self.head.astype(dtype), self._read)

    def points_at(self, index: NDArray[np.int64]) -> NDArray[Any]:
        """Return some of the rows, ascending, as the kernel sees them: (s, e). See `rows_at`."""
        return self.rows_at(index).scaled

    def rows_at(self, index: NDArray[np.int64]) -> Table:
        """Return some of the rows, by ascending positions, without computing on others."""
        found = self.stream.take(_reader(self._read, self.head), index)
        return replace(found, rows=index)

    def sift(self, score: Score, draws: Draws, count: int) -> tuple[Table, Marks]:
        """Return the candidates as a table, rows in order, and their marks.

        Row i has number i of `draws`. Candidates of each kind are `n_candidates`, or `count` if
        that is more. With shards `score` is sent to their workers.
        """
        found = self.stream.sift(_reader(self._read, self.head), score, draws, count)
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
                f"{name!r}: some rows are {block.dtype} and the first are {dtype}. Write all in "
                f"one precision"
            )
        return block.astype(dtype)

    return checked

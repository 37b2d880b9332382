"""Sources larger than memory, read in blocks."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsumm.checks import check_whole
from dpsumm.data.guarded import guarded, import_pyarrow
from dpsumm.data.large.sieve import Candidates, Sieve
from dpsumm.data.marks import CANDIDATES, Marks, Score
from dpsumm.data.table import Reader, Table
from dpsumm.errors import InvalidDataError, InvalidParameterError

SUFFIXES = (".parquet", ".npy")
# Enough rows to tell columns and types.
HEAD_ROWS = 4096
# Bytes of a Parquet file's column that are read at once. Memory for a whole chunk of a column would
# be fetched anew from the system for each.
READ_BYTES = 2**16


@dataclass(frozen=True)
class Stream:
    """An owner's rows, read in two passes, in memory that does not grow with their number.

    It works with `dpsumm.Offers`. The first pass reads only a few rows, drawn at random. The second
    pass scores every row against the released target. Candidates for the offers are the
    `n_candidates` rows with the highest scores and as many of those that are drawn first. The
    greedy chooses among these. The offers are those of the same data in memory, where there are as
    many candidates.

    Why not all rows: picking p offers costs p kernel values a row, many times the scoring (512
    features at 64 columns: from about 200 offers on), and a pass over the data each.

    Privacy: which rows become candidates is the owner's own affair, as its offers are. The number
    of rows is public, as for every owner. A missing value is found during the run, after the
    target's release was charged: the run ends, and with a ledger and a name of its own it can be
    resumed without a second charge.

    Parameters
    ----------
    source
        Path of a ``.parquet`` or ``.npy`` file (C order), or an (n, c) array, such as a
        ``numpy.memmap``.
    n_candidates
        Rows kept of each kind, at least 1, and at least the owner's offers. Memory is about 10
        times so many rows.
    block_rows
        Rows read at once, at least 1.

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
    dpsumm.Shards : Rows in many files, read by workers of Ray.

    Examples
    --------
    >>> import numpy as np, dpsumm
    >>> rng = np.random.default_rng(0)
    >>> large = dpsumm.Stream(rng.uniform(0, 1, (5000, 2)))  # or the path of a file
    >>> large.n_rows
    5000
    >>> target = rng.uniform(0.4, 1, (300, 2))
    >>> len(dpsumm.summarize([large], target, size=12, kernel=dpsumm.RBF(4)))
    12
    """

    source: Any
    n_candidates: int = CANDIDATES
    block_rows: int = 65_536
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
                f"got {type(self.source).__name__}; data frames are in memory already: give them "
                f"as they are"
            )
        if not count:
            raise InvalidDataError(f"{self.where}: the data are empty; leave them out")
        object.__setattr__(self, "n_rows", count)

    @property
    def where(self) -> str:
        """Name for messages."""
        return f"Stream ({self.source})" if isinstance(self.source, Path) else "Stream"

    @property
    def name(self) -> str | None:
        """What an owner with this source is called by default; None for arrays."""
        return self.source.name.split(".")[0] if isinstance(self.source, Path) else None

    def blocks(self) -> Iterator[Any]:
        """Yield the rows in order: pyarrow tables of a Parquet file, arrays otherwise."""
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

    def sift(self, read: Reader, score: Score, rng: np.random.Generator, count: int) -> Candidates:
        """Return the candidates; parameters and errors as :meth:`StreamTable.sift`."""
        sieve = Sieve(max(self.n_candidates, count))
        self.pour(sieve, read, score, rng)
        return sieve.candidates()

    def take(self, read: Reader, index: NDArray[np.int64]) -> Table:
        """Return some of the rows, ascending; errors as :meth:`StreamTable.sift`."""
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
        coins: np.random.Generator,
        first_row: int = 0,
    ) -> None:
        """Show all rows to a sieve, numbered from `first_row`, with one coin each."""
        for block in self._numbered(read, first_row):
            sieve.add(block, Marks.of(block.rows, score(block.scaled), coins.random(len(block))))

    def _numbered(self, read: Reader, first_row: int) -> Iterator[Table]:
        """Yield all rows by blocks, each with its number."""
        seen = 0
        for raw in self.blocks():
            block = read(raw)
            yield replace(block, rows=np.arange(first_row + seen, first_row + seen + len(block)))
            seen += len(block)
        if seen != self.n_rows:
            raise InvalidDataError(
                f"{self.where}: the file declares {self.n_rows} rows and holds {seen}; write it "
                f"anew"
            )

    @property
    def _is_parquet(self) -> bool:
        suffix = Path(self.source).suffix.lower()
        if suffix not in SUFFIXES:
            raise InvalidParameterError(
                f"{self.where}: the suffix must be one of {', '.join(SUFFIXES)}; convert the file, "
                f"or give its path without Stream to read it into memory"
            )
        if not self.source.is_file():
            raise InvalidDataError(f"{self.where}: no such file; check the path")
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
                    raise InvalidDataError(f"{self.where}: the file is cut short; copy it again")
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
                    raise InvalidDataError(f"{self.where}: the file is cut short; copy it again")
                yield block.reshape(-1, n_columns)

"""An owner's rows in many files, held by workers on one machine or several (Ray)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpsumm.checks import check_whole
from dpsumm.data.large import workers
from dpsumm.data.large.sieve import Candidates
from dpsumm.data.marks import CANDIDATES, Score
from dpsumm.errors import InvalidParameterError

if TYPE_CHECKING:
    from dpsumm.data.table import Reader, Table

Paths: TypeAlias = Sequence[str | os.PathLike[str]]


@dataclass(frozen=True)
class Shards:
    """An owner's rows in files that no single machine could hold or read in time.

    It works with :class:`dpsumm.Offers`. Each worker, a Ray actor, reads its files as a
    :class:`Stream` does and keeps candidates. The merged candidates, and so the offers, are those
    of a `Stream` over one file with all rows, whatever the number of files and workers. Rows are
    numbered through the files in the order given. :meth:`locate` turns a number back into a file
    and a row.

    Ray must run (``ray.init()``) before this is made. Its cluster belongs to the owner: whoever can
    reach it reads the data and runs code, see docs/large-data.md.

    Privacy: as for `Stream`; what workers send each other stays with the owner.

    Parameters
    ----------
    files
        Paths of ``.parquet`` and ``.npy`` files that every node can read; or a dict of resource to
        such paths, for files that only the nodes with this Ray resource can read (each node has
        ``"node:<its address>"``; others are named with ``ray start --resources``).
    n_candidates
        Rows kept of each kind, at least 1, and at least the owner's offers. Memory of a worker:
        about 10 times so many rows.
    block_rows
        Rows that a worker reads at once, at least 1.
    n_workers
        Workers, each with one thread, at least 1 and at most the number of files; the cluster's
        processors by default. With a dict, every resource gets one at least.

    Raises
    ------
    InvalidDataError
        A file does not exist, is empty, or is not a well-formed file of its kind.
    InvalidParameterError
        Ray does not run, no node has a resource, a number is out of range, no file or a file twice.
    ShardLostError
        Workers that read the files' headers were lost.
    MissingExtraError
        Ray is not installed.

    See Also
    --------
    dpsumm.Stream : Rows in one file, on one machine.

    Examples
    --------
    >>> import dpsumm, ray  # doctest: +SKIP
    >>> ray.init()  # doctest: +SKIP
    >>> north = dpsumm.Shards(["north-0.parquet", "north-1.parquet"])  # doctest: +SKIP
    >>> dpsumm.summarize({"north": north}, "clinic.csv", size=200)  # doctest: +SKIP
    """

    files: Paths | Mapping[str, Paths]
    n_candidates: int = CANDIDATES
    block_rows: int = 65_536
    n_workers: int | None = None
    counts: tuple[int, ...] = field(init=False, repr=False)
    n_rows: int = field(init=False)

    name = None

    def __post_init__(self) -> None:
        """Check the parameters and let workers read the files' headers."""
        check_whole(self.n_candidates, "n_candidates", 1)
        check_whole(self.block_rows, "block_rows", 1)
        if self.n_workers is not None:
            check_whole(self.n_workers, "n_workers", 1)
        counts = workers.count_rows(_flat(self.files), self.n_workers)
        object.__setattr__(self, "counts", counts)
        object.__setattr__(self, "n_rows", sum(counts))

    @property
    def shards(self) -> list[workers.Shard]:
        """The files with the number of their first row."""
        starts = np.cumsum([0, *self.counts]).tolist()
        return [
            workers.Shard(path, resource, start, count)
            for (resource, path), start, count in zip(
                _flat(self.files), starts, self.counts, strict=False
            )
        ]

    def locate(self, rows: NDArray[np.int64]) -> list[tuple[str, int]]:
        """Return the file and the row in it of each row number, such as `Summary.index` holds."""
        shards = self.shards
        which = np.searchsorted([shard.first_row for shard in shards], rows, side="right") - 1
        return [
            (shards[i].path, int(row) - shards[i].first_row)
            for i, row in zip(which, rows, strict=True)
        ]

    def head(self) -> Any:
        """Return the first rows, a block as of `Stream.head`."""
        return workers.head(self.shards[0])

    def take(self, read: Reader, index: NDArray[np.int64]) -> Table:
        """Return some of the rows, ascending; errors as :meth:`StreamTable.sift`."""
        return workers.take(self.shards, read, self.block_rows, index, self.n_workers)

    def sift(self, read: Reader, score: Score, rng: np.random.Generator, count: int) -> Candidates:
        """Return the candidates; parameters and errors as :meth:`StreamTable.sift`."""
        wanted = max(self.n_candidates, count)
        work = workers.Work(wanted, self.block_rows, read, score, rng)
        found = workers.sift(self.shards, work, self.n_workers)
        bits: Any = rng.bit_generator
        bits.advance(self.n_rows)
        return found


def _flat(files: object) -> list[tuple[str | None, str]]:
    """Return (resource, path) of all files, checked."""
    groups: Iterable[tuple[Any, Any]] = (
        files.items() if isinstance(files, Mapping) else [(None, files)]
    )
    flat: list[tuple[str | None, str]] = []
    for resource, paths in groups:
        if not isinstance(paths, (list, tuple)) or not all(
            isinstance(path, (str, os.PathLike)) for path in paths
        ):
            raise InvalidParameterError(
                "Shards: files must be a list of paths, or a dict of Ray resource to such a list; "
                "for one file use Stream"
            )
        flat += [(resource, str(PurePath(path))) for path in paths]
    if not flat:
        raise InvalidParameterError("Shards: files must name at least one file, got none")
    if len(set(flat)) < len(flat):
        raise InvalidParameterError("Shards: files names a file twice; its rows would count twice")
    return flat

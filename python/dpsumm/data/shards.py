"""An owner's rows in many files, held by Ray workers: who reads which, what if one is lost.

Every question to a worker names its files and the pass to make over them. So Ray can start a lost
one again, once, repeat the question, and the new one makes the pass anew. The same rows have the
same scores and random keys, and so the same candidates.

Workers first answer with marks (24 bytes a candidate), which the driver merges as they come. Only
then are the rows of the merged candidates fetched. So the driver's memory grows neither with rows
nor with workers, and no row travels that is not a candidate of the whole.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpsumm import kernels
from dpsumm.basics.checks import check_whole
from dpsumm.data.marks import CANDIDATES, Marks, Score, merged
from dpsumm.data.stream import Candidates, Sieve, Stream
from dpsumm.data.table import Reader, Table
from dpsumm.errors import (
    DpsummError,
    InvalidDataError,
    InvalidParameterError,
    MissingExtraError,
    ShardLostError,
)

Paths: TypeAlias = Sequence[str | os.PathLike[str]]
# Ray starts a lost worker again so many times.
RESTARTS = 1
# Seconds without an answer after which it is checked that every node needed is still there.
PATIENCE = 5.0
# A share of a resource that never runs out: it says where, not how much.
SHARE = 1e-4
RESUME = "then run again (with the same ledger and run name nothing is charged twice)"


@dataclass(frozen=True)
class Shard:
    """A file, the Ray resource of the nodes that can read it, the numbers of its rows."""

    path: str
    resource: str | None
    first_row: int
    n_rows: int


@dataclass(frozen=True, eq=False)
class Work:
    """A pass over files: as `Stream.sift`, with the generator as it is before row 0 of them all."""

    n_candidates: int
    block_rows: int
    read: Reader
    score: Score
    draws: kernels.Draws


class ShardWorker:
    """Makes a pass over files when first asked, and keeps the candidates. Runs as a Ray actor."""

    def __init__(self) -> None:
        kernels.set_threads(1)  # a worker per processor: more threads would be in each other's way
        self._found: Candidates | None = None

    def marks(self, shards: Sequence[Shard], work: Work) -> tuple[Marks, NDArray[np.int64]]:
        """Return the marks of the candidates, and the counts as in `Candidates`."""
        found = self._pass(shards, work)
        return found.marks, found.counts

    def fetch(self, shards: Sequence[Shard], work: Work, rows: NDArray[np.int64]) -> Table:
        """Return some of the candidates, ascending `rows`, as a table."""
        table = self._pass(shards, work).table
        return table.take(np.searchsorted(table.rows, rows))

    def _pass(self, shards: Sequence[Shard], work: Work) -> Candidates:
        if self._found is None:
            sieve = Sieve(work.n_candidates)
            for shard in shards:
                with _naming(shard.path):
                    stream = _stream(shard, work.block_rows)
                    stream.pour(sieve, work.read, work.score, work.draws, shard.first_row)
            self._found = sieve.candidates()
        return self._found


@contextmanager
def _naming(path: str) -> Iterator[None]:
    """Add the file to what is wrong with it."""
    try:
        yield
    except (InvalidDataError, InvalidParameterError) as error:
        raise type(error)(f"shard {path}: {error}") from None


@dataclass(frozen=True)
class Shards:
    """An owner's rows in files that no single machine could hold or read in time.

    It works with :class:`dpsumm.Offers`. Each worker, a Ray actor, reads its files as a
    :class:`Stream` does and keeps candidates. The merged candidates, and so the offers, are those
    of a `Stream` over one file with all rows, for any number of files and workers. Rows are
    numbered through the files in the order given. :meth:`locate` turns a number back into a file
    and a row.

    Ray must run (``ray.init()``) before this is made. Its cluster belongs to the owner, because
    anyone who can reach it reads the data and runs code. See docs/large-data.md.

    Privacy is as for `Stream`. The messages between workers stay with the owner.

    Parameters
    ----------
    files
        Paths of ``.parquet`` and ``.npy`` files that every node can read. If only the nodes with a
        Ray resource can read some files, give a dict of resources to paths. Each node has the
        resource ``"node:<its address>"``, and ``ray start --resources`` names others.
    n_candidates
        Rows of each kind to keep, at least 1, and at least the owner's offers. A worker needs
        memory for about 10 times as many rows.
    block_rows
        Rows that a worker reads at once, at least 1.
    n_workers
        Workers, each with one thread, at least 1 and at most the number of files. By default as
        many as the cluster has processors. With a dict, every resource gets at least one.
    single
        As for :class:`Stream`.

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
    dpsumm.data.Stream : Rows in one file, on one machine.

    Examples
    --------
    >>> import dpsumm, ray  # doctest: +SKIP
    >>> ray.init()  # doctest: +SKIP
    >>> north = dpsumm.data.Shards(["north-0.parquet", "north-1.parquet"])  # doctest: +SKIP
    >>> dpsumm.summarize({"north": north}, "clinic.csv", size=200)  # doctest: +SKIP
    """

    files: Paths | Mapping[str, Paths]
    n_candidates: int = CANDIDATES
    block_rows: int = 65_536
    n_workers: int | None = None
    single: bool = False
    counts: tuple[int, ...] = field(init=False, repr=False)
    n_rows: int = field(init=False)

    name = None

    def __post_init__(self) -> None:
        """Check the parameters and let workers read the files' headers."""
        check_whole(self.n_candidates, "n_candidates", 1)
        check_whole(self.block_rows, "block_rows", 1)
        if self.n_workers is not None:
            check_whole(self.n_workers, "n_workers", 1)
        counts = count_rows(_flat(self.files), self.n_workers)
        object.__setattr__(self, "counts", counts)
        object.__setattr__(self, "n_rows", sum(counts))

    @property
    def shards(self) -> list[Shard]:
        """The files with the number of their first row."""
        starts = np.cumsum([0, *self.counts]).tolist()
        return [
            Shard(path, resource, start, count)
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
        return _first(self.shards[0])

    def take(self, read: Reader, index: NDArray[np.int64]) -> Table:
        """Return some of the rows, ascending. Errors as :meth:`StreamTable.sift`."""
        return _taken(self.shards, read, self.block_rows, index, self.n_workers)

    def sift(self, read: Reader, score: Score, draws: kernels.Draws, count: int) -> Candidates:
        """Return the candidates. Parameters and errors as :meth:`StreamTable.sift`."""
        wanted = max(self.n_candidates, count)
        work = Work(wanted, self.block_rows, read, score, draws)
        return _sifted(self.shards, work, self.n_workers)


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
                "Shards: files must be a list of paths, or a dict of Ray resource to such a list. "
                "For one file use Stream"
            )
        flat += [(resource, str(PurePath(path))) for path in paths]
    if not flat:
        raise InvalidParameterError("Shards: files must name at least one file, got none")
    if len(set(flat)) < len(flat):
        raise InvalidParameterError("Shards: files names a file twice. Its rows would count twice")
    return flat


def count_rows(files: Sequence[tuple[str | None, str]], n_workers: int | None) -> tuple[int, ...]:
    """Return the number of rows of each (resource, path), read from the headers by tasks."""
    ray = _ray({resource for resource, _ in files})
    shards = [Shard(path, resource, i, 1) for i, (resource, path) in enumerate(files)]
    tasks = {
        ray.remote(_count).options(**_where(group[0])).remote([shard.path for shard in group]): [
            shard.first_row for shard in group
        ]
        for group in _shared_out(shards, n_workers, ray)
    }
    counts: dict[int, int] = {}
    for task, answer in _answers(ray, list(tasks), {resource for resource, _ in files}):
        counts |= zip(tasks[task], answer, strict=True)
    return tuple(counts[i] for i in range(len(files)))


def _first(shard: Shard) -> Any:
    """Return the first rows of a file, read by a task."""
    ray = _ray({shard.resource})
    task = ray.remote(_head).options(**_where(shard)).remote(shard.path)
    [(_, answer)] = _answers(ray, [task], {shard.resource})
    return answer


def _sifted(shards: Sequence[Shard], work: Work, n_workers: int | None) -> Candidates:
    """Return the candidates of all files: those of a `Stream` over all rows in one file."""
    resources = {shard.resource for shard in shards}
    ray = _ray(resources)
    # Questions are repeated until the restarts are used up: until the loss of a node is noticed,
    # several tries fail.
    actor = ray.remote(max_restarts=RESTARTS, max_task_retries=-1)(ShardWorker)
    groups = _shared_out(shards, n_workers, ray)
    workers = [actor.options(**_where(group[0])).remote() for group in groups]
    # Kept until the end: a worker that is started again reads them again.
    shared = ray.put(work)
    told = [(ray.put(group), shared) for group in groups]
    try:
        marks, counts = _gathered(
            _answers(
                ray,
                [w.marks.remote(*about) for w, about in zip(workers, told, strict=True)],
                resources,
            ),
            work.n_candidates,
        )
        # Row numbers tell the file, the file its worker.
        holder = {shard.first_row: i for i, group in enumerate(groups) for shard in group}
        starts = np.array(sorted(holder))
        first = starts[np.searchsorted(starts, marks.rows, side="right") - 1]
        which = np.array([holder[int(row)] for row in first])
        asked = [
            worker.fetch.remote(*told[i], marks.rows[which == i])
            for i, worker in enumerate(workers)
            if (which == i).any()
        ]
        table = Table.concat([part for _, part in _answers(ray, asked, resources)])
    finally:
        for worker in workers:
            ray.kill(worker)
    return Candidates(table.take(np.argsort(table.rows)), marks, counts)


def _taken(
    shards: Sequence[Shard],
    read: Reader,
    block_rows: int,
    index: NDArray[np.int64],
    n_workers: int | None,
) -> Table:
    """Return some of the rows of all files, ascending `index`, read by tasks."""
    resources = {shard.resource for shard in shards}
    ray = _ray(resources)
    starts = np.array([shard.first_row for shard in shards])
    held = set(np.searchsorted(starts, index, side="right") - 1)
    groups = _shared_out([shards[i] for i in sorted(held)], n_workers, ray)
    shared = ray.put((read, block_rows, index))
    tasks = [
        ray.remote(_take).options(**_where(group[0])).remote(group, shared) for group in groups
    ]
    table = Table.concat([part for _, part in _answers(ray, tasks, resources)])
    return table.take(np.argsort(table.rows))


def _take(shards: Sequence[Shard], given: tuple[Reader, int, NDArray[np.int64]]) -> Table:
    read, block_rows, index = given
    parts = []
    for shard in shards:
        first, last = np.searchsorted(index, (shard.first_row, shard.first_row + shard.n_rows))
        with _naming(shard.path):
            found = _stream(shard, block_rows).take(read, index[first:last] - shard.first_row)
        parts.append(replace(found, rows=index[first:last]))
    return Table.concat(parts)


def _stream(shard: Shard, block_rows: int) -> Stream:
    stream = Stream(shard.path, block_rows=block_rows)
    if stream.n_rows != shard.n_rows:
        raise InvalidDataError("the file has changed since Shards was made")
    return stream


def _count(paths: Sequence[str]) -> list[int]:
    counts = []
    for path in paths:
        with _naming(path):
            counts.append(Stream(path).n_rows)
    return counts


def _head(path: str) -> Any:
    with _naming(path):
        return Stream(path).head()


def _gathered(
    answers: Iterator[tuple[Any, tuple[Marks, NDArray[np.int64]]]], wanted: int
) -> tuple[Marks, NDArray[np.int64]]:
    """Merge marks one by one: never more than two workers' are held."""
    kept: list[Marks] = []
    counted: list[NDArray[np.int64]] = []
    for _, (marks, counts) in answers:
        kept = [merged([*kept, marks], wanted)]
        counted.append(counts)
    return kept[0], np.sum(counted, axis=0)


def _shared_out(shards: Sequence[Shard], n_workers: int | None, ray: Any) -> list[list[Shard]]:
    """Return a list of files per worker, rows spread evenly, each list of one resource."""
    places: dict[str | None, list[Shard]] = {}
    for shard in shards:
        places.setdefault(shard.resource, []).append(shard)
    if n_workers is None:
        n_workers = max(1, int(ray.cluster_resources().get("CPU", 1)))
    groups = []
    for held in places.values():
        fair = max(1, n_workers * len(held) // len(shards))
        bins: list[list[Shard]] = [[] for _ in range(min(fair, len(held)))]
        rows = [0] * len(bins)
        for shard in sorted(held, key=lambda shard: -shard.n_rows):
            least = rows.index(min(rows))
            bins[least].append(shard)
            rows[least] += shard.n_rows
        groups += bins
    return groups


def _where(shard: Shard) -> dict[str, Any]:
    # No processor is reserved: workers that wait for each other's would wait for ever.
    options: dict[str, Any] = {"num_cpus": 0, "scheduling_strategy": "SPREAD"}
    if shard.resource is not None:
        options["resources"] = {shard.resource: SHARE}
    return options


def _answers(ray: Any, pending: list[Any], resources: set[str | None]) -> Iterator[tuple[Any, Any]]:
    """Yield (task, answer) as they come. Raise dpsumm's own errors as they were raised."""
    while pending:
        done, pending = ray.wait(pending, timeout=PATIENCE)
        if not done:
            # A lost node's worker would be waited for without end.
            gone = resources - {None} - set(ray.cluster_resources())
            if gone:
                raise ShardLostError(
                    f"Shards: no node has the Ray resource {sorted(map(str, gone))[0]!r} any more. "
                    f"Start the node again, {RESUME}"
                )
        for task in done:
            try:
                answer = ray.get(task)
            except ray.exceptions.RayTaskError as error:
                if isinstance(error.cause, DpsummError):
                    raise error.cause from None
                raise
            except ray.exceptions.RayError as error:
                raise ShardLostError(
                    f"Shards: a worker was lost, started again and lost again "
                    f"({type(error).__name__}). If it ran out of memory, use a smaller "
                    f"n_candidates or fewer workers on a machine, {RESUME}"
                ) from None
            yield task, answer


def _ray(resources: set[str | None]) -> Any:
    try:
        import ray
    except ImportError:
        raise MissingExtraError("Shards need Ray: pip install dpsumm[ray], or use Stream") from None
    if not ray.is_initialized():
        raise InvalidParameterError(
            "Shards: Ray does not run here. Call ray.init(address=...) for a cluster, or ray.init()"
            " for this machine alone"
        )
    known = ray.cluster_resources()
    for resource in resources - {None}:
        if resource not in known:
            raise InvalidParameterError(
                f"Shards: no node of the cluster has the Ray resource {resource!r}. Name it with "
                f"ray start --resources, or use 'node:<address>'"
            )
    return ray

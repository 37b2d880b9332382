"""Roles that commit to data and open points, around those of any protocol.

Claim
    To the curator, and to whoever is shown root and openings, an owner's root and the opening of a
    point tell nothing of any other row and nothing of the number of rows. No other owner receives
    either. (``docs/privacy/commitments.md``.)
Assumes
    The owner's key is random and its own; SHA-256 and SHAKE-256 are what they are taken for. The
    owner's data do not change during the run.
Argument
    Whatever is not opened is a hash with a secret salt, or a filler that looks like one; the number
    of hashes is always the same.
Numerics
    None.
Tested by
    tests/summary/test_commitments.py, tests/data/test_merkle.py
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from dpsumm.data.inputs import FileFormat, Source, read_owners
from dpsumm.data.large.stream_table import StreamTable
from dpsumm.data.leaves import Salts, bytes_of
from dpsumm.data.merkle import DEPTH, SIZE, Forest
from dpsumm.data.openings import Commitments, Opening, root_of
from dpsumm.data.schema import Schema
from dpsumm.data.table import Table
from dpsumm.errors import InvalidParameterError, ProtocolError
from dpsumm.exchange.fields import is_hex
from dpsumm.exchange.messages import Answer, Request
from dpsumm.exchange.roles import Coordinator, Party
from dpsumm.summary.protocols.curator import Curator, Selection
from dpsumm.summary.protocols.messages import (
    Commitment,
    CommitRequest,
    OpenedPoints,
    OpenRequest,
    Points,
)
from dpsumm.summary.protocols.wire import CODEC, RUN_DIGITS

# Of all points across silos: a public fact, the same whatever anybody's files are.
PRECISION = np.dtype(np.float64)


def run_mark(run: str, seed: int | None) -> str:
    """Return what a run is called in commitments: from its public name, the same on resuming."""
    name = run if seed is None else f"seed {seed}"
    return hashlib.sha256(b"dpsumm commitments " + name.encode()).hexdigest()[:RUN_DIGITS]


def fresh_key(name: str, seed: int | None) -> Callable[[], bytes]:
    """Return the key of an owner that lives for one run in this process."""
    seeded = hashlib.sha256(f"{seed} {name}".encode()).digest()
    key = secrets.token_bytes(SIZE) if seed is None else seeded
    return lambda: key


class CommittingOwner(Party):
    """An owner of any protocol that commits to its table first and then opens what it sends.

    Parameters
    ----------
    owner
        Answers the protocol's requests, with rows of `table`.
    table
        What is committed to.
    key
        Returns the owner's secret of 32 bytes, the same as long as the run lasts; called when a
        commitment is asked for.
    """

    codec = CODEC

    def __init__(self, owner: Party, table: Table | StreamTable, key: Callable[[], bytes]) -> None:
        self._owner, self._table, self._key = owner, table, key

    @property
    def n_records(self) -> int:
        """The owner's."""
        return self._owner.n_records

    def answer(self, request: Request) -> Answer:
        """Return the commitment, or what the owner answers, opened; see `Party.answer`."""
        if isinstance(request, CommitRequest):
            return self.commit(request.run)
        if not isinstance(request, OpenRequest):
            return self._owner.answer(request)
        answer = self._owner.answer(request.request)
        return self._open(answer, request.run) if isinstance(answer, Points) else answer

    def close(self) -> None:
        """Let go of the owner's files."""
        self._owner.close()

    def commit(self, run: str) -> Commitment:
        """Return the root of the tree over the table, salted for this run. A pass over the data."""
        root, _ = openings(self._table, [], Salts(self._key(), run))
        digest = np.frombuffer(bytes.fromhex(root), np.uint8)
        return Commitment(len(self._table), self._table.schema.fingerprint, digest)

    def _open(self, points: Points, run: str) -> OpenedPoints:
        positions = self._table.positions_of(points.rows)
        _, opened = openings(self._table, positions.tolist(), Salts(self._key(), run))
        return OpenedPoints(
            points.rows,
            points.values,
            points.labels,
            points.carried,
            positions=positions,
            salts=_bytes([salt for salt, _ in opened], SIZE),
            paths=_bytes([path for _, path in opened], SIZE * DEPTH),
        )


def openings(
    table: Table | StreamTable, positions: list[int], salts: Salts
) -> tuple[str, list[tuple[bytes, bytes]]]:
    """Return the root, and salt and path of some of the rows. Another pass over the data."""
    forest = table.plant(Forest(positions), salts)
    root = root_of(salts.run, table.schema.fingerprint, forest.root(salts.filler))
    return root, [(salts.of(position, 1), forest.path(position)) for position in positions]


def open_rows(
    source: Source,
    rows: Sequence[int],
    *,
    name: str,
    run: str,
    key: bytes,
    schema: Schema,
    file_format: FileFormat | None = None,
) -> Commitments:
    """Return the openings of some rows, as their owner makes them for who spot-checks its data.

    Parameters
    ----------
    source
        The data that it committed to across silos: unchanged, in the same order.
    rows
        Row numbers in the source, from 0, at least one, such as `Summary.index` holds.
    name
        What the owner is called in the file.
    run
        `Commitments.run` of the run that it took part in.
    key, schema, file_format
        As in that run.

    Raises
    ------
    InvalidParameterError
        A row is not among those that the owner took part with, or `run` is no such name.
    InvalidDataError
        As `summarize`, of the data.

    See Also
    --------
    dpsumm.summary.verify_openings : Checks what this makes.

    Examples
    --------
    >>> import secrets, numpy as np
    >>> from dpsumm import Column, Schema
    >>> from dpsumm.summary import open_rows
    >>> data, key = np.random.default_rng(0).normal(0, 1, (100, 2)), secrets.token_bytes(32)
    >>> schema = Schema([Column("x0"), Column("x1")])
    >>> run = "0123456789abcdef" * 2  # as `Commitments.run` says
    >>> opened = open_rows(data, [3, 14], name="north", run=run, key=key, schema=schema)
    >>> len(opened.owners["north"][1])
    2
    """
    if not is_hex(run, RUN_DIGITS):
        raise InvalidParameterError(
            f"run must be the name that the run has in commitments, {RUN_DIGITS} hexadecimal digits"
        )
    (table,) = read_owners({name: source}, schema=schema, file_format=file_format)
    table = table.astype(PRECISION)
    # A number beyond 64 bits is no row's, and stays none.
    within = [min(max(row, -1), np.iinfo(np.int64).max) for row in rows]
    chosen = np.unique(np.array(within, np.int64))
    positions = table.positions_of(chosen)
    there = (positions >= 0) & (positions < len(table))
    found = table.rows_at(positions[there])
    if not len(chosen) or not there.all() or (found.rows != chosen).any():
        raise InvalidParameterError(
            f"rows must be rows that {name!r} took part with, from 0, at least one; one is not "
            f"among its {len(table)}"
        )
    root, opened = openings(table, positions.tolist(), Salts(key, run))
    made = tuple(
        Opening(position, row, salt, path)
        for position, row, (salt, path) in zip(
            positions.tolist(), bytes_of(found), opened, strict=True
        )
    )
    return Commitments(run, schema.fingerprint, {name: (root, made)})


def _bytes(rows: list[bytes], width: int) -> np.ndarray[tuple[int, int], np.dtype[np.uint8]]:
    return np.frombuffer(b"".join(rows), np.uint8).reshape(len(rows), width)


class OpeningCurator(Coordinator[Selection]):
    """A curator of any protocol who takes no point without its opening.

    Parameters
    ----------
    curator
        The protocol's.
    run
        What the run is called in commitments.
    commitments
        Of the owners that are asked, by name.
    """

    codec = CODEC
    stages = Curator.stages

    def __init__(self, curator: Curator, run: str, commitments: Mapping[str, Commitment]) -> None:
        self._curator, self._run, self._commitments = curator, run, commitments
        self.names = curator.names
        self._opened: dict[str, list[Opening]] = {}

    def send(self) -> dict[str, Request]:
        """Return the protocol's next requests, each asking for openings."""
        requests = self._curator.send()
        return {name: OpenRequest(self._run, request) for name, request in requests.items()}

    def receive(self, name: str, answer: Answer) -> None:
        """Take an answer whose points, if it has any, are rows of the table committed to.

        Raises
        ------
        ProtocolError
            As the protocol's curator, or an opening fails: none of the points is used.
        """
        if not isinstance(answer, Points):
            self._curator.receive(name, answer)
            return
        if not isinstance(answer, OpenedPoints):
            raise ProtocolError(f"answer of {name!r}: points without openings")
        opened = self._check(name, answer)
        self._curator.receive(name, answer.points)
        self._opened.setdefault(name, []).extend(opened)

    def drop(self, *names: str) -> None:
        """Leave owners out; see `Coordinator.drop`."""
        self._curator.drop(*names)

    def result(self) -> Selection:
        """Return the protocol's result."""
        return self._curator.result()

    @property
    def commitments(self) -> Commitments:
        """The owners' commitments, and the openings of all points that were taken."""
        owners = {
            name: (made.root, tuple(self._opened.get(name, ())))
            for name, made in self._commitments.items()
        }
        schema = next((made.schema for made in self._commitments.values()), "")
        return Commitments(self._run, schema, owners)

    def _check(self, name: str, answer: OpenedPoints) -> list[Opening]:
        setting, made = self._curator.setting, self._commitments[name]
        points, positions = answer.points, answer.positions
        try:
            points.check(len(setting.columns), len(points), setting.labelled, setting.schema)
            CODEC.encode(answer)
        except ProtocolError as error:
            raise ProtocolError(f"answer of {name!r}: {error}") from None
        if len(positions) and not (
            positions[0] >= 0 and positions[-1] < made.n_records and (np.diff(positions) > 0).all()
        ):
            raise ProtocolError(
                f"answer of {name!r}: openings must be of distinct rows among the "
                f"{made.n_records} that the owner has, ascending"
            )
        opened = [
            Opening(position, row, salt.tobytes(), path.tobytes())
            for position, row, salt, path in zip(
                positions.tolist(), bytes_of(points), answer.salts, answer.paths, strict=True
            )
        ]
        if any(one.root(self._run, made.schema) != made.root for one in opened):
            raise ProtocolError(
                f"answer of {name!r}: points are not rows of the table that it committed to "
                "before the release"
            )
        return opened

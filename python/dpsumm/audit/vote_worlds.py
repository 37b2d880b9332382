"""Witnesses of a whole vote, by the change of one party and the model learnt afterwards.

The noise has the same coins in both worlds, so whatever differs comes from the parties.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dpsumm.audit.settings import DELTA, EPSILON, Unbooked
from dpsumm.audit.votes import PARTIES, POINTS, row
from dpsumm.audit.witness import Search
from dpsumm.data.schema import Schema
from dpsumm.data.table import Table
from dpsumm.ensemble.curator import VoteCurator
from dpsumm.ensemble.inputs import Given, Space, read_parties
from dpsumm.ensemble.messages import NoisyVotes, Votes
from dpsumm.ensemble.model import Model
from dpsumm.ensemble.party import Voter
from dpsumm.ensemble.protocols import Voting
from dpsumm.ensemble.rows import Ballot
from dpsumm.ensemble.students import Spectral
from dpsumm.ensemble.terms import Terms
from dpsumm.ensemble.vote import Asked, run_vote
from dpsumm.errors import ProtocolError
from dpsumm.exchange.messages import Answer
from dpsumm.privacy.events import Unit
from dpsumm.privacy.ledger import Ledger

Records = Mapping[str, tuple[NDArray[np.float64], NDArray[np.int64]]]
# The party that changes, and one that comes when the noisy votes are out.
_CHANGED, _LATE = "p0", f"p{PARTIES - 1}"


def read(parties: Records, public_points: NDArray[np.float64]) -> Given:
    """Return the parties as `dpsumm.learn` reads them."""
    return read_parties(parties, public_points)


@dataclass(frozen=True)
class OneParty(Search):
    """Noisy votes from records on, with one party's records replaced: its rows alone may move.

    Attributes
    ----------
    read, curator
        The real ones, or a broken twin.
    """

    read: Callable[[Records, NDArray[np.float64]], Given] = read
    curator: type[VoteCurator] = VoteCurator

    claim: ClassVar[str] = "one party's row of votes on each point"

    def find(self, rng: np.random.Generator, trials: int) -> str | None:
        """Return how far a row of counts moved in one of `trials` pairs of worlds, if too far."""
        for trial in range(trials):
            public_points = rng.normal(size=(POINTS, 2))
            first = {f"p{i}": _records(rng) for i in range(PARTIES)}
            given = (first, {**first, _CHANGED: _records(rng, far=5.0)})
            counts, limits = zip(
                *(self._released(one, public_points, trial) for one in given), strict=True
            )
            moved = float(((counts[1] - counts[0]) ** 2).sum(1).max())
            if moved > limits[0]:
                return f"a row of counts moved by {moved**0.5:g}, not at most {limits[0] ** 0.5:g}"
        return None

    def _released(
        self, parties: Records, public_points: NDArray[np.float64], seed: int
    ) -> tuple[NDArray[np.int64], int]:
        """Return what the consumer ends up with, and the square of what a row may move."""
        given = self.read(parties, public_points)
        terms = Terms.of(given.points, range(2), PARTIES)
        curator = self.curator(
            given.points,
            terms,
            given.names,
            unit=Unit.WHOLE_OWNER,
            epsilon=EPSILON,
            delta=DELTA,
            ledger=Unbooked("audit"),
            seed=seed,
        )
        for name, task in curator.send().items():
            if name == _LATE:
                curator.drop(name)
                continue
            _offer(curator, name, Voter([_nearest(given.tables[name])]).answer(task))
        seen = curator.result().counts
        copied = np.hstack([seen <= 0, seen > 0]).astype(np.uint16)
        _offer(curator, _LATE, Votes("audit", terms.digest, copied))
        return curator.result().counts, terms.unit_squared


def _records(
    rng: np.random.Generator, far: float = 1.0
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    return rng.normal(0, far, (4, 2)), np.array([0, 1, 0, 1])


def _nearest(table: Table) -> Ballot:
    """Return how a party votes by its nearest record: its own points, as they were read."""
    assert table.labels is not None
    points, labels = table.scaled, table.labels.astype(np.int64)

    def ballot(asked: NDArray[np.float64], terms: Terms) -> NDArray[np.int64]:
        away = ((asked[:, None] - points[None]) ** 2).sum(2)
        votes: NDArray[np.int64] = np.eye(2, dtype=np.int64)[labels[away.argmin(1)]]
        return votes

    return ballot


def _offer(curator: VoteCurator, name: str, votes: Answer) -> None:
    """Give votes to the curator, who may have closed."""
    with suppress(ProtocolError):
        curator.receive(name, votes)


@dataclass(frozen=True)
class AfterRelease(Search):
    """All that the consumer gets, when other votes happen to give the same noisy ones.

    Attributes
    ----------
    vote
        From what was asked to the model: the real one, or a broken twin.
    """

    vote: Callable[..., Model] = run_vote

    claim: ClassVar[str] = "what follows from the noisy votes"

    def find(self, rng: np.random.Generator, trials: int) -> str | None:
        """Return what differed in one of `trials` pairs of worlds, or None."""
        for _ in range(trials):
            points = rng.normal(size=(POINTS, 2))
            counts = rng.integers(-90, 90, (POINTS, 1))
            first, second = (self._got(rng, points, counts) for _ in range(2))
            for got, other in zip_longest(first, second):
                if got != other:
                    return f"{got!r} or {other!r}"
        return None

    def _got(
        self, rng: np.random.Generator, points: NDArray[np.float64], counts: NDArray[np.int64]
    ) -> list[str]:
        """Return what comes of a vote whose noise makes just these counts, as texts."""
        asked = Asked.of(
            range(2),
            epsilon=EPSILON,
            delta=DELTA,
            protocol=Voting(student=Spectral(("linear",))),
            run="audit",
            allow_weak_privacy=True,
        )
        stays_away, leaning = rng.random(2)

        def exchange(curator: VoteCurator, book: Ledger) -> NoisyVotes:
            for name in curator.send():
                if rng.random() < stays_away:
                    curator.drop(name)
                else:
                    votes = row(2, 0)
                    places = (rng.random(POINTS) < leaning).astype(int)
                    votes[:] = np.eye(2, dtype=votes.dtype)[places]
                    curator.receive(name, Votes(book.run, curator.terms.digest, votes))
            return replace(curator.result(), counts=counts)

        space = Space(Schema.numbers(["x0", "x1"]), None)
        terms = Terms.of(points, range(2), PARTIES)
        names = [f"p{i}" for i in range(PARTIES)]
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            model = self.vote(asked, terms, space, points, names, exchange)
        return [
            model.student,
            *(f"{one.name}: {one.sure}" for one in model.candidates),
            *map(str, model.places),
            *model.foreseen,
            *model.notes,
            *(str(one.message) for one in told),
            *model.privacy.statements(),
        ]

"""BROKEN ON PURPOSE: curators and parties of a vote with one mistake each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsumm.audit.settings import Unbooked
from dpsumm.audit.vote_worlds import Records, read
from dpsumm.data.short import schema_of
from dpsumm.ensemble.curator import VoteCurator
from dpsumm.ensemble.inputs import Given, read_parties
from dpsumm.ensemble.messages import NoisyVotes, VoteTask
from dpsumm.ensemble.model import Model
from dpsumm.ensemble.once import Once
from dpsumm.ensemble.vote import run_vote
from dpsumm.exchange.messages import Answer, Request
from dpsumm.privacy.ledger import Ledger
from dpsumm.summary.kernel import RBF
from dpsumm.summary.protocols import Uniform
from dpsumm.summary.summarize import summarize


class _Counting(VoteCurator):
    came = 0

    def receive(self, name: str, answer: Answer) -> None:
        """Count the parties that come."""
        super().receive(name, answer)
        self.came += 1


class AsksAgain(_Counting):
    """BROKEN: asks everybody once more when few have voted."""

    asked = False

    def send(self) -> Mapping[str, Request]:
        """Return the task again, if fewer than half have come."""
        first = super().send()
        if first or self.asked or self.came * 2 >= self.terms.n_parties:
            return first
        self.asked, self._waiting = True, set(self.names)
        return dict.fromkeys(self.names, self._task())


class TellsTurnout(_Counting):
    """BROKEN: thanks every party with a message that says how many have voted."""

    told = False

    def send(self) -> Mapping[str, Request]:
        """Return the task, and afterwards one with the turnout in its name."""
        first = super().send()
        if first or self.told:
            return first
        self.told, self._waiting = True, set(self.names)
        task = self._task()
        assert isinstance(task, VoteTask)
        self._run = f"{self._run}, thanks to {self.came}"
        return dict.fromkeys(self.names, replace(task, run=self._run))


class ClosesEarly(VoteCurator):
    """BROKEN: closes as soon as a class has enough votes on some point."""

    def receive(self, name: str, answer: Answer) -> None:
        """Take no more votes once a majority of the registered parties agrees."""
        super().receive(name, answer)
        if (2 * abs(self._counts) > self.terms.n_parties).any():
            self.drop(*self.names)


class TakesLateVotes(VoteCurator):
    """BROKEN: adds votes that come when the noisy ones are out, and releases under one charge."""

    def receive(self, name: str, answer: Answer) -> None:
        """Open a closed vote for every party."""
        if not self._waiting:
            self._waiting, self._ledger = {name}, Unbooked(self._run)
        super().receive(name, answer)


def pooled_scaling(parties: Records, public_points: NDArray[np.float64]) -> Given:
    """BROKEN: scales every party's records by the bounds of all of them together."""
    pool = np.concatenate([points for points, _ in parties.values()])
    bounds = {f"x{i}": (column.min(), column.max()) for i, column in enumerate(pool.T)}
    return read_parties(parties, public_points, schema=schema_of(bounds))


def summary_as_points(parties: Records, public_points: NDArray[np.float64]) -> Given:
    """BROKEN: has parties vote on a summary of their own records."""
    owners = {name: points for name, (points, _) in parties.items()}
    made = summarize(
        owners, public_points, size=len(public_points), protocol=Uniform(), kernel=RBF(0.5), seed=0
    )
    return read(parties, np.asarray(made.points, dtype=np.float64))


def tells_agreement(*given: Any) -> Model:
    """BROKEN: warns of parties that do not agree, or do not come."""
    model, counts = _with_counts(*given)
    told = f"{abs(counts).mean() / model.votes.terms.n_parties:.0%} of the parties agree"
    return replace(model, foreseen=(*model.foreseen, told))


def chooses_without_noise(*given: Any) -> Model:
    """BROKEN: computes Stein's estimates from the votes without their noise."""
    model, counts = _with_counts(*given)
    exact = replace(model.votes, counts=counts, noise_std=1e-9)
    asked, points = given[0], given[3]
    found = tuple(asked.students[0].candidates(points, exact))
    return replace(model, student=max(found, key=lambda one: one.sure).name, candidates=found)


def _with_counts(*given: Any) -> tuple[Model, NDArray[np.int64]]:
    """Return the honest model, and what the curator alone may know."""
    asked, terms, space, points, names, exchange = given
    curators: list[VoteCurator] = []

    def keeping(curator: VoteCurator, book: Ledger) -> NoisyVotes:
        curators.append(curator)
        votes: NoisyVotes = exchange(curator, book)
        return votes

    model = run_vote(asked, terms, space, points, names, keeping)
    return model, curators[0]._counts


class Forgets(Once):
    """BROKEN: a node that remembers in its process, as all did, and is made anew."""

    def answer(self, request: Request) -> Answer:
        """Vote, and write nothing down."""
        return self._party.answer(request)

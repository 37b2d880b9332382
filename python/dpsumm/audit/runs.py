"""Scores of whole runs by the messages that one owner sees."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from dpsumm.audit.samples import Scores
from dpsumm.audit.settings import DELTA, EPSILON, Unbooked, setting
from dpsumm.data.inputs import read_inputs
from dpsumm.papers.auction.auction import Auction
from dpsumm.papers.auction.curator import AuctionCurator
from dpsumm.papers.auction.plan import Plan
from dpsumm.papers.auction.requests import Profile, Requests
from dpsumm.privacy.accounting import compose
from dpsumm.privacy.events import Protected
from dpsumm.privacy.ledger import Ledger
from dpsumm.summary.mechanisms import Exact, Gaussian
from dpsumm.summary.protocols.curator import Curator, Setting, frequency_seed
from dpsumm.summary.protocols.features import random_features
from dpsumm.summary.protocols.messages import BidRequest, FeatureMap, OfferRequest, SendRequest
from dpsumm.summary.protocols.offers import Offers
from dpsumm.summary.protocols.owner import Owner
from dpsumm.summary.release import LEVELS, TARGET, Mechanism

# A name gives the frequencies, so that the worst case can be built for them.
_RUN = "audit"


@cache
def half_period() -> float:
    """Return the distance that turns the features of an audited run round. They are public."""
    seed = frequency_seed(setting(np.zeros((2, 1)), {"a": 1}, 1, Unbooked(_RUN)))
    features = random_features(FeatureMap(gamma=0.5, n_columns=1, n_features=2, seed=seed))
    return math.pi / float(features.omega[0, 0])


@dataclass(frozen=True)
class OffersRun:
    """Offers at (EPSILON, DELTA) for the target: all that an owner receives."""

    release: Mechanism = field(default_factory=lambda: Gaussian().calibrated(EPSILON, DELTA))

    def scores(self, world: int, trials: int) -> Scores:
        """Return the sum of all releases received, which differ in the first coordinate."""
        protocol = Offers(n_features=2, release=self.release)
        turn = half_period()
        scores = np.empty(trials)
        for i in range(trials):
            target = np.array([[turn * world], [turn / 2], [turn / 2]])
            about = setting(target, {"a": 4, "b": 4}, 2, Unbooked(_RUN))
            scores[i] = sum(_first_coordinates(protocol.curator(about)))
        return scores

    def claimed(self, delta: float) -> float:
        """Return epsilon of the one release that is charged."""
        return compose(self.release.cost(TARGET), delta)


def _first_coordinates(curator: Curator) -> list[float]:
    """Return what one owner is sent, as far as it tells the worlds apart, until silence."""
    seen = []
    while sent := curator.send():
        request = sent["a"]
        assert isinstance(request, OfferRequest)
        seen.append(float(request.target.steps[0]))
    return seen


@dataclass(frozen=True)
class AuctionRun:
    """One owner's messages of the Auction with private requests, up to the first summary release.

    World 1 lacks the record that wins the first round in world 0. So the rank of the observer's bid
    moves by one, where the request rule tells most, and another owner's record is picked, whose
    features are the opposite: the most that one added or removed record can do. It moves sums by
    half of what a replaced one may, so half the noise of the releases has the same claim for it.
    (No run that noise lets happen often comes near what a replaced one may do.) The target is
    exact: only what is said about owners is audited.

    Attributes
    ----------
    broken
        Makes a broken twin's plan from the honest one. The twin is charged as the honest one.
    """

    broken: Callable[[Plan], Plan] | None = None
    n_owners: int = 5
    epsilon: float = 6.0

    def _plan(self) -> Plan:
        """Return the honest plan."""
        auction = Auction(
            requests=Requests.PRIVATE,
            batch=1,
            epsilon_owners=self.epsilon,
            request_share=0.2,
            target_release=Exact(),
            n_features=2,
        )
        plan = auction._plan(self._setting(Unbooked(_RUN), 0))
        assert plan.profile.probability.min() < 1
        return plan

    def _setting(self, book: Ledger, world: int) -> Setting:
        turn = half_period()
        sizes = {f"o{i}": 3 for i in range(self.n_owners)}
        sizes["o1"] -= world
        # All scores go by the second feature; the first is what the two picks differ in.
        target = np.full((2, 1), turn / 2)
        return setting(target, sizes, 2, book)

    def _owners(self, plan: Plan, world: int) -> dict[str, NDArray[np.float64]]:
        """Return the owners' points, in half periods: 1/2 is the best place and 3/2 the worst."""
        # The owner with the record; the one with its opposite; others in front of the observer.
        front = steepest(plan.profile) - 1
        behind = self.n_owners - 3 - front
        best = [1.3, _WINNER, _SECOND, *np.linspace(1.05, 1.2, front), *np.full(behind, 1.4)]
        turn = half_period()
        owners = {f"o{i}": turn * np.array([[p], [1.45], [1.48]]) for i, p in enumerate(best)}
        return {**owners, "o1": owners["o1"][world:]}

    def scores(self, world: int, trials: int) -> Scores:
        """Return the log-likelihood ratio of the observer's first bit and the first release."""
        plan = self._plan()
        used = _half_noise(plan if self.broken is None else self.broken(plan))
        tables, _ = read_inputs(self._owners(plan, world), np.zeros((2, 1)))
        scores = np.empty(trials)
        for i in range(trials):
            curator = AuctionCurator(used, self._setting(Unbooked(_RUN), world))
            roles = {table.name: Owner(table) for table in tables}
            scores[i] = self._run(curator, roles, plan)
        return scores

    def _run(self, curator: AuctionCurator, roles: dict[str, Owner], honest: Plan) -> float:
        rank, score = steepest(honest.profile), 0.0
        while True:
            requests = curator.send()
            mine = requests["o0"]
            if isinstance(mine, SendRequest):
                chances = curator._plan.profile.probability
                score += _bit(mine.wanted[0], chances[rank + 1], chances[rank])
            elif isinstance(mine, BidRequest) and curator._picks:
                return score + _release(mine.summary, honest.summary)
            for name, request in requests.items():
                curator.receive(name, roles[name].answer(request))

    def claimed(self, delta: float) -> float:
        """Return epsilon of all charges of one run for the owners' records."""
        plan = self._plan()
        tables, _ = read_inputs(self._owners(plan, 0), np.zeros((2, 1)))
        with Ledger(run=_RUN, delta=DELTA) as book:
            curator = AuctionCurator(plan, self._setting(book, 0))
            self._run(curator, {table.name: Owner(table) for table in tables}, plan)
            spent = [(c.event, c.count) for c in book.charges() if c.protected is Protected.OWNERS]
        return compose(spent, delta)


# Places of the record that world 1 lacks, and of the one picked then: opposite, and nearly a tie.
_WINNER, _SECOND = 0.002, 0.999


def steepest(profile: Profile) -> int:
    """Return the number of owners in front of a bid at which its bit tells most."""
    # There is one rank more than owners.
    return int(np.argmax(-np.diff(profile.probability[:-1])))


def _multiplier(mechanism: Mechanism) -> float:
    assert isinstance(mechanism, Gaussian)
    assert mechanism.noise_multiplier is not None
    return mechanism.noise_multiplier


def _half_noise(plan: Plan) -> Plan:
    assert isinstance(plan.summary, Gaussian)
    multiplier = _multiplier(plan.summary) / 2
    return replace(plan, summary=replace(plan.summary, noise_multiplier=multiplier))


def _release(summary: NDArray[np.int64], mechanism: Mechanism) -> float:
    """Return the log-likelihood ratio of the release over one point, world 1 over world 0."""
    # One added or removed record moves two vectors.
    noise_std = _multiplier(mechanism) * 2 * LEVELS
    angles = math.pi * np.array([_WINNER, _SECOND])
    picks = LEVELS * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    gap = picks[1] - picks[0]
    return float((summary - picks.mean(axis=0)) @ gap) / noise_std**2


def _bit(asked: bool, first: float, second: float) -> float:
    """Return the log-likelihood ratio of a bit, world 1 over world 0."""
    p, q = (second, first) if asked else (1 - second, 1 - first)
    return math.log(max(p, 1e-12) / max(q, 1e-12))

"""Scores of whole runs as one owner sees them: every message of it, nothing else."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dpsumm.audit.samples import DELTA, Scores
from dpsumm.data.inputs import read_inputs
from dpsumm.privacy.accounting import compose
from dpsumm.privacy.events import Protected
from dpsumm.privacy.ledger import Ledger
from dpsumm.summary.kernel import RBF
from dpsumm.summary.protocols.auction.auction import Auction
from dpsumm.summary.protocols.auction.curator import AuctionCurator, Plan
from dpsumm.summary.protocols.auction.requests import Requests
from dpsumm.summary.protocols.curator import Curator, Setting, frequency_seed
from dpsumm.summary.protocols.features import features_of
from dpsumm.summary.protocols.messages import BidRequest, FeatureMap, OfferRequest, SendRequest
from dpsumm.summary.protocols.offers import Offers
from dpsumm.summary.protocols.owner import Owner
from dpsumm.summary.release import LEVELS, SUMMARY, TARGET, Exact, Gaussian, Mechanism

# A name gives the frequencies, so that the worst case can be built for them.
_RUN = "audit"


def _setting(
    target: NDArray[np.float64], sizes: dict[str, int], size: int, book: Ledger
) -> Setting:
    return Setting(
        target=target,
        columns=("x",),
        schema=None,
        n_records=sizes,
        size=size,
        epsilon=1.0,
        delta=DELTA,
        kernel=RBF(0.5),
        labelled=False,
        ledger=book,
    )


def half_period() -> float:
    """Return the distance that turns the features of an audited run round; they are public."""
    with Ledger(run=_RUN, delta=DELTA) as book:
        seed = frequency_seed(_setting(np.zeros((2, 1)), {"a": 1}, 1, book))
    features = features_of(FeatureMap(gamma=0.5, n_columns=1, n_features=2, seed=seed))
    return math.pi / float(features.omega[0, 0])


@dataclass(frozen=True)
class OffersRun:
    """Offers at (1, DELTA) for the target: all that an owner receives.

    Attributes
    ----------
    curator
        Makes the curator; a broken twin's goes here.
    release
        Mechanism of the release.
    """

    curator: Callable[[Offers, Setting], Curator] = Offers.curator
    release: Mechanism = field(default_factory=lambda: Gaussian().calibrated(1.0, DELTA))

    def scores(self, world: int, trials: int) -> Scores:
        """Return the sum of all releases received: they differ in the first coordinate."""
        protocol = Offers(n_features=2, release=self.release)
        turn = half_period()
        scores = np.empty(trials)
        for i in range(trials):
            with Ledger(run=_RUN, delta=DELTA) as book:
                target = np.array([[turn * world], [turn / 2], [turn / 2]])
                curator = self.curator(protocol, _setting(target, {"a": 4, "b": 4}, 2, book))
                scores[i] = sum(_first_coordinates(curator))
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
    """Two rounds of the Auction with private requests: what the first owner receives.

    In world 0 another owner holds the point that wins the first round; in world 1 that record is
    the worst of all. So the rank of the observer's bid moves, where the request rule is steepest,
    and the first pick is another. The target is exact: only what is said about owners is audited.
    """

    n_owners: int = 14
    epsilon: float = 4.0

    def _plan(self) -> Plan:
        auction = Auction(
            requests=Requests.PRIVATE,
            batch=1,
            epsilon_owners=self.epsilon,
            target_release=Exact(),
            n_features=2,
        )
        with Ledger(run=_RUN, delta=DELTA) as book:
            plan = auction._plan(self._setting(book))
        assert plan.profile.probability.min() < 1
        return plan

    def _owners(self, plan: Plan, world: int) -> dict[str, NDArray[np.float64]]:
        """Return the owners' points, in half periods: 0 is the best place and 1 the worst."""
        front = _steepest(plan)
        behind = self.n_owners - 2 - front
        best = [0.3, float(world), *np.linspace(0.2, 0.25, front), *np.full(behind, 0.6)]
        turn = half_period()
        return {f"o{i}": turn * np.array([[place], [0.9], [0.95]]) for i, place in enumerate(best)}

    def _setting(self, book: Ledger) -> Setting:
        sizes = {f"o{i}": 3 for i in range(self.n_owners)}
        return _setting(np.zeros((2, 1)), sizes, 2, book)

    def scores(self, world: int, trials: int) -> Scores:
        """Return the log-likelihood ratio of first bit and release; the second bit tells little."""
        plan = self._plan()
        tables, _ = read_inputs(self._owners(plan, world), np.zeros((2, 1)))
        scores = np.empty(trials)
        for i in range(trials):
            with Ledger(run=_RUN, delta=DELTA) as book:
                curator = AuctionCurator(plan, self._setting(book))
                scores[i] = self._run(curator, {table.name: Owner(table) for table in tables})
        return scores

    def _run(self, curator: AuctionCurator, roles: dict[str, Owner]) -> float:
        score = 0.0
        while requests := curator.send():
            mine = requests["o0"]
            if isinstance(mine, SendRequest) and not curator._picks:
                rank = _steepest(curator._plan)
                chances = curator._plan.profile.probability
                score += _bit(mine.wanted[0], chances[rank + 1], chances[rank])
            elif isinstance(mine, BidRequest) and curator._picks:
                score += _release(mine.summary, curator._plan.summary)
            for name, request in requests.items():
                curator.receive(name, roles[name].answer(request))
        return score

    def claimed(self, delta: float) -> float:
        """Return epsilon of all charges of one run for the owners' records."""
        plan = self._plan()
        tables, _ = read_inputs(self._owners(plan, 0), np.zeros((2, 1)))
        with Ledger(run=_RUN, delta=DELTA) as book:
            curator = AuctionCurator(plan, self._setting(book))
            self._run(curator, {table.name: Owner(table) for table in tables})
            spent = [(c.event, c.count) for c in book.charges() if c.protected is Protected.OWNERS]
        return compose(spent, delta)


def _steepest(plan: Plan) -> int:
    """Return the number of owners in front of the observer at which its bit tells most."""
    return int(np.argmax(-np.diff(plan.profile.probability)))


def _release(summary: NDArray[np.int64], mechanism: Mechanism) -> float:
    """Return the log-likelihood ratio of the release over one point, world 1 over world 0."""
    assert isinstance(mechanism, Gaussian)
    assert mechanism.noise_multiplier is not None
    noise_std = mechanism.noise_multiplier * SUMMARY.vectors * LEVELS
    # The first pick: at 0 in world 0, at a fifth of half a period in world 1.
    picks = LEVELS * np.array([[1, 0], [math.cos(math.pi / 5), math.sin(math.pi / 5)]])
    gap = picks[1] - picks[0]
    return float((summary - picks.mean(axis=0)) @ gap) / noise_std**2


def _bit(asked: bool, first: float, second: float) -> float:
    """Return the log-likelihood ratio of a bit, world 1 over world 0."""
    p, q = (second, first) if asked else (1 - second, 1 - first)
    return math.log(max(p, 1e-12) / max(q, 1e-12))

"""Scores of single mechanisms on worst cases of neighbouring data, through the package's own code.

Every function returns the scores of `trials` fresh outputs in one of two worlds (0 or 1). Data are
made up: two features, one frequency, and a record that moves by half a period, which turns its
features round: antipodal, the worst case.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpsumm import kernels
from dpsumm.audit.settings import DELTA, EPSILON, setting
from dpsumm.papers import Mwem
from dpsumm.papers.auction.auction import Auction
from dpsumm.papers.auction.curator import AuctionCurator
from dpsumm.papers.auction.requests import Requests, gaussian_threshold
from dpsumm.privacy.accounting import compose
from dpsumm.privacy.events import Event
from dpsumm.privacy.ledger import Ledger
from dpsumm.summary.kernel import RBF
from dpsumm.summary.mechanisms import Gaussian
from dpsumm.summary.release import SUMMARY, TARGET, Draw, Mechanism, Sensitivity

Scores = NDArray[np.float64]


def antipodal(n_changed: int, world: int) -> NDArray[np.float64]:
    """Return points of one column: `n_changed` turned round in world 1, far off, and two others."""
    changed = np.full((n_changed, 1), 21 * math.pi * world)
    return np.concatenate([changed, np.full((2, 1), math.pi / 2)])


def one_frequency() -> kernels.RandomFeatures:
    """Return the map x -> (cos x, sin x)."""
    return kernels.RandomFeatures.from_parts("paired", np.ones((1, 1)), np.empty(0))


@dataclass(frozen=True)
class Released:
    """A release by a mechanism.

    Attributes
    ----------
    mechanism
        Calibrated.
    sensitivity
        Its charge.
    n_changed
        Points that differ between the worlds.
    """

    mechanism: Mechanism
    sensitivity: Sensitivity
    n_changed: int = 1

    def scores(self, world: int, trials: int) -> Scores:
        """Return the first coordinate of each release: the likelihood ratio is monotone in it."""
        points = antipodal(self.n_changed, world)
        given = Draw(one_frequency(), points, self.sensitivity, len(points))
        scores = np.empty(trials)
        for i in range(trials):
            made = self.mechanism.draw(given)
            # MWEM: its state adds up all measurements of a coordinate.
            scores[i] = made.steps[0] if made.state is None else made.state[0]
        return scores

    def claimed(self, delta: float) -> float:
        """Return epsilon as the ledger would report it for one release."""
        return compose(self.mechanism.cost(self.sensitivity), delta)


def target_release() -> Released:
    """Return the target's Gaussian release at (EPSILON, DELTA)."""
    return Released(Gaussian().calibrated(EPSILON, DELTA), TARGET)


def summary_release() -> Released:
    """Return a summary's release at (EPSILON, DELTA), two points replaced: Lemma 1's worst."""
    return Released(Gaussian().calibrated(EPSILON, DELTA), SUMMARY, n_changed=2)


def mwem_release() -> Released:
    """Return one iteration of MWEM, most of its budget on the measurement."""
    return Released(Mwem(1, 0.02, 0.5), TARGET)


@dataclass(frozen=True)
class RequestBits:
    """The request bits of a whole run of `rounds`, at the rank where they tell most.

    Attributes
    ----------
    noise_factor
        Noise used over noise charged; 1 is right.
    """

    rounds: int = 30
    n_owners: int = 400
    epsilon: float = 2.0
    noise_factor: float = 1.0

    def _curator(self, book: Ledger) -> AuctionCurator:
        records = {str(i): 1 for i in range(self.n_owners)}
        about = setting(np.zeros((2, 1)), records, self.rounds, book, kernel=RBF(1.0))
        auction = Auction(
            requests=Requests.PRIVATE, batch=1, epsilon_owners=self.epsilon, n_features=2
        )
        curator = auction.curator(about)
        assert isinstance(curator, AuctionCurator)
        return curator

    def scores(self, world: int, trials: int) -> Scores:
        """Return how many of the run's requests came."""
        with Ledger(delta=DELTA) as book:
            curator = self._curator(book)
            chances = self._chances(curator)
            steepest = int(np.argmax(-np.diff(chances)))
            asked = curator._toss(np.full((trials, self.rounds), chances[steepest + world]))
        return np.asarray(asked.sum(axis=1), dtype=np.float64)

    def _chances(self, curator: AuctionCurator) -> NDArray[np.float64]:
        if self.noise_factor == 1:
            return curator._plan.profile.probability
        noise_std = math.sqrt(self.rounds) * self._gaussian(curator) * self.noise_factor
        missed = 0.09 * DELTA / self.rounds
        return gaussian_threshold(noise_std, missed, self.n_owners + 1).probability

    @staticmethod
    def _gaussian(curator: AuctionCurator) -> float:
        events = [charge.event for charge in curator._plan.request_charges]
        return next(float(e.noise_multiplier) for e in events if hasattr(e, "noise_multiplier"))

    def claimed(self, delta: float) -> float:
        """Return epsilon of the run's request charges."""
        with Ledger(delta=DELTA) as book:
            charges = self._curator(book)._plan.request_charges
        events: list[tuple[Event, int]] = [(c.event, c.count) for c in charges]
        return compose(events, delta)

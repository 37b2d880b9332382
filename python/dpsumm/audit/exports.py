"""Audit of models that protect the consumer's points: the noisy sums that all else follows from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpsumm.audit.samples import Scores
from dpsumm.audit.settings import DELTA, EPSILON
from dpsumm.ensemble.export import GRID, noisy_sums, queries_of
from dpsumm.ensemble.messages import NoisyVotes
from dpsumm.ensemble.students.bases import inside
from dpsumm.ensemble.terms import Terms
from dpsumm.privacy.accounting import compose
from dpsumm.privacy.events import Protected
from dpsumm.privacy.release import PaidNoise, Sums

_POINTS = 20
# Two points at a right angle, and how many say there what they say: as loud as can be.
_PLACES, _LOUD = np.array([[1.0, 0.0], [0.0, 1.0]]), 10**9


@dataclass(frozen=True)
class ExportRun:
    """The sums of points and counts when one of the points is replaced."""

    def scores(self, world: int, trials: int) -> Scores:
        """Return the logarithm of the likelihood ratio, but for a constant."""
        points, counts = np.zeros((_POINTS, 2)), np.zeros((_POINTS, 1), dtype=np.int64)
        points[0], counts[0] = _PLACES[world], (_LOUD, -_LOUD)[world]
        terms = Terms(("no", "yes"), _POINTS, 10, 1, 1, "0" * 64)
        votes = NoisyVotes("audit", terms, "one whole owner", 1.0, 100.0, counts)
        queries, direction, made = queries_of(EPSILON, DELTA), _apart(), []
        for _ in range(trials):
            sums = noisy_sums(points, votes, 1.0, PaidNoise(queries)) / GRID**2
            made.append(float(sums @ direction))
        return np.array(made)

    def claimed(self, delta: float) -> float:
        """Return epsilon as the ledger would report it."""
        (charge,) = Sums(queries_of(EPSILON, DELTA), Protected.TARGET, "audit").charges
        return compose([(charge.event, charge.count)], delta)


def _apart() -> NDArray[np.float64]:
    """Return what the worlds differ by, each number in units of its noise's variance."""
    x = inside(_PLACES, 1.0)
    products = np.outer(x[1], x[1]) - np.outer(x[0], x[0])
    return np.concatenate([-(x[1] + x[0]) / 4.0, products[np.triu_indices(x.shape[1])] / 2])

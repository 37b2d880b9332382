"""Releases of landmark features, on the records that differ most: opposite corners."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dpsumm import kernels
from dpsumm.audit.samples import Scores
from dpsumm.audit.settings import DELTA, EPSILON
from dpsumm.privacy.accounting import compose
from dpsumm.summary.mechanisms import Gaussian
from dpsumm.summary.release import LEVELS, TARGET, Draw

# Seven intervals and a category of two cells. Opposite corners of one of them have four fifths of
# the kernel left, those of the region an eighth.
REGION = (*((1, 1.0),) * 7, (2, 2**-0.5))
GAMMA = 0.25
CORNERS = np.array([[0] * 7 + [2**-0.5, 0], [1] * 7 + [0, 2**-0.5]])


def public_landmarks() -> NDArray[np.float64]:
    """Return landmarks, the corners among them: records there differ by as much as is claimed."""
    draws = np.random.default_rng(1).random((20, 9))
    draws[:, 7:] = 2**-0.5 * np.eye(2)[np.arange(20) % 2]
    return np.concatenate([*[CORNERS] * 4, draws])


@dataclass(frozen=True)
class LandmarkRelease:
    """The target's release under a public map, as an owner receives it."""

    mechanism: Gaussian = field(default_factory=lambda: Gaussian().calibrated(EPSILON, DELTA))

    def scores(self, world: int, trials: int) -> Scores:
        """Return each release along what the record moves, in which the likelihood ratio grows."""
        features = kernels.LandmarkFeatures(public_landmarks(), gamma=GAMMA, region=REGION)
        sums = [features.sum_on_grid(x, LEVELS) for x in TARGETS]
        moved = (sums[1] - sums[0]).astype(np.float64)
        given = Draw(features, TARGETS[world], TARGET, len(TARGETS[world]))
        return np.array([self.mechanism.draw(given).steps @ moved for _ in range(trials)])

    def claimed(self, delta: float) -> float:
        """Return epsilon as the ledger would report it for one release."""
        return compose(self.mechanism.cost(TARGET), delta)


# Two targets: the first record is in one corner, or in the opposite one.
TARGETS = tuple(np.concatenate([CORNERS[i : i + 1], CORNERS]) for i in (0, 1))

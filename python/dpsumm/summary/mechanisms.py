"""Mechanisms that release a mean embedding: Gaussian noise, and none at all."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from dpsumm.basics.checks import is_number
from dpsumm.errors import InvalidParameterError
from dpsumm.kernels.landmarks import Features
from dpsumm.privacy import accounting, events
from dpsumm.privacy.events import Event
from dpsumm.privacy.release import PaidNoise, Query
from dpsumm.summary.release import LEVELS, Draw, Mechanism, Release, Sensitivity

# Probability at the most that a release is taken for that of other points.
WRONG = 1e-9


@dataclass(frozen=True)
class Gaussian(Mechanism):
    """The target's mean embedding, an average of features of its records, with Gaussian noise.

    Parameters
    ----------
    noise_multiplier
        Standard deviation / L2 sensitivity; None: from the run's budget.

    Privacy
    -------
    Claim: the Gaussian mechanism's guarantee at `noise_multiplier` (Balle & Wang 2018) for one unit
    of the data, size public. Argument: each record is an integer vector whose norm is clamped to
    ``LEVELS`` (times sqrt 2 for phase features), so v vectors move the sum by at most v times that
    in L2. Two landmark features differ by less (``docs/privacy/target-release.md``). The noise is a
    normal rounded to integers, and rounding after an integer sum is post-processing. Numerics:
    clamp, sum and noise are exact, and nothing rests on the accuracy of a cosine. Tested by:
    tests/summary/test_target_release.py, tests/summary/test_offers_landmarks.py.

    See Also
    --------
    dpsumm.papers.Mwem : The paper's release.
    dpsumm.Offers : Takes it as `release`.
    dpsumm.privacy.Gaussian : Its cost, as an event.

    Examples
    --------
    >>> import dpsumm
    >>> dpsumm.Offers(release=dpsumm.summary.Gaussian(noise_multiplier=8.0)).release
    Gaussian(noise_multiplier=8.0)
    """

    noise_multiplier: float | None = None

    takes_landmarks = True

    def __post_init__(self) -> None:
        value = self.noise_multiplier
        if value is not None and not (is_number(value) and 1e-4 <= value <= 1e5):
            raise InvalidParameterError(
                f"noise_multiplier must be a number between 1e-4 and 1e5, got {value!r}"
            )

    def calibrated(self, epsilon: float, delta: float) -> Gaussian:
        """Return the mechanism with its noise for one release at (epsilon, delta), unless set."""
        if self.noise_multiplier is not None:
            return self
        return replace(self, noise_multiplier=accounting.gaussian_noise_multiplier(epsilon, delta))

    def cost(self, sensitivity: Sensitivity) -> list[tuple[Event, int]]:
        """Return the events of one release."""
        return [(events.Gaussian(self._multiplier), 1)]

    def queries(self, given: Draw) -> tuple[Query]:
        """Return the sum with its noise. See `Mechanism.queries`."""
        return (Query.at(given.bound, self._multiplier, seed=given.seed),)

    def noise(self, features: Features, sensitivity: Sensitivity, count: int) -> float:
        """Return the noise's standard deviation. See `Mechanism.noise`."""
        return self._multiplier * sensitivity.steps(features) / (LEVELS * count)

    def draw(self, given: Draw) -> Release:
        """Return the noisy sum."""
        noise = given.noise or PaidNoise(self.queries(given))
        total = given.features.sum_on_grid(given.points, LEVELS)
        return Release(noise.on(total), given.count)

    def fits(self, given: Draw, made: Release) -> bool | None:
        """Return whether the noise explains how far the points' sum is from the release.

        Of a release of these points the answer is False with probability 1e-9 at most, by the tail
        of chi-square (Laurent & Massart 2000, Lemma 1). If the noise hides the difference of two
        targets, this cannot show it.
        """
        apart = (made.steps - given.features.sum_on_grid(given.points, LEVELS)).astype(np.float64)
        noise_std = self.queries(given)[0].noise_std
        d, t = len(apart), math.log(1 / WRONG)
        most = noise_std * math.sqrt(d + 2 * math.sqrt(d * t) + 2 * t)
        # Each coordinate was rounded to a whole number.
        return bool(np.linalg.norm(apart) <= most + math.sqrt(d) / 2)

    @property
    def _multiplier(self) -> float:
        if self.noise_multiplier is None:
            raise InvalidParameterError("noise_multiplier: not set. Use calibrated() first")
        return self.noise_multiplier


@dataclass(frozen=True)
class Exact(Mechanism):
    """The mean embedding as it is. It has no guarantee and is infinite in the ledger."""

    takes_landmarks = True

    def cost(self, sensitivity: Sensitivity) -> list[tuple[Event, int]]:
        """Return the events of one release."""
        return [(events.NonPrivate("the exact mean was released"), 1)]

    def noise(self, features: Features, sensitivity: Sensitivity, count: int) -> float:
        """Return 0."""
        return 0.0

    def draw(self, given: Draw) -> Release:
        """Return the exact sum on the grid."""
        return Release(given.features.sum_on_grid(given.points, LEVELS), given.count)

    def fits(self, given: Draw, made: Release) -> bool | None:
        """Return whether the points have the sum that was released."""
        total = given.features.sum_on_grid(given.points, LEVELS)
        return bool(np.array_equal(total, made.steps))

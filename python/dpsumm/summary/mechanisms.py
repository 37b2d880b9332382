"""Mechanisms that release a mean embedding: Gaussian noise, the paper's MWEM, and none at all."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from dpsumm import kernels
from dpsumm.basics.checks import is_number
from dpsumm.errors import InvalidParameterError
from dpsumm.kernels.landmarks import Features
from dpsumm.privacy import accounting, events
from dpsumm.privacy.events import Event
from dpsumm.privacy.release import PaidNoise, Query, annex
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
    dpsumm.summary.Mwem : The paper's release.
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
class Mwem(Mechanism):
    """The paper's release of the target: a mixture of distributions, fitted to noisy answers.

    It is Algorithm 2 of the paper, h2: multiplicative weights with the exponential mechanism (MWEM)
    over product distributions on the grid S^d.

    Parameters
    ----------
    iterations
        T: selections and measurements of one release.
    epsilon_select
        Selection draws a coordinate with weight ``exp(epsilon_select * |sum error|)``.
    epsilon_measure
        Measurement adds Laplace noise of scale ``1 / epsilon_measure`` to that coordinate's sum.
    steps
        2 / eta: features scaled into [-1, 1] are rounded at random, without bias, to the grid
        ``{-1, -1 + eta, .., 1}``.

    Privacy
    -------
    Claim: with D the number of vectors that one unit moves, each iteration is a selection of
    bounded range ``2 D epsilon_select`` and a measurement that is ``D epsilon_measure``-DP.
    Assumes: counts public. Warm start from released states only. Argument and numerics: the core's
    module ``mwem`` and ``docs/privacy/auction.md``. Tested by: tests/summary/test_mwem_release.py.

    See Also
    --------
    dpsumm.summary.Gaussian : The default.

    Examples
    --------
    >>> import dpsumm
    >>> dpsumm.summary.Mwem(iterations=3, epsilon_select=0.05, epsilon_measure=0.05).steps
    20
    """

    iterations: int
    epsilon_select: float
    epsilon_measure: float
    steps: int = 20

    def __post_init__(self) -> None:
        if self.iterations < 1:
            raise InvalidParameterError(f"iterations must be at least 1, got {self.iterations!r}")
        accounting.check_epsilon(self.epsilon_select, "epsilon_select")
        accounting.check_epsilon(self.epsilon_measure, "epsilon_measure")
        if not 1 <= self.steps <= 2**16:
            raise InvalidParameterError(f"steps must be between 1 and 65536, got {self.steps!r}")
        # What the core's samplers take, so that nothing fails after it was charged.
        if not 2.0**-32 <= self.epsilon_select / self.steps <= 2.0**10:
            raise InvalidParameterError(
                f"epsilon_select / steps must lie between 2**-32 and 2**10, got "
                f"{self.epsilon_select!r} / {self.steps!r}"
            )
        if not 2.0**-19 <= self.steps / self.epsilon_measure <= 2.0**39:
            raise InvalidParameterError(
                f"steps / epsilon_measure must lie between 2**-19 and 2**39, got "
                f"{self.steps!r} / {self.epsilon_measure!r}"
            )

    @classmethod
    def published(cls, epsilon: float, iterations: int) -> Mwem:
        """Return Algorithm 2 with the paper's one `epsilon` for selection and measurement.

        It buys ``2 D epsilon`` and ``D epsilon`` an iteration, not epsilon: see
        :func:`dpsumm.summary.protocols.auction.published.published_epsilon`.
        """
        return cls(iterations, epsilon, epsilon)

    def cost(self, sensitivity: Sensitivity) -> list[tuple[Event, int]]:
        """Return the events of one release."""
        moved = sensitivity.vectors
        return [
            (events.BoundedRange(2 * moved * self.epsilon_select), self.iterations),
            # Pure: discrete Laplace noise is not dominated by continuous Laplace noise.
            (events.Pure(moved * self.epsilon_measure), self.iterations),
        ]

    def draw(self, given: Draw) -> Release:
        """Return a release that goes on from the state of the one before."""
        if not isinstance(given.features, kernels.RandomFeatures):
            raise InvalidParameterError("features: Mwem takes random features only")
        scale = math.sqrt(given.features.n_features / 2)
        sums = given.features.quantized_sum(given.points, self.steps, given.seed)
        # After another kind of release (public seed points) there is no state: start anew.
        state = None if given.previous is None else given.previous.state
        run = annex.mwem(
            sums,
            given.count,
            steps=self.steps,
            iterations=self.iterations,
            epsilon_select=self.epsilon_select,
            epsilon_measure=self.epsilon_measure,
            theta=state,
            seed=given.seed,
        )
        steps = np.rint(run.means / scale * (LEVELS * given.count)).astype(np.int64)
        return Release(steps, given.count, run.theta)


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

"""Releases (h2 of the paper): the noisy mean embeddings that may leave the curator.

A mechanism says what a release costs (`charges`) and draws it (`draw`); :func:`release` is the only
way one leaves: through the ledger.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dpsumm import kernels
from dpsumm.checks import is_number
from dpsumm.errors import InvalidParameterError
from dpsumm.privacy import accounting, events
from dpsumm.privacy.events import Charge, Event, Protected, Unit
from dpsumm.privacy.ledger import Ledger
from dpsumm.summary.kernel import FloatArray

# Grid steps per unit of a feature, in every release and bid: a power of two.
LEVELS = 2**20


@dataclass(frozen=True, eq=False)
class Release:
    """A released mean embedding: integers, and what one step of them is worth.

    Attributes
    ----------
    steps : (d,) int64
        Noisy sum of features on the grid of `LEVELS`.
    count
        Number of points behind the sum (public): ``steps / (LEVELS * count)`` is the noisy mean.
    state : (d,) float64 or None
        Where the next MWEM release starts (its tilts); public like the release itself.
    """

    steps: NDArray[np.int64]
    count: int
    state: NDArray[np.float64] | None = None

    @property
    def mean(self) -> NDArray[np.float64]:
        """The noisy mean embedding, (d,) float64. Post-processing: no further cost."""
        return self.steps / (LEVELS * self.count)

    def to_bytes(self) -> bytes:
        """Return the release as bytes, for the ledger."""
        state = np.empty(0) if self.state is None else self.state
        return self.steps.astype("<i8").tobytes() + state.astype("<f8").tobytes()

    @classmethod
    def from_bytes(cls, data: bytes, n_features: int, count: int) -> Release:
        """Return the release that :meth:`to_bytes` wrote."""
        steps = np.frombuffer(data[: 8 * n_features], dtype="<i8").astype(np.int64)
        state = np.frombuffer(data[8 * n_features :], dtype="<f8").astype(np.float64)
        return cls(steps, count, state if len(state) else None)


@dataclass(frozen=True)
class Sensitivity:
    """How many unit-norm vectors enter or leave a sum when one unit of the data changes.

    One for a target record added or removed, two for one replaced; twice as many for the sum over a
    summary, in which one record of an owner can change two points (``docs/privacy/auction.md``,
    Lemma 1).
    """

    vectors: int
    unit: Unit = Unit.REPLACE_RECORD


_VECTORS = {Unit.REPLACE_RECORD: 2, Unit.ADD_REMOVE_RECORD: 1}


def target_sensitivity(unit: Unit) -> Sensitivity:
    """Return how one unit of the target moves its sum: one vector leaves, one comes, or either."""
    return Sensitivity(_VECTORS[unit], unit)


def summary_sensitivity(unit: Unit) -> Sensitivity:
    """Return how one unit of an owner moves the sum over a summary: twice as much (Lemma 1)."""
    return Sensitivity(2 * _VECTORS[unit], unit)


TARGET = target_sensitivity(Unit.REPLACE_RECORD)
SUMMARY = summary_sensitivity(Unit.REPLACE_RECORD)


@dataclass(frozen=True)
class Gaussian:
    """The mean embedding with Gaussian noise, rounded to integers exactly.

    Parameters
    ----------
    noise_multiplier
        Standard deviation / L2 sensitivity; None: from the run's budget.

    Privacy
    -------
    Claim: the Gaussian mechanism's guarantee at `noise_multiplier` (Balle & Wang 2018) for one unit
    of the data, size public. Argument: each record is an integer vector whose norm is clamped to
    ``LEVELS`` (times sqrt 2 for phase features), so v vectors move the sum by at most v times that
    in L2; the noise is a normal rounded to integers, and rounding after an integer
    sum is post-processing. Numerics: clamp, sum and noise are exact; nothing rests on the accuracy
    of a cosine. Tested by: tests/privacy/test_target_release.py.
    """

    noise_multiplier: float | None = None

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

    def draw(
        self,
        features: kernels.RandomFeatures,
        points: FloatArray,
        sensitivity: Sensitivity,
        seed: int | None,
        previous: Release | None,
        count: int,
    ) -> Release:
        """Return a fresh release; charged by the caller."""
        total = features.sum_on_grid(points, LEVELS)
        noise_std = self._multiplier * sensitivity.vectors * features.max_norm * LEVELS
        return Release(total + kernels.rounded_normal(noise_std, len(total), seed), count)

    @property
    def _multiplier(self) -> float:
        if self.noise_multiplier is None:
            raise InvalidParameterError("noise_multiplier: not set; use calibrated() first")
        return self.noise_multiplier


@dataclass(frozen=True)
class Mwem:
    """MWEM over product distributions on S^d: h2, Algorithm 2 of the paper.

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
    Assumes: counts public; warm start from released states only. Argument and numerics: the core's
    module ``mwem`` and ``docs/privacy/mwem.md``. Tested by: tests/privacy/test_mwem_release.py.
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

    def calibrated(self, epsilon: float, delta: float) -> Mwem:
        """Return itself: its noise is given by its own parameters."""
        return self

    def cost(self, sensitivity: Sensitivity) -> list[tuple[Event, int]]:
        """Return the events of one release."""
        moved = sensitivity.vectors
        return [
            (events.BoundedRange(2 * moved * self.epsilon_select), self.iterations),
            # Pure: discrete Laplace noise is not dominated by continuous Laplace noise.
            (events.Pure(moved * self.epsilon_measure), self.iterations),
        ]

    def draw(
        self,
        features: kernels.RandomFeatures,
        points: FloatArray,
        sensitivity: Sensitivity,
        seed: int | None,
        previous: Release | None,
        count: int,
    ) -> Release:
        """Return a fresh release from the `previous` one's state on; charged by the caller."""
        scale = math.sqrt(features.n_features / 2)
        sums = features.quantized_sum(points, self.steps, seed)
        # After another kind of release (public seed points) there is no state: start anew.
        state = None if previous is None else previous.state
        run = kernels.mwem(
            sums,
            count,
            steps=self.steps,
            iterations=self.iterations,
            epsilon_select=self.epsilon_select,
            epsilon_measure=self.epsilon_measure,
            theta=state,
            seed=seed,
        )
        steps = np.rint(run.means / scale * (LEVELS * count)).astype(np.int64)
        return Release(steps, count, run.theta)


@dataclass(frozen=True)
class Exact:
    """The mean embedding as it is: no guarantee at all, infinite in the ledger."""

    def calibrated(self, epsilon: float, delta: float) -> Exact:
        """Return itself."""
        return self

    def cost(self, sensitivity: Sensitivity) -> list[tuple[Event, int]]:
        """Return the events of one release."""
        return [(events.NonPrivate("the exact mean was released"), 1)]

    def draw(
        self,
        features: kernels.RandomFeatures,
        points: FloatArray,
        sensitivity: Sensitivity,
        seed: int | None,
        previous: Release | None,
        count: int,
    ) -> Release:
        """Return the exact sum on the grid."""
        return Release(features.sum_on_grid(points, LEVELS), count)


Mechanism = Gaussian | Mwem | Exact


def charges(
    mechanism: Mechanism,
    sensitivity: Sensitivity,
    protected: Protected,
    message: str,
    seed: int | None,
) -> Sequence[Charge]:
    """Return what a release costs; a seeded one has no guarantee."""
    cost = mechanism.cost(sensitivity)
    if seed is not None:
        cost = [(events.Seeded(), 1)]
    return [
        Charge(protected, message, event, count, unit=sensitivity.unit) for event, count in cost
    ]


def release(
    mechanism: Mechanism,
    features: kernels.RandomFeatures,
    points: FloatArray,
    *,
    key: str,
    message: str,
    protected: Protected,
    sensitivity: Sensitivity,
    ledger: Ledger,
    seed: int | None,
    previous: Release | None = None,
    count: int | None = None,
) -> Release:
    """Charge a release and return it; a resumed run gets the same one again.

    Parameters
    ----------
    mechanism
        Calibrated.
    features
        The public feature map, paired.
    points : (m, n) float32 or float64
        Target or summary.
    key, message
        Name of the release within the run; what it is, in words.
    protected, sensitivity
        Whose records the points are, and how one unit of them moves the sum.
    ledger
        Charged before anything is returned.
    seed
        Tests and experiments only: the charge is then infinite.
    previous
        The release whose state MWEM starts from.
    count
        Public number of points to divide by; that of the points by default, which is public when
        the unit is a replaced record.
    """
    count = len(points) if count is None else count
    fresh = None if seed is None else derived_seed(seed, key)
    message = f"{message} ({features.n_features} features, {count} points)"
    binding = hashlib.sha256(features.omega.tobytes() + features.phase.tobytes()).hexdigest()
    data = ledger.release(
        key,
        charges(mechanism, sensitivity, protected, message, seed),
        lambda: mechanism.draw(features, points, sensitivity, fresh, previous, count).to_bytes(),
        binding=binding,
    )
    return Release.from_bytes(data, features.n_features, count)


def derived_seed(seed: int, key: str) -> int:
    """Return a seed for one use of a run's seed, so that no two uses share coins. Not private."""
    digest = hashlib.sha256(f"{seed}/{key}".encode()).digest()
    return int.from_bytes(digest[:8], "little") >> 1

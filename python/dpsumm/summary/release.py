"""Releases (h2 of the paper): the noisy mean embeddings that may leave the curator.

A mechanism states the cost of a release and draws it (:mod:`dpsumm.summary.mechanisms`).
Releases leave only by :func:`release`, through the ledger.
"""

from __future__ import annotations

import hashlib
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dpsumm import kernels
from dpsumm.errors import InvalidParameterError
from dpsumm.kernels.landmarks import Features
from dpsumm.privacy import release as kernel
from dpsumm.privacy.events import Event, Protected, Seeded
from dpsumm.privacy.ledger import Ledger
from dpsumm.privacy.release import Bound, PaidNoise, Query, annex
from dpsumm.privacy.seeds import derived_seed
from dpsumm.summary.kernel import FloatArray

# Grid steps per unit of a feature, in every release and bid: a power of two.
LEVELS = 2**20


@dataclass(frozen=True, eq=False)
class Release:
    """A released mean embedding in integers, with the value of one step.

    Attributes
    ----------
    steps : (d,) int64
        Noisy sum of features on the grid of `LEVELS`.
    count
        Number of points behind the sum (public): ``steps / (LEVELS * count)`` is the noisy mean.
    state : (d,) float64 or None
        Where the next MWEM release starts (its tilts). Public like the release itself.
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
    """How many unit-norm vectors enter or leave a sum when one record is replaced.

    Two for a target's. Four for the sum over a summary, in which one record of an owner can change
    two points (``docs/privacy/auction.md``, Lemma 1). Half of them leave and half of them come.
    """

    vectors: int

    def steps(self, features: Features) -> float:
        """Return by how much a sum of features on the grid of `LEVELS` moves in L2, at most."""
        return self.vectors / 2 * features.grid_difference(LEVELS)


TARGET, SUMMARY = Sensitivity(2), Sensitivity(4)


@dataclass(frozen=True, eq=False)
class Draw:
    """Input of a mechanism's draw.

    Attributes
    ----------
    features
        The public feature map: paired random features, or landmark features if the mechanism
        takes them.
    points : (m, n) float32 or float64
        Target or summary.
    sensitivity
        How one unit of the data moves the points' sum.
    count
        Public number of points.
    seed
        Tests and experiments only, charged as infinite; None: the system's randomness.
    previous
        The release before, which is public.
    noise
        The paid noise of `Mechanism.queries`. None for fresh noise, if points are public.
    """

    features: Features
    points: FloatArray
    sensitivity: Sensitivity
    count: int
    seed: int | None = None
    previous: Release | None = None
    noise: PaidNoise | None = None

    @property
    def bound(self) -> Bound:
        """By how much one unit of the data moves the sum."""
        return Bound(self.sensitivity.steps(self.features))


class Mechanism(ABC):
    """How a mean embedding is released. Derive from it for one of your own.

    A subclass claims that `cost` bounds how much `draw` reveals of one unit of the data, for all
    points. The ledger charges `cost` and cannot check it.

    Attributes
    ----------
    takes_landmarks
        Whether `draw` takes `dpsumm.kernels.LandmarkFeatures` and adds noise for
        `Sensitivity.steps`. By default it is given random features.
    """

    takes_landmarks: ClassVar[bool] = False

    def calibrated(self, epsilon: float, delta: float) -> Mechanism:
        """Return the mechanism for one release at (epsilon, delta).

        By default itself, since its own parameters fix its noise.
        """
        return self

    def in_round(self, number: int) -> Mechanism:
        """Return the mechanism of the summary's release in one round of an `Auction`.

        By default itself.

        Parameters
        ----------
        number
            Of the round, from 1. The first releases the public seed points alone, if anything.
        """
        return self

    def queries(self, given: Draw) -> Sequence[Query]:
        """Return the noisy sums that a release consists of (`dpsumm.privacy.release`).

        By default none: then `cost` is charged, by the mechanism's own proof.
        """
        return ()

    @abstractmethod
    def cost(self, sensitivity: Sensitivity) -> list[tuple[Event, int]]:
        """Return the events of one release, each with its count. None if it depends on no data."""

    def noise(self, features: Features, sensitivity: Sensitivity, count: int) -> float:
        """Return the standard deviation of the released mean's noise in each coordinate.

        Owners receive it, and draw their offers the more evenly the larger it is. So it must be a
        function of the parameters alone. By default as large as a coordinate of a mean can be,
        ``max_norm / sqrt(d)``: of a mechanism that does not say better, owners take no detail for
        granted.
        """
        return features.max_norm / math.sqrt(features.n_features)

    @abstractmethod
    def draw(self, given: Draw) -> Release:
        """Return a fresh release of `given.count` points; `release` has charged it."""

    def fits(self, given: Draw, made: Release) -> bool | None:
        """Return whether an earlier release may be of these points, or None if that is not known.

        For the holder of the points. Do not send it, because it depends on them without a charge.
        By default None.
        """
        return None


def release(
    mechanism: Mechanism,
    features: Features,
    points: FloatArray,
    *,
    key: str,
    message: str,
    protected: Protected,
    sensitivity: Sensitivity,
    ledger: Ledger,
    seed: int | None,
    previous: Release | None = None,
) -> Release:
    """Charge a release and return it. A resumed run gets the same one again.

    Parameters
    ----------
    mechanism
        Calibrated.
    features, points
        See `Draw`.
    key, message
        Name of the release within the run. Its description.
    protected, sensitivity
        Whose records the points are, and how one unit of them moves the sum.
    ledger
        Charged before anything is returned.
    seed
        Tests and experiments only. The charge is then infinite.
    previous
        The run's release of this kind before.
    """
    count = len(points)
    given = Draw(
        features,
        points,
        sensitivity,
        count,
        seed=None if seed is None else derived_seed(seed, key),
        previous=previous,
    )
    kind = "landmark features" if isinstance(features, kernels.LandmarkFeatures) else "features"
    message = f"{message} ({features.n_features} {kind}, {count} points)"
    binding = hashlib.sha256(features.to_bytes()).hexdigest()
    if queries := mechanism.queries(given):
        data = kernel.release(
            ledger,
            key,
            kernel.Sums(queries, protected, message),
            lambda noise: _drawn(mechanism, replace(given, noise=noise)),
            binding=binding,
        )
    else:
        cost = mechanism.cost(sensitivity) if seed is None else [(Seeded(), 1)]
        charges = [annex.charge_of(protected, message, event, times) for event, times in cost]
        name = "mean of a user's own mechanism, MWEM, or none"
        data = annex.release(
            name, ledger, key, charges, lambda: _drawn(mechanism, given), binding=binding
        )
    return Release.from_bytes(data, features.n_features, count)


def _drawn(mechanism: Mechanism, given: Draw) -> bytes:
    made, n_features = mechanism.draw(given), given.features.n_features
    if made.steps.shape != (n_features,) or made.steps.dtype != np.int64:
        raise InvalidParameterError(
            f"mechanism: {type(mechanism).__name__}.draw must return a Release with {n_features} "
            "steps of int64, one for each feature"
        )
    return made.to_bytes()

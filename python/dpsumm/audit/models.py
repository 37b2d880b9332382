"""Models that may be shown: their law by integration and by samples, and what they rest on."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

import dpsumm
from dpsumm.audit.samples import Scores
from dpsumm.audit.witness import Search
from dpsumm.privacy.accounting import compose
from dpsumm.privacy.events import Approximate, Gaussian
from dpsumm.privacy.release import PaidNoise
from dpsumm.summary.models.noise import Noise, calibrated
from dpsumm.summary.models.objective import Objective
from dpsumm.summary.models.perturbation import Grid
from dpsumm.summary.models.sgd import SgdNoise, sum_of
from dpsumm.summary.protocols import Pool, Protocol, Uniform

# At which the models are claimed: where few trials see much.
EPSILON, DELTA = 1.0, 0.2
_ROWS, _LAMBDA = 1000, 0.005
# Of DP-SGD.
_STEPS = 3
# How far a changed record leans towards the steep direction of the objective.
_LEAN = 0.7


def objective(n_changed: int, world: int) -> Objective:
    """Return the objective of a summary in which `n_changed` points are replaced in world 1.

    The other points make the model steep along the second axis. So it is certain, and wrong, about
    the changed points in both worlds, and their gradients pull nearly opposite ways along the
    first: near the most that any data can do.
    """
    side = math.sqrt(1 - _LEAN**2)
    rows = np.tile([[0.0, 1.0], [0.0, -1.0]], (_ROWS // 2, 1))
    answers = np.tile([1, 0], _ROWS // 2)
    rows[:n_changed] = [side, _LEAN] if world else [side, -_LEAN]
    answers[:n_changed] = 0 if world else 1
    return Objective(rows, answers, 2, _LAMBDA)


def noise_for(counted: int) -> Noise:
    """Return the noise of a model when one record is counted as so many points."""
    return calibrated(
        EPSILON, DELTA, changed=counted, n=_ROWS, classes=2, dimension=2, regularization=_LAMBDA
    )


@dataclass(frozen=True)
class ModelLaw(Search):
    """The divergence of a model's weights before rounding, by integration over the slope.

    Attributes
    ----------
    counted
        Points that one record is taken to change. It changes two.
    """

    counted: int = 2

    claim = f"delta {DELTA:g} at epsilon {EPSILON:g}"

    def find(self, rng: np.random.Generator, trials: int) -> str | None:
        """Return the divergence if it is beyond the claim; `trials` slopes are integrated over."""
        std = noise_for(self.counted).slope_std
        side = max(math.isqrt(trials), 11)
        # Any grid of so many places will do: another one for each run.
        places = np.linspace(-5, 5, side) + rng.uniform(-5, 5) / side
        density = np.exp(-(places**2) / 2)
        density /= density.sum()
        # In both orders of the worlds.
        for order in (0, 1), (1, 0):
            first, second = (objective(2, world) for world in order)
            found = sum(
                p * q * _gained(first, second, std * np.array([[x], [y]]), std)
                for x, p in zip(places, density, strict=True)
                for y, q in zip(places, density, strict=True)
            )
            if found > 1.02 * DELTA:  # the sum over a grid is off by far less
                return f"delta {found:.3f} at epsilon {EPSILON:g}"
        return None


def _gained(first: Objective, second: Objective, slope: NDArray[np.float64], std: float) -> float:
    """Return ``max(0, 1 - exp(epsilon) q / p)`` at the weights that the slope makes."""
    weights = first.minimise(slope, 1e-9)
    nothing = np.zeros_like(weights)
    (_, _, own), (other, _, chances) = (o.gradient(weights, nothing) for o in (first, second))
    ratio = (np.square(slope).sum() - np.square(other).sum()) / (2 * std * std)
    return max(0.0, 1 - math.exp(EPSILON + ratio + _volume(second, chances) - _volume(first, own)))


def _volume(made: Objective, chances: NDArray[np.float64]) -> float:
    """Return the logarithm of the Hessian's determinant."""
    columns = [made.curved(chances, axis[:, None])[:, 0] for axis in np.eye(2)]
    return float(np.log(np.linalg.det(np.array(columns))))


@dataclass(frozen=True)
class ModelSampled:
    """A model's weights as they are drawn, towards everybody.

    Attributes
    ----------
    changed
        Points that one record changes. Two are counted.
    noise_factor
        Noise used over noise charged; 1 is right.
    """

    changed: int = 2
    noise_factor: float = 1.0

    def scores(self, world: int, trials: int) -> Scores:
        """Return the first weight, along which the changed points pull."""
        noise, made = noise_for(2), objective(self.changed, world)
        grid = Grid.of(made, replace(noise, slope_std=noise.slope_std * self.noise_factor))
        return np.array([grid.draw(made)[0] * grid.weight_step for _ in range(trials)])

    def claimed(self, delta: float) -> float:
        """Return epsilon of the model's charge, by itself."""
        noise = noise_for(2)
        # A charge is a claim at its own delta, which must not be used up by it.
        return compose([(Approximate(noise.epsilon, noise.delta), 1)], delta * (1 + 1e-9))


@dataclass(frozen=True)
class SgdSampled:
    """The noisy sums of DP-SGD's steps, towards everybody. Gradients of two points turn round."""

    def scores(self, world: int, trials: int) -> Scores:
        """Return the steps' sums along the gradients."""
        query = SgdNoise.of(EPSILON, DELTA, steps=_STEPS, changed=2).query
        gradients = np.zeros((50, 2))
        gradients[:2, 0] = 1 - 2 * world
        sums = []
        for _ in range(trials):
            noise = PaidNoise([query])
            sums.append(sum(noise.on(sum_of([gradients], 1.0))[0] for _ in range(_STEPS)))
        return np.array(sums, dtype=np.float64)

    def claimed(self, delta: float) -> float:
        """Return epsilon of all steps."""
        query = SgdNoise.of(EPSILON, DELTA, steps=_STEPS, changed=2).query
        return compose([(Gaussian(query.multiplier), query.times)], delta)


@dataclass(frozen=True)
class StableRuns(Search):
    """How many points of a summary one record changes, by the protocols' own word.

    Attributes
    ----------
    protocols
        That say so.
    """

    protocols: tuple[Protocol, ...] = field(default=(Uniform(), Pool(reads_per_record=1)))

    claim = "as many points as are counted"

    def find(self, rng: np.random.Generator, trials: int) -> str | None:
        """Return where one record changed more points than that, or None."""
        for trial in range(trials):
            protocol = self.protocols[trial % len(self.protocols)]
            points, labels = rng.normal(0, 1, (3, 12, 2)), rng.integers(0, 2, (3, 12))
            target = rng.normal(0, 1, (20, 2))
            first = _rows(protocol, points, labels, target, trial)
            points[0, 0], labels[0, 0] = rng.normal(0, 3, 2), 1 - labels[0, 0]
            second = _rows(protocol, points, labels, target, trial)
            changed, counted = len(first[0] - second[0]), first[1]
            if counted is None or changed > counted:
                return f"one record changes {changed} points, {counted} counted"
        return None


def _rows(
    protocol: Protocol,
    points: NDArray[np.float64],
    labels: NDArray[np.int64],
    target: NDArray[np.float64],
    seed: int,
) -> tuple[set[bytes], int | None]:
    """Return the records of a summary, and how many of them one record is said to change.

    The seed makes the same draws in both worlds, and the same noise for the target.
    """
    summary = dpsumm.summarize(
        [*zip(points, labels, strict=True)],
        target,
        size=12,
        protocol=protocol,
        kernel=dpsumm.RBF(0.5),
        seed=seed,
    )
    assert summary.labels is not None
    together = np.column_stack([summary.points, summary.labels])
    return {row.tobytes() for row in together}, summary.stability.points

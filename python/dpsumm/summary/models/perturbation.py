"""Objective perturbation on integer grids, the default way to train a model.

Claim, argument
    ``docs/privacy/private-models.md``. The noise is of `noise.calibrated`.
Tested by
    tests/summary/test_model_parts.py, tests/summary/test_private_model.py
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpsumm.privacy.events import Approximate, Observer, Protected
from dpsumm.privacy.ledger import Ledger
from dpsumm.privacy.release import annex
from dpsumm.summary.models.noise import SMOOTHING, Noise, calibrated
from dpsumm.summary.models.objective import Objective, tolerance_for
from dpsumm.summary.models.training import Examples, Released, Trainer

# Steps of the slope's grid in one standard deviation: at least two to this power.
_SLOPE_BITS = 36


@dataclass(frozen=True)
class Grid:
    """The integer grid of the noise, from public numbers. Steps are powers of 2.

    Attributes
    ----------
    slope_step
        One step of the slope b. Its noise is ``slope_noise`` steps.
    tolerance
        Certified norm of the gradient at the weights.
    weight_step
        One step of the weights, to which they are rounded before ``weight_noise`` steps of noise.
    """

    slope_step: float
    slope_noise: float
    tolerance: float
    weight_step: float
    weight_noise: float

    @classmethod
    def of(cls, objective: Objective, noise: Noise) -> Grid:
        """Return the grids for an objective's shape."""
        (n, d), columns = objective.rows.shape, objective.shape[1]
        root = math.sqrt(d * columns)
        slope_step = _power_below(noise.slope_std) * 2.0**-_SLOPE_BITS
        tolerance = tolerance_for(n, d, objective.classes, noise.regularization, noise.slope_std)
        # From the minimiser at the unrounded slope, in norm.
        off = (tolerance + slope_step * root / 2) / noise.regularization
        weight_step = _power_below(off / root)
        off = (off + weight_step * root / 2) * (1 + 1e-9)
        return cls(
            slope_step,
            noise.slope_std / slope_step,
            tolerance,
            weight_step,
            SMOOTHING * 2 * off / weight_step,
        )

    def draw(self, objective: Objective) -> NDArray[np.int64]:
        """Return the noisy weights of the objective with a random slope, in steps."""
        size = objective.shape[0] * objective.shape[1]
        slope = annex.rounded_normal(self.slope_noise, size) * np.float64(self.slope_step)
        weights = objective.minimise(slope.reshape(objective.shape), self.tolerance)
        steps = np.rint(weights.ravel() / self.weight_step).astype(np.int64)
        noisy: NDArray[np.int64] = steps + annex.rounded_normal(self.weight_noise, size)
        return noisy


class Perturbed(Trainer):
    """Draws the minimiser of a perturbed objective.

    Parameters
    ----------
    examples
        The training set.
    regularization
        lambda, or None for a good value from the sizes.
    """

    def __init__(self, examples: Examples, regularization: float | None) -> None:
        rows, answers, classes = examples.rows, examples.answers, examples.classes
        columns = 1 if classes == 2 else classes
        self.noise = calibrated(
            examples.epsilon,
            examples.delta,
            changed=examples.changed,
            n=len(rows),
            classes=classes,
            dimension=rows.shape[1] * columns,
            regularization=regularization,
        )
        # In an order of their own, so that nothing but the set of points enters.
        order = np.lexsort([answers, *rows.T])
        self._objective = Objective(rows[order], answers[order], classes, self.noise.regularization)
        self._grid = Grid.of(self._objective, self.noise)

    @property
    def public(self) -> tuple[object, ...]:
        """See `Trainer.public`."""
        return self.noise, self._grid

    def release(self, book: Ledger, key: str, message: str, binding: str) -> Released:
        """See `Trainer.release`."""
        charge = annex.charge_of(
            Protected.OWNERS,
            message,
            Approximate(self.noise.epsilon, self.noise.delta),
            observer=Observer.PUBLIC,
        )

        def draw() -> bytes:
            return self._grid.draw(self._objective).astype("<i8").tobytes()

        name = "objective perturbation"
        return charge, annex.release(name, book, key, [charge], draw, binding=binding)

    def layers(self, drawn: bytes) -> tuple[NDArray[np.float64], ...]:
        """See `Trainer.layers`."""
        steps = np.frombuffer(drawn, dtype="<i8").reshape(self._objective.shape)
        return (steps * self._grid.weight_step,)


def _power_below(x: float) -> float:
    """Return the largest power of 2 that is not above a number above 0."""
    return math.ldexp(1.0, math.frexp(x)[1] - 1)

"""The noise of a model by objective perturbation, with a margin for a computer's errors.

Claim
    The released weights are (epsilon, delta)-DP for the unit behind `changed` replaced points,
    given everything that was released before.
Assumes
    Rows of norm at most 1, labels, and the number of rows n as `Objective` takes them. Everything
    else is public.
Argument
    ``docs/privacy/private-models.md``.
Numerics
    Multipliers come from `portable`. Rounded against us.
Tested by
    tests/summary/test_model_parts.py
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from dpsumm.errors import InvalidParameterError
from dpsumm.privacy import accounting, portable
from dpsumm.privacy.events import Gaussian

# Gaussian noise on the weights over what solver and grids may be off: it costs next to nothing.
SMOOTHING = 5000.0
# Its part of the model's delta.
_SMOOTHING_DELTA = 0.01
# The norm of weights that the default regularisation is made for.
_NOMINAL_NORM = 25.0


@dataclass(frozen=True)
class Noise:
    """Noise of one model, from public numbers.

    Attributes
    ----------
    epsilon, delta
        What the model costs.
    regularization
        lambda of the objective.
    slope_std
        Standard deviation of each coordinate of the linear term b.
    """

    epsilon: float
    delta: float
    regularization: float
    slope_std: float


def calibrated(
    epsilon: float,
    delta: float,
    *,
    changed: int,
    n: int,
    classes: int,
    dimension: int,
    regularization: float | None,
) -> Noise:
    """Return the noise for one model at (epsilon, delta).

    Parameters
    ----------
    changed
        Points that one unit replaces.
    n
        Rows of the objective.
    classes
        K, at least 2.
    dimension
        Number of weights.
    regularization
        lambda, or None for a default from the numbers above.

    Raises
    ------
    InvalidParameterError
        epsilon or lambda is too small for a guarantee.
    """
    smoothing_delta = _SMOOTHING_DELTA * delta
    smoothing = accounting.compose([(Gaussian(SMOOTHING), 1)], smoothing_delta)
    steps = 2 * changed
    each = (epsilon - smoothing) * (1 - 1e-9) / steps
    if each <= 0:
        raise InvalidParameterError(
            f"epsilon: {epsilon:.3g} is left for the model, which is too little. Ask for more"
        )
    # Divergences of neighbours by one point added or removed, chained from one data set to another.
    chain = sum(portable.exp(i * each) for i in range(steps))
    alone = (delta - smoothing_delta) * (1 - 1e-9) / ((classes - 1) * chain)
    multiplier = portable.gaussian_multiplier(each / 2, alone)
    length = 1.0 if classes == 2 else math.sqrt(2)
    if regularization is None:
        nominal = length * multiplier / n * math.sqrt(dimension) / _NOMINAL_NORM
        regularization = portable.round_up(max(nominal, _least(each / 3, n, classes)))
    curvature = _curvature(regularization, n, classes)
    if curvature > 0.9 * each:
        least = portable.round_up(_least(0.9 * each, n, classes))
        raise InvalidParameterError(
            f"regularization must be at least {least:.3g} for {n} points at this epsilon, got "
            f"{regularization!r}. Leave it out for a good value"
        )
    multiplier = portable.gaussian_multiplier(each - curvature, alone)
    slope_std = portable.round_up(length * multiplier / n * (1 + 1e-12))
    return Noise(epsilon, delta, regularization, slope_std)


def _curvature(regularization: float, n: int, classes: int) -> float:
    """Return the most by which one point changes the logarithm of the Hessian's determinant."""
    if classes == 2:
        return portable.log(1 + 1 / (4 * n * regularization)) * (1 + 1e-9)
    each = portable.log(1 + 1 / (classes * n * regularization))
    return (classes - 1) * each * (1 + 1e-9)


def _least(curvature: float, n: int, classes: int) -> float:
    """Return the regularisation at which `_curvature` is this."""
    if classes == 2:
        return 1 / (4 * n * portable.expm1(curvature))
    return 1 / (classes * n * portable.expm1(curvature / (classes - 1)))

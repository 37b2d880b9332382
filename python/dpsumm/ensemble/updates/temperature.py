"""Calibrated probabilities of a model that was fitted to noisy moments: scale and biases."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dpsumm.ensemble.updates.fit import partition

Array = NDArray[np.float64]

# Times the ridge of slopes that known noise and expected signal would give: a flat fit of the right
# direction, whose scale is found afterwards.
RIDGE = 10.0
# The usual scale, as a part of what a tenth of the ridge would give, and the standard deviation of
# its logarithm. Chosen on made-up worlds, digits, MNIST, Adult and a table of tumours: the best on
# their test points is 1.6 in the mean, with a deviation of .5. A model too sure misleads more than
# one that is not sure enough. The smaller spread makes fewer of those.
_USUAL, _SPREAD = 1.55, 0.35
# Logarithms of scales over the usual one that are tried.
_TRIED = np.linspace(-2, 2, 33)


def calibrated(a: Array, weights: Array, moments: Array, variance: Array, ridge: Array) -> Array:
    """Return weights with the likeliest scale of the slopes, and biases for it, (m + 1, K).

    A calibrated model's slopes agree with the labels as much as with its own probabilities. Weights
    were fitted to noisy moments S, so their agreement ``<S, W>`` is too high by the fit's degrees
    of freedom times the noise (Stein, exact for a linear fit). It counts by its error, since one
    that is too high by chance would ask for an infinite scale.

    Parameters
    ----------
    a : (N, m + 1)
        Features of public points, a constant first.
    weights, moments : (m + 1, K)
        The fit, and its noisy moments. Those of the constant are the classes' shares.
    variance, ridge : (m + 1,)
        Noise of an entry of a row, and the ridge of the fit.
    """
    slopes, k = a[:, 1:] @ weights[1:], weights.shape[1]
    p = partition(a @ weights)[1]
    curvature = max(float((p * (1 - p)).sum(1).mean()) / (k - 1), 1e-3 / k)
    optimism = float(((k - 1) * variance[1:] / (curvature + ridge[1:])).sum())
    agreement = float((moments[1:] * weights[1:]).sum()) - optimism
    error = float((variance[1:, None] * weights[1:] ** 2).sum())
    error += 2 * optimism**2 / ((k - 1) * len(ridge)) + 1e-300

    squares = (weights[1:] ** 2).sum(1) + 1e-300
    flat = float(ridge[1:] @ squares / squares.sum())
    usual = math.log(_USUAL * (1 / k + flat) / (1 / k + flat / RIDGE))
    losses = []
    for step in _TRIED:
        scaled = math.exp(usual + step) * slopes
        own = float((partition(scaled + weights[0])[1] * slopes).sum(1).mean())
        losses.append((agreement - own) ** 2 / error + (step / _SPREAD) ** 2)
    scale = math.exp(usual + float(_TRIED[int(np.argmin(losses))]))
    return np.vstack([_biases(scale * slopes, weights[0], moments[0]), scale * weights[1:]])


def _biases(slopes: Array, start: Array, shares: Array) -> Array:
    """Return biases that give the classes these shares, (K,)."""
    from scipy.optimize import minimize

    def objective(bias: Array) -> tuple[float, Array]:
        value, p = partition(slopes + bias)
        return value - float(shares @ bias), p.mean(0) - shares

    bounds = [(-20, 20)] * len(shares)
    found = minimize(objective, start, jac=True, method="L-BFGS-B", bounds=bounds)
    return np.asarray(found.x)

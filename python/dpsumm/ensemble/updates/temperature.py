"""Calibrated probabilities, with scale and biases by an estimate of the cross-entropy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpsumm.ensemble.updates.fit import partition

Array = NDArray[np.float64]

# Error of the prior's estimate of the agreement, as a part of it.
_PRIOR_ERROR = 0.3


def calibrated(
    a: Array, weights: Array, moments: Array, variance: Array, ridge: Array, kept: Array
) -> Array:
    """Return weights with the scale and biases of the least estimated cross-entropy, (m + 1, K).

    Weights were fitted to noisy moments S, so ``<S, W>`` is too high by its degrees of freedom
    times the noise (Stein, exact for a linear fit). The prior gives a second estimate. Both count
    by their errors.

    Parameters
    ----------
    a : (N, m + 1)
        Features of public points.
    variance, ridge, kept : (m + 1,)
        Noise of an entry of a row, ridge, and share that is expected to be signal.
    """
    from scipy.optimize import minimize

    k, p = weights.shape[1], partition(a @ weights)[1]
    curvature = max(float((p * (1 - p)).sum(1).mean()) / (k - 1), 1e-3 / k)
    optimism = float(((k - 1) * variance[1:] / (curvature + ridge[1:])).sum())
    rows = (moments[1:] * weights[1:]).sum(1)
    stein, bayes = float(rows.sum()) - optimism, float((kept[1:] * rows).sum())
    one = float((variance[1:, None] * weights[1:] ** 2).sum())
    one += 2 * optimism**2 / ((k - 1) * len(ridge)) + 1e-300
    two = (_PRIOR_ERROR * bayes) ** 2 + 1e-300
    agreement = max((stein / one + bayes / two) / (1 / one + 1 / two), 0.1 * bayes, 1e-6)
    slopes, hold = a[:, 1:] @ weights[1:], float(ridge[0])

    def objective(q: Array) -> tuple[float, Array]:
        scale, bias = np.exp(q[0]), q[1:]
        value, p = partition(scale * slopes + bias)
        value += float(0.5 * hold * bias @ bias + 1e-4 * q[0] ** 2)
        value -= float(scale * agreement + moments[0] @ bias)
        slope = scale * ((p * slopes).sum(1).mean() - agreement) + 2e-4 * q[0]
        return value, np.r_[slope, p.mean(0) - moments[0] + hold * bias]

    found = minimize(
        objective,
        np.r_[0.0, weights[0]],
        jac=True,
        method="L-BFGS-B",
        bounds=[(-4, 5)] + [(-20, 20)] * k,
    )
    return np.vstack([found.x[1:], np.exp(found.x[0]) * weights[1:]])

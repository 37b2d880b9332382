"""Softmax regression whose labels enter through their noisy moments alone.

``mean_i logsumexp(a_i W) - <S, W>`` needs labels only in S, the mean of ``a y'``. The rest is of
public points, so it is minimised to the end at no charge.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# Factors of the expected signal that are tried.
_FACTORS = np.exp(np.linspace(-4, 3, 29))
# Least share of a class, in standard deviations of what is known of it.
_RARE = 0.5


def partition(scores: Array) -> tuple[float, Array]:
    """Return the mean logsumexp of the rows, and their softmax."""
    top = scores.max(1, keepdims=True)
    powers = np.exp(scores - top)
    total = powers.sum(1, keepdims=True)
    return float((np.log(total) + top).mean()), powers / total


def fit(a: Array, moments: Array, ridge: Array, start: Array, steps: int) -> Array:
    """Return argmin of ``mean logsumexp(a W) - <moments, W> + sum_j ridge_j |W_j|**2 / 2``.

    Parameters
    ----------
    a : (N, m + 1)
        Features of public points, a constant first.
    moments, start : (m + 1, K)
    ridge : (m + 1,)
        Above 0.
    """
    from scipy.optimize import minimize

    n, k, column = len(a), moments.shape[1], ridge[:, None]
    step = 1 / np.sqrt(1 / k + column)

    def objective(flat: Array) -> tuple[float, Array]:
        w = flat.reshape(moments.shape) * step
        value, p = partition(a @ w)
        value += float(0.5 * (column * w * w).sum() - (moments * w).sum())
        return value, ((a.T @ p / n - moments + column * w) * step).ravel()

    found = minimize(
        objective,
        (start / step).ravel(),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": steps},
    )
    return np.asarray(found.x.reshape(moments.shape) * step)


def likeliest_factor(squares: Array, variance: Array, expected: Array, classes: int) -> float:
    """Return the likeliest factor on the expected signal of rows, of prior log f normal (0, 1).

    Parameters
    ----------
    squares, variance, expected : (rows,)
        Squared length. Known noise of an entry. Expected squared length.
    """
    total = _FACTORS[:, None] * expected / (classes - 1) + variance
    loss = ((classes - 1) * np.log(total) + squares / total).sum(1) + np.log(_FACTORS) ** 2
    return float(_FACTORS[loss.argmin()])


def likeliest_shares(noisy: Array, variance: float, kept: float) -> Array:
    """Return the classes' shares, even as far as the noise leaves them unknown, (K,).

    Parameters
    ----------
    noisy : (K,)
    variance
        Known noise of a share.
    kept
        Part of the shares' distance from even ones that is expected to be signal.
    """
    shares = 1 / len(noisy) + kept * (noisy - 1 / len(noisy))
    # None is negative, and one whose interval reaches 0 may be rare.
    shares = np.maximum(shares, _RARE * np.sqrt(kept * variance))
    return np.asarray(shares / shares.sum())

"""Distances and objectives of the paper, exact, for evaluation: nothing here is private."""

from __future__ import annotations

import numpy as np

from dpsumm import _core
from dpsumm.errors import InvalidParameterError
from dpsumm.kernel import RBF, FloatArray


def mmd2(a: FloatArray, b: FloatArray, kernel: RBF) -> float:
    """Return the squared Maximum Mean Discrepancy of two sets (V-statistic; equation 1).

    Parameters
    ----------
    a, b : (n, c) and (m, c), same dtype, float32 or float64
    kernel
        In the space of the points.

    Returns
    -------
    float
        At least 0 but for rounding (1e-15); at most 2.
    """
    return _core.mmd2(a, b, kernel.gamma)


def objective(summary: FloatArray, target: FloatArray, kernel: RBF) -> float:
    """Return ``J(S) = mean k(V, V) - MMD^2(V, S)`` (equation 3), which the greedy maximises.

    Parameters
    ----------
    summary, target : (p, c) and (m, c), same dtype
    """
    return _core.mean_kernel_self(target, kernel.gamma) - _core.mmd2(summary, target, kernel.gamma)


def diagonal_dominance(points: FloatArray, kernel: RBF) -> tuple[float, float]:
    """Return the largest kernel value off the diagonal, and the bound that Theorem 1 sets it.

    Kim, Khanna & Koyejo 2016, Theorem 3 (Theorem 1 of the paper): J is monotone and submodular, so
    the greedy reaches ``1 - 1/e`` of the optimum, if every ``k(x, y)`` of different rows is at most
    ``1 / (n^3 + 2 n^2 - 2 n - 3)``.

    Parameters
    ----------
    points : (n, c), n >= 2
        Candidates and target together.
    """
    n = len(points)
    if n < 2:
        raise InvalidParameterError(f"points must have at least 2 rows, got {n}")
    # About their middle: far from the origin the differences below would cancel.
    centred = points.astype(np.float64) - points.mean(axis=0, dtype=np.float64)
    norms = np.square(centred).sum(axis=1)
    largest = 0.0
    for start in range(0, n, 1024):
        block = centred[start : start + 1024]
        squared = norms[start : start + 1024, None] + norms - 2 * block @ centred.T
        squared[np.arange(len(block)), start + np.arange(len(block))] = np.inf
        largest = max(largest, float(np.exp(-kernel.gamma * np.maximum(squared, 0).min())))
    return largest, 1.0 / (n**3 + 2 * n**2 - 2 * n - 3)


def is_diagonally_dominant(points: FloatArray, kernel: RBF) -> bool:
    """Return whether Theorem 1's condition holds; see :func:`diagonal_dominance`.

    It holds for hardly any data worth summarising: it is sufficient, not necessary.
    """
    largest, bound = diagonal_dominance(points, kernel)
    return largest <= bound

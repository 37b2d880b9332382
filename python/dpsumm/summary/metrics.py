"""Distances and objectives of the paper, exact, for evaluation: nothing here is private."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from dpsumm import _core
from dpsumm.errors import InvalidParameterError
from dpsumm.summary.kernel import RBF, FloatArray


def mmd2(
    a: FloatArray, b: FloatArray, kernel: RBF, weights: NDArray[np.float64] | None = None
) -> float:
    """Return the squared Maximum Mean Discrepancy of two sets (V-statistic; equation 1).

    Parameters
    ----------
    a, b : (n, c) and (m, c), same dtype, float32 or float64
    kernel
        In the space of the points.
    weights : (n,), optional
        Of the points of `a`, of sum 1; equal by default.

    Returns
    -------
    float
        At least 0 but for rounding (1e-15); at most 2.
    """
    if weights is None:
        return _core.mmd2(a, b, kernel.gamma)
    if weights.shape != (len(a),) or not abs(weights.sum() - 1) < 1e-6:
        raise InvalidParameterError(
            f"weights must be {len(a)} numbers of sum 1, got shape {weights.shape}"
        )
    within = sum(
        float(weights[rows] @ np.exp(-kernel.gamma * squares) @ weights)
        for rows, squares in _squared_distances(a)
    )
    across = float(weights @ _core.kernel_means(a, b, kernel.gamma))
    return within - 2 * across + _core.mean_kernel_self(b, kernel.gamma)


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
    largest = 0.0
    for rows, squares in _squared_distances(points):
        squares[np.arange(len(squares)), np.arange(n)[rows]] = np.inf
        largest = max(largest, float(np.exp(-kernel.gamma * squares.min())))
    return largest, 1.0 / (n**3 + 2 * n**2 - 2 * n - 3)


def is_diagonally_dominant(points: FloatArray, kernel: RBF) -> bool:
    """Return whether Theorem 1's condition holds; see :func:`diagonal_dominance`.

    It holds for hardly any data worth summarising: it is sufficient, not necessary.
    """
    largest, bound = diagonal_dominance(points, kernel)
    return largest <= bound


def _squared_distances(points: FloatArray) -> Iterator[tuple[slice, NDArray[np.float64]]]:
    """Yield runs of rows and their squared distances to all points."""
    # About their middle: far from the origin the differences below would cancel.
    centred = points.astype(np.float64) - points.mean(axis=0, dtype=np.float64)
    norms = np.square(centred).sum(axis=1)
    for start in range(0, len(points), 1024):
        rows = slice(start, start + 1024)
        squares = norms[rows, None] + norms - 2 * centred[rows] @ centred.T
        yield rows, np.maximum(squares, 0)

"""The condition under which the greedy has its guarantee. Exact, and not private."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dpsumm.errors import InvalidParameterError
from dpsumm.kernels import inputs
from dpsumm.kernels.mmd import kernel_means, squared_distances


def diagonal_dominance(points: ArrayLike, gamma: float) -> tuple[float, float]:
    """Return the largest kernel value off the diagonal, and the bound that Theorem 1 sets it.

    Kim, Khanna & Koyejo 2016, Theorem 3 (Sarpatwar et al. 2019, Theorem 1): J is monotone and
    submodular, so the greedy reaches ``1 - 1/e`` of the optimum, if every ``k(x, y)`` of different
    rows is at most ``1 / (n^3 + 2 n^2 - 2 n - 3)``.

    Parameters
    ----------
    points : (n, c), n >= 2
        Candidates and target together.
    gamma
        Positive, in units of 1 / squared distance.

    Raises
    ------
    InvalidParameterError
        Fewer than 2 points, or a parameter out of range.
    InvalidDataError
        NaN or infinite values.

    See Also
    --------
    dpsumm.kernels.is_diagonally_dominant : Whether the bound holds.

    Examples
    --------
    >>> from dpsumm.kernels import diagonal_dominance
    >>> diagonal_dominance([[0.0], [0.0], [9.0]], gamma=1.0)[0]
    1.0
    """
    table, gamma = inputs.points(points, "points"), inputs.number(gamma, "gamma")
    n = len(table)
    if n < 2:
        raise InvalidParameterError(f"points must have at least 2 rows, got {n}")
    kernel_means(table, table[:1], gamma)  # for its checks of values and gamma
    largest = 0.0
    for rows, squares in squared_distances(table):
        squares[np.arange(len(squares)), np.arange(n)[rows]] = np.inf
        largest = max(largest, float(np.exp(-gamma * squares.min())))
    return largest, 1.0 / (n**3 + 2 * n**2 - 2 * n - 3)


def is_diagonally_dominant(points: ArrayLike, gamma: float) -> bool:
    """Return whether the condition of :func:`diagonal_dominance` holds.

    It holds for hardly any data worth summarising: it is sufficient, not necessary.

    Parameters
    ----------
    points, gamma
        As for :func:`diagonal_dominance`, and so are errors.

    See Also
    --------
    dpsumm.kernels.diagonal_dominance : The two sides of the condition.

    Examples
    --------
    >>> from dpsumm.kernels import is_diagonally_dominant
    >>> is_diagonally_dominant([[0.0], [9.0]], gamma=1.0)
    True
    """
    largest, bound = diagonal_dominance(points, gamma)
    return largest <= bound

"""Which points make a summary, and what weights they have. Exact, and not private.

Points are (n, c), float32 or float64, and results are the same for both up to the rounding of the
points themselves: what decides is computed in float64. Time grows with ``n * size``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpsumm.kernels import _core, inputs


class Picks(NamedTuple):
    """Rows picked, in order, and what they reach.

    Attributes
    ----------
    rows : (t,) int64
        Row numbers, all different.
    objective : (t,) float64
        J (see :func:`objective`) of the first 1, 2, .. t of them.

    Examples
    --------
    >>> from dpsumm.kernels import greedy
    >>> picks = greedy([[0.0], [1.0]], [0.9, 0.4], gamma=1.0, size=1)
    >>> picks.rows.tolist(), picks.objective.round(6).tolist()
    ([0], [0.8])
    """

    rows: NDArray[np.int64]
    objective: NDArray[np.float64]


def greedy(points: ArrayLike, attraction: ArrayLike, gamma: float, size: int) -> Picks:
    """Pick rows one by one, each the best for the objective J. Ties go to the first row.

    Sarpatwar et al. 2019, Algorithm 3, step 6, with the signs of the gain corrected; Kim, Khanna &
    Koyejo 2016. The rows are those of a plain loop in float64; most values are computed in float32.

    Parameters
    ----------
    points : (n, c)
    attraction : (n,)
        Of each point to the target: its mean kernel value (:func:`kernel_means`), or its score
        under a released mean (:meth:`RandomFeatures.scores`), which reads the target no further.
    gamma
        Positive, in units of 1 / squared distance.
    size
        Rows to pick, from 1 to n.

    Raises
    ------
    InvalidParameterError
        A parameter out of range; shapes that do not fit; points so far apart that squared distances
        overflow.
    InvalidDataError
        NaN or infinite values.

    Examples
    --------
    >>> from dpsumm.kernels import greedy
    >>> greedy([[0.0], [0.1], [3.0]], [0.9, 0.8, 0.5], gamma=1.0, size=2).rows.tolist()
    [0, 2]
    """
    picks = _core.greedy(*_attracted(points, attraction, gamma), inputs.whole(size, "size", 1))
    return Picks(picks.rows, picks.objective)


def greedy_towards(points: ArrayLike, target: ArrayLike, gamma: float, size: int) -> Picks:
    """Pick, in less time, exactly what :func:`greedy` does with `target`'s mean kernel.

    Parameters
    ----------
    points : (n, c)
    target : (m, c), same dtype
    gamma, size
        As for :func:`greedy`, and so are errors.

    Examples
    --------
    >>> from dpsumm.kernels import greedy_towards
    >>> greedy_towards([[0.0], [5.0], [1.0]], [[0.9], [1.2]], gamma=1.0, size=1).rows.tolist()
    [2]
    """
    picks = _core.greedy_towards(
        inputs.points(points, "points"),
        inputs.points(target, "target"),
        inputs.number(gamma, "gamma"),
        inputs.whole(size, "size", 1),
    )
    return Picks(picks.rows, picks.objective)


def herd(
    points: ArrayLike,
    attraction: ArrayLike,
    gamma: float,
    mass: float,
    at_least: int,
    at_most: int,
) -> Picks:
    """Pick rows while each still takes up its mass: as many as the target has room for.

    Kernel herding (Chen, Welling & Smola 2010) with points of a fixed mass: the next row has the
    largest attraction that is left, ``attraction - mass * sum of kernel values with the picks``,
    and picking ends when the best is at most ``mass / 2``.

    Parameters
    ----------
    points, attraction, gamma
        As for :func:`greedy`, and so are errors.
    mass
        Of a pick, positive; ``1 / size`` for picks that share the target among `size`.
    at_least, at_most
        Bounds of the number of picks, but never more than n.

    Examples
    --------
    >>> from dpsumm.kernels import herd
    >>> herd([[0.0], [0.1], [9.0]], [0.6, 0.6, 0.1], 1.0, 0.5, at_least=0, at_most=3).rows.tolist()
    [0]
    """
    picks = _core.herd(
        *_attracted(points, attraction, gamma),
        inputs.number(mass, "mass"),
        inputs.whole(at_least, "at_least"),
        inputs.whole(at_most, "at_most", 1),
    )
    return Picks(picks.rows, picks.objective)


def objective(points: ArrayLike, attraction: ArrayLike, gamma: float) -> NDArray[np.float64]:
    """Return J of the first 1, 2, .. n points: what :func:`greedy` maximises.

    ``J(S) = 2 mean attraction - mean k(S, S)``. With the mean kernel over a target as attraction it
    is ``mean k(V, V) - MMD^2(V, S)`` (Sarpatwar et al. 2019, equation 3).

    Parameters
    ----------
    points : (n, c)
        In their order.
    attraction, gamma
        As for :func:`greedy`, and so are errors.

    Returns
    -------
    (n,) float64

    Examples
    --------
    >>> from dpsumm.kernels import objective
    >>> objective([[0.0], [9.0]], [0.5, 0.5], gamma=1.0).round(6).tolist()
    [0.0, 0.5]
    """
    return _core.objective(*_attracted(points, attraction, gamma))


def weights(
    points: ArrayLike,
    attraction: ArrayLike,
    gamma: float,
    ridge: float = 0.0,
    tolerance: float = 1e-9,
) -> NDArray[np.float64]:
    """Return the weights, at least 0 and of sum 1, that bring points closest to a target.

    They minimise ``w K w - 2 w @ attraction + ridge * w @ w``: MMD^2 but for a constant, and a
    ridge. Pairwise coordinate descent (Fan, Chen & Lin 2005).

    Parameters
    ----------
    points, attraction, gamma
        As for :func:`greedy`, and so are errors.
    ridge
        At least 0: more of it, more equal weights.
    tolerance
        Positive; the result is at most so much above the least value. Too small for the steps that
        are allowed: InvalidParameterError.

    Returns
    -------
    (n,) float64

    Examples
    --------
    >>> from dpsumm.kernels import weights
    >>> weights([[0.0], [9.0]], [0.75, 0.25], gamma=1.0).round(6).tolist()
    [0.75, 0.25]
    """
    return _core.weights(
        *_attracted(points, attraction, gamma),
        inputs.number(ridge, "ridge"),
        inputs.number(tolerance, "tolerance"),
    )


def _attracted(
    points: ArrayLike, attraction: ArrayLike, gamma: float
) -> tuple[inputs.FloatArray, NDArray[np.float64], float]:
    return (
        inputs.points(points, "points"),
        inputs.vector(attraction, "attraction"),
        inputs.number(gamma, "gamma"),
    )

"""Which points make a summary, and what weights they have. Exact, and not private.

Points are (n, c), float32 or float64, and results are the same for both up to the rounding of the
points themselves, since decisions are computed in float64. Time grows with ``n * size``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpsumm.kernels import _core, inputs


class Picks(NamedTuple):
    """Rows picked, in order, and their objective.

    Attributes
    ----------
    rows : (t,) int64
        Row numbers, all different.
    objective : (t,) float64
        J (see :func:`objective`) of the first 1, 2, .. t of them.

    See Also
    --------
    dpsumm.kernels.greedy : Makes one.

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
    Koyejo 2016. The rows are those of a plain loop in float64. Most values are computed in float32.

    Parameters
    ----------
    points : (n, c)
    attraction : (n,)
        Of each point to the target, its mean kernel value (:func:`kernel_means`), or its score
        under a released mean (:meth:`RandomFeatures.scores`), which reads the target no further.
    gamma
        Positive, in units of 1 / squared distance.
    size
        Rows to pick, from 1 to n.

    Raises
    ------
    InvalidParameterError
        A parameter out of range. Shapes that do not fit. Points so far apart that squared distances
        overflow.
    InvalidDataError
        NaN or infinite values.

    See Also
    --------
    dpsumm.kernels.greedy_towards : The same picks in less time, if the target is at hand.
    dpsumm.kernels.objective : The maximised function.
    dpsumm.kernels.weights : Weights for its picks.

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

    See Also
    --------
    dpsumm.kernels.greedy : The same picks by a mean kernel alone.

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

    See Also
    --------
    dpsumm.kernels.greedy : Maximises it.

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
    effective_size: float = 1.0,
) -> NDArray[np.float64]:
    """Return the weights, at least 0 and of sum 1, that bring points closest to a target.

    They minimise ``w K w - 2 w @ attraction + ridge * w @ w``, MMD^2 but for a constant and a
    ridge, among weights whose effective size ``1 / (w @ w)`` reaches a floor. Pairwise coordinate
    descent (Fan, Chen & Lin 2005). Under a floor accelerated projected gradients (Beck & Teboulle
    2009). Of up to 11,000 points the kernel matrix is kept, 400 MB for 10,000. Without a floor
    up to 512 MB of its columns.

    Parameters
    ----------
    points, attraction, gamma
        As for :func:`greedy`, and so are errors.
    ridge
        At least 0: more of it, more equal weights.
    tolerance
        Positive. The result is at most so much above the least value. Too small for the steps that
        are allowed: InvalidParameterError.
    effective_size
        Floor from 1, which every weights reach, to n, which only equal weights reach: an average
        under the weights is as noisy as one of so many points with equal weights. Public.

    Returns
    -------
    (n,) float64

    See Also
    --------
    dpsumm.kernels.greedy : Picks points.
    dpsumm.kernels.mmd2 : The distance without weights.

    Examples
    --------
    >>> from dpsumm.kernels import weights
    >>> weights([[0.0], [9.0]], [0.75, 0.25], gamma=1.0).round(6).tolist()
    [0.75, 0.25]
    >>> weights([[0.0], [9.0]], [0.75, 0.25], 1.0, effective_size=1.8).round(4).tolist()
    [0.6667, 0.3333]
    """
    return _core.weights(
        *_attracted(points, attraction, gamma),
        inputs.number(ridge, "ridge"),
        inputs.number(effective_size, "effective_size"),
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

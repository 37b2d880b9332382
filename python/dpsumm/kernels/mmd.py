"""The Gaussian kernel's means and MMD^2, exact, in blocks: for evaluation, and not private.

Points are (n, c), float32 or float64, and all values are computed in float64. Memory grows with the
points, not with their pairs.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpsumm.errors import InvalidParameterError
from dpsumm.kernels import _core, inputs
from dpsumm.kernels.inputs import FloatArray


def kernel_means(points: ArrayLike, others: ArrayLike, gamma: float) -> NDArray[np.float64]:
    """Return the mean of ``exp(-gamma ||x - y||^2)`` over all y of `others`, for each point x.

    Parameters
    ----------
    points : (n, c)
    others : (m, c), same dtype, m >= 1
    gamma
        Positive, in units of 1 / squared distance.

    Returns
    -------
    (n,) float64

    Raises
    ------
    InvalidParameterError
        A parameter out of range. Shapes or dtypes that do not fit. Points so far apart that squared
        distances overflow.
    InvalidDataError
        NaN or infinite values.

    See Also
    --------
    dpsumm.kernels.mean_kernel_self : The other term of the distance.
    dpsumm.kernels.mmd2 : Both together.

    Examples
    --------
    >>> from dpsumm.kernels import kernel_means
    >>> kernel_means([[0.0], [1.0]], [[0.0]], gamma=1.0).round(4).tolist()
    [1.0, 0.3679]
    """
    return _core.kernel_means(
        inputs.points(points, "points"),
        inputs.points(others, "others"),
        inputs.number(gamma, "gamma"),
    )


def mean_kernel_self(points: ArrayLike, gamma: float) -> float:
    """Return the mean kernel value of all pairs of points, each with itself included.

    Parameters
    ----------
    points : (n, c), n >= 1
    gamma
        As for :func:`kernel_means`, and so are errors.

    See Also
    --------
    dpsumm.kernels.kernel_means : The other term of the distance.
    dpsumm.kernels.mmd2 : Both together.

    Examples
    --------
    >>> from dpsumm.kernels import mean_kernel_self
    >>> mean_kernel_self([[0.0], [100.0]], gamma=1.0)
    0.5
    """
    return _core.mean_kernel_self(inputs.points(points, "points"), inputs.number(gamma, "gamma"))


def mmd2(a: ArrayLike, b: ArrayLike, gamma: float, weights: ArrayLike | None = None) -> float:
    """Return the squared Maximum Mean Discrepancy of two samples (V-statistic).

    Gretton et al. 2012. Equation 1 of Sarpatwar et al. 2019. With weights, the pairs within `a` are
    computed by NumPy.

    Parameters
    ----------
    a, b : (n, c) and (m, c), same dtype, n and m at least 1
    gamma
        As for :func:`kernel_means`, and so are errors.
    weights : (n,), optional
        Of the points of `a`, of sum 1. Equal by default.

    Returns
    -------
    float
        At least 0 but for rounding (1e-15). At most 2.

    See Also
    --------
    dpsumm.kernels.kernel_means : A term of it, for each point.
    dpsumm.kernels.mean_kernel_self : A term of it.

    Examples
    --------
    >>> from dpsumm.kernels import mmd2
    >>> mmd2([[0.0], [1.0]], [[1.0], [0.0]], gamma=1.0)
    0.0
    >>> mmd2([[0.0], [50.0]], [[50.0]], gamma=1.0)
    0.5
    >>> mmd2([[0.0], [50.0]], [[50.0]], gamma=1.0, weights=[0.0, 1.0])
    0.0
    """
    a, b, gamma = inputs.points(a, "a"), inputs.points(b, "b"), inputs.number(gamma, "gamma")
    if weights is None:
        return _core.mmd2(a, b, gamma)
    w = inputs.vector(weights, "weights")
    if w.shape != (len(a),) or not abs(w.sum() - 1) < 1e-6:
        raise InvalidParameterError(f"weights must be {len(a)} numbers of sum 1, got {w.shape}")
    across = float(w @ _core.kernel_means(a, b, gamma))
    within = sum(
        float(w[rows] @ np.exp(-gamma * squares) @ w) for rows, squares in squared_distances(a)
    )
    return within - 2 * across + _core.mean_kernel_self(b, gamma)


def squared_distances(points: FloatArray) -> Iterator[tuple[slice, NDArray[np.float64]]]:
    """Yield runs of rows and their squared distances to all points."""
    # About their middle: far from the origin the differences below would cancel.
    centred = points.astype(np.float64) - points.mean(axis=0, dtype=np.float64)
    norms = np.square(centred).sum(axis=1)
    for start in range(0, len(points), 1024):
        rows = slice(start, start + 1024)
        squares = norms[rows, None] + norms - 2 * centred[rows] @ centred.T
        yield rows, np.maximum(squares, 0)

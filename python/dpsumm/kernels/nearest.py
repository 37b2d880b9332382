"""Nearest rows of another table, exact, by brute force in blocks. Not private."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpsumm.kernels import _core, inputs


def nearest(
    points: ArrayLike, others: ArrayLike, count: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the places and squared distances of the `count` nearest others of each point.

    The result for a point depends on that point and the others alone, to the last bit, and not on
    the points next to it, the number of threads or the processor.

    Parameters
    ----------
    points : (n, c)
    others : (m, c), same dtype
    count
        From 1 to m.

    Returns
    -------
    places : (n, count) int64
        Of rows of `others`, nearest first, equal ones in their order.
    squares : (n, count) float64
        Squared distances; 0 for equal rows.

    Raises
    ------
    InvalidParameterError
        A parameter out of range. Shapes or dtypes that do not fit. Points so far apart that squared
        distances overflow.
    InvalidDataError
        NaN or infinite values.

    See Also
    --------
    dpsumm.kernels.kernel_means : Means of a kernel over all others.

    Examples
    --------
    >>> from dpsumm.kernels import nearest
    >>> places, squares = nearest([[0.0], [5.0]], [[1.0], [4.0], [9.0]], count=2)
    >>> places.tolist(), squares.round(9).tolist()
    ([[0, 1], [1, 0]], [[1.0, 16.0], [1.0, 16.0]])
    """
    return _core.nearest(
        inputs.points(points, "points"),
        inputs.points(others, "others"),
        inputs.whole(count, "count"),
    )

"""Moments without the effects of the clip and of the parties' weights.

Nothing here touches data. Sums that were released, the public points and the model are enough.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# A class's root in the first round, at least, times the number of classes.
_LEAST = 0.05


def left_by_clip(a: Array, squares: Array, p: Array, clip: float) -> tuple[float, Array]:
    """Return how records are cut that are as the points, with labels by the model.

    Those of a rare class are cut most. Uncorrected, the class seems rarer than it is, and the model
    is too sure of the others. With many classes the correction of slopes does not pay, because the
    part that is left of them differs too much between classes.

    Parameters
    ----------
    a : (N, m + 1)
        Features of public points, a constant first.
    squares : (N,)
        Squared length of each row, times the gains.
    p : (N, K)
        Of the model.
    clip
        Longest vector of a record.

    Returns
    -------
    part
        Of slopes that is left.
    mean : (m + 1, K)
        Of the records' moments, which is 0 without a clip.
    """
    lengths = np.maximum(1 - 2 * p + (p**2).sum(1, keepdims=True), 0.0)
    longest = np.sqrt(squares[:, None] * lengths)
    left = p * np.minimum(1.0, clip / np.maximum(longest, 1e-300))
    mean = a.T @ (left - p * left.sum(1, keepdims=True)) / len(p)
    if p.shape[1] > 2:
        mean[1:] = 0.0
        return 1.0, mean
    return float((left * lengths).sum() / (p * lengths).sum()), mean


def unweighted(moments: Array, signal: float) -> Array:
    """Return a first round's moments, as if parties did not weigh their records by class.

    They do by the root of even shares over theirs, so that a rare class has the root of its share.
    The features' mean is 0 without weights, which determines their mean with weights.

    Parameters
    ----------
    moments : (m + 1, K)
    signal
        Part of the first row's distance from even shares that is expected to be no noise.
    """
    k = moments.shape[1]
    roots = np.maximum(1 / k + signal * (moments[0] - 1 / k), _LEAST / k)
    factors = roots / (roots**2).sum()
    slopes = moments[1:] - (moments[1:] @ factors / factors.sum())[:, None]
    shares = moments[0] * factors
    return np.vstack([shares / shares.sum(), slopes * factors])

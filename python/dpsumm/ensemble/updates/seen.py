"""Whether the noisy sums show anything."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def chance_of_noise(squares: Array, variance: Array, signal: Array, classes: int) -> float:
    """Return the chance that noise alone gives rows of moments as long as these.

    Parameters
    ----------
    squares, variance, signal : (rows,)
        Squared length. Known noise of an entry, that of chance among records included. Expected
        squared length without noise.
    """
    from scipy.stats import chi2

    degrees = classes - 1
    weight = signal / (signal + degrees * variance) / variance
    mean = degrees * float((weight * variance).sum())
    spread = 2 * degrees * float(((weight * variance) ** 2).sum())
    scale, freedom = spread / (2 * mean), 2 * mean**2 / spread
    return float(chi2.sf(float((weight * squares).sum()) / scale, freedom))

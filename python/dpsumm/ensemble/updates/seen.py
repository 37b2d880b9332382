"""Whether the noisy sums show anything."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# How often nothing may be taken for something.
_CHANCE = 1e-3


def above_noise(squares: Array, variance: Array, signal: Array, classes: int) -> bool:
    """Return whether rows of moments are more than noise, beyond a chance of one in a thousand.

    Parameters
    ----------
    squares, variance, signal : (rows,)
        Squared length; known noise of an entry, that of chance among records included; expected
        squared length without noise.
    """
    from scipy.stats import chi2

    degrees = classes - 1
    weight = signal / (signal + degrees * variance) / variance
    mean = degrees * float((weight * variance).sum())
    spread = 2 * degrees * float(((weight * variance) ** 2).sum())
    scale, freedom = spread / (2 * mean), 2 * mean**2 / spread
    return float((weight * squares).sum()) > scale * float(chi2.isf(_CHANCE, freedom))

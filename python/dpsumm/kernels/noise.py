"""Exact integer noise. Draws have the law of the proof, not a float's approximation of it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpsumm.kernels import _core, inputs


def rounded_normal(noise_std: float, size: int, seed: int | None = None) -> NDArray[np.int64]:
    """Return draws of the nearest integer to ``noise_std * N(0, 1)``. Exact.

    Karney 2016, Algorithm N, rounded.

    Parameters
    ----------
    noise_std
        Before rounding. From 2**-20 to 2**40, rounded up to a multiple of 2**-20.
    size
        Number of draws.
    seed
        From 0 to 2**64 - 1, for tests: repeatable, so not private. None: the operating system's
        randomness.

    Returns
    -------
    (size,) int64

    Raises
    ------
    InvalidParameterError
        A parameter out of range.
    OSError
        The operating system gave no random bytes.

    Privacy
    -------
    Added to integers of L2 sensitivity D, in any number of coordinates, the result is
    post-processing of the continuous Gaussian mechanism with noise multiplier ``noise_std / D``
    (Balle & Wang 2018): integer plus rounded noise has the law of the rounded sum.

    See Also
    --------
    dpsumm.kernels.discrete_laplace : Noise for an L1 sensitivity.

    Examples
    --------
    >>> from dpsumm.kernels import rounded_normal
    >>> noise = rounded_normal(1000.0, 5)
    >>> noise.dtype.name, noise.shape
    ('int64', (5,))
    """
    return _core.rounded_normal(
        inputs.number(noise_std, "noise_std"), inputs.whole(size, "size"), inputs.seed(seed)
    )


def discrete_laplace(scale: float, size: int, seed: int | None = None) -> NDArray[np.int64]:
    """Return draws of integers k with chances proportional to ``exp(-|k| / scale)``. Exact.

    Canonne, Kamath & Steinke 2020, Algorithm 2.

    Parameters
    ----------
    scale
        From 2**-20 to 2**40, rounded up to a multiple of 2**-20.
    size, seed
        As for `rounded_normal`.

    Returns
    -------
    (size,) int64

    Raises
    ------
    InvalidParameterError, OSError
        As `rounded_normal`.

    Privacy
    -------
    Added to integers of L1 sensitivity D, the result is ``D / scale``-DP, pure.

    See Also
    --------
    dpsumm.kernels.rounded_normal : Noise for an L2 sensitivity.

    Examples
    --------
    A count of sensitivity 1 at epsilon 0.5:

    >>> from dpsumm.kernels import discrete_laplace
    >>> noisy = 120 + discrete_laplace(1 / 0.5, 1)
    >>> bool(abs(noisy[0] - 120) < 100)
    True
    """
    return _core.discrete_laplace(
        inputs.number(scale, "scale"), inputs.whole(size, "size"), inputs.seed(seed)
    )

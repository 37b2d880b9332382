"""The public merge gives levels that the noise hides one code. Post-processing of counts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def merged_codes(counts: NDArray[np.int64], least: float) -> NDArray[np.int64]:
    """Return the code of each level. Those with a noisy count below `least` share the last one.

    If there are at least two of them. Codes of the others keep the order of the levels.

    Parameters
    ----------
    counts : (L,) int64
        Noisy one-way counts, released before.
    least
        In records, such as three standard deviations of the noise.
    """
    small = counts < least
    if small.sum() < 2:
        return np.arange(len(counts))
    codes = np.cumsum(~small) - 1
    return np.where(small, codes[-1] + 1, codes)

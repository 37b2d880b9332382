"""Bins of about equal mass, and merged rare levels, by released counts. Post-processing."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# Parts of a bin's mass: from so much on a cell is a bin; others have at least so much.
_HEAVY, _LEAST = 0.7, 0.4


def equal_mass(shares: NDArray[np.float64], bins: int, least: float) -> NDArray[np.int64]:
    """Return the bin of each cell, in order: heavy cells alone, runs between them cut evenly.

    Parameters
    ----------
    shares : (cells,)
        Of the records, which sum to 1.
    bins
        How many there would be if all had the same mass.
    least
        Of the records that a bin should have, for the noise. A lighter run joins its neighbour.
    """
    least = max(_LEAST / bins, least)
    heavy = shares >= _HEAVY / bins
    # A run is one heavy cell, or all cells between two of them.
    new = heavy.copy()
    new[1:] |= heavy[:-1]
    new[0] = True
    codes, bin_ = np.full(len(shares), -1), 0
    runs = np.split(np.arange(len(shares)), np.flatnonzero(new)[1:])
    light = []
    for run in runs:
        mass = shares[run].sum()
        if mass < least and not heavy[run[0]]:
            light.append(run)
            continue
        cuts = 1 if heavy[run[0]] else max(1, min(round(mass * bins), int(mass / least)))
        middle = (np.cumsum(shares[run]) - shares[run] / 2) / mass
        codes[run] = bin_ + np.minimum((middle * cuts).astype(np.int64), cuts - 1)
        bin_ += cuts
    for run in light:
        # Heavy cells are beside it, or nothing is.
        codes[run] = codes[run[-1] + 1] if run[-1] + 1 < len(codes) else codes[run[0] - 1]
    result: NDArray[np.int64] = np.unique(codes, return_inverse=True)[1]
    return result


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

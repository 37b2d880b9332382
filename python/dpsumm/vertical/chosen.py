"""Coarse tables of all pairs show which pairs a second round counts by their bins.

By released counts alone, so the choice is post-processing. The same numbers give the same choice on
every processor, because all sums are exact.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from dpsumm.vertical.dependence import unexplained

Pair = tuple[int, int]

# Groups of a column's codes in coarse tables.
GROUPS = 4


def grouped(counts: NDArray[np.float64], parts: int = GROUPS) -> NDArray[np.int64]:
    """Return the group of each code, in order, by which part of the records its middle is in.

    The parts are as many records each, by default quarters. Two codes or more make at least two
    groups.
    """
    if len(counts) <= parts:
        return np.arange(len(counts))
    mass = np.maximum(counts, 1e-9)
    ends = np.cumsum(mass)
    found = ((ends - mass / 2) / ends[-1] * parts).astype(np.int64)
    groups: NDArray[np.int64] = np.unique(found, return_inverse=True)[1]
    return groups


def chosen(
    tables: Mapping[Pair, NDArray[np.int64]],
    shares: Sequence[NDArray[np.float64]],
    stds: Mapping[Pair, float],
    records: int,
    most: int,
    named: Collection[Pair],
) -> list[Pair]:
    """Return the pairs to count again: the named ones, and those furthest from independence.

    Parameters
    ----------
    tables
        Coarse and noisy.
    shares
        Of each column's groups, by the one-way tables.
    stds
        Of the noise in each cell as released.
    most
        How many besides the named ones.
    """
    scores = {
        pair: _apart(table, shares[pair[0]], shares[pair[1]], stds[pair], records)
        for pair, table in tables.items()
        if pair not in named
    }
    falling = sorted(scores, key=lambda pair: (-scores[pair], pair))
    return sorted([*(set(named) & set(tables)), *falling[:most]])


def _apart(
    table: NDArray[np.int64],
    one: NDArray[np.float64],
    other: NDArray[np.float64],
    std: float,
    records: int,
) -> float:
    """Return the sum of squares of what independence leaves, less that of the noise."""
    down, across = table.shape
    rest = unexplained(table, records, one, other)
    noise = (down - 1) * (across - 1) * std**2
    return math.fsum((rest**2).ravel()) - float(noise)

"""One-way tables after the merge: of codes, and of the levels that share a code."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpsumm.vertical.layout import Released


def merged_counts(released: Released, column: int) -> NDArray[np.float64]:
    """Return the noisy counts of a column's codes."""
    counts = np.zeros(released.plan.sizes[column], np.int64)
    np.add.at(counts, released.codes[column], released.singles[column])
    return counts.astype(np.float64)


def repeats(released: Released, column: int) -> NDArray[np.int64]:
    """Return how many levels each code stands for."""
    return np.bincount(released.codes[column], minlength=released.plan.sizes[column])


def level_shares(released: Released, column: int) -> NDArray[np.float64]:
    """Return each level's part of its code, by noisy counts."""
    codes = released.codes[column]
    part = np.maximum(released.singles[column].astype(np.float64), 0.5)
    shares: NDArray[np.float64] = part / np.bincount(codes, part)[codes]
    return shares

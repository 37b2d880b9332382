"""One-way tables after the merge: of codes, and of the levels that share a code."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpsumm.vertical.layout import Released

# Nodes of a tree that make up a bin, at the most, as a rule.
_NODES = 8


def merged_counts(released: Released, column: int) -> NDArray[np.float64]:
    """Return the noisy counts of a column's codes."""
    codes, counts = released.codes[column], released.singles[column]
    return np.bincount(codes, counts, released.plan.sizes[column]).astype(np.float64)


def repeats(released: Released, column: int) -> NDArray[np.int64]:
    """Return how many levels each code stands for."""
    return np.bincount(released.codes[column], minlength=released.plan.sizes[column])


def level_shares(released: Released, column: int) -> NDArray[np.float64]:
    """Return each level's part of its code, by noisy counts."""
    codes = released.codes[column]
    # A tree leaves cells without a record empty; noisy counts do not tell.
    least = 1e-9 if released.by_tree(column) else 0.5
    part = np.maximum(released.singles[column], least)
    shares: NDArray[np.float64] = part / np.bincount(codes, part)[codes]
    return shares


def code_variance(released: Released, column: int) -> NDArray[np.float64]:
    """Return the variance of the noise in the counts of a column's codes.

    Of a tree's a bound for most: a bin is made of few nodes, each with the noise of a table.
    """
    most = _NODES if released.by_tree(column) else np.inf
    levels = np.minimum(repeats(released, column), most)
    variance: NDArray[np.float64] = levels * released.plan.std_of(column) ** 2
    return variance

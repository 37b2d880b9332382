"""One-way tables after the merge: of codes, and of the levels that share a code."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dpsumm.vertical.layout import Released

# Nodes of a tree that make up a bin, at the most, as a rule.
_NODES = 8
# Rows at a time, for the memory.
_BLOCK = 2**16


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


def all_counts(released: Released, column: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the weights of a column's codes and the weighted sums of their counts.

    By all tables that count it. A weight is the inverse of the sum's variance.
    """
    weight = 1 / code_variance(released, column)
    total = weight * merged_counts(released, column)
    for index, pair in enumerate(released.plan.pairs):
        if column in pair:
            one, part = counts_by_pair(released, index, column)
            weight, total = weight + one, total + part
    return weight, total


def counts_by_pair(
    released: Released, index: int, column: int
) -> tuple[float, NDArray[np.float64]]:
    """Return the weight and the weighted counts of one two-way table, see `all_counts`."""
    plan, pair = released.plan, released.plan.pairs[index]
    table = released.pairs[pair]
    weight = plan.sizes[column] / (plan.variance(index) * table.size)
    part: NDArray[np.float64] = weight * table.sum(axis=1 - pair.index(column))
    return weight, part


def best_shares(released: Released, column: int) -> NDArray[np.float64]:
    """Return the shares of a column's codes, above 0, by all tables that count it."""
    weight, total = all_counts(released, column)
    shares = np.maximum(total / weight / released.n_records, 1e-5)
    found: NDArray[np.float64] = shares / shares.sum()
    return found


def drawn_codes(
    given: NDArray[np.uint32],
    shares: Callable[[NDArray[np.uint32]], NDArray[np.float64]],
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Return a code for each record, (n,), by its shares given its known codes."""
    drawn = np.empty(len(given), np.int64)
    for i in range(0, len(given), _BLOCK):
        ends = np.cumsum(shares(given[i : i + _BLOCK]), axis=1)
        at = (ends < rng.random((len(ends), 1))).sum(axis=1)
        drawn[i : i + _BLOCK] = np.minimum(at, ends.shape[1] - 1)
    return drawn


def drawn_levels(
    codes: NDArray[np.int64],
    code_of: NDArray[np.int64],
    shares: NDArray[np.float64],
    rng: np.random.Generator,
) -> NDArray[np.uint32]:
    """Return a level of each code, (n,), by the levels' shares in their code."""
    # One search in all levels: those of code c end between c and c + 1.
    order = np.argsort(code_of, kind="stable")
    lasts = np.searchsorted(code_of[order], np.arange(code_of.max() + 1), "right") - 1
    ends = np.cumsum(shares[order])
    at = np.searchsorted(ends, codes + rng.random(len(codes)), side="right")
    drawn: NDArray[np.uint32] = order[np.minimum(at, lasts[codes])].astype(np.uint32)
    return drawn

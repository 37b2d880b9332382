"""Votes as integers that no party can stretch."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dpsumm.ensemble.terms import Terms

# (N, d) points and the terms to (N, K) votes of one classifier, of sum grid or 0 in each row.
Ballot = Callable[[NDArray[np.float64], Terms], NDArray[np.integer]]


def hard_votes(places: NDArray[np.int64], terms: Terms) -> NDArray[np.int64]:
    """Return the whole grid for one class of each point, (N, K); -1 abstains.

    Examples
    --------
    >>> terms = Terms.of(np.zeros((20, 1)), ["a", "b"], n_parties=2)
    >>> hard_votes(np.array([1, -1] * 10), terms)[:2].tolist()
    [[0, 1], [0, 0]]
    """
    votes = np.zeros((len(places), terms.n_classes), dtype=np.int64)
    voting = np.flatnonzero(places >= 0)
    votes[voting, places[voting]] = terms.grid
    return votes


def grid_votes(chances: NDArray[np.float64], terms: Terms) -> NDArray[np.int64]:
    """Return probabilities as integers of sum `grid`, by largest remainders; NaN abstains.

    Parameters
    ----------
    chances : (N, K)
        In the order of `terms.classes`. Rows are divided by their sums. A row without a positive
        one abstains.

    Examples
    --------
    >>> terms = Terms.of(np.zeros((20, 1)), ["a", "b", "c"], n_parties=2, grid=10)
    >>> grid_votes(np.full((20, 3), 1 / 3), terms)[0].tolist()
    [4, 3, 3]
    """
    chances = np.where(np.isfinite(chances), np.maximum(chances, 0.0), 0.0)
    with np.errstate(over="ignore"):
        sums = chances.sum(1)
    voting = np.flatnonzero(np.isfinite(sums) & (sums > 0))
    exact = chances[voting] / sums[voting, None] * terms.grid
    whole = np.minimum(np.floor(exact), terms.grid).astype(np.int64)
    left = terms.grid - whole.sum(1)
    # Ties go to the first class: the same for all.
    order = np.argsort(-(exact - whole), axis=1, kind="stable")
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.arange(terms.n_classes)[None, :], axis=1)
    votes = np.zeros((len(chances), terms.n_classes), dtype=np.int64)
    votes[voting] = whole + (rank < left[:, None])
    return votes

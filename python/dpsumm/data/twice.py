"""Rows that are there twice, where chance makes fewer."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpsumm.data.hashes import Hashes, row_hashes

# Equal rows are copies if chance, made so many times as frequent, makes as many with a probability
# of 1e-6 at most.
TIMES, SURELY = 2.0, 13.8
# Share of pairs that agree in a column: beyond it few differ, and tell little of how many would.
VARIES = 0.7
# Different rows that a row equals by chance, above which nothing can be told.
COARSE = 0.5
# Columns that are left out, one by one.
MOST_COLUMNS = 100

Counts = NDArray[np.float64]


def twice(target: Hashes, pool: Hashes, owner: NDArray[np.int64]) -> dict[str, NDArray[np.bool_]]:
    """Return which rows are there twice, by kind, where there are more than chance makes.

    Rows of few columns or categories are equal by chance. Many more then differ in exactly one
    column, by its number of values, which copies do not. An owner's rows are judged together.

    Returns
    -------
    "pasted" : (m,)
        Of the target, those that equal another one.
    "copied", "shared", "again" : (n,) each
        Of the pool, those that equal a target record, one of another owner, one of the same owner.
    """
    hashes = np.concatenate([target, pool])
    party = np.concatenate([np.full(len(target), -1), owner])
    keys, n = row_hashes(hashes), np.bincount(owner, minlength=1)
    equal = _others(keys, party)
    others = {
        "pasted": np.array([len(target) - 1]),
        "copied": np.full(len(n), len(target)),
        "shared": len(owner) - n,
        "again": n - 1,
    }
    whose = {kind: owner for kind in others} | {"pasted": np.zeros(len(target), np.int64)}

    def by_party(kind: str, counts: Counts) -> Counts:
        return np.bincount(whose[kind], counts, minlength=len(others[kind])).astype(np.float64)

    # Columns that have nothing to do with each other make so many rows equal: all columns, as rows
    # tell that are not equal, or a column that varies and all others.
    every = _agreement(keys)
    if every == 0:
        return {kind: np.zeros(len(counts), np.bool_) for kind, counts in equal.items()}
    same = np.array([_agreement(column) for column in hashes.T])
    if same.prod() * len(np.unique(keys)) >= COARSE:
        return {kind: np.zeros(len(counts), np.bool_) for kind, counts in equal.items()}
    apart = float(np.prod((same - every) / max(1 - every, 1e-12)))
    chance = {
        kind: by_party(kind, np.ones(len(whose[kind]))) * others[kind] * apart for kind in others
    }
    varied = np.flatnonzero(same < VARIES)
    for j in varied[:: 1 + len(varied) // MOST_COLUMNS].tolist():
        for kind, counts in _others(keys - hashes[:, j], party).items():
            near = by_party(kind, counts - equal[kind])
            chance[kind] = np.maximum(chance[kind], near * same[j] / (1 - same[j]))
    found = {}
    for kind, counts in equal.items():
        each = 2 if kind in ("pasted", "again") else 1  # both rows of a pair count
        more = _more(by_party(kind, counts) / each, TIMES * chance[kind] / each)
        found[kind] = (counts > 0) & more[whose[kind]]
    return found


def _more(found: Counts, usual: Counts) -> NDArray[np.bool_]:
    """Return where so many are no chance, by Chernoff's bound for Poisson counts."""
    usual = np.maximum(usual, 1e-12)
    gain = np.where(found > 0, found * np.log(np.maximum(found, 1e-300) / usual), 0.0)
    return np.asarray((found > usual) & (gain - found + usual > SURELY), np.bool_)


def _agreement(column: Hashes) -> float:
    """Return in which share of pairs two rows have the same value."""
    n, counts = len(column), np.unique(column, return_counts=True)[1]
    return float((counts * (counts - 1.0)).sum() / max(n * (n - 1), 1))


def _others(keys: Hashes, party: NDArray[np.int64]) -> dict[str, Counts]:
    """Return how many others equal each row, by the kinds of `twice`. The target is party -1."""
    place = np.unique(keys, return_inverse=True)[1]
    of_target = np.bincount(place[party < 0], minlength=place.max() + 1)[place]
    every = np.bincount(place)[place]
    both = place * (party.max() + 2) + party + 1
    _, back, times = np.unique(both, return_inverse=True, return_counts=True)
    own, pool = times[back], party >= 0
    counts = {
        "pasted": own[~pool] - 1,
        "copied": of_target[pool],
        "shared": (every - of_target - own)[pool],
        "again": own[pool] - 1,
    }
    return {kind: found.astype(np.float64) for kind, found in counts.items()}

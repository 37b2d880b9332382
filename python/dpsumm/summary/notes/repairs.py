"""Two columns exchanged, or another unit, after whose repair an owner's rows fit all others.

The rows are private, for curator and consumer alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from dpsumm.report.thinned import thinned

Array = NDArray[np.float64]

# More columns than these are an image's or a signal's; rows that are looked at.
MOST_COLUMNS, MOST_ROWS = 40, 300
# Different values that a column has at least, and the most that one of them has of all.
FEWEST_DIFFERENT, MOSTLY = 10, 0.8
# Squared distances of an owner's middle row, in the largest of all others', from which on it is
# strange.
STRANGE = 1.5
# What a repair must leave of a distance, and of the gaps between cumulative shares.
LEFT_OF_UNIT, LEFT, LEFT_OF_GAP, LEFT_OF_GAPS = 0.3, 0.6, 0.5, 0.7
# Gaps of two columns from which on they may be exchanged, and of one in another unit.
GAP, FAR = 0.4, 0.8
# Gap of two columns of all others below which they are so alike that nothing tells an exchange.
UNLIKE = 0.6
# Quantiles at which gaps are looked at.
POINTS = 33
# Miles, pounds, inches, per second, weeks, dozens, glucose, feet, cholesterol, hours, and so on.
_FACTORS = (1.609344, 2.20462, 2.54, 3.6, 5, 7, 10, 12, 18.016, 24, 25.4, 30.48, 38.67, 60, 88.4,
            100, 365.25, 1000, 3600, 1e6)  # fmt: skip
UNITS = (
    *((factor, 0.0) for factor in _FACTORS),
    *((1 / factor, 0.0) for factor in _FACTORS),
    (1.8, 32.0),
    (1 / 1.8, -32 / 1.8),
)


def repairs(rows: Array, others: Sequence[Array]) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield "exchanged" and two columns, or "unit" and one, of rows that fit better if changed.

    Parameters
    ----------
    rows : (n, d)
        Numbers of one owner, NaN where a value is missing.
    others : (r, d) each
        Of the target and of every other owner.
    """
    rest = np.concatenate(others)
    if not 1 <= rows.shape[1] <= MOST_COLUMNS or np.isnan(rest).all(axis=0).any():
        return
    rows = thinned(rows, MOST_ROWS)
    mine, theirs = ([np.sort(c[~np.isnan(c)]) for c in part.T] for part in (rows, rest))
    many = [j for j, values in enumerate(theirs) if _varies(values)]
    gaps = {j: gap(mine[j], theirs[j]) for j in many}
    pairs = [pair for pair in combinations(many, 2) if gaps[pair[0]] + gaps[pair[1]] > GAP]
    if not pairs and max(gaps.values(), default=0.0) <= FAR:
        return
    space = _Space(rest)
    now, usual = space.distance(rows), space.distance(rest)
    for one, other in pairs:
        apart = gaps[one] + gaps[other]
        after = gap(mine[other], theirs[one]) + gap(mine[one], theirs[other])
        if after >= LEFT_OF_GAPS * apart or gap(theirs[one], theirs[other]) <= UNLIKE:
            continue
        changed = rows.copy()
        changed[:, [one, other]] = rows[:, [other, one]]
        left = space.distance(changed)
        fits = after < LEFT_OF_GAP * apart and left < 0.9 * now
        if fits or (now > STRANGE * usual and left < LEFT * now):
            yield "exchanged", (one, other)
    for j in (j for j in many if gaps[j] > FAR and now > STRANGE * usual):
        for times, plus in UNITS:
            changed = rows.copy()
            changed[:, j] = rows[:, j] * times + plus
            fits = gap(mine[j] * times + plus, theirs[j]) < LEFT_OF_GAP * gaps[j]
            if fits and space.distance(changed) < min(LEFT_OF_UNIT * now, 2 * usual):
                yield "unit", (j,)
                break


def gap(values: Array, others: Array) -> float:
    """Return the largest difference of cumulative shares at 33 quantiles of the others.

    Both are sorted, the others not empty; 0 if there are no values.
    """
    if not len(values):
        return 0.0
    at = others[np.linspace(0, len(others) - 1, POINTS).astype(np.int64)]
    shares = [np.searchsorted(part, at, "right") / len(part) for part in (values, others)]
    return float(np.abs(shares[0] - shares[1]).max())


def _varies(values: Array) -> bool:
    counts = np.unique(values, return_counts=True)[1]
    return bool(len(counts) >= FEWEST_DIFFERENT and counts.max() < MOSTLY * len(values))


class _Space:
    """Columns in spreads around their medians, and Mahalanobis's distance in them."""

    def __init__(self, rest: Array) -> None:
        d = rest.shape[1]
        self.middle = np.nanmedian(rest, axis=0)
        low, high = np.nanquantile(rest, (0.02, 0.98), axis=0)
        self.spread = np.nanstd(np.clip(rest, low, high), axis=0)
        self.spread[self.spread == 0] = 1.0
        points = self.scaled(rest)
        self.mean = points.mean(axis=0)
        self.inverse = np.linalg.inv(np.atleast_2d(np.cov(points.T)) + 0.05 * np.eye(d))

    def scaled(self, rows: Array) -> Array:
        """Return rows in spreads, no further than 6 from the middle, where missing values are."""
        places = np.nan_to_num((rows - self.middle) / self.spread, nan=0.0)
        found: Array = np.clip(places, -6, 6)
        return found

    def distance(self, rows: Array) -> float:
        """Return the squared distance of the middle row."""
        away = self.scaled(rows) - self.mean
        return float(np.median(np.einsum("ij,ij->i", away @ self.inverse, away)))

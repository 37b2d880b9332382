"""Where each owner's numbers lie, against the target's and those of every other owner.

For curator and consumer alone: it depends on private data.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dpsumm.summary.notes.numbers import ENDS, FEWEST_POINTS, Array, Numbers

# An owner's column is elsewhere if nine in ten of its values are beyond the others' by their width.
TAIL = 0.1
# It is in part if such a share, of at least so many points, is beyond them by so many widths.
WIDTHS, SOME, FEWEST_SOME = 3, 0.1, 3
# Of positive values it also is if they are smaller by the ratio of the range's ends, and by this
# factor: thousands are nearer to 0 than three widths, and there may be children at one clinic.
FACTOR = 10
# An owner's value is on the same side of another's in such a share of all pairs if the column is
# apart; and in the second less so many standard errors, which few points make wide.
APART, SURELY, ERRORS = 0.95, 0.85, 3
# Twice what may be above the median of one who is apart, as quantiles lie between values.
BEYOND = 0.2


# Quantiles of each column that are looked at.
AT = (ENDS, TAIL, BEYOND, 0.5, 1 - BEYOND, 1 - TAIL, 1 - ENDS)


@dataclass(frozen=True, eq=False)
class Owners:
    """Where the points read of each owner lie."""

    read: Numbers
    goal: Numbers
    judged: NDArray[np.int64]
    bulk: Array
    goal_bulk: Array
    n_columns: int

    @classmethod
    def of(cls, read: Numbers, goal: Numbers, n_columns: int) -> Owners:
        """Return the owners whose points were read."""
        judged = np.flatnonzero(np.diff(read.starts) >= FEWEST_POINTS)
        bulk, goal_bulk = read.quantiles(AT)[:, judged], goal.quantiles(AT)[:, 0]
        return cls(read, goal, judged, bulk, goal_bulk, n_columns)

    def varied(self) -> tuple[Owners, NDArray[np.int64]]:
        """Return the same in columns that vary in the target, and which these are.

        Of one that is mostly one value, as a pixel is, values elsewhere are no other unit.
        """
        _, low, _, middle, _, high, _ = self.goal_bulk
        which = np.flatnonzero((low < middle) & (middle < high))
        varied = replace(
            self,
            read=self.read.of_columns(which),
            goal=self.goal.of_columns(which),
            bulk=self.bulk[..., which],
            goal_bulk=self.goal_bulk[:, which],
        )
        return varied, which

    def elsewhere(self) -> tuple[NDArray[np.bool_], ...]:
        """Return who is far, apart and in part elsewhere in which columns, (owners, columns)."""
        far, apart, some = np.zeros((3, *self.read.known.shape), np.bool_)
        if len(self.judged):
            ends, tail, *_, end_tail, end = self.bulk
            below = np.fmin(self.goal_bulk[0], _least_of_others(ends))
            above = np.fmax(self.goal_bulk[-1], -_least_of_others(-end))
            width = above - below
            with np.errstate(divide="ignore", invalid="ignore"):
                ratio = np.where(below > 0, below * np.square(below / above), -np.inf)
            far[self.judged] = (tail > above + width) | (
                end_tail < np.maximum(below - width, ratio)
            )
            bottom = np.maximum(below - WIDTHS * width, self._far_smaller(below, above))
            outside = self.read.outside(self.judged, bottom, above + WIDTHS * width)
            some[self.judged] = outside >= np.maximum(
                SOME * self.read.known[self.judged], FEWEST_SOME
            )
            if len(self.judged) > 1:  # of one owner nobody knows whether it or the target differs
                self._find_apart(apart)
        return far, apart, some

    def _far_smaller(self, below: Array, above: Array) -> Array:
        """Return below what values are far smaller than a range, of columns without 0 or less."""
        least = np.fmin(*(np.fmin.reduce(part.values, axis=1) for part in (self.goal, self.read)))
        with np.errstate(divide="ignore", invalid="ignore"):
            smaller = np.where(least > 0, below / np.maximum(above / below, FACTOR), -np.inf)
        return np.asarray(smaller, np.float64)

    def _find_apart(self, apart: NDArray[np.bool_]) -> None:
        """Mark who is apart in which columns."""
        # Of values that are mostly one `constant_notes` tells.
        spread = self.bulk[1] < self.bulk[-2]
        for place in np.flatnonzero((self._may_be_apart() & spread).any(axis=1)).tolist():
            sides = [self._one_side(place, j) for j in range(len(self.read.values))]
            most = [share >= APART and surely >= SURELY for share, surely in sides]
            # Records of another kind differ in most columns.
            if 2 * sum(share >= SURELY for share, _ in sides) <= self.n_columns:
                apart[self.judged[place]] = most & spread[place]

    def _may_be_apart(self) -> NDArray[np.bool_]:
        """Return whose median is beyond most of each other's values, (owners judged, columns).

        Half of an owner's values are at most its median: if a tenth of another's are above that,
        the owner's value is the larger in 95 % of all pairs at most.
        """
        _, _, low, middle, high, *_ = self.bulk
        above = middle >= np.fmax(self.goal_bulk[4], -_least_of_others(-high))
        below = middle <= np.fmin(self.goal_bulk[2], _least_of_others(low))
        return np.asarray(above | below, np.bool_)

    def _one_side(self, place: int, j: int) -> tuple[float, float]:
        others = [self.read.column(j, i) for i in np.delete(self.judged, place).tolist()]
        return _one_side(
            self.read.column(j, int(self.judged[place])), [*others, self.goal.column(j)]
        )


def _one_side(own: Array, others: list[Array]) -> tuple[float, float]:
    """Return in which share of pairs values are on one side of each of the others, at least.

    On the side where that is more; and the same less `ERRORS` standard errors. Both are 0 if it is
    less than `SURELY` on either side. All values are sorted.
    """
    if len(own) < FEWEST_POINTS:
        return 0.0, 0.0
    shares = []
    for known in others:
        if len(known) >= FEWEST_POINTS:
            ranks = np.searchsorted(known, own) + np.searchsorted(known, own, "right")
            above = float(ranks.mean()) / (2 * len(known))
            # No share of pairs has a larger standard error.
            error = ERRORS * math.sqrt(above * (1 - above) / min(len(own), len(known)))
            shares.append((above, 1 - above, above - error, 1 - above - error))
            if max(np.min(shares, axis=0)[:2]) < SURELY:
                return 0.0, 0.0
    above, below, surely_above, surely_below = np.min(shares, axis=0) if shares else (0.0,) * 4
    return (above, surely_above) if above >= below else (below, surely_below)


def _least_of_others(values: Array) -> Array:
    """Return in each column the least of all other rows, as many rows; infinity if none is."""
    values = np.where(np.isnan(values), np.inf, values)
    if len(values) < 2:
        return np.full_like(values, np.inf)
    least, second = np.partition(values, 1, axis=0)[:2]
    alone = np.arange(len(values))[:, None] == values.argmin(axis=0)
    others: Array = np.where(alone, second, least)
    return others

"""Where each owner's numbers lie, against the target's and those of every other owner.

For curator and consumer alone: it depends on private data.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpsumm.data.schema import Schema
from dpsumm.summary.notes.numbers import ENDS, FEWEST_POINTS, Array, numbers_of, quantiles
from dpsumm.summary.protocols import Selection, Setting

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


@dataclass(frozen=True)
class Owners:
    """The points read of the owners, the columns that vary in the target.

    Attributes
    ----------
    parts
        Each owner's, (its points, columns).
    judged
        Owners with points enough to be judged.
    bulk
        Of these the quantiles `AT` of each column, (owners judged, len(AT), columns).
    n_columns
        Of all kinds.
    """

    parts: list[Array]
    judged: NDArray[np.int64]
    bulk: Array
    n_columns: int

    AT = (ENDS, TAIL, BEYOND, 0.5, 1 - BEYOND, 1 - TAIL, 1 - ENDS)

    @classmethod
    def of(
        cls, schema: Schema, selection: Selection, setting: Setting, varied: NDArray[np.int64]
    ) -> Owners:
        """Return the points read, in columns `varied` of the numbers."""
        pool = selection.pool
        counts = np.bincount(pool.owner, minlength=len(setting.names))
        order = np.argsort(pool.owner, kind="stable")
        values = numbers_of(schema, pool.scaled)[order][:, varied]
        parts = np.split(values, np.cumsum(counts)[:-1])
        judged = np.flatnonzero(counts >= FEWEST_POINTS)
        bulk = [quantiles(parts[i], cls.AT) for i in judged]
        shape = len(judged), len(cls.AT), len(varied)
        return cls(parts, judged, np.array(bulk).reshape(shape), len(schema.kernel))

    def elsewhere(self, goal: Array, low: Array, high: Array) -> tuple[NDArray[np.bool_], ...]:
        """Return who is far, apart and in part elsewhere in which columns, (owners, columns).

        From the target's values, with the ends `low` and `high`.
        """
        far, apart, some = np.zeros((3, len(self.parts), goal.shape[1]), np.bool_)
        if len(self.judged):
            ends, tail, *_, end_tail, end = self.bulk.transpose(1, 0, 2)
            below = np.minimum(low, _least_of_others(ends))
            above = np.maximum(high, -_least_of_others(-end))
            width = above - below
            with np.errstate(divide="ignore", invalid="ignore"):
                ratio = np.where(below > 0, below * np.square(below / above), -np.inf)
            far[self.judged] = (tail > above + width) | (
                end_tail < np.maximum(below - width, ratio)
            )
            bottom = np.maximum(below - WIDTHS * width, self._far_smaller(goal, below, above))
            top = above + WIDTHS * width
            for place, i in enumerate(self.judged):
                own = self.parts[i]
                count = np.count_nonzero((own < bottom[place]) | (own > top[place]), axis=0)
                there = np.count_nonzero(~np.isnan(own), axis=0)
                some[i] = count >= np.maximum(SOME * there, FEWEST_SOME)
            if len(self.judged) > 1:  # of one owner nobody knows whether it or the target differs
                self._find_apart(apart, goal)
        return far, apart, some

    def _far_smaller(self, goal: Array, below: Array, above: Array) -> Array:
        """Return below what values are far smaller than a range, of columns without 0 or less."""
        least = np.fmin.reduce([np.fmin.reduce(part) for part in (goal, *self.parts) if len(part)])
        with np.errstate(divide="ignore", invalid="ignore"):
            smaller = np.where(least > 0, below / np.maximum(above / below, FACTOR), -np.inf)
        return np.asarray(smaller, np.float64)

    def _find_apart(self, apart: NDArray[np.bool_], goal: Array) -> None:
        """Mark who is apart in which columns."""
        # Of values that are mostly one `constant_notes` tells.
        spread = self.bulk[:, 1] < self.bulk[:, -2]
        for place in np.flatnonzero((self._may_be_apart(goal) & spread).any(axis=1)).tolist():
            sides = [self._one_side(place, j, goal[:, j]) for j in range(goal.shape[1])]
            most = [share >= APART and surely >= SURELY for share, surely in sides]
            # Records of another kind differ in most columns.
            if 2 * sum(share >= SURELY for share, _ in sides) <= self.n_columns:
                apart[self.judged[place]] = most & spread[place]

    def _may_be_apart(self, goal: Array) -> NDArray[np.bool_]:
        """Return whose median is beyond most of each other's values, (owners judged, columns).

        Half of an owner's values are at most its median: if a tenth of another's are above that,
        the owner's value is the larger in 95 % of all pairs at most.
        """
        middle = self.bulk[:, 3]
        low, high = quantiles(goal, (BEYOND, 1 - BEYOND))
        above = middle >= np.fmax(high, -_least_of_others(-self.bulk[:, 4]))
        below = middle <= np.fmin(low, _least_of_others(self.bulk[:, 2]))
        return np.asarray(above | below, np.bool_)

    def _one_side(self, place: int, j: int, goal: Array) -> tuple[float, float]:
        others = [self.parts[i][:, j] for i in np.delete(self.judged, place)]
        return _one_side(self.parts[self.judged[place]][:, j], [*others, goal])


def _one_side(own: Array, others: list[Array]) -> tuple[float, float]:
    """Return in which share of pairs values are on one side of each of the others, at least.

    On the side where that is more; and the same less `ERRORS` standard errors. Both are 0 if it is
    less than `SURELY` on either side.
    """
    own = own[~np.isnan(own)]
    if len(own) < FEWEST_POINTS:
        return 0.0, 0.0
    shares = []
    for other in others:
        known = np.sort(other[~np.isnan(other)])
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

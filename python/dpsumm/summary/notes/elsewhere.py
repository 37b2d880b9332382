"""An owner's numbers that lie elsewhere than everybody else's, such as those of another unit.

For curator and consumer alone: it depends on private data. No value of a record is in it. It looks
at target and points read, after the last message, so nothing of it reaches an owner.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpsumm.checks import listed
from dpsumm.data.schema import Schema
from dpsumm.report.notes import Note, Severity
from dpsumm.summary.notes.limits import MOST_NAMED
from dpsumm.summary.notes.numbers import (
    ENDS,
    FEWEST_POINTS,
    FEWEST_VALUES,
    Array,
    fits,
    numbers_of,
    quantiles,
)
from dpsumm.summary.protocols import Selection, Setting

# An owner's column is elsewhere if nine in ten of its values are beyond the others' by their width.
TAIL = 0.1
# Values are far outside the target's if they are beyond them by so many of their widths. That is an
# alarm at such a share of the summary, of at least so many points: a slip of the pen is chosen too.
# So are some of an owner's, if they are beyond those of all others as far.
WIDTHS, HIT, FEWEST_HIT = 3, 0.1, 3
# An owner's value is on the same side of another's in such a share of all pairs if the column is
# apart; and in the second less so many standard errors, which few points make wide.
APART, SURELY, ERRORS = 0.95, 0.85, 3


def elsewhere_notes(selection: Selection, setting: Setting) -> list[Note]:
    """Tell of an owner whose values of a column lie elsewhere than everybody else's.

    *Far*: nine in ten are beyond the range of the target's and of each other owner's middle 96 %,
    by as much as that range is wide; or, below it, by the square of the ratio of its ends.
    *Apart*: of an owner's value and one of the target's, or of any other owner's, the owner's is
    the larger in 95 % of all pairs, or each time the smaller; and in at most half of the columns it
    is so in 85 %, as that of an owner whose records are of another kind would be in most.
    *In part*: a tenth are beyond the range by three times its width.

    Two owners that are elsewhere alike hide each other, but not points of the summary that lie far
    outside the target's: a tenth of them is an alarm, whoever's they are.
    """
    schema = setting.schema
    if schema is None or not fits(schema, selection):
        return []
    names = [column.name for column in schema.kernel if not column.categories]
    goal = numbers_of(schema, setting.target)
    if not names or len(goal) < FEWEST_VALUES:
        return []
    low, mid_low, middle, mid_high, high = quantiles(goal, (ENDS, TAIL, 0.5, 1 - TAIL, 1 - ENDS))
    # Of a column that is mostly one value, as a pixel is, values elsewhere are no other unit.
    varied = np.flatnonzero((mid_low < middle) & (middle < mid_high))
    low, high = low[varied], high[varied]
    chosen = numbers_of(schema, selection.scaled)[:, varied]
    reach = WIDTHS * (high - low)
    hit = np.count_nonzero((chosen < low - reach) | (chosen > high + reach), axis=0)
    many = hit >= max(HIT * len(chosen), FEWEST_HIT)
    owners = _Owners.of(schema, selection, setting, varied)
    found = owners.elsewhere(goal[:, varied], low, high, len(schema.kernel))
    ways = dict(zip(_SAID, found, strict=True))
    told: dict[tuple[str, Severity], list[str]] = {}
    for j in range(len(varied)):
        said = next((said for said, found in ways.items() if found[:, j].any()), None)
        if said is not None:
            who = listed([setting.names[i] for i in np.flatnonzero(ways[said][:, j])])
            text = said.format(names="{names}", who=who)
        elif many[j]:
            text = _HIT.format(names="{names}", hit=hit[j], chosen=len(chosen))
        else:
            continue
        severity = Severity.ALARM if many[j] else Severity.WARNING
        told.setdefault((text, severity), []).append(names[varied[j]])
    return [
        Note(text.format(names=", ".join(columns[:MOST_NAMED])), severity)
        for (text, severity), columns in list(told.items())[:MOST_NAMED]
    ]


# The worst first: of a column the first that is so is said.
_SAID = (
    "Nearly all values of {names} in the points read of {who} lie far from the target's and from "
    "every other owner's: is the column in other units there?",
    "Nearly all values of {names} in the points read of {who} lie on one side of the target's and "
    "of every other owner's: is the column in other units there, or another column? If that is "
    "what sets the owner's records apart, all is well.",
    "Some values of {names} in the points read of {who} lie far from the target's and from every "
    "other owner's: are some rows in other units there, or hold marks of no value?",
)
_HIT = (
    "{hit:,} of the {chosen:,} points of the summary have values of {names} far outside the "
    "target's: is the column in other units at some owners, or are they marks of no value?"
)


@dataclass(frozen=True)
class _Owners:
    """The points read of the owners, the columns that vary in the target.

    Attributes
    ----------
    parts
        Each owner's, (its points, columns).
    judged
        Owners with points enough to be judged.
    bulk
        Of these the quantiles `AT` of each column, (owners judged, len(AT), columns).
    """

    parts: list[Array]
    judged: NDArray[np.int64]
    bulk: Array

    AT = (ENDS, TAIL, 0.5, 1 - TAIL, 1 - ENDS)

    @classmethod
    def of(
        cls, schema: Schema, selection: Selection, setting: Setting, varied: NDArray[np.int64]
    ) -> _Owners:
        pool = selection.pool
        counts = np.bincount(pool.owner, minlength=len(setting.names))
        order = np.argsort(pool.owner, kind="stable")
        values = numbers_of(schema, pool.scaled)[order][:, varied]
        parts = np.split(values, np.cumsum(counts)[:-1])
        judged = np.flatnonzero(counts >= FEWEST_POINTS)
        bulk = [quantiles(parts[i], cls.AT) for i in judged]
        return cls(parts, judged, np.array(bulk).reshape(len(judged), len(cls.AT), len(varied)))

    def elsewhere(
        self, goal: Array, low: Array, high: Array, n_columns: int
    ) -> tuple[NDArray[np.bool_], ...]:
        """Return who is far, apart and in part elsewhere in which columns, (owners, columns).

        Of a target's values with the ends `low` and `high`, and of `n_columns` in all.
        """
        far, apart, some = np.zeros((3, len(self.parts), goal.shape[1]), np.bool_)
        if len(self.judged):
            ends, tail, _, end_tail, end = self.bulk.transpose(1, 0, 2)
            below = np.minimum(low, _least_of_others(ends))
            above = np.maximum(high, -_least_of_others(-end))
            width = above - below
            with np.errstate(divide="ignore", invalid="ignore"):
                ratio = np.where(below > 0, below * np.square(below / above), -np.inf)
            far[self.judged] = (tail > above + width) | (
                end_tail < np.maximum(below - width, ratio)
            )
            for i, bottom, top, reach in zip(
                self.judged, below, above, WIDTHS * width, strict=True
            ):
                own = self.parts[i]
                count = np.count_nonzero((own < bottom - reach) | (own > top + reach), axis=0)
                there = np.count_nonzero(~np.isnan(own), axis=0)
                some[i] = count >= np.maximum(HIT * there, FEWEST_HIT)
        displaced = np.zeros(far.shape, np.bool_)
        if len(self.judged) > 1:  # of one owner nobody knows whether it or the target differs
            for j in np.flatnonzero(self._may_be_apart(goal)).tolist():
                for i in self._outermost(j):
                    others = [self.parts[k][:, j] for k in self.judged if k != i]
                    share, surely = _one_side(self.parts[i][:, j], [*others, goal[:, j]])
                    displaced[i, j] = share >= SURELY
                    apart[i, j] = share >= APART and surely >= SURELY
        # Records of another kind differ in most columns.
        apart[2 * displaced.sum(axis=1) > n_columns] = False
        return far, apart, some

    def _may_be_apart(self, goal: Array) -> NDArray[np.bool_]:
        """Return in which columns the lowest owner may be below all others, or the highest above.

        By its median alone. Half of the lowest owner's values are at least that: if three in ten
        of another's are less, the owner's value is the larger in 15 % of all pairs.
        """
        medians = self.bulk[:, 2]
        apart = np.count_nonzero(~np.isnan(medians), axis=0) < 2
        for sign in (1.0, -1.0):
            ends = np.where(np.isnan(medians), np.inf, sign * medians)
            amid = _above(-sign * goal, -ends.min(axis=0))
            for k, i in enumerate(self.judged):
                beyond = _above(-sign * self.parts[i], -ends.min(axis=0))
                amid |= beyond & (ends.argmin(axis=0) != k)
            apart = apart | ~amid
        return np.asarray(apart, np.bool_)

    def _outermost(self, j: int) -> tuple[int, ...]:
        """Return the owners with the lowest and the highest median: only these can be apart.

        None whose values are mostly one: see `constant_notes`.
        """
        _, tail, medians, end_tail, _ = self.bulk[:, :, j].T
        if np.isnan(medians).all():
            return ()
        outermost = np.nanargmin(medians), np.nanargmax(medians)
        return tuple(self.judged[i] for i in outermost if tail[i] < end_tail[i])


def _above(values: Array, end: Array) -> NDArray[np.bool_]:
    """Return in which columns so many values are above a median that it is not apart of them."""
    known = np.count_nonzero(~np.isnan(values), axis=0)
    above = np.count_nonzero(values > end, axis=0) > 2 * (1 - SURELY) * known
    return np.asarray(above & (known >= FEWEST_POINTS), np.bool_)


def _one_side(own: Array, others: list[Array]) -> tuple[float, float]:
    """Return in which share of pairs values are on one side of each of the others, at least.

    On the side where that is more; and the same less `ERRORS` standard errors. Both are 0 if it is
    less than `SURELY` on either side.
    """
    own = own[~np.isnan(own)]
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

"""An owner's numbers that lie far from everybody else's, such as those of another unit.

For curator and consumer alone: it depends on private data. No value of a record is in it. It looks
at target and points read, after the last message, so nothing of it reaches an owner.
"""

from __future__ import annotations

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
WIDTHS, HIT, FEWEST_HIT = 3, 0.1, 3


def elsewhere_notes(selection: Selection, setting: Setting) -> list[Note]:
    """Tell of an owner whose values of a column lie far from everybody else's, and of such points.

    Nine in ten of an owner's are beyond the range of the target's and of each other owner's middle
    96 %, by as much as that range is wide; or, below it, by the square of the ratio of its ends.
    Two owners that are elsewhere alike hide each other, but not points of the summary that lie far
    outside the target's: a tenth of them is an alarm, whoever's they are. Units close to each other
    stay hidden, such as pounds and kilograms of people: owners may differ as much without a slip.
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
    far = _far_owners(schema, selection, setting, varied, low, high)
    notes = []
    for j in np.flatnonzero(many | far.any(axis=0))[:MOST_NAMED]:
        name = names[varied[j]]
        severity = Severity.ALARM if many[j] else Severity.WARNING
        if far[:, j].any():
            who = listed([setting.names[i] for i in np.flatnonzero(far[:, j])])
            text = (
                f"Nearly all values of {name} in the points read of {who} lie far from the "
                f"target's and from every other owner's: is the column in other units there?"
            )
        else:
            text = (
                f"{hit[j]:,} of the {len(chosen):,} points of the summary have values of {name} "
                f"far outside the target's: is the column in other units at some owners, or are "
                f"they marks of no value?"
            )
        notes.append(Note(text, severity))
    return notes


def _far_owners(
    schema: Schema,
    selection: Selection,
    setting: Setting,
    varied: NDArray[np.int64],
    low: Array,
    high: Array,
) -> NDArray[np.bool_]:
    """Return which owners are elsewhere in which of the columns `varied`, (owners, columns)."""
    pool = selection.pool
    found = np.zeros((len(setting.names), len(varied)), np.bool_)
    counts = np.bincount(pool.owner, minlength=len(setting.names))
    owners = np.flatnonzero(counts >= FEWEST_POINTS)
    if not len(owners):
        return found
    values = numbers_of(schema, pool.scaled)
    order = np.argsort(pool.owner, kind="stable")
    parts = np.split(values[order], np.cumsum(counts)[:-1])
    at_each = (ENDS, TAIL, 1 - TAIL, 1 - ENDS)
    bulk = np.array([quantiles(parts[i][:, varied], at_each) for i in owners])
    below = np.minimum(low, _least_of_others(bulk[:, 0]))
    above = np.maximum(high, -_least_of_others(-bulk[:, 3]))
    width = above - below
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(below > 0, below * np.square(below / above), -np.inf)
    far = (bulk[:, 1] > above + width) | (bulk[:, 2] < np.maximum(below - width, ratio))
    found[owners] = far
    return found


def _least_of_others(values: Array) -> Array:
    """Return in each column the least of all other rows, as many rows; infinity if none is."""
    values = np.where(np.isnan(values), np.inf, values)
    if len(values) < 2:
        return np.full_like(values, np.inf)
    least, second = np.partition(values, 1, axis=0)[:2]
    alone = np.arange(len(values))[:, None] == values.argmin(axis=0)
    others: Array = np.where(alone, second, least)
    return others

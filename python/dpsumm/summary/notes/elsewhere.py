"""An owner's numbers that lie elsewhere than everybody else's, such as those of another unit.

For curator and consumer alone: it depends on private data. No value of a record is in it. It looks
at target and points read, after the last message, so nothing of it reaches an owner.
"""

from __future__ import annotations

import math

import numpy as np

from dpsumm.checks import listed
from dpsumm.report.notes import Note, Severity
from dpsumm.summary.notes.limits import MOST_NAMED
from dpsumm.summary.notes.numbers import ENDS, FEWEST_VALUES, Array, fits, numbers_of, quantiles
from dpsumm.summary.notes.places import FACTOR, FEWEST_SOME, TAIL, WIDTHS, Owners
from dpsumm.summary.protocols import Selection, Setting

# An alarm if so many points of the summary are far outside the target's values, and such a share.
HIT, FEWEST_HIT = 0.1, 3


def elsewhere_notes(selection: Selection, setting: Setting) -> list[Note]:
    """Tell of an owner whose values of a column lie elsewhere than everybody else's.

    *Far*: nine in ten are beyond the range of the target's and of each other owner's middle 96 %,
    by as much as that range is wide; or, below it, by the square of the ratio of its ends.
    *Apart*: of an owner's value and one of the target's, or of any other owner's, the owner's is
    the larger in 95 % of all pairs, or each time the smaller; and in at most half of the columns it
    is so in 85 %, as that of an owner whose records are of another kind would be in most.
    *In part*: a tenth are beyond the range by three times its width; or, if target and points read
    have positive values only, below it by the ratio of its ends and a factor of ten.

    Two owners that are elsewhere alike hide each other, but not points of the summary that lie far
    outside the target's: a tenth of them is an alarm, whoever's they are.

    The target itself has rows in other units if its positive values are *two groups*; see
    `_in_two_groups`.
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
    owners = Owners.of(schema, selection, setting, varied)
    split = [names[j] for j in range(len(names)) if _in_two_groups(goal[:, j])]
    groups = [Note(_SPLIT.format(names=", ".join(split[:MOST_NAMED])), Severity.WARNING)]
    ways = list(zip(_SAID, owners.elsewhere(goal[:, varied], low, high), strict=True))
    told: dict[tuple[str, str, int, Severity], list[str]] = {}
    for j in range(len(varied)):
        severity = Severity.ALARM if many[j] else Severity.WARNING
        for said, found in ways:
            if found[:, j].any():
                who = listed([setting.names[i] for i in np.flatnonzero(found[:, j])])
                told.setdefault((said, who, 0, severity), []).append(names[varied[j]])
                break
        else:
            if many[j]:
                told.setdefault((_HIT, "", int(hit[j]), severity), []).append(names[varied[j]])
    return (groups if split else []) + [
        Note(
            said.format(
                names=", ".join(columns[:MOST_NAMED]), who=who, hit=hits, chosen=len(chosen)
            ),
            severity,
        )
        for (said, who, hits, severity), columns in list(told.items())[:MOST_NAMED]
    ]


def _in_two_groups(values: Array) -> bool:
    """Return whether positive values are two groups with a gap between them that is no accident.

    On the logarithmic scale the gap is wider than the middle 96 % of either, and a factor of ten
    at least. Either group has `FEWEST_SOME` different values, and one in 50.
    """
    known = np.log(np.sort(values[values > 0]))
    fewest = max(FEWEST_SOME, math.ceil(ENDS * len(known)))
    if len(known) < FEWEST_VALUES:
        return False
    gaps = np.diff(known)[fewest - 1 : len(known) - fewest]
    first = int(gaps.argmax()) + fewest
    wide = max(math.log(FACTOR), *map(_width, (known[:first], known[first:])))
    return bool(gaps.max() > wide) and all(
        len(np.unique(group)) >= FEWEST_SOME for group in (known[:first], known[first:])
    )


def _width(group: Array) -> float:
    low, high = np.quantile(group, (ENDS, 1 - ENDS))
    return float(high - low)


_SPLIT = (
    "The target's values of {names} lie in two groups far apart: are some of its rows in other "
    "units?"
)

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

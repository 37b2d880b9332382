"""An owner's numbers that lie elsewhere than everybody else's, such as those of another unit.

For curator and consumer alone: it depends on private data. No value of a record is in it. It looks
at target and points read, after the last message, so nothing of it reaches an owner.
"""

from __future__ import annotations

import math

import numpy as np

from dpsumm.basics.checks import listed
from dpsumm.report.notes import Note, Severity
from dpsumm.summary.notes.limits import MOST_NAMED
from dpsumm.summary.notes.numbers import ENDS, FEWEST_VALUES, Array, Numbers, Sets
from dpsumm.summary.notes.places import FACTOR, FEWEST_SOME, WIDTHS, Owners
from dpsumm.summary.protocols import Setting

# An alarm if so many points of the summary are far outside the target's values, and such a share.
HIT, FEWEST_HIT = 0.1, 3


def elsewhere_notes(sets: Sets, setting: Setting) -> list[Note]:
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
    names, goal = [column.name for column in sets.columns], sets.target
    if not names or len(goal) < FEWEST_VALUES:
        return []
    owners, varied = Owners.of(sets.read, goal, len(sets.schema.kernel)).varied()
    chosen, low, high = sets.summary.of_columns(varied), owners.goal_bulk[0], owners.goal_bulk[-1]
    reach = WIDTHS * (high - low)
    (hit,) = chosen.outside(np.arange(1), (low - reach)[None], (high + reach)[None])
    many = hit >= max(HIT * len(chosen), FEWEST_HIT)
    split = [names[j] for j in _with_wide_gaps(goal) if _in_two_groups(goal.column(j))]
    groups = [Note(_SPLIT.format(names=", ".join(split[:MOST_NAMED])), Severity.WARNING)]
    ways = list(zip(_SAID, owners.elsewhere(), strict=True))
    told: dict[tuple[str, str, int, Severity], list[str]] = {}
    some = np.any([many, *(found.any(axis=0) for _, found in ways)], axis=0)
    for j in np.flatnonzero(some).tolist():
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


def _with_wide_gaps(goal: Numbers) -> list[int]:
    """Return the columns in which a gap between two groups may be as wide as `FACTOR`."""
    positive = goal.known[0] - np.count_nonzero(goal.values <= 0, axis=1)
    fewest = np.maximum(FEWEST_SOME, np.ceil(ENDS * positive))
    first, last = goal.known[0] - positive + fewest, goal.known[0] - fewest
    # Of the values above a gap.
    place = np.arange(1, len(goal))
    inside = (first[:, None] <= place) & (place <= last[:, None])
    # Less a little, for logarithms are rounded.
    wide = goal.values[:, 1:] > (1 - 1e-6) * FACTOR * goal.values[:, :-1]
    found: list[int] = np.flatnonzero((inside & wide).any(axis=1)).tolist()
    return found


def _in_two_groups(values: Array) -> bool:
    """Return whether positive values are two groups with a gap between them that is no accident.

    On the logarithmic scale the gap is wider than the middle 96 % of either, and a factor of ten
    at least. Either group has `FEWEST_SOME` different values, and one in 50. Values are sorted.
    """
    known = np.log(values[values > 0])
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

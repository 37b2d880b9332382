"""Numbers that take up a small part of their bounds, so that the distance hardly sees them.

For curator and consumer alone: it depends on private data. No value of a record is in it. It looks
at target and points read, after the last message, so nothing of it reaches an owner.
"""

from __future__ import annotations

import math

import numpy as np

from dpsumm.report.notes import Note, Severity
from dpsumm.report.numbers import percent
from dpsumm.summary.kernel import RBF
from dpsumm.summary.notes.alike import severity_of, unlike
from dpsumm.summary.notes.limits import MOST_NAMED
from dpsumm.summary.notes.numbers import ENDS, FEWEST_VALUES, Array, Sets
from dpsumm.summary.protocols import Selection, Setting

# What a column counts for, against one that fills its bounds: as a distance, so its part of the
# squared distance is the square. Below the first 1 / 400 is left, below the second 1 / 10,000.
HARDLY, NOTHING = 1 / 20, 1 / 100


def narrow_notes(
    sets: Sets | None, selection: Selection, setting: Setting, kernel: RBF
) -> list[Note]:
    """Tell of a distance that hardly sees the records, or some of their columns.

    Bounds far too wide do that, a small gamma or a small weight. A weight is a choice, so it is a
    warning; a column that its bounds hide may be an alarm, and so are either if they hide most
    columns. A column of which nearly all values are one is left out: no bounds would show more of
    it.
    """
    unlikeness = unlike(selection, setting, kernel.gamma)
    alike = severity_of(unlikeness)
    said = (
        f"The kernel takes the target's records for alike: on average two of them, or one of "
        f"them and a point read, are {_few(unlikeness)} as unlike as two records can be, or less. "
        f"Any of the points read would look close, well chosen or not. Give public bounds that "
        f"are close to the values which can be there, or a larger gamma (kernel, --gamma)."
    )
    whole = [] if alike is None else [Note(said, alike)]
    if sets is None or not sets.schema.bounded:
        return whole
    columns = sets.schema.kernel
    usual = math.sqrt(sum(column.weight**2 for column in columns) / len(columns))
    # A bandwidth smaller than the default one sees smaller differences.
    sharper = math.sqrt(max(kernel.gamma / RBF.for_schema(sets.schema).gamma, 1.0))
    numbers = {column.name: j for j, column in enumerate(sets.columns)}
    weights = [column.weight / usual for column in columns]
    unused: list[tuple[float, str]] = []
    light: list[tuple[float, str]] = []
    for column, weight in zip(columns, weights, strict=True):
        factor = weight * sharper
        share = 1.0 if column.categories else _share(sets, numbers[column.name], factor)
        if share * factor >= HARDLY:
            continue
        if share * max(weight, 1.0) * sharper < HARDLY:
            unused.append((share * max(weight, 1.0) * sharper, f"{column.name} ({_few(share)})"))
        else:
            light.append((weight, f"{column.name} ({column.weight:g})"))
    notes = []
    # A small distance in fewer than half of the columns is none of the records.
    most = 2 * (len(unused) + len(light)) > len(columns)
    small = Severity.ALARM if most or (unused and min(unused)[0] < NOTHING) else Severity.WARNING
    if alike is not None:
        if unused:
            said += f" They take up a small part of the bounds of {_named(unused)}."
        worst = Severity.ALARM if unused and small is Severity.ALARM else alike
        notes.append(Note(said, worst))
    elif unused:
        notes.append(
            Note(
                f"Target and points read take up a small part of the bounds of {_named(unused)}, "
                f"so the distance hardly sees them. Give public bounds that are close to the "
                f"values which can be there, and look for marks of no value, such as 9999.",
                small,
            )
        )
    if light:
        notes.append(
            Note(
                f"The distance hardly sees {_named(light)}: the weight is so small beside that of "
                f"other columns. Give a larger one, unless the column is not to be matched.",
                Severity.ALARM if most else Severity.WARNING,
            )
        )
    return notes


def _share(sets: Sets, j: int, factor: float) -> float:
    """Return how much of its bounds the middle of target and points read takes of a column.

    The target's alone where the distance sees that, at this factor: points read only add to it. Of
    columns of few values, or of one, it is 1.
    """
    own, read = sets.target.column(j), sets.read.values[j]
    least, most = sets.columns[j].limits or (0.0, 1.0)
    if (share := _taken(own) / (most - least)) * factor >= HARDLY:
        return share
    read = np.sort(read[~np.isnan(read)])
    if len(own) + len(read) < FEWEST_VALUES:
        return 1.0
    return _taken(own, read) / (most - least) or 1.0


def _taken(*parts: Array) -> float:
    """Return how far apart the ends of sorted values are, those of all parts together."""
    there = [part for part in parts if len(part)]
    # Values that are there: what lies between two of them is none.
    low = min((part[math.floor(ENDS * (len(part) - 1))] for part in there), default=0.0)
    high = max((part[math.ceil((1 - ENDS) * (len(part) - 1))] for part in there), default=0.0)
    return float(high - low)


def _named(found: list[tuple[float, str]]) -> str:
    return ", ".join(name for _, name in sorted(found)[:MOST_NAMED])


def _few(share: float) -> str:
    return percent(share) if share >= 0.001 else "below 0.1%"

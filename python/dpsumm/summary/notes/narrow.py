"""Numbers that take up a small part of their bounds, so that the distance hardly sees them.

For curator and consumer alone: it depends on private data. No value of a record is in it. It looks
at target and points read, after the last message, so nothing of it reaches an owner.
"""

from __future__ import annotations

import math

import numpy as np

from dpsumm.data.schema import Schema
from dpsumm.report.notes import Note, Severity
from dpsumm.report.numbers import percent
from dpsumm.summary.kernel import RBF
from dpsumm.summary.notes.alike import severity_of, unlike
from dpsumm.summary.notes.limits import MOST_NAMED
from dpsumm.summary.notes.numbers import ENDS, FEWEST_VALUES, Array, fits, numbers_of
from dpsumm.summary.protocols import Selection, Setting

# What a column counts for, against one that fills its bounds: as a distance, so its part of the
# squared distance is the square. Below the first 1 / 400 is left, below the second 1 / 10,000.
HARDLY, NOTHING = 1 / 20, 1 / 100


def narrow_notes(selection: Selection, setting: Setting, kernel: RBF) -> list[Note]:
    """Tell of a distance that hardly sees the records, or some of their columns.

    Bounds far too wide do that, a small gamma or a small weight. A weight is a choice, so it is a
    warning; a column that its bounds hide may be an alarm, and so are either if they hide most
    columns. A column of which nearly all values are one is left out: no bounds would show more of
    it.
    """
    schema = setting.schema
    unlikeness = unlike(selection, setting, kernel.gamma)
    alike = severity_of(unlikeness)
    said = (
        f"The kernel takes the target's records for alike: on average two of them, or one of "
        f"them and a point read, are {_few(unlikeness)} as unlike as two records can be, or less. "
        f"Any of the points read would look close, well chosen or not. Give public bounds that "
        f"are close to the values which can be there, or a larger gamma (kernel, --gamma)."
    )
    whole = [] if alike is None else [Note(said, alike)]
    if schema is None or not schema.bounded or not fits(schema, selection):
        return whole
    columns = schema.kernel
    usual = math.sqrt(sum(column.weight**2 for column in columns) / len(columns))
    # A bandwidth smaller than the default one sees smaller differences.
    sharper = math.sqrt(max(kernel.gamma / RBF.for_schema(schema).gamma, 1.0))
    shares = _shares(schema, selection, setting)
    weights = [column.weight / usual for column in columns]
    unused: list[tuple[float, str]] = []
    light: list[tuple[float, str]] = []
    for column, weight in zip(columns, weights, strict=True):
        share = shares.get(column.name, 1.0)
        if share * weight * sharper >= HARDLY:
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


def _shares(schema: Schema, selection: Selection, setting: Setting) -> dict[str, float]:
    """Return by column how much of its bounds the middle of target and points read takes."""
    sets = [numbers_of(schema, part) for part in (selection.pool.scaled, setting.target)]
    shares = {}
    names = [column for column in schema.kernel if not column.categories]
    for j, column in enumerate(names):
        there = [part[~np.isnan(part[:, j]), j] for part in sets]
        if sum(map(len, there)) < FEWEST_VALUES:
            continue
        ends = [_ends(part) for part in there if len(part)]
        low, high = min(end[0] for end in ends), max(end[1] for end in ends)
        least, most = column.limits or (0.0, 1.0)
        if high > low:
            shares[column.name] = (high - low) / (most - least)
    return shares


def _ends(values: Array) -> tuple[float, float]:
    # Values that are there: what lies between two of them is none.
    low = float(np.quantile(values, ENDS, method="lower"))
    return low, float(np.quantile(values, 1 - ENDS, method="higher"))


def _named(found: list[tuple[float, str]]) -> str:
    return ", ".join(name for _, name in sorted(found)[:MOST_NAMED])


def _few(share: float) -> str:
    return percent(share) if share >= 0.001 else "below 0.1%"

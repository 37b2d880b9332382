"""Numbers that are one and the same, at some owners or everywhere, as a filled-in default is.

For curator and consumer alone: it depends on private data. No value of a record is in it. It looks
at target and points read, after the last message, so nothing of it reaches an owner.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsumm.checks import listed
from dpsumm.data.schema import Schema
from dpsumm.report.notes import Note, Severity
from dpsumm.summary.notes.limits import MOST_NAMED, RUINED
from dpsumm.summary.notes.numbers import (
    FEWEST_POINTS,
    FEWEST_VALUES,
    Array,
    fits,
    numbers_of,
    quantiles,
)
from dpsumm.summary.protocols import Selection, Setting

# Elsewhere no value of the column may be more common: 0 of a gain, which most people lack, is.
COMMON = 0.25
# Of so few columns it is told that they are one value everywhere; more is as in images.
FEW = 0.1


def constant_notes(selection: Selection, setting: Setting) -> list[Note]:
    """Tell of owners nine in ten of whose values of a column are one, inside its bounds.

    Only if no value is common in the target and at all other owners. And of columns that are one
    value everywhere, inside their bounds, if they are one or at most a tenth of the columns.
    """
    schema, pool = setting.schema, selection.pool
    if schema is None or not fits(schema, selection):
        return []
    places = [j for j, column in enumerate(schema.kernel) if not column.categories]
    values = pool.records.values[:, places]
    same: dict[int, list[int]] = {}
    owners = [i for i in range(len(setting.names)) if (pool.owner == i).sum() >= FEWEST_POINTS]
    for i in owners:
        for j in _one_value(values[pool.owner == i]):
            same.setdefault(j, []).append(i)
    found: dict[str, list[str]] = {}
    for j, who in same.items():
        column = schema.kernel[places[j]]
        low, high = column.limits or (-np.inf, np.inf)
        # Values that are clipped are told of already.
        own = values[np.isin(pool.owner, who), j]
        inside = np.count_nonzero((own >= low) & (own <= high)) >= (1 - RUINED) * len(own)
        goal = numbers_of(schema, setting.target)[:, j]
        rest = [values[pool.owner == i, j] for i in owners if i not in who]
        told = np.count_nonzero(~np.isnan(goal)) >= FEWEST_VALUES
        if inside and told and all(_varies(part) for part in (goal, *rest)):
            found.setdefault(listed([setting.names[i] for i in who]), []).append(column.name)
    return _same_everywhere(schema, selection, setting) + [
        Note(
            f"In the points read of {who}, at least nine in ten values of "
            f"{', '.join(columns[:MOST_NAMED])} are one and the same, and nowhere else is any "
            f"value so common: was a default filled in there, or is it a mark of no value?",
            Severity.WARNING,
        )
        for who, columns in list(found.items())[:MOST_NAMED]
    ]


def _same_everywhere(schema: Schema, selection: Selection, setting: Setting) -> list[Note]:
    """Tell of columns without another value in the target and in all points read."""
    sets = [numbers_of(schema, part) for part in (setting.target, selection.pool.scaled)]
    if min(map(len, sets)) < FEWEST_VALUES:
        return []
    names = []
    numbers = [column for column in schema.kernel if not column.categories]
    for j, column in enumerate(numbers):
        first = sets[0][0, j]
        # At an end of its bounds it may be clipped, or a count of what never came about.
        inside = column.limits is not None and column.limits[0] < first < column.limits[1]
        if inside and all((part[:, j] == first).all() for part in sets):
            names.append(column.name)
    if not names or len(names) > max(FEW * len(schema.kernel), 1):
        return []
    said = "is one and the same value" if len(names) == 1 else "are one and the same value each"
    return [
        Note(
            f"In the target and in all points read {', '.join(names[:MOST_NAMED])} {said}, which "
            f"says nothing: leave such a column out, or look whether its file holds it.",
            Severity.WARNING,
        )
    ]


def _one_value(own: NDArray[Any]) -> list[int]:
    """Return the columns nine in ten of whose values are one: then their median is it."""
    there = np.count_nonzero(~np.isnan(own), axis=0)
    (middle,) = quantiles(own, (0.5,))
    equal = np.count_nonzero(own == middle, axis=0)
    return np.flatnonzero((there >= FEWEST_POINTS) & (equal >= RUINED * there)).tolist()


def _varies(values: Array) -> bool:
    """Return whether no value is common; of few values nothing is said, so they are no witness."""
    known = values[~np.isnan(values)]
    if len(known) < FEWEST_VALUES:
        return True
    return bool(np.unique(known, return_counts=True)[1].max() <= COMMON * len(known))

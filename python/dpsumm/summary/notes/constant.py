"""Numbers that are one and the same, at some owners or everywhere, as a filled-in default is.

For curator and consumer alone: it depends on private data. No value of a record is in it. It looks
at target and points read, after the last message, so nothing of it reaches an owner.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsumm.checks import listed
from dpsumm.report.notes import Note, Severity
from dpsumm.summary.notes.limits import MOST_NAMED, RUINED
from dpsumm.summary.notes.numbers import FEWEST_POINTS, FEWEST_VALUES, Array, Sets
from dpsumm.summary.protocols import Selection, Setting

# Elsewhere no value of the column may be more common: 0 of a gain, which most people lack, is.
COMMON = 0.25
# Of so few columns it is told that they are one value everywhere; more is as in images.
FEW = 0.1


def constant_notes(sets: Sets, selection: Selection, setting: Setting) -> list[Note]:
    """Tell of owners nine in ten of whose values of a column are one, inside its bounds.

    Only if no value is common in the target and at all other owners. And of columns that are one
    value everywhere, inside their bounds, if they are one or at most a tenth of the columns.
    """
    owners = np.flatnonzero(np.diff(sets.read.starts) >= FEWEST_POINTS).tolist()
    low, high = sets.read.quantiles((0.2, 0.8))
    same: dict[int, list[int]] = {}
    may_be = {i: np.flatnonzero(low[i] == high[i]) for i in owners if (low[i] == high[i]).any()}
    if may_be:
        # As they were sent, neither clipped nor rounded.
        owner = selection.pool.owner
        numbers = [j for j, column in enumerate(sets.schema.kernel) if not column.categories]
        values = selection.pool.records.values[:, numbers]
        for i, which in may_be.items():
            for j in which[_are_one_value(values[owner == i][:, which])].tolist():
                same.setdefault(j, []).append(i)
    found: dict[str, list[str]] = {}
    for j, who in same.items():
        column, goal = sets.columns[j], sets.target.column(j)
        low, high = column.limits or (-np.inf, np.inf)
        # Values that are clipped are told of already.
        own = values[np.isin(owner, who), j]
        inside = np.count_nonzero((own >= low) & (own <= high)) >= (1 - RUINED) * len(own)
        rest = [values[owner == i, j] for i in owners if i not in who]
        if inside and len(goal) >= FEWEST_VALUES and all(_varies(part) for part in (goal, *rest)):
            found.setdefault(listed([setting.names[i] for i in who]), []).append(column.name)
    return _same_everywhere(sets) + [
        Note(
            f"In the points read of {who}, at least nine in ten values of "
            f"{', '.join(columns[:MOST_NAMED])} are one and the same, and nowhere else is any "
            f"value so common: was a default filled in there, or is it a mark of no value?",
            Severity.WARNING,
        )
        for who, columns in list(found.items())[:MOST_NAMED]
    ]


def _same_everywhere(sets: Sets) -> list[Note]:
    """Tell of columns without another value in the target and in all points read."""
    if min(len(sets.target), len(sets.read)) < FEWEST_VALUES:
        return []
    names, goal = [], sets.target.values
    for j in np.flatnonzero(goal[:, 0] == goal[:, -1]).tolist():
        column, first = sets.columns[j], goal[j, 0]
        # At an end of its bounds it may be clipped, or a count of what never came about.
        inside = column.limits is not None and column.limits[0] < first < column.limits[1]
        if inside and (sets.read.values[j] == first).all():
            names.append(column.name)
    if not names or len(names) > max(FEW * len(sets.schema.kernel), 1):
        return []
    said = "is one and the same value" if len(names) == 1 else "are one and the same value each"
    return [
        Note(
            f"In the target and in all points read {', '.join(names[:MOST_NAMED])} {said}, which "
            f"says nothing: leave such a column out, or look whether its file holds it.",
            Severity.WARNING,
        )
    ]


def _are_one_value(own: NDArray[Any]) -> NDArray[np.bool_]:
    """Return whether nine in ten of each column's values are one: then it is the middle one."""
    there = np.count_nonzero(~np.isnan(own), axis=0)
    middle = np.sort(own, axis=0)[np.maximum(there - 1, 0) // 2, np.arange(own.shape[1])]
    equal = np.count_nonzero(own == middle, axis=0)
    are: NDArray[np.bool_] = (there >= FEWEST_POINTS) & (equal >= RUINED * there)
    return are


def _varies(values: Array) -> bool:
    """Return whether no value is common; of few values nothing is said, so they are no witness."""
    known = values[~np.isnan(values)]
    if len(known) < FEWEST_VALUES:
        return True
    return bool(np.unique(known, return_counts=True)[1].max() <= COMMON * len(known))

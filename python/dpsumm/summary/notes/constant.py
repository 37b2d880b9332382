"""Numbers that are one and the same, at some owners or everywhere, as a filled-in default is.

For curator and consumer alone: it depends on private data. No value of a record is in it. It looks
at target and points read, after the last message, so nothing of it reaches an owner.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsumm.basics.checks import listed
from dpsumm.report.notes import Note, Severity
from dpsumm.summary.notes.limits import MOST_NAMED, RUINED
from dpsumm.summary.notes.numbers import FEWEST_POINTS, FEWEST_VALUES, Array, Numbers, Sets
from dpsumm.summary.protocols import Selection, Setting

# Where such a share of an owner's values are one, no value elsewhere may be more common than the
# second: 0 of a gain, which most people lack, is. Half is enough, as of a value that was filled
# down, where each is rare elsewhere.
SHARES = ((RUINED, 0.25, "at least nine in ten"), (0.5, 0.05, "more than half of the"))
# Of so few columns it is told that they are one value everywhere; more is as in images.
FEW = 0.1


def constant_notes(sets: Sets, selection: Selection, setting: Setting) -> list[Note]:
    """Tell of owners nine in ten of whose values of a column are one, inside its bounds.

    Only if no value is common in the target and at all other owners; of more than half of the
    values, if each is rare there. And of columns that are one value everywhere, inside their
    bounds, if they are one or at most a tenth of the columns.
    """
    return [*_same_everywhere(sets), *_same_at_owners(sets, selection, setting)]


def _same_at_owners(sets: Sets, selection: Selection, setting: Setting) -> list[Note]:
    owners = np.flatnonzero(np.diff(sets.read.starts) >= FEWEST_POINTS).tolist()
    owner, each = selection.pool.owner, selection.pool.records.values
    numbers = [j for j, column in enumerate(sets.schema.kernel) if not column.categories]
    found: dict[tuple[str, str], list[str]] = {}
    for j, who_may in _may_be_one_value(sets, owners).items():
        # As they were sent, neither clipped nor rounded.
        values = {i: _known(each[owner == i, numbers[j]]) for i in owners}
        shares = {i: _middle_share(values[i]) for i in who_may}
        low, high = sets.columns[j].limits or (-np.inf, np.inf)
        for least, common, said in SHARES:
            who = [i for i, share in shares.items() if share >= least and share > 0.5]
            # Of one that is clipped another note tells.
            inside = any(low <= _middle(values[i]) <= high for i in who)
            rest = [sets.target.column(j), *(values[i] for i in owners if i not in who)]
            if inside and all(_varies(part, common) for part in rest):
                names = listed([setting.names[i] for i in who])
                found.setdefault((names, said), []).append(sets.columns[j].name)
                break
    return [
        Note(
            f"In the points read of {who}, {said} values of {', '.join(columns[:MOST_NAMED])} are "
            f"one and the same, and nowhere else is any value so common: was a default, or the "
            f"value above, filled in there, or is it a mark of no value?",
            Severity.WARNING,
        )
        for (who, said), columns in list(found.items())[:MOST_NAMED]
    ]


def _may_be_one_value(sets: Sets, owners: list[int]) -> dict[int, list[int]]:
    """Return in which columns more than half of whose values may be one that is rare elsewhere.

    Sorted, more than half of an owner's values cover the middle, and what is at three or at seven
    in ten. No value may be common in the target, which rules out pixels.
    """
    which = np.flatnonzero(~_has_common(sets.target))
    if not len(which) or not owners:
        return {}
    low, middle, high = sets.read.of_columns(which).quantiles((0.3, 0.5, 0.7))[:, owners]
    may_be = (middle == low) | (middle == high)
    return {
        int(which[at]): [owners[i] for i in np.flatnonzero(may_be[:, at]).tolist()]
        for at in np.flatnonzero(may_be.any(axis=0)).tolist()
    }


def _has_common(goal: Numbers) -> NDArray[np.bool_]:
    """Return in which columns some value is common, or too few are known to say, (k,)."""
    # Of sorted values, two so far from each other are equal if one value is more common.
    steps = np.floor(SHARES[0][1] * goal.known[0]).astype(np.int64)
    found: NDArray[np.bool_] = goal.known[0] < FEWEST_VALUES
    for step in np.unique(steps[~found]).tolist():
        rows = goal.values[~found & (steps == step)]
        found[~found & (steps == step)] = (rows[:, step:] == rows[:, :-step]).any(axis=1)
    return found


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


def _known(values: NDArray[Any]) -> Array:
    known: Array = np.sort(values[~np.isnan(values)]).astype(np.float64)
    return known


def _middle(values: Array) -> float:
    return float(values[(len(values) - 1) // 2])


def _middle_share(values: Array) -> float:
    """Return the share of the middle one of sorted values: if most are one, it is that.

    0 of so few that nothing is said.
    """
    if len(values) < FEWEST_POINTS:
        return 0.0
    return float(np.mean(values == _middle(values)))


def _varies(values: Array, common: float) -> bool:
    """Return whether no value is common; of few values nothing is said, so they are no witness."""
    if len(values) < FEWEST_VALUES:
        return True
    return bool(np.unique(values, return_counts=True)[1].max() <= common * len(values))

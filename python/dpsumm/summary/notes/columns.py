"""Columns ruined at some owners, and points all the same.

For curator and consumer alone: it depends on private data. No value of a record is in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsumm.basics.checks import listed
from dpsumm.data.kinds.number import NO_LIMITS
from dpsumm.data.schema import Schema
from dpsumm.report.notes import Note, Severity
from dpsumm.summary.notes.limits import FEWEST, MUCH, RUINED
from dpsumm.summary.protocols import Selection, Setting


def pool_notes(selection: Selection, setting: Setting) -> list[Note]:
    """Tell of columns that are ruined at some owners, by name, and of points all the same.

    By the points read alone, which the consumer sees, and after everything was sent: a refusal
    before would tell owners of each other's data.
    """
    pool, notes = selection.pool, []
    ends = pool.scaled[:1], pool.scaled[-1:]
    if len(pool.scaled) > 1 and np.array_equal(*ends) and (pool.scaled == ends[0]).all():
        text = (
            "All points read are one point for the kernel, so nothing was chosen among them. Check "
            "columns, bounds and categories."
        )
        notes.append(Note(text, Severity.ALARM))
    if setting.schema is None:
        return notes
    ruined: dict[tuple[str, str], list[int]] = {}
    for i, j, how in _ruined(pool.records.values, pool.owner, setting.schema):
        ruined.setdefault((setting.schema.kernel[j].name, how), []).append(i)
    for (title, how), places in ruined.items():
        everybody = len(places) == len(setting.names)
        who = "all owners" if everybody else listed([setting.names[i] for i in places])
        many = 2 * len(places) >= len(setting.names) or (
            np.isin(selection.owner, places).sum() >= MUCH * len(selection.owner)
        )
        # An owner may lack a column; the others still say something.
        bad = many and how != _NO_VALUE
        severity = Severity.ALARM if bad else Severity.WARNING
        notes.append(Note(how.format(who=who, title=title), severity))
    return notes


_NO_VALUE = "No point read of {who} has a value of {title}: is the column empty there?"


_OUTSIDE = (
    "In the points read of {who}, at least nine in ten values of {title} lie outside its bounds "
    "and count as the bound: is the column in other units there, or is that a mark of no value?"
)


_UNKNOWN = (
    "In the points read of {who}, at least nine in ten values of {title} are in no category and "
    "count as its 'other': are the categories spelled otherwise there?"
)


def _ruined(
    values: NDArray[Any], owner: NDArray[np.int64], schema: Schema
) -> Iterator[tuple[int, int, str]]:
    """Yield owners and columns that tell nothing among their points, with what to say of each."""
    limits = np.array([column.limits or NO_LIMITS for column in schema.kernel]).T
    # The position that stands for `other`.
    other = [np.nan if one.other is None else len(one.categories) for one in schema.kernel]
    useless = np.zeros((3, *values.shape), np.bool_)
    absent, outside, unknown = useless
    np.isnan(values, out=absent)
    if np.isfinite(limits).any():
        outside[:] = (values < limits[0]) | (values > limits[1])
    if not np.isnan(other).all():
        unknown[:] = values == other
    if not useless.any():
        return
    for i in np.flatnonzero(np.bincount(owner) >= FEWEST).tolist():
        n_absent, *counts = np.count_nonzero(useless[:, owner == i], axis=1)
        present = np.count_nonzero(owner == i) - n_absent
        is_outside, is_unknown = (count >= RUINED * present for count in counts)
        for j in np.flatnonzero((present == 0) | is_outside | is_unknown).tolist():
            yield i, j, _NO_VALUE if not present[j] else _OUTSIDE if is_outside[j] else _UNKNOWN

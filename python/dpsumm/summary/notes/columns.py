"""Columns that the summary does not follow, and columns ruined at some owners.

For curator and consumer alone: it depends on private data. No value of a record is in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsumm.checks import listed
from dpsumm.data.kinds.number import NO_LIMITS
from dpsumm.data.schema import Schema
from dpsumm.report.notes import Note, Severity
from dpsumm.summary.notes.limits import FEWEST, MOST_NAMED, MUCH, RUINED
from dpsumm.summary.notes.numbers import Array, Numbers, Sets
from dpsumm.summary.protocols import Selection, Setting

# Values of the summary at which it is looked first: nearly all columns are ruled out by them.
LOOKED_AT = 128


def column_notes(sets: Sets, selection: Selection, setting: Setting) -> list[Note]:
    """Tell of columns in which the summary is far from the target, however small its distance.

    Bounds far wider than a column's values, or a small weight, take it out of the distance.
    """
    # Not by a mere import of dpsumm.
    from dpsumm.summary.by_column import TOLD, beyond_chance, chance, few

    usual = chance(len(selection.scaled), len(setting.target))
    least = TOLD * usual
    if least > 1:
        return []
    parts = few(setting.target, selection.scaled)
    if len(parts[0]) == len(sets.target) and len(parts[1]) == len(sets.summary):
        numbers = sets.target, sets.summary
    else:
        numbers = sets.cells.numbers(parts[0]), sets.cells.numbers(parts[1])
    bounds = dict(zip((one.name for one in sets.columns), _gaps_at_most(*numbers), strict=True))
    gaps = _largest_gaps(sets.schema, parts, bounds, least)
    far = sorted((gap, name) for name, gap in gaps.items() if gap >= least)[::-1]
    if not far:
        return []
    said = ", ".join(f"{name} ({gap:.0%})" for gap, name in far[:MOST_NAMED])
    return [
        Note(
            f"The summary does not follow the target in {said}: so far apart are their values, "
            f"where up to {usual:.0%} is chance. Owners that have none like the target's do that; "
            f"so do bounds far wider than the values, or a small weight, which take a column out "
            f"of the distance, and few points read for each one kept: a larger reads_per_record "
            f"(--reads-per-record) or a smaller size (--size) gives more.",
            beyond_chance(far[0][0], usual),
        )
    ]


def _largest_gaps(
    schema: Schema, parts: tuple[Array, ...], bounds: Mapping[str, float], least: float
) -> dict[str, float]:
    """Return gaps by column: with the largest ones of at least `least`, as many as are named.

    Columns with the largest `bounds` first, until those of the others are below the gaps found.
    """
    from dpsumm.summary.by_column import of_schema

    every, gaps, step = {one.name for one in schema.kernel}, dict[str, float](), 2 * MOST_NAMED
    left = sorted((name for name in bounds if bounds[name] >= least), key=lambda x: -bounds[x])
    now = every - bounds.keys() | {*left[:step]}
    while now:
        gaps |= {one.name: one.gap(0, 1) for one in of_schema(schema, *parts, but=every - now)}
        left, step = left[step:], 2 * step
        named = sorted(gaps.values())[-MOST_NAMED:]
        enough = len(named) == MOST_NAMED and left and bounds[left[0]] < named[0]
        now = set() if enough else {*left[:step]}
    return gaps


def _gaps_at_most(target: Numbers, summary: Numbers) -> NDArray[np.float64]:
    """Return what the gap of each column is at most, (k,); see `Marginal.gap`.

    Between two neighbours of a few of the summary's values, sorted, each share lies between its
    values at these. Infinity where values are missing.
    """
    rows = np.linspace(0, len(summary) - 1, LOOKED_AT).astype(np.int64)
    ours, theirs = np.zeros(LOOKED_AT + 2), np.zeros((len(summary.values), LOOKED_AT + 2))
    for row, values, at in zip(theirs, target.values, summary.values[:, rows], strict=True):
        row[1:-1] = values.searchsorted(at, "right")
    ours[1:-1], ours[-1], theirs[:, -1] = rows + 1, len(summary), len(target)
    ours, theirs = ours / len(summary), theirs / len(target)
    apart = np.maximum(theirs[:, 1:] - ours[:-1], ours[1:] - theirs[:, :-1]).max(axis=1)
    some_missing = (target.known[0] < len(target)) | (summary.known[0] < len(summary))
    return np.where(some_missing, np.inf, apart)


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

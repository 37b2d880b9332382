"""Where numbers lie: within their bounds, and at one owner against all others.

For curator and consumer alone: it depends on private data. No value of a record is in it. It looks
at target and points read, after the last message, so nothing of it reaches an owner.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dpsumm.checks import listed
from dpsumm.data.coordinates import cell_names
from dpsumm.data.schema import Schema
from dpsumm.report.notes import Note, Severity
from dpsumm.report.numbers import percent
from dpsumm.summary.alike import severity_of, unlike
from dpsumm.summary.kernel import RBF
from dpsumm.summary.notes import MOST_NAMED
from dpsumm.summary.protocols import Selection, Setting

# What a column counts for, against one that fills its bounds: as a distance, so its part of the
# squared distance is the square. Below the first 1 / 400 is left, below the second 1 / 10,000.
HARDLY, NOTHING = 1 / 20, 1 / 100
# So much at either end of a column's values is left out: marks of no value, and slips of the pen.
ENDS = 1 / 50
# Fewer values say nothing of where a column lies; nor do fewer points of one owner.
FEWEST_VALUES, FEWEST_POINTS = 20, 16
# An owner's column is elsewhere if nine in ten of its values are beyond the others' by their width.
TAIL = 0.1
# Values are far outside the target's if they are beyond them by so many of their widths. That is an
# alarm at such a share of the summary, of at least so many points: a slip of the pen is chosen too.
WIDTHS, HIT, FEWEST_HIT = 3, 0.1, 3

Array = NDArray[np.float64]


def numbers_of(schema: Schema, points: NDArray[np.floating]) -> Array:
    """Return the number columns of points in the kernel's space, (n, number of them), as written.

    In their own units; NaN where a value is missing. Columns in the order of `number_columns`.
    """
    found, start = [], 0
    for column in schema.kernel:
        stop = start + len(cell_names(column))
        if not column.categories:
            low, high = column.limits or (0.0, 1.0)
            values = low + (high - low) * (points[:, start] / column.weight)
            values[(points[:, start + 1 : stop] > 0).any(axis=1)] = np.nan
            found.append(values)
        start = stop
    return np.column_stack(found) if found else np.empty((len(points), 0))


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
    if schema is None or not schema.bounded or not _fits(schema, selection):
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


def elsewhere_notes(selection: Selection, setting: Setting) -> list[Note]:
    """Tell of an owner whose values of a column lie far from everybody else's, and of such points.

    Nine in ten of an owner's are beyond the range of the target's and of each other owner's middle
    96 %, by as much as that range is wide; or, below it, by the square of the ratio of its ends.
    Two owners that are elsewhere alike hide each other, but not points of the summary that lie far
    outside the target's: a tenth of them is an alarm, whoever's they are. Units close to each other
    stay hidden, such as pounds and kilograms of people: owners may differ as much without a slip.
    """
    schema = setting.schema
    if schema is None or not _fits(schema, selection):
        return []
    names = [column.name for column in schema.kernel if not column.categories]
    goal = numbers_of(schema, setting.target)
    if not names or len(goal) < FEWEST_VALUES:
        return []
    low, mid_low, middle, mid_high, high = _quantiles(goal, (ENDS, TAIL, 0.5, 1 - TAIL, 1 - ENDS))
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
    bulk = np.array([_quantiles(parts[i][:, varied], at_each) for i in owners])
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


def _quantiles(values: Array, at: tuple[float, ...]) -> Array:
    """Return quantiles of each column, (len(at), number of columns); NaN where no value is."""
    if not np.isnan(values).any():
        return np.asarray(np.quantile(values, at, axis=0), np.float64)
    found = np.full((len(at), values.shape[1]), np.nan)
    for j in range(values.shape[1]):
        there = values[~np.isnan(values[:, j]), j]
        if len(there) >= FEWEST_POINTS:
            found[:, j] = np.quantile(there, at)
    return found


def _fits(schema: Schema, selection: Selection) -> bool:
    width: int = selection.pool.scaled.shape[1]
    return len(schema.cells) == width


def _named(found: list[tuple[float, str]]) -> str:
    return ", ".join(name for _, name in sorted(found)[:MOST_NAMED])


def _few(share: float) -> str:
    return percent(share) if share >= 0.001 else "below 0.1%"

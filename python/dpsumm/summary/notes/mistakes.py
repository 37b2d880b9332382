"""Mistakes at owners, as the records that were read show them. They are reasons to ask an owner.

Notes depend on private data and are for curator and consumer alone. None contains a value of a
record. They are made after the last message, so nothing of them reaches an owner.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from dpsumm.basics.checks import listed
from dpsumm.data.schema import Schema
from dpsumm.report.notes import Note, Severity
from dpsumm.report.thinned import thinned
from dpsumm.summary.notes.limits import MOST_NAMED, MUCH, RUINED
from dpsumm.summary.notes.parties import FEW, Array, Parties
from dpsumm.summary.notes.repairs import repairs
from dpsumm.summary.protocols import Selection, Setting

# Rows of all others with which an owner's are compared after a repair.
MOST_OTHERS = 4000
# Rows of an owner that are no sample.
FEWEST_ROWS = 5
# What lies beyond so much of a column at either end is none of its bulk.
ENDS = 0.02
# Far is beyond the bulk of everybody else by its width, or by three where only some rows are.
WIDTHS, SOME = 3, 0.1
# And whatever others have, beyond the bounds by such a part of their width.
OUTSIDE = 0.5
# Rows in which one value is no accident; their share of the rows that are as far.
FEWEST_ALIKE, MOSTLY = 3, 0.5
# A value that is in so large a share of anybody else's rows may be in all of an owner's.
COMMON = 0.25

TEXTS = {
    "empty": (
        "At {who}, no record that was read has a value of {names}. Is the column empty there?"
    ),
    "outside": (
        "At {who}, at least nine in ten values of {names} lie outside the bounds and count as the "
        "bound. Is the column in other units there, or do these values mean that there is none?"
    ),
    "unknown": (
        "At {who}, at least nine in ten values of {names} are in no category and count as 'other'. "
        "Are the categories spelled differently there?"
    ),
    "mark": (
        "At {who}, several records have the same value of {names}, far from all others. If it "
        "means that there is no value, as 999 or -1 often do, list it in the column's missing. "
        "Otherwise it counts as a number."
    ),
    "zero": (
        "At {who}, {names} seems to be counted from one less than elsewhere, as months from 0 are."
    ),
    "constant": (
        "At {who}, at least nine in ten values of {names} are the same, and no value is so common "
        "elsewhere. Was a default filled in there?"
    ),
    "exchanged": (
        "At {who}, {names} look exchanged. With either in the place of the other they would fit "
        "the rest of the data."
    ),
    "unit": (
        "At {who}, {names} looks like another unit. Multiplied by a constant it would fit the rest "
        "of the data."
    ),
    "far": (
        "At {who}, nearly all values of {names} lie far from the rest of the data. Is the column "
        "in other units there?"
    ),
    "some": (
        "At {who}, some values of {names} lie far from the rest of the data. Are some records in "
        "other units there?"
    ),
}


def mistake_notes(selection: Selection, setting: Setting) -> list[Note]:
    """Return a note on each mistake, with the owners that made it and the columns.

    A column of one owner is in one note at most, that of the first kind in `TEXTS`.
    """
    pool, names = selection.pool, setting.names
    few = [name for name in names if 0 < setting.n_records.get(name, 0) < FEWEST_ROWS]
    notes = []
    if few:
        hold = "holds" if len(few) == 1 else "hold"
        notes.append(
            Note(
                f"{listed(few)} {hold} fewer than {FEWEST_ROWS} records, which are no sample. Is "
                f"that the right file?"
            )
        )
    if len(pool.scaled) > 1 and (pool.scaled == pool.scaled[0]).all():
        text = (
            "All points read are one point for the kernel, so nothing was chosen among them. Check "
            "columns, bounds and categories."
        )
        return [Note(text, Severity.ALARM), *notes]
    if setting.schema is None or len(setting.schema.cells) != pool.scaled.shape[1]:
        return notes
    parties = Parties.of(selection, setting, setting.schema)
    told: set[tuple[int, int]] = set()
    found: dict[tuple[str, tuple[int, ...]], list[int]] = {}
    for what, i, columns in (
        *_ruined(parties, setting.schema),
        *_strange(parties),
        *_repaired(parties),
        *_far(parties),
    ):
        if told.isdisjoint((i, j) for j in columns):
            told.update((i, j) for j in columns)
            found.setdefault((what, columns), []).append(i)
    together: dict[tuple[str, tuple[int, ...]], list[str]] = {}
    for (what, columns), owners in found.items():
        title = " and ".join(parties.names[j] for j in columns)
        together.setdefault((what, tuple(owners)), []).append(title)
    for (what, whose), titles in list(together.items())[:MOST_NAMED]:
        who = "all owners" if len(whose) == len(names) else listed([names[i] for i in whose])
        text = TEXTS[what].format(names=", ".join(titles[:MOST_NAMED]), who=who)
        many = 2 * len(whose) >= len(names) or (
            np.isin(selection.owner, whose).sum() >= MUCH * len(selection.owner)
        )
        ruined = what in ("outside", "unknown") and many
        notes.append(Note(text, Severity.ALARM if ruined else Severity.WARNING))
    return notes


# What is found: a key of `TEXTS`, the owner and the columns.
Found = Iterator[tuple[str, int, tuple[int, ...]]]


def _ruined(parties: Parties, schema: Schema) -> Found:
    """Yield columns that tell nothing at an owner."""
    low, high = parties.limits
    other = [np.nan if one.other is None else len(one.categories) for one in schema.kernel]
    for i, rows in parties.owners.items():
        known = ~np.isnan(rows)
        present = known.sum(axis=0)
        outside = ((rows < low) | (rows > high)).sum(axis=0) >= RUINED * present
        unknown = (rows[:, :-1] == other).sum(axis=0) >= RUINED * present[:-1]
        for j in range(rows.shape[1] - 1):
            if not present[j]:
                yield "empty", i, (j,)
            elif outside[j] or unknown[j]:
                yield "outside" if outside[j] else "unknown", i, (j,)


def _strange(parties: Parties) -> Found:
    """Yield columns of counts from one less, and of one value."""
    everybody = [parties.target, *parties.judged.values()]
    least = np.array([_least(rows) for rows in everybody])
    most = -np.array([_least(-rows) for rows in everybody])
    few, numbers = [_few(rows) for rows in everybody], parties.numbers.copy()
    numbers[-1] = False
    for place, (i, rows) in enumerate(parties.judged.items(), 1):
        low = np.delete(least, place, axis=0).min(axis=0)
        high = np.delete(most, place, axis=0).max(axis=0)
        others = [*everybody[:place], *everybody[place + 1 :]]
        lower = (least[place] == low - 1) & (most[place] == high - 1) & (high - low > 3)
        for j in np.flatnonzero(lower & numbers).tolist():
            rest = np.concatenate([part[:, j] for part in others])
            rest = rest[~np.isnan(rest)]
            expected = len(rows) * min((rest == end).mean() for end in (low[j], high[j]))
            if expected >= FEWEST_ALIKE and not (rest % 1).any():
                yield "zero", i, (j,)
        inside = (parties.limits[0] <= least[place]) & (most[place] <= parties.limits[1])
        for j in np.flatnonzero(few[place] & inside & numbers).tolist():
            shares = [_commonest(part[:, j]) for part in (rows, *others)]
            if shares[0] >= RUINED and max(shares[1:]) <= COMMON:
                yield "constant", i, (j,)


def _least(rows: Array) -> Array:
    """Return each column's least value, infinite if there is none."""
    least: Array = np.where(np.isnan(rows), np.inf, rows).min(axis=0, initial=np.inf)
    return least


def _few(rows: Array) -> NDArray[np.bool_]:
    """Return in which columns most values may be one: those at a fifth and at four fifths are."""
    low, high = _quantiles(rows, 0.2, 0.8)
    return np.asarray(low == high, np.bool_)


def _quantiles(rows: Array, *at: float) -> Array:
    """Return values of each column at these shares of it, (len(at), c); NaN of few values."""
    ordered, known = np.sort(rows, axis=0), (~np.isnan(rows)).sum(axis=0)
    places = np.rint(np.multiply.outer(at, np.maximum(known - 1, 0))).astype(np.int64)
    found: Array = np.take_along_axis(ordered, places, axis=0)
    return np.where(known >= FEW, found, np.nan)


def _commonest(values: Array) -> float:
    """Return the share of the commonest value; 0 of so few that nothing is said."""
    known = values[~np.isnan(values)]
    if len(known) < FEW:
        return 0.0
    return float(np.unique(known, return_counts=True)[1].max() / len(known))


def _repaired(parties: Parties) -> Found:
    """Yield what fits everybody else's once it is changed: see `repairs`."""
    numbers = parties.numbers[:-1].nonzero()[0]
    most = max(MOST_OTHERS // (len(parties.judged) + 1), FEW)
    parts = {i: thinned(rows[:, numbers], most) for i, rows in parties.judged.items()}
    goal = thinned(parties.target[:, numbers], most)
    for i, rows in parties.judged.items():
        others = [part for k, part in parts.items() if k != i]
        for what, columns in repairs(rows[:, numbers], [goal, *others]):
            yield what, i, tuple(int(numbers[j]) for j in columns)


def _far(parties: Parties) -> Found:
    """Yield columns of which values lie beyond everybody else's: one value, nearly all, or some.

    One value that is inside the bounds is none if the target or half of the owners have it.
    """
    everybody = [parties.target, *parties.judged.values()]
    low, high = parties.limits
    spread = np.array([_quantiles(rows, 0.1, 0.5, 0.9) for rows in everybody])
    # Of a column that is mostly one value, as a pixel is, values elsewhere are no other unit.
    mostly_one = (spread[:, 1] == spread[:, 0]) | (spread[:, 1] == spread[:, 2])
    bulk = np.array([_quantiles(rows, ENDS, 1 - ENDS) for rows in everybody])
    bulk = np.where(np.isnan(bulk), [[np.inf], [-np.inf]], bulk)
    for place, (i, rows) in enumerate(parties.judged.items(), 1):
        others = np.delete(bulk, place, axis=0)
        below, above = others[:, 0].min(axis=0), others[:, 1].max(axis=0)
        width = above - below
        reach = np.zeros(rows.shape)
        varied = (width > 0) & np.isfinite(width)
        varied &= ~np.delete(mostly_one, place, axis=0).any(axis=0)
        away = np.abs(rows - np.clip(rows, below, above))
        np.divide(away, width, out=reach, where=varied & ~np.isnan(rows))
        beyond = np.abs(rows - np.clip(rows, low, high)) > OUTSIDE * (high - low)
        beyond |= reach > WIDTHS
        known, many = (~np.isnan(rows)).sum(axis=0), (reach > 1).sum(axis=0)
        all_far = (known >= FEW) & (many >= RUINED * known)
        some = parties.numbers & (all_far | (beyond.sum(axis=0) >= FEWEST_ALIKE))
        for j in np.flatnonzero(some).tolist():
            different, counts = np.unique(rows[beyond[:, j], j], return_counts=True)
            if all_far[j]:
                yield "far", i, (j,)
            elif counts.max() >= max(FEWEST_ALIKE, MOSTLY * counts.sum()):
                if not _usual(float(different[counts.argmax()]), j, parties):
                    yield "mark", i, (j,)
            elif counts.sum() >= SOME * known[j]:
                yield "some", i, (j,)


def _usual(value: float, j: int, parties: Parties) -> bool:
    """Return whether a value is one that the column may have, and that others have, too."""
    if not parties.limits[0, j] <= value <= parties.limits[1, j]:
        return False
    having = sum((rows[:, j] == value).any() for rows in parties.judged.values())
    return bool((parties.target[:, j] == value).any() or 2 * having >= len(parties.judged))

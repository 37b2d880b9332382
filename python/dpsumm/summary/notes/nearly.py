"""Records that are there twice but for one column: visits of a person, or a copy that was changed.

For curator and consumer alone: it depends on private data. No value of a record is in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dpsumm.basics.checks import counted, listed
from dpsumm.report.notes import Note
from dpsumm.summary.notes.hashes import Hashes, equal_to_another, nearly_equal, row_hashes
from dpsumm.summary.notes.limits import MUCH
from dpsumm.summary.notes.twice import Rows, Twice, clearly_more, pairs_of
from dpsumm.summary.protocols import Setting

# Fewer different rows that are there twice say nothing, nor do those equal in fewer columns.
FEWEST_ROWS, FEWEST_COLUMNS = 5, 3
# Columns that may be the one, and values that are looked at for it.
MOST_TRIED, MOST_VALUES = 8, 1_000_000

# Counts of rows by kind, and the owners whose they are.
_Found = dict[str, tuple[int, list[int]]]
_SAID = {
    "pasted": (
        "{count:,} of the target's {m:,} records equal another one in every column but {column}. "
        "If they are records of one person, such as visits, who is in it k times is protected by "
        "k times the epsilon said: give one record of each person, or divide epsilon by the most "
        "records that one has."
    ),
    "copied": (
        "{count:,} of {read} read, of {who}, equal a target record in every column but {column}: "
        "are they the target's own data with another {column}? A summary of these says nothing "
        "about the owners: leave that owner out."
    ),
    "shared": (
        "{count:,} of {read} read are held by two owners ({who}), equal in every column but "
        "{column}: is one file given as two owners, with another {column}? A record held twice "
        "counts twice, for the summary and for what it costs its person."
    ),
    "again": (
        "{count:,} of {read} read equal another one of the same owner ({who}) in every column "
        "but {column}: does one person have several records there, such as visits? Each counts, "
        "for the summary and for what it costs its person."
    ),
}


def near_notes(rows: Rows, found: Twice, setting: Setting) -> Iterator[Note]:
    """Yield notes on rows that are there twice but for one column, the same one in all of them.

    A tenth at least of the target, of an owner's points read, or of two owners'. In tables of few
    columns or categories rows are equal by chance: about as many would then be if one more column
    were left out, see `nearly_equal`; of copies, none. Nothing is said where those are half as
    many, nor of a kind of which half as many are equal in all columns (`found`).
    """
    width = rows.pool.shape[1]
    if not len(rows.pool) or width <= FEWEST_COLUMNS:
        return
    rows = _thinned(rows)
    names = _names(setting, width)
    tried = [(names[j], _without(rows, j)) for j in _to_try(rows)]
    for kind, text in _SAID.items():
        here = ((one[kind], name) for name, one in tried if kind in one)
        (count, owners), column = max(here, key=lambda one: one[0][0], default=((0, []), ""))
        if count <= 2 * getattr(found, kind):
            continue
        who = listed([setting.names[i] for i in owners])
        read = counted(len(rows.pool), "point", "points")
        yield Note(text.format(count=count, m=len(rows.target), read=read, who=who, column=column))


def _without(rows: Rows, column: int) -> _Found:
    """Return how many rows are there twice if a column is left out, by more than chance."""
    target, pool = (np.delete(part, column, axis=1) for part in (rows.target, rows.pool))
    keys, places = row_hashes(target), row_hashes(pool)
    found: _Found = {}
    pasted = keys[_repeated(keys)]
    if _many(pasted, len(keys), target):
        found["pasted"] = len(pasted), []
    # An owner's number makes keys of different owners different.
    own = places + rows.owner.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    for kind, equal, others in (
        ("copied", np.isin(places, keys), target),
        ("again", _repeated(own), target[:0]),
    ):
        who = []
        for i in np.unique(rows.owner[equal]).tolist():
            its = rows.owner == i
            if _many(places[its & equal], its.sum(), np.concatenate([others, pool[its]])):
                who.append(i)
        if who:
            found[kind] = int(equal[np.isin(rows.owner, who)].sum()), who
    twice = _repeated(places)
    held = zip(places[twice].tolist(), rows.owner[twice].tolist(), strict=True)
    shared, owners = np.zeros(len(places), np.bool_), set()
    for pair, both in pairs_of(set(held)).items():
        its = np.isin(rows.owner, pair)
        equal = its & np.isin(places, np.array(both, np.uint64))
        if _many(places[equal], its.sum(), pool[its]):
            shared |= equal
            owners |= set(pair)
    if owners:
        found["shared"] = int(shared.sum()), sorted(owners)
    return found


def _repeated(keys: Hashes) -> NDArray[np.bool_]:
    """Return which keys equal another one."""
    _, places, counts = np.unique(keys, return_inverse=True, return_counts=True)
    repeated: NDArray[np.bool_] = counts[places] > 1
    return repeated


def _many(equal: Hashes, of: int, compared: Hashes) -> bool:
    """Return whether so many of some rows are equal that it is no chance."""
    if len(equal) < MUCH * of or len(np.unique(equal)) < FEWEST_ROWS:
        return False
    usual = nearly_equal(compared)[0] * of
    return clearly_more(len(equal), of, usual, 2 * usual)


def _to_try(rows: Rows) -> list[int]:
    """Return the columns without which most rows equal another one, if enough of them do."""
    hashes = np.concatenate([rows.target, rows.pool])
    # Rows that differ in one column are equal in the first half of the columns or in the second.
    middle = hashes.shape[1] // 2
    halves = np.stack([row_hashes(hashes[:, :middle]), row_hashes(hashes[:, middle:])])
    halves.sort()
    if not (halves[:, 1:] == halves[:, :-1]).any():
        return []
    rest = row_hashes(hashes)[:, None] - hashes
    equal = np.count_nonzero(equal_to_another(np.sort(rest, axis=0)), axis=0)
    order = np.argsort(-equal, kind="stable")[:MOST_TRIED]
    return [j for j in order.tolist() if equal[j] >= FEWEST_ROWS]


def _thinned(rows: Rows) -> Rows:
    """Return at most `MOST_VALUES` of the target and of the points read, evenly spaced."""
    most = MOST_VALUES // (2 * rows.pool.shape[1])
    some, others = (
        np.linspace(0, len(part) - 1, min(len(part), most)).astype(np.int64)
        for part in (rows.target, rows.pool)
    )
    return replace(rows, target=rows.target[some], pool=rows.pool[others], owner=rows.owner[others])


def _names(setting: Setting, width: int) -> Sequence[str]:
    """Return what the columns are called; those of an embedding have no names."""
    schema = setting.schema
    for names in ([column.name for column in schema.kernel] if schema else [], setting.columns):
        if len(names) == width:
            return names
    return [f"coordinate {j}" for j in range(width)]

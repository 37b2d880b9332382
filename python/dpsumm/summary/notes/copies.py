"""Records that are there twice, in all columns or in all but one, where chance makes fewer.

Notes depend on private data and are for curator and consumer alone. None contains a value of a
record.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsumm.basics.checks import counted, listed
from dpsumm.data.hashes import Hashes, column_hashes, may_be_twice, row_hashes
from dpsumm.data.twice import twice
from dpsumm.report.notes import Note, Severity
from dpsumm.report.thinned import thinned
from dpsumm.summary.notes.limits import MUCH
from dpsumm.summary.protocols import Selection, Setting

# Different rows that are there twice but for one column, and columns in which they are equal.
FEWEST_ROWS, FEWEST_COLUMNS = 5, 3
# Columns that may be the one, and values that are looked at for it.
MOST_TRIED, MOST_VALUES = 8, 1_000_000

_EQUAL = {
    "pasted": (
        "{count:,} of the target's {m:,} records equal another one in every column. Who is in it k "
        "times is protected by k times the epsilon said: give each record once."
    ),
    "copied": (
        "{count:,} of {read} read equal a target record in every column, {taken:,} of the "
        "summary's {p:,}. If an owner holds the target's own data, a summary of it says nothing "
        "about the owners: leave that owner out, or those points with "
        "`drop_target_copies`, which costs nothing."
    ),
    "shared": (
        "{count:,} of {read} read are held by two owners or more, equal in every column: is one "
        "file given as two owners? A record held twice counts twice, for the summary and for what "
        "it costs its person."
    ),
    "again": (
        "{count:,} of {read} read equal another one of the same owner in every column: does a file "
        "hold records more than once? Each copy counts, for the summary and for what it costs its "
        "person."
    ),
}
_NEARLY = {
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


def copy_notes(selection: Selection, setting: Setting) -> Iterator[Note]:
    """Yield a note on each kind of copies: in the target, at it and an owner, at two, or at one."""
    target, pool, schema = setting.target, selection.pool, setting.schema
    if not may_be_twice((target, pool.scaled), schema):
        return
    goal, read = column_hashes(target, schema), column_hashes(pool.scaled, schema)
    points, p, owner = counted(len(read), "point", "points"), len(selection.owner), pool.owner
    said: dict[str, Any] = {"m": len(target), "read": points, "p": p}
    dropped = np.isin(row_hashes(read), row_hashes(goal)) & setting.drop_target_copies
    if dropped.any():
        text = f"{dropped.sum():,} of {points} read equal a target record in every column"
        yield Note(f"{text} and were left out.", Severity.INFO)
        read, owner = read[~dropped], owner[~dropped]
    found = twice(goal, read, owner)
    taken = np.isin(np.flatnonzero(~dropped)[found["copied"]], selection.picks).sum()
    counts = {kind: int(rows.sum()) for kind, rows in found.items()}
    for kind, text in _EQUAL.items():
        part = taken / p if kind == "copied" else counts[kind] / len(found[kind])
        if counts[kind]:
            note = text.format(count=counts[kind], taken=taken, **said)
            yield Note(note, Severity.ALARM if part >= MUCH else Severity.WARNING)
    yield from _nearly(goal, read, owner, counts, setting, said)


def _nearly(
    goal: Hashes,
    read: Hashes,
    owner: NDArray[np.int64],
    equal: dict[str, int],
    setting: Setting,
    said: dict[str, Any],
) -> Iterator[Note]:
    """Yield notes on rows that are equal but for one column, a tenth at least of some party's."""
    width = read.shape[1]
    if not len(read) or width <= FEWEST_COLUMNS:
        return
    most = MOST_VALUES // (2 * width)
    some = thinned(np.arange(len(read)), most)
    goal, read, owner = thinned(goal, most), read[some], owner[some]
    best = {kind: (0, 0, owner[:0]) for kind in equal}
    for j in _to_try(np.concatenate([goal, read])):
        ours, theirs = np.delete(goal, j, axis=1), np.delete(read, j, axis=1)
        for kind, rows in twice(ours, theirs, owner).items():
            keys, whose = row_hashes(theirs), owner
            if kind == "pasted":
                keys, whose = row_hashes(ours), np.zeros(len(goal), np.int64)
            much = np.bincount(whose, rows) >= MUCH * np.bincount(whose)
            kept = rows & much[whose]
            count = int(kept.sum())
            if count > best[kind][0] and len(np.unique(keys[kept])) >= FEWEST_ROWS:
                best[kind] = count, j, np.unique(whose[kept])
    names = _names(setting, width)
    for kind, (count, j, owners) in best.items():
        if count > 2 * equal[kind]:
            who = listed([setting.names[i] for i in owners.tolist()])
            yield Note(_NEARLY[kind].format(count=count, who=who, column=names[j], **said))


def _to_try(hashes: Hashes) -> list[int]:
    """Return the columns without which most rows equal another one, if enough of them do."""
    # Rows that differ in one column are equal in the first half of the columns or in the second.
    middle = hashes.shape[1] // 2
    halves = row_hashes(hashes[:, :middle]), row_hashes(hashes[:, middle:])
    if all(len(np.unique(half)) == len(half) for half in halves):
        return []
    rest = np.sort(row_hashes(hashes)[:, None] - hashes, axis=0)
    equal = np.count_nonzero(rest[1:] == rest[:-1], axis=0)
    order = np.argsort(-equal, kind="stable")[:MOST_TRIED]
    return [j for j in order.tolist() if equal[j] >= FEWEST_ROWS]


def _names(setting: Setting, width: int) -> Sequence[str]:
    """Return what the columns are called. Those of an embedding have no names."""
    schema = setting.schema
    for names in ([column.name for column in schema.kernel] if schema else [], setting.columns):
        if len(names) == width:
            return names
    return [f"coordinate {j}" for j in range(width)]

"""Records that are there twice, where chance makes fewer.

Notes depend on private data and are for curator and consumer alone. None contains a value of a
record.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from dpsumm.basics.checks import counted
from dpsumm.data.hashes import column_hashes, row_hashes
from dpsumm.data.twice import twice
from dpsumm.report.notes import Note, Severity
from dpsumm.summary.notes.limits import MUCH
from dpsumm.summary.protocols import Selection, Setting

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


def copy_notes(selection: Selection, setting: Setting) -> Iterator[Note]:
    """Yield a note on each kind of copies: in the target, at it and an owner, at two, or at one."""
    target, pool, schema = setting.target, selection.pool, setting.schema
    goal, read = column_hashes(target, schema), column_hashes(pool.scaled, schema)
    keys = row_hashes(np.concatenate([goal, read]))
    if len(np.unique(keys)) == len(keys):
        return
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

"""Records that are there twice, in all columns or in all but one, where chance makes fewer.

For curator and consumer alone: it depends on private data. No value of a record is in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from dpsumm.basics.checks import counted
from dpsumm.report.notes import Note, Severity
from dpsumm.summary.notes.hashes import column_hashes, may_be_twice
from dpsumm.summary.notes.limits import MUCH
from dpsumm.summary.notes.nearly import near_notes
from dpsumm.summary.notes.twice import Rows, Twice, twice
from dpsumm.summary.protocols import Selection, Setting


def copy_notes(selection: Selection, setting: Setting) -> list[Note]:
    """Tell of records that are there twice: in the target, at it and an owner, at two, or at one.

    In all columns, or many of them in all columns but one; see `near_notes`. Nothing is said where
    chance makes as many.
    """
    target, dropped = setting.target, setting.drop_target_copies
    pool, schema = selection.pool, setting.schema
    if not may_be_twice((target, pool.scaled), schema):
        return []
    rows = Rows(
        target=column_hashes(target, schema),
        pool=column_hashes(pool.scaled, schema),
        chosen=column_hashes(selection.scaled, schema),
        owner=pool.owner,
        chosen_owner=selection.owner,
    )
    found = twice(rows)
    notes = list(_said(found, len(target), len(pool.owner), len(selection.owner), dropped=dropped))
    if dropped:
        rows, found = rows.without_copies(), replace(found, copied=0)
    return [*notes, *near_notes(rows, found, setting)]


def _said(found: Twice, m: int, n: int, p: int, *, dropped: bool) -> Iterator[Note]:
    """Yield notes on m target records and n points read, p of them taken, equal in all columns."""
    read = counted(n, "point", "points")
    if found.pasted:
        yield Note(
            f"{found.pasted:,} of the target's {m:,} records equal another one in every "
            f"column, and one of them is there {_times(found.most)}. Who is in it k times is "
            f"protected by k times the epsilon said: give each record once.",
            _severity(found.pasted, m),
        )
    if dropped and found.equal_target:
        yield Note(
            f"{found.equal_target:,} of {read} read equal a target record in every column and "
            f"were left out.",
            Severity.INFO,
        )
    elif found.copied and not dropped:
        yield Note(
            f"{found.copied:,} of {read} read equal a target record in every column, "
            f"{found.taken:,} of the summary's {p:,}. If an owner holds the target's own data, a "
            f"summary of it says nothing about the owners: leave that owner out, or those "
            f"points with drop_target_copies (--drop-target-copies), which costs nothing.",
            _severity(found.taken, p),
        )
    if found.shared:
        yield Note(
            f"{found.shared:,} of {read} read are held by two owners or more, equal in every "
            f"column: is one file given as two owners? A record held twice counts twice, for the "
            f"summary and for what it costs its person.",
            _severity(found.shared, n),
        )
    if found.again:
        yield Note(
            f"{found.again:,} of {read} read equal another one of the same owner in every column: "
            f"does a file hold records more than once? Each copy counts, for the summary and "
            f"for what it costs its person.",
            _severity(found.again, n),
        )


def _times(count: int) -> str:
    return "twice" if count == 2 else f"{count:,} times"


def _severity(found: int, of: int) -> Severity:
    return Severity.ALARM if found >= MUCH * of else Severity.WARNING

"""What readers left out, clipped or did not know.

For curator and consumer alone, since it depends on private data. No value of a record is in it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dpsumm.basics.checks import counted, listed
from dpsumm.data.stream import StreamTable
from dpsumm.data.table import Table
from dpsumm.report.notes import Note, Severity
from dpsumm.report.outside import IN_BOUNDS, IN_CATEGORIES, present
from dpsumm.summary.notes.limits import MOST_NAMED, MUCH

# What is asked about the target's columns, and its rows that are looked at.
ASKED, MOST_ROWS = ("identifier", "mark", "counts"), 2000
# Of a party's rows, a column's values, or all owners' values of it.
HALF = 0.5


def data_notes(tables: Sequence[Table | StreamTable]) -> list[Note]:
    """Warn of indexes and rows left out, and of values clipped, missing, unknown or in no place."""
    owners = [table for table in tables if table.name != "target"]
    notes = _indexed(tables)
    for group in (owners, [table for table in tables if table.name == "target"]):
        notes += _dropped(group)
        for attribute, said, usual in (
            ("n_clipped", "clipped to the public bounds", False),
            ("n_missing", "missing, which is a value of its own to the kernel", True),
            ("n_unknown", "in no category and count as its 'other'", False),
        ):
            counts = {
                table.name: np.array(getattr(table, attribute), np.int64)
                for table in group
                if sum(getattr(table, attribute))
            }
            if counts:
                severity = _absent(group) if usual else _severity(group, counts)
                text = _values(group, counts, said)
                notes.append(Note(text, severity))
    for table in tables:
        notes += _strange(table) if table.name == "target" else []
    return notes


def _strange(target: Table | StreamTable) -> list[Note]:
    """Return what the target's owner would be asked at home. See `dpsumm.data.lint`."""
    from dpsumm.data.lint import of_columns  # not by a mere import of dpsumm

    found = of_columns(target.schema.kernel, target.head.values[:MOST_ROWS])
    return [Note(f"target: {hint}") for hint in found if hint.rule in ASKED]


def _indexed(tables: Sequence[Table | StreamTable]) -> list[Note]:
    """Tell whose pandas index was left behind, by name: no value of it."""
    names = [table.name for table in tables if table.head.indexed]
    if not names:
        return []
    text = (
        f"The pandas index of {listed(names)} is not kept: a summary's index counts an owner's "
        f"rows from 0. Take rows by frame.iloc, or make the index a column by reset_index()."
    )
    return [Note(text, Severity.INFO)]


def _dropped(group: Sequence[Table | StreamTable]) -> list[Note]:
    dropped = {table.name: table.n_dropped for table in group if table.n_dropped}
    if not dropped:
        return []
    least, most = min(dropped.values()), max(dropped.values())
    share = max(table.n_dropped / (table.n_dropped + len(table)) for table in group)
    if len(dropped) == 1:
        name = next(iter(dropped))
        were = "was" if most == 1 else "were"
        text = (
            f"{name}: {counted(most, 'row', 'rows')} with missing values {were} left out, "
            f"{_percent(share)} of its rows."
        )
    else:
        text = (
            f"Rows with missing values were left out at {len(dropped)} of {len(group)} owners: "
            f"{_range(least, most)} each, up to {_percent(share)} of an owner's rows."
        )
    if share < HALF:
        return [Note(text, Severity.INFO)]
    text += (
        " The rest may be records of another kind: let the column with most of the missing values "
        'encode them (when_missing = "encode"), or leave the column out.'
    )
    return [Note(text, Severity.WARNING)]


def _absent(group: Sequence[Table | StreamTable]) -> Severity:
    """Return how bad missing values are: a target without a column asks for records without it."""
    if group[0].name != "target":
        return Severity.INFO  # see `pool_notes`
    share = max(group[0].n_missing) / len(group[0])
    return Severity.WARNING if share >= HALF else Severity.INFO


def _severity(
    group: Sequence[Table | StreamTable], counts: dict[str, NDArray[np.int64]]
) -> Severity:
    """Return how bad values outside the bounds or categories are.

    One owner may well have records of another kind, but not most of what all owners have.
    """
    if _worst(group, counts) < MUCH:
        return Severity.INFO
    all_values = np.sum([present(table) for table in group], axis=0)
    together = (np.sum(list(counts.values()), axis=0) / all_values).max()
    return Severity.ALARM if together >= HALF else Severity.WARNING


def _worst(group: Sequence[Table | StreamTable], counts: dict[str, NDArray[np.int64]]) -> float:
    """Return the largest share that such values have of a column's values at one owner."""
    having = {table.name: present(table) for table in group}
    return max(float((found / having[name]).max()) for name, found in counts.items())


def _values(
    group: Sequence[Table | StreamTable], counts: dict[str, NDArray[np.int64]], said: str
) -> str:
    names = group[0].columns
    total = np.sum(list(counts.values()), axis=0)
    order = sorted(np.flatnonzero(total).tolist(), key=lambda j: -int(total[j]))
    shown, more = sorted(order[:MOST_NAMED]), len(order) - MOST_NAMED
    rest = f" and of {counted(more, 'more column', 'more columns')}" if more > 0 else ""
    if len(counts) == 1:
        name, found = next(iter(counts.items()))
        parts = [f"{found[j]:,} of {names[j]}" for j in shown]
        parts[0] = f"{counted(int(found[shown[0]]), 'value', 'values')} of {names[shown[0]]}"
        were = "was" if len(order) == 1 and found[order[0]] == 1 else "were"
        text = f"{name}: {', '.join(parts)}{rest} {were} {said}."
    else:
        parts = []
        for j in shown:
            each = [int(found[j]) for found in counts.values() if found[j]]
            parts.append(f"{_range(min(each), max(each))} of {names[j]}")
        text = (
            f"Values were {said} at {len(counts)} of {len(group)} owners: {', '.join(parts)}{rest}."
        )
    worst = _worst(group, counts)
    if worst >= MUCH and "missing" not in said:
        check = IN_BOUNDS if "bounds" in said else IN_CATEGORIES
        text += f" That is up to {worst:.0%} of a column: check that {check}."
    return text


def _percent(share: float) -> str:
    return "less than 1%" if share < 0.01 else f"{share:.0%}"


def _range(least: int, most: int) -> str:
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"

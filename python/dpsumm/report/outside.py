"""A table's values that the schema does not know: outside the bounds, or in no category."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from dpsumm.basics.checks import listed
from dpsumm.data.lint import Hint
from dpsumm.data.stream import StreamTable
from dpsumm.data.table import Table
from dpsumm.report.notes import Note, Severity
from dpsumm.report.numbers import percent

# Such a share of values outside a column's bounds or in no category, or of records that are there
# twice, may make a run mean nothing.
MUCH = 0.1
# A column tells nothing if so large a share of its values does not.
RUINED = 0.9
# Columns that a note names, and owners.
MOST_NAMED, FEW_NAMED = 12, 3
# What an owner's caller is asked before a run, of the rules of the check at home.
ASKED = ("identifier", "mark", "counts", "clipped", "unknown")

IN_BOUNDS = (
    "the public bounds are in its own units, and that marks of no value, such as 999, are listed "
    "in the column's missing"
)
IN_CATEGORIES = (
    "they are spelled as the public categories are; list others there, and marks of no value in "
    "the column's missing"
)


def present(table: Table | StreamTable) -> NDArray[np.int64]:
    """Return how many values each column has. At least 1, so that shares are defined."""
    return np.maximum(len(table) - np.array(table.n_missing, np.int64), 1)


def strange_notes(found: Mapping[str, Sequence[Hint]]) -> Iterator[Note]:
    """Tell the caller, who holds all data in one process, what its owners would be asked at home.

    No result contains such notes.

    Parameters
    ----------
    found
        The hints on each owner's own data, by its name.
    """
    whose: dict[Hint, list[str]] = {}
    for name, hints in found.items():
        for hint in hints:
            if hint.rule in ASKED:
                whose.setdefault(hint, []).append(name)
    for hint, names in list(whose.items())[:MOST_NAMED]:
        more = f" and {len(names) - FEW_NAMED} more" if len(names) > FEW_NAMED else ""
        yield Note(f"At {listed(names[:FEW_NAMED])}{more}, {hint}")


def outside_notes(table: Table, whose: str, then: str) -> Iterator[Note]:
    """Warn the owner of a table, or everyone if it is public, of columns that the schema cuts off.

    A warning from a tenth of a column's values (`MUCH`), an alarm from nine tenths (`RUINED`).

    Parameters
    ----------
    whose
        Whose rows they are, such as "the public points'".
    """
    for counts, said, check in (
        (table.n_clipped, "were clipped to the public bounds", IN_BOUNDS),
        (table.n_unknown, "are in no category and count as its 'other'", IN_CATEGORIES),
    ):
        shares = np.array(counts, np.int64) / present(table)
        order = np.argsort(-shares, kind="stable")
        many = [int(j) for j in order if shares[j] >= MUCH]
        if not many:
            continue
        parts = [f"{percent(shares[j])} of {table.columns[j]}" for j in many[:MOST_NAMED]]
        more = f" and {len(many) - MOST_NAMED} more columns" if len(many) > MOST_NAMED else ""
        yield Note(
            f"Of {whose} values {', '.join(parts)}{more} {said}. {then} Check that {check}.",
            Severity.ALARM if shares[many[0]] >= RUINED else Severity.WARNING,
        )

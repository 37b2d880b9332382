"""Columns of numbers that are none: identifiers.

For curator and consumer alone: it depends on private data. No value of a record is in it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dpsumm.basics.checks import listed
from dpsumm.data.kinds.kind import Kind
from dpsumm.data.stream import StreamTable
from dpsumm.data.table import Table
from dpsumm.report.notes import Note, Severity

# Fewer rows may be sorted by a number that never repeats. More are not needed to tell.
FEWEST_ROWS, MOST_ROWS = 50, 1000
# So many are looked at first, which rules out columns with decimals.
FIRST = 16


def identifier_notes(target: Sequence[Table | StreamTable]) -> list[Note]:
    """Tell of columns of the target in which each row has a whole number of its own.

    By the rule by which `dpsumm.data.lint` leaves a column out: the column's name says so, or the
    numbers only rise from row to row.
    """
    from dpsumm.data.lint import identifies  # not by a mere import of dpsumm

    found = []
    for table in target:
        values = table.head.values[:MOST_ROWS]
        few = values[:FIRST]
        whole = np.isnan(few) | (few == np.floor(few))
        for j in np.flatnonzero(whole.all(axis=0)).tolist():
            column, items = table.schema.kernel[j], values[:, j]
            known = items[~np.isnan(items)]
            if column.kind is not Kind.NUMBER or len(known) < FEWEST_ROWS:
                continue
            if (known == np.floor(known)).all() and identifies(column.name, known.tolist()):
                found.append(column.name)
    if not found:
        return []
    is_one = "looks like an identifier" if len(found) == 1 else "look like identifiers"
    return [
        Note(
            f"{listed(found)} {is_one}: no two records of the target have the same "
            f"number. Nearness of such numbers means nothing, yet records are matched by it: leave "
            f"the column out, or give it kind 'ignore'.",
            Severity.WARNING,
        )
    ]

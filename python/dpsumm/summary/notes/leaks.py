"""Columns that say the label by themselves, so that a model learns nothing but to read them.

For curator and consumer alone: it depends on private data. No value of a record is in it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsumm.basics.checks import listed
from dpsumm.data.kinds.label import labels_of, places_of
from dpsumm.data.schema import Schema
from dpsumm.report.notes import Note, Severity
from dpsumm.summary.notes.limits import MOST_CLASSES
from dpsumm.summary.protocols import Selection

# Fewer points, or fewer of the second class, may be told apart by chance: of 50 points with 10 of
# one class, any column does that with probability 2e-10.
FEWEST_POINTS, FEWEST_OF_CLASS = 50, 10
# Points for each different value, without which codes such as identifiers say every label.
FEWEST_ALIKE = 10
# So many points are looked at first: nearly every column is ruled out by them.
FIRST = 200


def leak_notes(selection: Selection, schema: Schema) -> list[Note]:
    """Tell of columns that say the label of every point read, by its value or by where it lies.

    A column of few values does so if each of them has one label, any other if each class is an
    interval of it.
    """
    records = selection.pool.records
    if records.labels is None or len(records) < FEWEST_POINTS:
        return []
    names = list(dict.fromkeys(labels_of(records.labels.tolist()).tolist()))
    if not 2 <= len(names) <= MOST_CLASSES:
        return []
    labels = places_of(records.labels, names)
    known = np.bincount(labels[labels >= 0], minlength=2)
    if np.sort(known)[-2] < FEWEST_OF_CLASS:
        return []
    found = [
        column.name
        for column, values in zip(schema.kernel, records.values.T, strict=False)
        if _says(values[:FIRST], labels[:FIRST], len(names), len(labels))
        and _says(values, labels, len(names), len(labels))
    ]
    if not found:
        return []
    return [
        Note(
            f"In the points read, one column alone tells the label without an error: "
            f"{listed(found)}. Is it made from the label, or known only after it? A classifier "
            f"would learn to read it, and fail where it is not known.",
            Severity.WARNING,
        )
    ]


def _says(values: NDArray[Any], labels: NDArray[np.int64], classes: int, n: int) -> bool:
    """Return whether these values of a column say the label, one of `classes`, among n points."""
    order = np.lexsort((labels, values))
    sorted_values, sorted_labels = values[order], labels[order]
    same = sorted_values[1:] == sorted_values[:-1]
    same |= np.isnan(sorted_values[1:]) & np.isnan(sorted_values[:-1])
    other = sorted_labels[1:] != sorted_labels[:-1]
    if (same & other).any():
        return False
    different, intervals = 1 + np.count_nonzero(~same), 1 + np.count_nonzero(other)
    return bool(intervals <= classes or different * FEWEST_ALIKE <= n)

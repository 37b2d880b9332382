"""Labels: one class only, other shares than in the points read, spelled otherwise.

For curator and consumer alone: it depends on private data. No value of a record is in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dpsumm.checks import listed
from dpsumm.data.labels import labels_of, places_of
from dpsumm.data.schema import Schema
from dpsumm.report.notes import Note, Severity
from dpsumm.summary.notes.limits import FEWEST, MOST_CLASSES
from dpsumm.summary.protocols import Selection

# A class that shrinks or grows by so much of all points is worth a word.
SHIFT = 0.1


def label_notes(selection: Selection, schema: Schema | None = None) -> list[Note]:
    """Tell of a summary of one class, and of classes that it has more or less of than the pool."""
    some, every = selection.records.labels, selection.pool.records.labels
    if some is None or every is None:
        return []
    names = list(dict.fromkeys(labels_of(every.tolist()).tolist()))
    chosen, read = places_of(some, names), places_of(every, names)
    classes = np.unique(read)
    if len(classes) == 1:
        # What classes there are elsewhere is known from a schema that lists them.
        label = None if schema is None else schema.label
        known = len(label.categories or ()) if label is not None else 0
        bad = Severity.ALARM if known > 1 else Severity.WARNING
        text = "All points read have the same label: a classifier cannot be trained on them."
        return [Note(text, bad)] if len(read) > 1 else []
    if len(np.unique(chosen)) == 1 and len(chosen) > 1:
        return [
            Note(
                f"All points of the summary have the same label, one of {len(classes)} in the "
                f"points read. A classifier cannot be trained on it.",
                Severity.ALARM,
            )
        ]
    if len(classes) > MOST_CLASSES:
        return []
    before, after = (np.array([np.mean(part == one) for one in classes]) for part in (read, chosen))
    worst = int(np.argmax(np.abs(after - before)))
    if abs(after[worst] - before[worst]) < SHIFT:
        return []
    absent = int(np.count_nonzero((after == 0) & (before > 0)))
    gone = f" {absent} of {len(classes)} classes are not in it." if absent else ""
    return [
        Note(
            f"Labels are not used to choose points, and their shares differ: the class that "
            f"differs most is {before[worst]:.0%} of the points read and {after[worst]:.0%} of the "
            f"summary.{gone}",
            Severity.INFO,
        )
    ]


def spelling_notes(selection: Selection, names: Sequence[str]) -> list[Note]:
    """Tell of owners in whose points no label is one of any other owner's."""
    if selection.pool.records.labels is None:
        return []
    labels = np.array(labels_of(selection.pool.records.labels.tolist()).tolist(), object)
    owners = selection.pool.owner
    sets = {i: set(labels[owners == i]) for i in np.unique(owners).tolist()}
    held = {i: sets[i] for i in sets if np.count_nonzero(owners == i) >= FEWEST}
    if len(held) < 2 or len(set().union(*held.values())) > MOST_CLASSES:
        return []
    apart, alike = [], False
    for i, own in held.items():
        others = set().union(*(held[j] for j in held if j != i))
        if not own & others:
            apart.append(names[i])
            # Yes beside yes, or numbers beside text, is one question answered in two ways.
            alike |= bool(_plainly(own) & _plainly(others)) or _texts(own) != _texts(others)
    if not apart:
        return []
    return [
        Note(
            f"No label in the points read of {listed(apart)} is one of any other owner's: are "
            f"classes spelled otherwise there? A label whose categories the schema lists is "
            f"refused where it is not one of them.",
            Severity.ALARM if alike else Severity.WARNING,
        )
    ]


def _plainly(labels: set[Any]) -> set[str]:
    return {str(label).strip().casefold() for label in labels}


def _texts(labels: set[Any]) -> set[bool]:
    return {isinstance(label, str) for label in labels}

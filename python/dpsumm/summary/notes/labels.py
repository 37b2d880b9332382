"""Labels: one class only, in all or at one owner; other shares; spelled otherwise; identifiers.

For curator and consumer alone: it depends on private data. No value of a record is in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dpsumm.checks import counted, listed
from dpsumm.data.labels import labels_of, places_of
from dpsumm.data.schema import Schema
from dpsumm.report.notes import Note, Severity
from dpsumm.summary.notes.limits import FEWEST, MOST_CLASSES
from dpsumm.summary.protocols import Selection

# A class that shrinks or grows by so much of all points is worth a word.
SHIFT = 0.1
# Labels of which so large a share is different may be identifiers; of fewer points nothing is said.
UNIQUE, FEWEST_POINTS = 0.9, 16
# That an owner's points have one label is no chance if that has such a probability at most.
CHANCE = 1e-4


def label_notes(selection: Selection, schema: Schema | None = None) -> list[Note]:
    """Tell of a summary of one class, and of classes that it has more or less of than the pool."""
    some, every = selection.records.labels, selection.pool.records.labels
    if some is None or every is None:
        return []
    names = list(dict.fromkeys(labels_of(every.tolist()).tolist()))
    chosen, read = places_of(some, names), places_of(every, names)
    classes = np.unique(read)
    if _identify(names, len(read)):
        return [
            Note(
                f"{counted(len(read), 'point', 'points')} read have {len(names):,} different "
                f"labels: is the label an identifier? A classifier cannot be trained on that. Name "
                f"another column (label, --label), or leave it out.",
                Severity.WARNING,
            )
        ]
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


def _identify(labels: Sequence[Any], n: int) -> bool:
    """Return whether labels that differ are those of n points that have, or nearly, one each.

    Numbers with decimals are measured, so that they all differ; whole ones must all differ.
    """
    if n < FEWEST_POINTS or any(isinstance(label, float | bool) for label in labels):
        return False
    texts = all(isinstance(label, str) for label in labels)
    return len(labels) > UNIQUE * n if texts else len(labels) == n


def one_class_notes(selection: Selection, names: Sequence[str]) -> list[Note]:
    """Tell of owners in whose points all labels are one, where the other owners have several.

    Others' points would all have that label with probability 1e-4 at most.
    """
    if selection.pool.records.labels is None:
        return []
    labels = labels_of(selection.pool.records.labels.tolist()).tolist()
    known = list(dict.fromkeys(labels))
    if not 2 <= len(known) <= MOST_CLASSES:
        return []
    counts = np.zeros((len(names), len(known)), np.int64)
    np.add.at(counts, (selection.pool.owner, places_of(selection.pool.records.labels, known)), 1)
    found = []
    for i, own in enumerate(counts):
        n, others = own.sum(), counts.sum(axis=0) - own
        if n < FEWEST_POINTS or own.max() < n or np.count_nonzero(others) < 2:
            continue
        share = others[own.argmax()] / others.sum()
        if share and share**n <= CHANCE:
            found.append(f"{names[i]!r} ({share:.0%} of the others' points)")
    if not found:
        return []
    return [
        Note(
            f"All points read of one owner have the same label, which others have more rarely: "
            f"{', '.join(found)}. If its records are not of one kind, as those of a hospice are, "
            f"look how the label is made there.",
            Severity.WARNING,
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

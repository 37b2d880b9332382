"""Labels of all points: one class only, other shares in the summary, identifiers.

For curator and consumer alone: it depends on private data. No value of a record is in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dpsumm.basics.checks import counted
from dpsumm.data.kinds.label import labels_of, places_of
from dpsumm.data.schema import Schema
from dpsumm.report.notes import Note, Severity
from dpsumm.summary.notes.limits import MOST_CLASSES
from dpsumm.summary.protocols import Selection

# A class that shrinks or grows by so much of all points is worth a word.
SHIFT = 0.1
# Labels of which so large a share is different may be identifiers; of fewer points nothing is said.
UNIQUE, FEWEST_POINTS = 0.9, 16
# What people write for no value, in any case. Not "none", which may be a class of damage.
NO_VALUE = frozenset(("", "-", "?", "missing", "n/a", "na", "nan", "null", "unknown"))


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
                f"another column in the schema (--schema), or leave it out.",
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
    were = "is" if absent == 1 else "are"
    gone = f" {absent} of {len(classes)} classes {were} not in it." if absent else ""
    return [
        Note(
            f"Labels are not used to choose points, and their shares differ: the class that "
            f"differs most is {before[worst]:.0%} of the points read and {after[worst]:.0%} of the "
            f"summary.{gone}",
            Severity.INFO,
        )
    ]


def no_value_notes(selection: Selection, schema: Schema | None = None) -> list[Note]:
    """Ask whether a class whose name means no value is one.

    One that the schema lists was meant, which is good to know. A minus beside a plus is a class.
    """
    labels = selection.pool.records.labels
    if labels is None or labels.dtype.kind not in "UO":
        return []
    names = set(labels.tolist())
    words = {name: name.strip().casefold() for name in names if isinstance(name, str)}
    usual = NO_VALUE - {"-"} if "+" in words.values() else NO_VALUE
    absent = [name for name, word in words.items() if word in usual]
    if not absent:
        return []
    label = None if schema is None else schema.label
    meant = () if label is None else (*label.categories, label.other)
    count = int(np.count_nonzero(places_of(labels, absent) >= 0))
    have = "has" if count == 1 else "have"
    return [
        Note(
            f"{count:,} of {counted(len(labels), 'point', 'points')} read {have} a label that says "
            f"no value, such as 'unknown' or 'n/a': is that a class? If not, list it in the "
            f"label's missing, or leave those rows out.",
            Severity.INFO if set(absent) <= set(meant) else Severity.WARNING,
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

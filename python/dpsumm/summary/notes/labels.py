"""Labels of the records that were read: one class, other spellings, identifiers, leaks.

Notes depend on private data and are for curator and consumer alone. None contains a label.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsumm.basics.checks import counted, listed
from dpsumm.data.kinds.label import labels_of, places_of
from dpsumm.data.lint import telling
from dpsumm.data.schema import Schema
from dpsumm.report.notes import Note, Severity
from dpsumm.summary.notes.limits import MOST_CLASSES, MUCH
from dpsumm.summary.protocols import Selection

# Records that were read of an owner, below which its labels are not judged, and of all owners.
FEW, FEWEST_POINTS = 5, 16
# Labels of which so large a share is different may be identifiers.
UNIQUE = 0.9
# What people write for no value, in any case. Not "none", which may be a class of damage.
NO_VALUE = frozenset(("", "-", "?", "missing", "n/a", "na", "nan", "null", "unknown"))
# An owner lacks a class if chance leaves it out with such a probability at most, for any class.
CHANCE = 1e-4


def label_notes(
    selection: Selection, names: Sequence[str], schema: Schema, label: Any = None
) -> Iterator[Note]:
    """Yield what there is to know of the labels.

    Parameters
    ----------
    names
        Of the owners.
    schema
        Of the summary's columns.
    label
        The schema's column of labels, if there is one.
    """
    read, records = selection.pool.records.labels, selection.pool.records
    if read is None:
        return
    classes = list(dict.fromkeys(labels_of(read.tolist()).tolist()))
    yield from _no_value(read, label)
    if _identify(classes, len(read)):
        yield Note(
            f"The {counted(len(read), 'label', 'labels')} that were read have {len(classes):,} "
            f"different values. If the label is an identifier, no classifier can be trained on it: "
            f"name another column in the `schema`, or leave it out."
        )
    elif len(classes) == 1 and len(read) > 1:
        known = 0 if label is None else len(label.categories or ())
        text = "All records that were read have the same label, so no classifier can be trained."
        yield Note(text, Severity.ALARM if known > 1 else Severity.WARNING)
    elif 2 <= len(classes) <= MOST_CLASSES:
        places, chosen = places_of(read, classes), selection.picks
        if len(chosen) > 1 and (places[chosen] == places[chosen[0]]).all():
            yield Note(
                f"All points of the summary have the same label, one of {len(classes)} that were "
                f"read, so no classifier can be trained on it.",
                Severity.ALARM,
            )
        yield from _by_owner(classes, places, selection.pool.owner, names)
        if told := telling(records.values, places):
            yield Note(
                f"One column alone tells the label of all records that were read: "
                f"{listed([schema.kernel[j].name for j in told])}. If it is made from the label, "
                f"or known only after it, a classifier learns to read it, and fails where it is "
                f"not known."
            )


def _identify(classes: Sequence[Any], n: int) -> bool:
    """Return whether n labels have, or nearly, one value each.

    Numbers with decimals are measured, so that they all differ. Whole ones must all differ.
    """
    if n < FEWEST_POINTS or any(isinstance(label, float | bool) for label in classes):
        return False
    texts = all(isinstance(label, str) for label in classes)
    return len(classes) > UNIQUE * n if texts else len(classes) == n


def _no_value(labels: NDArray[Any], label: Any) -> Iterator[Note]:
    """Yield a question about classes whose name means no value, unless the schema lists them."""
    if labels.dtype.kind not in "UO":
        return
    words = {one: one.strip().casefold() for one in set(labels.tolist()) if isinstance(one, str)}
    usual = NO_VALUE - {"-"} if "+" in words.values() else NO_VALUE
    meant = () if label is None else (*label.categories, label.other)
    absent = [one for one, word in words.items() if word in usual and one not in meant]
    if absent:
        count = int(np.count_nonzero(places_of(labels, absent) >= 0))
        have = "has" if count == 1 else "have"
        yield Note(
            f"{count:,} of {counted(len(labels), 'record', 'records')} that were read {have} a "
            f"label that says no value, such as 'unknown' or 'n/a'. If that is no class, list it "
            f"in the label's missing, or leave those rows out."
        )


def _by_owner(
    classes: Sequence[Any],
    places: NDArray[np.int64],
    owner: NDArray[np.int64],
    names: Sequence[str],
) -> Iterator[Note]:
    """Yield a note on owners whose labels are spelled otherwise, or that lack a class."""
    counts = np.zeros((len(names), len(classes)), np.int64)
    np.add.at(counts, (owner, places), 1)
    held = np.flatnonzero(counts.sum(axis=1) >= FEW).tolist()
    apart, absent, alike = [], [], False
    for i in held if len(held) > 1 else ():
        others = counts[[j for j in held if j != i]]
        n, elsewhere = counts[i].sum(), others.any(axis=0)
        foreign = counts[i] * ~elsewhere
        lacks = _lacks(counts[i], others, len(held) * len(classes))
        if foreign.sum() == n or (lacks and foreign.max() >= max(FEW, MUCH * n)):
            apart.append(names[i])
            own, theirs = (counts[i] > 0) & ~elsewhere, elsewhere & (counts[i] == 0)
            alike |= _alike(classes, own, theirs)
        elif lacks:
            absent.append(names[i])
    if apart:
        yield Note(
            f"At {listed(apart)}, labels are no other owner's, and a class that others have is "
            f"absent. Are classes spelled differently there? A label whose categories the schema "
            f"lists is refused where it is not one of them.",
            Severity.ALARM if alike else Severity.WARNING,
        )
    if absent:
        yield Note(
            f"At {listed(absent)}, no record that was read has a class that most others have. If "
            f"its records are not of another kind, look how the label is made there, and whether "
            f"rows are left out."
        )


def _lacks(own: NDArray[np.int64], others: NDArray[np.int64], tests: int) -> bool:
    """Return whether an owner has none of a class, and that is no chance.

    Half of the others have so large a share of it that as many records as the owner's lack it with
    probability `CHANCE` at most, whichever of so many classes and owners it is. An owner of one
    class lacks all others, as one.
    """
    n, absent = int(own.sum()), own == 0
    if n < FEWEST_POINTS:
        return False
    shares = others[:, absent] / others.sum(axis=1, keepdims=True)
    if np.count_nonzero(~absent) == 1:
        shares = shares.sum(axis=1, keepdims=True)
    # The lower median: a class that one of two others has may be its own.
    typical = np.sort(shares, axis=0)[(len(others) - 1) // 2]
    size = min(n, int(others.sum()))
    return bool((tests * (1 - typical) ** size <= CHANCE).any())


def _alike(classes: Sequence[Any], own: NDArray[np.bool_], theirs: NDArray[np.bool_]) -> bool:
    """Return whether labels are the same words written otherwise, or numbers next to text."""
    ours, others = ([classes[j] for j in np.flatnonzero(which).tolist()] for which in (own, theirs))
    plain = [{str(label).strip().casefold() for label in labels} for labels in (ours, others)]
    kinds = [{isinstance(label, str) for label in labels} for labels in (ours, others)]
    return bool(plain[0] & plain[1]) or bool(others and kinds[0] != kinds[1])

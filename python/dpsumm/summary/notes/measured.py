"""Labels that are measured numbers, and lie elsewhere at one owner than at all others.

For curator and consumer alone: it depends on private data. No label is in it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dpsumm.basics.checks import listed
from dpsumm.data.kinds.label import labels_of
from dpsumm.report.notes import Note, Severity
from dpsumm.summary.notes.limits import MOST_CLASSES
from dpsumm.summary.notes.numbers import Numbers
from dpsumm.summary.notes.places import Owners
from dpsumm.summary.protocols import Selection

# The label and, at least, a column: an owner of another kind is one in most of more than these.
COLUMNS = 2


def measured_notes(selection: Selection, names: Sequence[str]) -> list[Note]:
    """Tell of an owner whose labels, numbers, lie elsewhere than those of every other owner.

    By the rules of `elsewhere_notes`, without a target, which has no labels: on one side of two
    others at least. Of labels that are classes see `class_notes`.
    """
    texts = selection.pool.records.labels
    if texts is None:
        return []
    labels = labels_of(texts.tolist())
    if labels.dtype.kind not in "iuf" or len(np.unique(labels)) <= MOST_CLASSES:
        return []
    there = ~np.isnan(labels)
    owner, values = selection.pool.owner[there], labels[there].astype(np.float64)
    order = np.argsort(owner, kind="stable")
    counts = np.bincount(owner, minlength=len(names)).tolist()
    nobody = Numbers.parted(np.full((1, 1), np.nan), [1])
    owners = Owners.of(Numbers.parted(values[order][None], counts), nobody, COLUMNS)
    if len(owners.judged) < 2:
        return []
    _, low, _, middle, _, high, _ = owners.bulk[..., 0]
    mostly_one = (low == middle) | (middle == high)
    far, apart, some = (found[:, 0] for found in owners.elsewhere())
    notes, told = [], np.zeros(len(names), np.bool_)
    # Elsewhere than labels that are mostly one value, such as 0, is no other unit.
    told[owners.judged] = mostly_one.sum() > mostly_one
    apart &= len(owners.judged) > 2  # of two nobody knows which
    for said, found in zip(_SAID, (far, apart, some), strict=True):
        who = np.flatnonzero(found & ~told).tolist()
        told |= found
        if who:
            named = listed([names[i] for i in who])
            notes.append(Note(said.format(who=named), Severity.WARNING))
    return notes


_SAID = (
    "Nearly all labels in the points read of {who} lie far from every other owner's: is the label "
    "in other units there?",
    "Nearly all labels in the points read of {who} lie on one side of every other owner's: is the "
    "label in other units there, or another column? If that is what sets the owner's records "
    "apart, all is well.",
    "Some labels in the points read of {who} lie far from every other owner's: are some rows in "
    "other units there, or hold marks of no value?",
)

"""Classes of one owner beside the others': absent there, or spelled otherwise.

For curator and consumer alone: it depends on private data. No label is in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, lgamma
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsumm.basics.checks import listed
from dpsumm.data.kinds.label import labels_of, places_of
from dpsumm.report.notes import Note, Severity
from dpsumm.summary.notes.limits import FEWEST, MOST_CLASSES, MUCH
from dpsumm.summary.protocols import Selection

# Of fewer points of an owner nothing is said of an absent class.
FEWEST_POINTS = 16
# That an owner's points lack a class is no chance if that has such a probability at most, for any
# class at any owner.
CHANCE = 1e-4


def class_notes(selection: Selection, names: Sequence[str]) -> list[Note]:
    """Tell of owners in whose points a class is spelled otherwise, or one that others have is not.

    Others' points would all be without it with probability 1e-4 at most. An owner is told of once:
    if it has a label of its own in place of the one that is absent, that is what is said.
    """
    if selection.pool.records.labels is None:
        return []
    known = list(dict.fromkeys(labels_of(selection.pool.records.labels.tolist()).tolist()))
    if not 2 <= len(known) <= MOST_CLASSES:
        return []
    counts = np.zeros((len(names), len(known)), np.int64)
    np.add.at(counts, (selection.pool.owner, places_of(selection.pool.records.labels, known)), 1)
    held = np.flatnonzero(counts.sum(axis=1) >= FEWEST).tolist()
    if len(held) < 2:
        return []
    texts = np.array([isinstance(label, str) for label in known])
    apart, replaced, absent, alike = [], [], [], False
    for i in held:
        others = counts[[j for j in held if j != i]]
        n, elsewhere = counts[i].sum(), others.any(axis=0)
        foreign = counts[i] * ~elsewhere
        lacked = _lacked(counts[i], others, len(held) * len(known))
        if foreign.sum() == n:
            apart.append(names[i])
        elif lacked and foreign.max() >= max(FEWEST, MUCH * n):
            replaced.append(names[i])
        else:
            if lacked:
                absent.append(f"{names[i]!r} ({lacked:.0%} of a typical other owner's points)")
            continue
        # Yes beside yes, or numbers beside text, is one question answered in two ways.
        own, theirs = (counts[i] > 0) & ~elsewhere, elsewhere & (counts[i] == 0)
        alike |= bool(_plainly(known, own) & _plainly(known, theirs))
        alike |= set(texts[counts[i] > 0]) != set(texts[elsewhere])
    notes = []
    bad = Severity.ALARM if alike else Severity.WARNING
    asked = "are classes spelled otherwise there? A label whose categories the schema lists is "
    asked += "refused where it is not one of them."
    if apart:
        text = f"No label in the points read of {listed(apart)} is one of any other owner's: "
        notes.append(Note(text + asked, bad))
    if replaced:
        text = (
            f"A label in the points read of {listed(replaced)} is no other owner's, and one that "
            f"others have is absent: "
        )
        notes.append(Note(text + asked, bad))
    if absent:
        notes.append(
            Note(
                f"A class that others have is absent from all points read of an owner: "
                f"{', '.join(absent)}. If its records are not of another kind, look how the label "
                f"is made there, and whether rows are left out.",
                Severity.WARNING,
            )
        )
    return notes


def _lacked(own: NDArray[np.int64], others: NDArray[np.int64], tests: int) -> float:
    """Return the share of a typical other owner's points that own ones lack, 0 if by chance.

    An owner of one class lacks all others, as one. The typical share is the lower median, so what
    one other owner alone has is its own. Others may be few: that all of a class's points are
    theirs must be no chance either, if owners were dealt at random.
    """
    n, absent = int(own.sum()), own == 0
    if n < FEWEST_POINTS:
        return 0.0
    sizes, counts = others.sum(axis=1, keepdims=True), others[:, absent]
    if np.count_nonzero(~absent) == 1:
        counts = counts.sum(axis=1, keepdims=True)
    typical = np.sort(counts / sizes, axis=0)[(len(sizes) - 1) // 2]
    return max(
        (
            share
            for share, theirs in zip(typical.tolist(), counts.sum(axis=0).tolist(), strict=True)
            if tests * (1 - share) ** n <= CHANCE
            and _none_of(theirs, n, n + int(sizes.sum())) <= CHANCE
        ),
        default=0.0,
    )


def _none_of(k: int, n: int, total: int) -> float:
    """Return the probability that of k in `total` none is among n drawn without putting back."""
    if k > total - n:
        return 0.0
    ways = lgamma(total - n + 1) - lgamma(total - n - k + 1)
    return exp(ways - lgamma(total + 1) + lgamma(total - k + 1))


def _plainly(labels: Sequence[Any], which: NDArray[np.bool_]) -> set[str]:
    return {str(label).strip().casefold() for label, on in zip(labels, which, strict=True) if on}

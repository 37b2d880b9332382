"""Whether a model means anything, in words: the title of its report, and classes it misses."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsumm.ensemble.strength import Strength
from dpsumm.ensemble.students.choose import Validation
from dpsumm.report.notes import Note, Severity
from dpsumm.report.numbers import percent
from dpsumm.report.verdict import Verdict

# Standard errors by which a model must beat one label for all, on the consumer's labels.
_BETTER = 2.0
# A class is missed that gets a smaller part of the public points, or of an even share of them
# where classes are many.
_RARE, _PART = 0.02, 0.2
# Classes that notes name.
_MOST_NAMED = 5


def verdict_of(
    strength: Strength,
    predicted: NDArray[np.int64],
    classes: NDArray[Any],
    validation: Validation | None,
    met: NDArray[np.bool_] | None,
) -> Verdict:
    """Return the verdict on a model.

    It is an alarm if the votes do not stand out of the noise, one class is predicted for all
    points, or the consumer's labels are met no better than by always saying the commonest; a
    warning if they are, but too few to be sure.

    Parameters
    ----------
    predicted
        Place of the class of each public point.
    """
    if not strength.seen:
        text = "nothing but noise is seen in the votes, so the model means nothing"
        return Verdict(text, severity=Severity.ALARM)
    if (predicted == predicted[0]).all():
        text = f"it says {classes[predicted[0]]} for every public point, so it tells nothing"
        return Verdict(text, severity=Severity.ALARM)
    if validation is None or met is None:
        why = f"the noise is {strength.ratio:.2g} of the signal"
        only = "only labels of your own can say how often the model is right"
        return Verdict("the votes stand out of the noise", f"{why}; {only}")
    return judged(classes, validation, met)


def judged(classes: NDArray[Any], validation: Validation, met: NDArray[np.bool_]) -> Verdict:
    """Return the verdict by the consumer's labels, of which the model has some right."""
    n = len(met)
    commonest, share = validation.commonest
    always = validation.places == commonest
    right = f"right for {percent(met.mean())} of your {n:,} labelled points"
    both = f"{right}, always saying {classes[commonest]} is for {percent(share)}"
    lead, differ = int(met.sum()) - int(always.sum()), int((met != always).sum())
    if lead <= 0:
        return Verdict("no better than one label for all", both, Severity.ALARM)
    if lead < _BETTER * math.sqrt(differ):
        head = "perhaps better than one label for all"
        return Verdict(head, f"{both}; more labels can tell", Severity.WARNING)
    return Verdict("better than one label for all", both)


def do_not_use(reached: Verdict, out: str) -> Note:
    """Return the alarm of a model that means nothing; `out` is a sentence without its end."""
    return Note(
        f"Do not use this model: {reached.text}. First check, which costs nothing, that the "
        "parties spell their labels as classes does (dpsumm schema check --classes) and have its "
        f"columns and units. If so: {out}.",
        Severity.ALARM,
    )


def missed_notes(
    predicted: NDArray[np.int64], classes: NDArray[Any], validation: Validation | None
) -> Iterator[Note]:
    """Warn of classes that hardly any public point is predicted to be, by the noisy votes alone.

    Nothing is said of a class that is as rare among the consumer's labelled points.

    Examples
    --------
    >>> [note] = missed_notes(np.repeat([0, 1], [990, 10]), np.array(["no", "yes"]), None)
    >>> print(note.partition(". ")[0])
    Hardly any public point is predicted to be yes (1.0%)
    """
    rare = min(_RARE, _PART / len(classes))
    shares = np.bincount(predicted, minlength=len(classes)) / len(predicted)
    missed = shares < rare
    if validation is not None:
        known = np.bincount(validation.places[validation.places >= 0], minlength=len(classes))
        missed &= known >= rare * max(known.sum(), 1)
    names = [f"{classes[k]} ({percent(shares[k])})" for k in np.flatnonzero(missed)]
    if not names:
        return
    rarely, them = ("it is", "it") if len(names) == 1 else ("they are", "them")
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    yield Note(
        f"Hardly any public point is predicted to be {', '.join(names[:_MOST_NAMED])}{more}. "
        f"Unless {rarely} as rare, the noise hides {them}, or too few parties or shards have "
        f"records of {them}: classifiers that know other classes only outvote those."
    )

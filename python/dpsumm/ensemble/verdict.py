"""The verdict on a model in words, as its report's title has it, and classes that it misses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsumm.ensemble.plan import ASK
from dpsumm.ensemble.students.choose import Validation
from dpsumm.report.notes import Note, Severity
from dpsumm.report.numbers import percent
from dpsumm.report.verdict import Verdict

# How often pure noise may pass for a signal, and how seldom it must look like one to be called
# noise. docs/results-learn.md says how often both kinds of model
# fall where, as evidence.ensemble.verdicts measured it.
SEEN, HIDDEN = 0.01, 0.1
# By chance at most, better or worse than one label for all on the consumer's labels.
_CHANCE = 0.05
_ASK = ASK[0].lower() + ASK[1:]
# A class is missed that gets a smaller part of the public points, or of an even share of them
# where classes are many.
_RARE, _PART = 0.02, 0.2
# Classes that notes name.
_MOST_NAMED = 5


def verdict_of(
    what: str,
    chance: float,
    ratio: float,
    predicted: NDArray[np.int64],
    classes: NDArray[Any],
) -> Verdict:
    """Return the verdict on a model by the release alone, without labels.

    An alarm if noise alone would often look like this. A warning if it would now and then, or if
    one class is predicted for all points though the release tells them apart. It never says that
    the model is right, because parties with other shares of the classes than the points agree with
    each other, and are wrong together.

    Parameters
    ----------
    what
        Was released: votes, updates.
    chance
        That noise alone shows as much.
    ratio
        Noise over signal.
    predicted
        Place of the class of each public point.
    """
    if chance > HIDDEN:
        return Verdict(f"the noise hides what the {what} say", _ASK, Severity.ALARM)
    if (predicted == predicted[0]).all():
        head = f"it says {classes[predicted[0]]} for every public point"
        if chance > SEEN:
            return Verdict(head, _ASK, Severity.ALARM)
        why = "use its probabilities (predict_proba), as a rare class may need"
        return Verdict(head, f"{why}; {_ASK}", Severity.WARNING)
    why = f"noise is {ratio:.2g} times the signal; {_ASK}"
    if chance > SEEN:
        return Verdict(f"the {what} may tell points apart", why, Severity.WARNING)
    return Verdict(f"the {what} tell points apart", why)


def judged(
    classes: NDArray[Any], validation: Validation, met: NDArray[np.bool_], chance: float
) -> Verdict:
    """Return the verdict by the consumer's labels and how many of them the model has right.

    McNemar's exact test of the model against always saying the commonest label. A model that leads
    is never an alarm. Nor is one that labels leave open, unless noise alone would often show what
    was released.

    Parameters
    ----------
    met : (v,)
        Whether the model has a label right.
    chance
        That noise alone shows as much as the release.
    """
    from scipy.stats import binom

    commonest, share = validation.commonest
    always = validation.places == commonest
    wins, losses = int((met & ~always).sum()), int((always & ~met).sum())
    both = (
        f"right for {percent(met.mean())} of your {len(met):,} labelled points, always saying "
        f"{classes[commonest]} is for {percent(share)}"
    )
    if binom.sf(wins - 1, wins + losses, 0.5) < _CHANCE:
        return Verdict("better than one label for all", both)
    if binom.cdf(wins, wins + losses, 0.5) < _CHANCE:
        return Verdict("worse than one label for all", both, Severity.ALARM)
    if wins <= losses and chance > HIDDEN:
        return Verdict("no better than one label for all", both, Severity.ALARM)
    head = "perhaps better than one label for all"
    return Verdict(head, f"{both}. More labels can tell", Severity.WARNING)


def do_not_use(reached: Verdict, out: str) -> Note:
    """Return the alarm of a model that means nothing; `out` is a sentence without its end."""
    why = f"{reached.why[0].upper()}{reached.why[1:]}. " if reached.why else ""
    return Note(
        f"Do not use this model: {reached.head}. {why}First check, which costs nothing, that the "
        "parties spell their labels as classes does (dpsumm schema check --classes) and have its "
        f"columns and units. If so: {out}.",
        Severity.ALARM,
    )


def missed_notes(
    predicted: NDArray[np.int64], classes: NDArray[Any], validation: Validation | None
) -> Iterator[Note]:
    """Warn of classes that hardly any public point is predicted to be, by the noisy votes alone.

    There is no note on a class that is as rare among the consumer's labelled points.

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
        f"Unless {rarely} as rare, the noise hides {them}, or too few parties have records of "
        f"{them}. Probabilities may still rank the points: compare `predict_proba` with the share "
        f"that you expect."
    )

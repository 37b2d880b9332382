"""Whether a model means anything, in words: the title of its report."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsumm.ensemble.strength import Strength
from dpsumm.ensemble.students.choose import Validation
from dpsumm.report.notes import Severity
from dpsumm.report.numbers import percent

# Standard errors by which a model must beat one label for all, on the consumer's labels.
_BETTER = 2.0


@dataclass(frozen=True)
class Verdict:
    """One sentence, and how bad it is.

    Attributes
    ----------
    text
        Without capital and full stop.
    severity
        ALARM if the model means nothing: the votes do not stand out of the noise, one class is
        predicted for all points, or the consumer's labels are met no better than by always saying
        the commonest. WARNING if they are, but too few to be sure. Else INFO.
    """

    text: str
    severity: Severity

    @property
    def good(self) -> bool:
        """Whether nothing says that the model means nothing."""
        return self.severity is not Severity.ALARM


def verdict_of(
    strength: Strength,
    predicted: NDArray[np.int64],
    classes: NDArray[Any],
    validation: Validation | None,
    met: NDArray[np.bool_] | None,
) -> Verdict:
    """Return the verdict on a model.

    Parameters
    ----------
    strength
        Of the noisy votes.
    predicted
        Place of the class of each auxiliary point.
    classes
        Labels.
    validation, met
        The consumer's labelled points, and which of them the model has right.
    """
    if not strength.seen:
        text = "nothing but noise is seen in the votes, so the model means nothing"
        return Verdict(text, Severity.ALARM)
    if (predicted == predicted[0]).all():
        text = f"it says {classes[predicted[0]]} for every auxiliary point, so it tells nothing"
        return Verdict(text, Severity.ALARM)
    if validation is None or met is None:
        noise = f"the votes stand out of the noise, which is {strength.ratio:.2g} of the signal"
        text = f"{noise}; only labels of your own can say how often it is right"
        return Verdict(text, Severity.INFO)
    n = len(met)
    commonest, share = validation.commonest
    always = validation.places == commonest
    right = f"right for {percent(met.mean())} of your {n:,} labelled points"
    constant = f"always saying {classes[commonest]} is for {percent(share)}"
    lead, differ = int(met.sum()) - int(always.sum()), int((met != always).sum())
    if lead <= 0:
        return Verdict(f"no better than one label for all: {right}, {constant}", Severity.ALARM)
    if lead < _BETTER * math.sqrt(differ):
        text = f"perhaps better than one label for all: {right}, {constant}; more labels can tell"
        return Verdict(text, Severity.WARNING)
    return Verdict(f"{right}; {constant}", Severity.INFO)

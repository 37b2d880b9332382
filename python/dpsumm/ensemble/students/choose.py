"""From candidates to the one that is used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsumm.ensemble.students.estimators import Soft
from dpsumm.ensemble.students.spectral import Spectral
from dpsumm.ensemble.students.student import Array, Candidate, Student
from dpsumm.errors import InvalidParameterError


@dataclass(frozen=True, eq=False)
class Validation:
    """Labelled points of the consumer's own. They choose, and only the consumer sees them.

    Attributes
    ----------
    points : (v, d)
    places : (v,) int64
        Of the labels among the classes; -1 for one that is not listed, which is never right.
    """

    points: Array
    places: NDArray[np.int64]

    @property
    def commonest(self) -> tuple[int, float]:
        """Place of the commonest listed label, and its share of all."""
        counts = np.bincount(self.places[self.places >= 0])
        return int(counts.argmax()), float(counts.max() / len(self.places))


@dataclass(frozen=True)
class Judged:
    """A candidate, and what speaks for it."""

    name: str
    sure: float | None
    accuracy: float | None


def students_of(student: Any) -> list[Student]:
    """Return the students that are meant by an estimator or a list. The default for None."""
    several = list(student) if isinstance(student, (list, tuple)) else [student]
    if not several:
        raise InvalidParameterError("student: the list is empty")
    students = [_student_of(one) for one in several]
    for one in students:
        one.check()
    return students


def _student_of(one: Any) -> Student:
    if one is None:
        return Spectral()
    return one if isinstance(one, Student) else Soft(one)


def choose(
    candidates: Sequence[Candidate], validation: Validation | None
) -> tuple[Candidate, tuple[Judged, ...]]:
    """Return the candidate that is used, and all of them with their scores.

    By accuracy on the validation set, else by the student's own preference, else by Stein's
    estimate.
    """
    accuracies: list[float | None] = [None] * len(candidates)
    if validation is not None:
        accuracies = [
            float(np.mean(c.fitted.chances(validation.points).argmax(1) == validation.places))
            for c in candidates
        ]
    judged = tuple(
        Judged(c.name, c.sure, accuracy) for c, accuracy in zip(candidates, accuracies, strict=True)
    )
    best = max(
        range(len(candidates)),
        key=lambda i: (
            accuracies[i] or 0.0,
            candidates[i].preferred,
            -np.inf if judged[i].sure is None else judged[i].sure,
        ),
    )
    return candidates[best], judged

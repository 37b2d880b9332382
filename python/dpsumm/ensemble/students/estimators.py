"""Any estimator of scikit-learn as a student."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpsumm.basics.checks import check_installed
from dpsumm.data.kinds.label import places_of
from dpsumm.ensemble.messages import NoisyVotes
from dpsumm.ensemble.students.student import Array, Candidate, Fitted, Student, chances_of
from dpsumm.errors import InvalidParameterError


@dataclass(frozen=True, eq=False)
class Regressed(Fitted):
    """A fitted regressor of shares."""

    estimator: Any

    def shares(self, points: Array) -> Array:
        """See `Fitted.shares`."""
        given = np.asarray(self.estimator.predict(points.copy()), dtype=np.float64)
        return given.reshape(len(points), -1)


@dataclass(frozen=True, eq=False)
class Classified(Fitted):
    """A fitted classifier of places among the classes."""

    estimator: Any
    n_classes: int

    def shares(self, points: Array) -> Array:
        """See `Fitted.shares`."""
        own = points.copy()
        if hasattr(self.estimator, "predict_proba"):
            given = np.asarray(self.estimator.predict_proba(own))
            known = np.asarray(self.estimator.classes_)
        else:
            given = np.asarray(self.estimator.predict(own))[:, None] == np.arange(self.n_classes)
            known = np.arange(self.n_classes)
        chances = np.zeros((len(points), self.n_classes))
        chances[:, places_of(known, range(self.n_classes))] = given
        return chances[:, 1:] if self.n_classes == 2 else chances


class Soft(Student):
    """An estimator that learns the noisy shares of votes as they are.

    A regressor is fitted to the shares. A classifier is fitted to every point once for each class,
    weighted by the share, projected on the probability simplex. One that takes no weights, to the
    class of the largest share. Averaging over points brings the noise down, so choose estimators
    that average over many, such as forests with large leaves or neighbours in the hundreds.

    Parameters
    ----------
    estimator
        Of scikit-learn. Cloned before it is fitted.
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.estimator!r})"

    def check(self) -> None:
        """See `Student.check`."""
        check_installed("sklearn", "an estimator as a student needs", "learn")
        methods = ("fit", "predict", "get_params")
        if isinstance(self.estimator, type) or not all(hasattr(self.estimator, x) for x in methods):
            raise InvalidParameterError(
                "student must be Spectral(), Argmax(estimator), a list of students, or "
                f"an estimator of scikit-learn, got {self.estimator!r}"
            )

    def candidates(self, points: Array, votes: NoisyVotes) -> list[Candidate]:
        """See `Student.candidates`."""
        from sklearn.base import clone, is_classifier

        copy, n_classes = clone(self.estimator), votes.terms.n_classes
        name = type(copy).__name__
        if not is_classifier(copy):
            shares = votes.shares
            copy.fit(points.copy(), shares[:, 0] if shares.shape[1] == 1 else shares)
            return [Candidate(name, Regressed(copy))]
        chances = chances_of(votes.shares)
        if not self._weighted(copy):
            copy.fit(points.copy(), chances.argmax(1))
        else:
            place = np.tile(np.arange(n_classes), len(points))
            used = chances.ravel() > 0
            rows = np.repeat(np.arange(len(points)), n_classes)[used]
            copy.fit(points[rows], place[used], sample_weight=chances.ravel()[used])
        return [Candidate(name, Classified(copy, n_classes))]

    @staticmethod
    def _weighted(estimator: Any) -> bool:
        return "sample_weight" in inspect.signature(estimator.fit).parameters


class Argmax(Soft):
    """A classifier that learns the class of the largest noisy share at each point, as PATE does.

    Parameters
    ----------
    estimator
        Classifier of scikit-learn. Cloned before it is fitted.

    See Also
    --------
    dpsumm.ensemble.Spectral : The default.
    dpsumm.ensemble.Student : For one of your own.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from dpsumm.ensemble import Argmax
    >>> Argmax(LogisticRegression(C=0.1)).estimator.C
    0.1
    """

    @staticmethod
    def _weighted(estimator: Any) -> bool:
        return False

    def check(self) -> None:
        """See `Student.check`."""
        super().check()
        from sklearn.base import is_classifier

        if not is_classifier(self.estimator):
            raise InvalidParameterError(
                f"student: Argmax needs a classifier, got {self.estimator!r}"
            )

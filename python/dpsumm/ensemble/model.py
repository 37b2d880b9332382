"""The result of `learn`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsumm.data.inputs import Source
from dpsumm.data.written import write_rows
from dpsumm.ensemble.certainty import FULL, Certainty, certainty_of
from dpsumm.ensemble.consumer import Consumer
from dpsumm.ensemble.export import exported
from dpsumm.ensemble.guarantees import LearningPrivacy
from dpsumm.ensemble.inputs import Space
from dpsumm.ensemble.messages import NoisyVotes
from dpsumm.ensemble.page import render
from dpsumm.ensemble.plan import LearningPlan, way_out
from dpsumm.ensemble.saved import SavedModel, predictions, saved_model
from dpsumm.ensemble.strength import Strength, strength_of
from dpsumm.ensemble.students.choose import Judged, Validation, students_of
from dpsumm.ensemble.students.student import Candidate, Student
from dpsumm.ensemble.verdict import do_not_use, judged, missed_notes, verdict_of
from dpsumm.errors import InvalidParameterError
from dpsumm.privacy.record import RunRecord
from dpsumm.report.notes import Note, Severity, sorted_notes
from dpsumm.report.page import Page
from dpsumm.report.verdict import Verdict


@dataclass(frozen=True, eq=False)
class Model:
    """A classifier that was learnt from noisy votes, with its cost.

    Attributes
    ----------
    votes
        The noisy votes, which are the only release of the parties' data.
    privacy
        Their cost and guarantee.
    plan
        The plan of the run, from public numbers.
    student
        Name of the candidate in use.
    candidates
        All candidates, with name, Stein's estimate from the noisy votes (to compare candidates of
        one student) and accuracy on the validation set.
    classes_ : (K,)
        Labels, ascending.
    foreseen
        Notes from public numbers and the public points alone.
    record
        Public facts of the run, which saved predictions keep for its dossier.

    See Also
    --------
    dpsumm.learn : Makes one, with an example.
    dpsumm.ensemble.load_model : Reads the file that `save` has written.
    """

    votes: NoisyVotes
    privacy: LearningPrivacy
    plan: LearningPlan
    student: str
    candidates: tuple[Judged, ...] = field(repr=False)
    classes_: NDArray[Any] = field(repr=False)
    foreseen: tuple[str, ...]
    record: RunRecord = field(repr=False)
    _used: Candidate = field(repr=False)
    _consumer: Consumer = field(repr=False)
    _space: Space = field(repr=False)
    _validation: Validation | None = field(repr=False)

    def __repr__(self) -> str:
        return (
            f"Model({self.votes.terms.n_classes} classes from {self.source}: "
            f"student={self.student!r}, epsilon={self.privacy.epsilon():.4g} at "
            f"delta={self.privacy.delta:g}, unit={str(self.votes.unit)!r})"
        )

    @property
    def source(self) -> str:
        """The source of the model, in words."""
        terms = self.votes.terms
        return f"noisy votes of {terms.n_parties:,} parties on {terms.n_points:,} points"

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the points' columns (``x0``, ``x1``, ... for arrays)."""
        return self._space.schema.names

    @cached_property
    def strength(self) -> Strength:
        """How far the noisy votes differ from noise. It costs no privacy."""
        return strength_of(self._consumer.points, self.votes)

    @cached_property
    def _public(self) -> NDArray[np.float64]:
        """The student's probabilities for the public points, (N, K)."""
        return self._used.fitted.chances(self._consumer.points)

    @cached_property
    def certainty(self) -> Certainty:
        """How sure the probabilities may be, given the noise."""
        if not isinstance(self.votes, NoisyVotes):  # updates, whose scale is chosen already
            return FULL
        return certainty_of(self.votes, self._public, self.strength.certainty)

    @cached_property
    def places(self) -> NDArray[np.int64]:
        """Place among `classes_` of each public point's most probable class, (N,)."""
        return np.asarray(self._public.argmax(1), dtype=np.int64)

    @property
    def accuracy(self) -> float | None:
        """Share of the consumer's labelled points that are right, None without these."""
        return next(one.accuracy for one in self.candidates if one.name == self.student)

    @property
    def one_label(self) -> tuple[Any, float] | None:
        """The commonest label of the consumer's labelled points, and its share of them."""
        if self._validation is None:
            return None
        place, share = self._validation.commonest
        return self.classes_[place], share

    @property
    def confusion(self) -> NDArray[np.int64] | None:
        """The consumer's labelled points by label (rows) and prediction (columns), (K, K).

        Both in the order of `classes_`. None without labelled points.
        """
        known = self._validation
        if known is None:
            return None
        table = np.zeros((len(self.classes_), len(self.classes_)), np.int64)
        listed = known.places >= 0
        np.add.at(table, (known.places[listed], self._guesses(known)[listed]), 1)
        return table

    @property
    def verdict(self) -> Verdict:
        """Whether the model is useful, by the noisy votes and the consumer's own labels.

        If a seed was given, it says first that the model is not private. An alarm among the `notes`
        takes its place, and it counts warnings.
        """
        return self._reached.qualified(seeded=self.privacy.seeded, notes=self.notes)

    @cached_property
    def _reached(self) -> Verdict:
        strength = self.strength
        if self._validation is not None:
            return self._by_labels(strength.chance)
        return verdict_of("votes", strength.chance, strength.ratio, self.places, self.classes_)

    def _by_labels(self, chance: float) -> Verdict:
        """Return the verdict by the consumer's labels, next to the chance that all is noise."""
        assert self._validation is not None
        known = self._validation
        return judged(self.classes_, known, self._guesses(known) == known.places, chance)

    def _guesses(self, known: Validation) -> NDArray[np.int64]:
        return np.asarray(self._used.fitted.chances(known.points).argmax(1), dtype=np.int64)

    @property
    def notes(self) -> tuple[Note, ...]:
        """Notes, the worst first.

        They are those of `foreseen`, classes that the model misses, and alarms if model or budget
        mean nothing. A plan that expected too little is a warning if the votes show otherwise, and
        no warning if your labels do.
        """
        if self._reached.good:
            said = [*missed_notes(self.places, self.classes_, self._validation)]
        else:
            said = [do_not_use(self._reached, way_out(self.plan))]
        if not self.privacy.seeded:
            said += self.plan.budget_notes
        return sorted_notes([*said, *self._in_hindsight()])

    def _in_hindsight(self) -> Iterator[Note]:
        """Give the notes from before the run. A good result outdoes the plan's advice."""
        plans = self.plan.advice if self._reached.good else ()
        led = self._validation is not None and self._reached.severity is Severity.INFO
        for note in sorted_notes(self.foreseen):
            yield _unfulfilled(note, led=led) if note in plans else note

    def to_frame(self) -> Any:
        """Return predictions for the public points, a polars data frame.

        It has the columns ``prediction`` and, with the probability of each class, ``p_<label>``.
        Rows are in the order of the points. Predictions reveal something of their points.
        """
        return predictions(self.classes_, self.certainty.of(self._public))

    def save_predictions(self, path: str | os.PathLike[str]) -> None:
        """Write `to_frame` to a Parquet or CSV file, by suffix, whole or not at all.

        A Parquet file's metadata (key ``dpsumm``, JSON) have the run, its verdict and its cost. For
        a CSV file these are in ``<path>.json``.
        """
        about = {
            "run": self.votes.run,
            "student": self.student,
            "verdict": self.verdict.text,
            "privacy": self.privacy.statements(),
            "notes": list(self.notes),
            "record": self.record.to_json(),
        }
        write_rows(path, self.to_frame(), about)

    def report(self, path: str | os.PathLike[str] | None = None) -> Page:
        """Return a self-contained HTML report, which a notebook shows, and write it to `path`.

        It needs the extra ``report``. A file is written whole or not at all.
        """
        return Page(self._page(), path)

    def _page(self) -> str:
        return render(self)

    def __getstate__(self) -> dict[str, Any]:
        """Refuse to leave with what was learnt on points that are not public. Leave without labels.

        What is read or copied has none of the labelled points: a verdict is from the votes alone.
        """
        self._check_may_leave()
        return self.__dict__ | {"_validation": None}

    def _check_may_leave(self) -> None:
        if self.privacy.points_are != "public":
            raise InvalidParameterError(
                "model: learnt on points that parties must not see (points_are='consumer'). "
                "The model and its predictions would show these points without any guarantee. "
                "Keep it where they are, learn on public points, or give away the result of "
                "Model.export, which protects them as well"
            )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the classifier to a file of plain numbers, without pickle, whole or not at all.

        `dpsumm.ensemble.load_model` reads it. The file also has the columns' schema, the
        statements of privacy and some public points: up to 5,000 for a model of updates, all for
        one of the neighbour graph.

        Raises
        ------
        InvalidParameterError
            The points were not public, the student is an estimator of scikit-learn, which would be
            code, or the file cannot be written.
        """
        self.to_save().save(path)

    def to_save(self) -> SavedModel:
        """Return the bytes that `save` writes, with its errors."""
        self._check_may_leave()
        return saved_model(
            self.votes.run,
            self.votes.terms.classes,
            self._space,
            self.student,
            self._used.fitted,
            self.certainty,
            self.privacy.statements(),
        )

    def export(
        self,
        *,
        norm: float,
        epsilon: float = 1.0,
        delta: float | None = None,
        key: str = "export",
        ledger: str | os.PathLike[str] | None = None,
        allow_weak_privacy: bool = False,
    ) -> SavedModel:
        """Return a linear model that may be given away, since it protects the consumer's points.

        This is for models of points that parties must not see. It is learnt anew from the same
        noisy votes, at no charge to the parties, and needs thousands of points.

        Parameters
        ----------
        norm
            Public length to which points are shortened, from the columns' bounds and not from the
            points.
        epsilon, delta
            Budget of one point. By default delta is the run's.
        key
            Name in the ledger. Another model of the same points needs another name, and a charge.
        ledger
            The consumer's own ledger (`dpsumm.Ledger.create`), charged on the ``"target"``, in
            memory by default. With a file the same call gives the same model again, uncharged.
        allow_weak_privacy
            Accept an epsilon above 10, or a delta of at least 1 / points.

        Raises
        ------
        InvalidParameterError
            The points were public (use `save`), or a parameter is out of range.
        BudgetExceededError
            The ledger's cap does not allow it.

        Privacy
        -------
        One point is (epsilon, delta)-DP towards everybody, see ``docs/privacy/votes.md``.
        """
        if self.privacy.points_are == "public":
            raise InvalidParameterError(
                "model: made from public points, which need no protection. Use Model.save"
            )
        return exported(
            self._consumer.points,
            self.votes,
            self._space,
            replace(self.privacy, validated=False).statements(),  # of the noisy votes alone
            epsilon=epsilon,
            delta=self.privacy.delta if delta is None else delta,
            norm=norm,
            key=key,
            ledger=ledger,
            allow_weak_privacy=allow_weak_privacy,
        )

    def predict(self, points: Source) -> NDArray[Any]:
        """Return the most probable class of each of n points, (n,).

        Parameters
        ----------
        points
            Array, data frame or path, with the columns of the public points.

        Raises
        ------
        InvalidDataError, InvalidParameterError
            The points do not fit these columns, or a value is missing.

        Warns
        -----
        UserWarning
            A tenth or more of a column's values are outside its bounds or in no category.
            Predictions are for the clipped values.
        """
        chosen: NDArray[Any] = self.classes_[self._chances(points).argmax(1)]
        return chosen

    def predict_proba(self, points: Source) -> NDArray[np.float64]:
        """Return probabilities of the classes, (n, K), in the order of `classes_`.

        Those of updates have the scale and the class shares that the known noise makes likeliest.
        Those of votes are smoothed shares of the votes, projected on the probability simplex. They
        are closer to the classes' shares where the votes hardly stand out of their noise, and where
        the fit is clearer than the votes. They show how the parties vote, not how often they are
        right.
        """
        return self.certainty.of(self._chances(points))

    def _chances(self, points: Source) -> NDArray[np.float64]:
        # Two calls below the user's own.
        return self._used.fitted.chances(self._space.to_predict(points, stacklevel=3))

    def refit(self, student: Any = None, *, validation: Any = None) -> Model:
        """Return the model of another student from the same noisy votes, at no charge.

        Parameters
        ----------
        student, validation
            As for `dpsumm.learn`. Without `validation` the one given before is used again. The
            statements of privacy, also in files, say whether one was used.
        """
        judged_by = self._validation
        if validation is not None:
            judged_by = self._space.validation(validation, self.votes.terms.classes)
        students = checked_students(student, judged_by is not None)
        used, judged = self._consumer.fit(students, judged_by)
        privacy = replace(self.privacy, validated=judged_by is not None)
        return replace(
            self,
            privacy=privacy,
            record=replace(self.record, statements=tuple(privacy.statements())),
            student=used.name,
            candidates=judged,
            _used=used,
            _validation=judged_by,
        )


def _unfulfilled(note: Note, *, led: bool) -> Note:
    """Return the plan's advice as it counts once the result is good, and `led` if labels say so."""
    if note.severity is Severity.ALARM:
        note = Note(f"The plan expected worse than was found. {note}", Severity.WARNING)
    return Note(note, Severity.INFO) if led else note


def checked_students(student: Any, validated: bool) -> list[Student]:
    """Return the students that are meant."""
    students = students_of(student)
    if len(students) > 1 and not validated:
        raise InvalidParameterError(
            "student: a list needs labelled points of yours as validation, which "
            "chooses among them. Estimates from the votes do not compare different students"
        )
    return students

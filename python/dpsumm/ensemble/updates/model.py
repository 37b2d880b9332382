"""The result of `learn` by private updates."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NoReturn

from dpsumm.ensemble.model import Model
from dpsumm.ensemble.plan import ASK
from dpsumm.ensemble.updates.course import Course
from dpsumm.ensemble.updates.messages import NoisyMoments
from dpsumm.ensemble.updates.page import render
from dpsumm.ensemble.updates.plan import UpdatesPlan
from dpsumm.ensemble.verdict import HIDDEN, do_not_use, missed_notes, verdict_of
from dpsumm.errors import InvalidParameterError
from dpsumm.report.notes import Note, Severity, sorted_notes
from dpsumm.report.verdict import Verdict

_LIKE = "Give public points like the parties' records"


@dataclass(frozen=True, eq=False)
class UpdatesModel(Model):
    """A `Model` that was learnt from noisy sums of updates.

    Attributes
    ----------
    votes
        The noisy sums of all rounds, the only release of the parties' data.
    """

    votes: NoisyMoments  # type: ignore[assignment]
    plan: UpdatesPlan  # type: ignore[assignment]
    _course: Course = field(kw_only=True, repr=False)

    def __repr__(self) -> str:
        return (
            f"Model({self.votes.terms.n_classes} classes from {self.source}, "
            f"epsilon={self.privacy.epsilon():.4g} at delta={self.privacy.delta:g}, "
            f"unit={self.votes.unit!r})"
        )

    @property
    def source(self) -> str:
        """Its source, in words."""
        recipe = self.votes.recipe
        return f"noisy updates of {self.plan.n_parties:,} parties in {recipe.rounds} rounds"

    @cached_property
    def _reached(self) -> Verdict:
        chance = self._course.chance()
        if self._validation is not None:
            return self._by_labels(chance)
        if self.unlike and chance <= HIDDEN:
            head = "the public points are unlike the parties' records"
            if self._course.moved:
                ask = ASK[0].lower() + ASK[1:]
                why = f"the model was made around the records and extended to the points; {ask}"
                return Verdict(head, why, Severity.WARNING)
            return Verdict(head, "updates mislead there", Severity.ALARM)
        ratio = self.plan.least_ratio
        return verdict_of("updates", chance, ratio, self.places, self.classes_)

    @property
    def notes(self) -> tuple[Note, ...]:
        """The `foreseen` notes, classes that are missed, alarms if the model means nothing."""
        if self._reached.good:
            said = [*missed_notes(self.places, self.classes_, self._validation)]
            if self.unlike:
                unlike = "The public points are unlike the parties' records"
                said.append(Note(f"{unlike}. {self._way_out}."))
        else:
            said = [do_not_use(self._reached, self._way_out)]
        if not self.privacy.seeded:
            said += self.plan.budget_notes
        return sorted_notes([*said, *self._in_hindsight()])

    @property
    def unlike(self) -> bool:
        """Whether the rounds show that the public points are unlike the parties' records."""
        return self._course.strange

    @property
    def _way_out(self) -> str:
        if not self.unlike:
            return self.plan.way_out
        # Votes are as good as a model that was made around the records, and better than others.
        return _LIKE if self._course.moved else f"{_LIKE}, or ask for protocol='votes'"

    @property
    def strength(self) -> NoReturn:
        """Of votes alone."""
        raise InvalidParameterError("model: it was learnt from updates. `strength` is of votes")

    def refit(self, student: Any = None, *, validation: Any = None) -> NoReturn:
        """Of votes alone."""
        raise InvalidParameterError(
            "model: it was learnt from updates, of which no other student can learn. Ask for "
            "protocol='votes'"
        )

    @property
    def n_features(self) -> int:
        """Functions of a point that the model is linear in, m."""
        return len(self._course.basis.spread)

    def _page(self) -> str:
        return render(self)

"""A run of `learn` by votes on any engine, with its question, its vote and its model."""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpsumm.basics.checks import check_installed, plain
from dpsumm.basics.visible import logger
from dpsumm.ensemble.about import HIDDEN, VOTES
from dpsumm.ensemble.consumer import Consumer
from dpsumm.ensemble.curator import ClassifierCurator, VoteCurator
from dpsumm.ensemble.guarantees import ARGUMENT, LearningPrivacy
from dpsumm.ensemble.inputs import Space
from dpsumm.ensemble.messages import NoisyVotes
from dpsumm.ensemble.model import Model, checked_students
from dpsumm.ensemble.plan import plan_of
from dpsumm.ensemble.protocols import Protocol, Voting, protocol_of
from dpsumm.ensemble.release import unit_of
from dpsumm.ensemble.students.student import Student
from dpsumm.ensemble.terms import Terms
from dpsumm.errors import InvalidParameterError
from dpsumm.privacy import accounting
from dpsumm.privacy.events import Protected, Unit
from dpsumm.privacy.guarantees import Used
from dpsumm.privacy.ledger import Ledger
from dpsumm.privacy.record import Books, RunRecord
from dpsumm.privacy.seeds import check_seed
from dpsumm.privacy.weak import check_budget
from dpsumm.report.notes import Note

_log = logger(__name__)

# Its name in the ledger, where it costs nothing: what errors about it should say.
_SETTINGS = "learner, schema or points_are"

# From the curator and the open ledger to the noisy votes: who carries the messages.
Exchange = Callable[[VoteCurator, Ledger], NoisyVotes]


@dataclass(frozen=True)
class Asked:
    """The checked parameters of a run besides data. Made by :meth:`of`."""

    classes: ArrayLike
    epsilon: float
    delta: float
    protocol: Protocol | None
    students: Sequence[Student]
    validation: Any
    unit: Unit
    ledger: str | os.PathLike[str] | None
    run: str | None
    seed: int | None
    allow_weak_privacy: bool

    @classmethod
    def of(
        cls,
        classes: ArrayLike,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        protocol: Protocol | str | None = None,
        validation: Any = None,
        unit: Unit | str = Unit.WHOLE_OWNER,
        ledger: str | os.PathLike[str] | None = None,
        run: str | None = None,
        seed: int | None = None,
        allow_weak_privacy: bool = False,
    ) -> Self:
        """Return the parameters of `dpsumm.learn`, which explains them."""
        epsilon, delta = plain(epsilon), plain(delta)
        accounting.check_epsilon(epsilon)
        accounting.check_delta(delta)
        check_seed(seed, ledger)
        check_installed("scipy", "learn needs", "learn")
        asked = protocol_of(protocol)
        student = asked.student if isinstance(asked, Voting) else None
        return cls(
            classes,
            epsilon,
            delta,
            asked,
            checked_students(student, validation is not None),
            validation,
            unit_of(unit),
            ledger,
            run,
            seed,
            allow_weak_privacy,
        )

    @property
    def voting(self) -> Voting:
        """The parameters of votes, with their defaults."""
        return self.protocol if isinstance(self.protocol, Voting) else Voting()

    def terms(
        self, points: NDArray[np.float64], n_parties: int, n_records: int | None = None
    ) -> Terms:
        """Return the terms of a vote on (N, d) points.

        `n_records` are the parties', if they are known. Else each classifier counts as one.
        """
        voting = self.voting
        protected = n_parties
        if self.unit is not Unit.WHOLE_OWNER:
            protected = max(n_records or 0, n_parties * voting.models_per_owner)
        check_budget(
            self.epsilon,
            self.delta,
            protected,
            allowed=self.allow_weak_privacy,
            seed=self.seed,
        )
        shards = voting.models_per_owner
        terms = Terms.of(points, self.classes, n_parties, grid=voting.grid, shards=shards)
        if (points == points[0]).all():
            raise InvalidParameterError(
                "public_points must not all be the same, as no model tells these apart. Give "
                "points that differ, such as a sample of a public table"
            )
        return terms


def settings_of(protocol: str, space: Space, more: Sequence[object] = ()) -> dict[str, str]:
    """Return the public settings of a run: protocol, and a digest of schema and other facts."""
    schema = "" if space.labelled is None else space.labelled.fingerprint
    facts = json.dumps([protocol, schema, *more])
    return {"protocol": protocol, _SETTINGS: hashlib.sha256(facts.encode()).hexdigest()}


def run_vote(
    asked: Asked,
    terms: Terms,
    space: Space,
    points: NDArray[np.float64],
    names: Sequence[str],
    exchange: Exchange,
    *,
    about: Sequence[Note] = (),
    learner: str = "",
    across: bool = False,
) -> Model:
    """Return the model of a vote. Warnings come before anything is spent.

    Parameters
    ----------
    points : (N, d)
        The public points.
    about
        Notes on the public points, which depend on no other data.
    learner
        What parties train, if that is known: a public fact, as `facts_of` tells it.
    """
    check_listed(terms, space)
    judged_by = (
        None if asked.validation is None else space.validation(asked.validation, terms.classes)
    )
    hidden = asked.voting.hidden
    plan = plan_of(terms, asked.unit, asked.epsilon, asked.delta)
    told = [*about, *plan.advice]
    for note in told:
        warnings.warn(Note(f"learn: {note}", note.severity), stacklevel=3)
    with Ledger(asked.ledger, run=asked.run, delta=asked.delta) as book:
        book.hold_to("learn", settings_of("votes", space, [hidden, learner]))
        _log.info(
            "run %s: noisy votes of %d parties on %d points, %d classes",
            book.run,
            terms.n_parties,
            terms.n_points,
            terms.n_classes,
        )
        curator = (ClassifierCurator if hidden else VoteCurator)(
            points,
            terms,
            names,
            unit=asked.unit,
            epsilon=asked.epsilon,
            delta=asked.delta,
            ledger=book,
            seed=asked.seed,
        )
        before = curator.again()
        votes = exchange(curator, book)
        notes = [*told, *([] if before is None else [_resumed(book)])]
        privacy = LearningPrivacy(
            charges=book.charges(run=book.run),
            used=Used.of(book),
            delta=asked.delta,
            owners_argument=ARGUMENT,
            terms=terms,
            points_are=asked.voting.points_are,
            validated=judged_by is not None,
        )
        record = _record(asked, terms, space, names, book, privacy, across, before is not None)
    consumer = Consumer(points, terms)
    consumer.receive(votes)
    used, judged = consumer.fit(asked.students, judged_by)
    _log.info("run %s: done", votes.run)
    return Model(
        votes=votes,
        privacy=privacy,
        plan=plan,
        student=used.name,
        candidates=judged,
        classes_=terms.labels,
        foreseen=tuple(notes),
        record=record,
        _used=used,
        _consumer=consumer,
        _space=space,
        _validation=judged_by,
    )


def _record(
    asked: Asked,
    terms: Terms,
    space: Space,
    names: Sequence[str],
    book: Ledger,
    privacy: LearningPrivacy,
    across: bool,
    resumed: bool,
) -> RunRecord:
    """Return what may stand in a dossier: public facts alone."""
    hidden = asked.voting.hidden
    whole = asked.unit is Unit.WHOLE_OWNER
    return RunRecord(
        command="learn",
        protocol=HIDDEN if hidden else VOTES,
        run=book.run,
        finished=datetime.now(UTC).isoformat(timespec="seconds"),
        delta=asked.delta,
        seeded=asked.seed is not None,
        parties=tuple(names),
        units={Protected.OWNERS.value: terms.n_parties} if whole else {},
        schemas={"all parties": (space.labelled or space.schema).fingerprint},
        settings={
            "Classes": ", ".join(map(str, terms.classes)),
            "Budget of the parties": f"epsilon {asked.epsilon:g} at delta {asked.delta:g}",
            "Unit": asked.unit.value,
            "Registered parties": f"{terms.n_parties:,}",
            "Points to vote on": f"{terms.n_points:,}, "
            + ("the consumer's own" if hidden else "public"),
            "Votes of a classifier on a point": f"{terms.grid}",
            "Classifiers of each party": f"{terms.shards}",
        }
        # Of points that are the consumer's own, the digest would let anybody test a guess.
        | ({} if hidden else {"Digest of the terms and points": terms.digest}),
        statements=tuple(privacy.statements()),
        books={"": Books(None if book.path is None else book.path.name, privacy.charges)},
        across=across,
        resumed=resumed,
    )


def check_listed(terms: Terms, space: Space) -> None:
    """Refuse classes that the schema's label cannot have, since they would get no vote."""
    label = None if space.labelled is None else space.labelled.label
    if label is None or not label.categories:
        return
    known = {*label.categories, *([] if label.other is None else [label.other])}
    if unknown := [one for one in terms.classes if one not in known]:
        raise InvalidParameterError(
            f"classes: {unknown[0]!r} is not among the schema's categories of {label.name!r}. List "
            "classes as they stand there, numbers as numbers and text as text"
        )


def _resumed(book: Ledger) -> str:
    return (
        f"Run {book.run!r} was resumed: the noisy votes it had released were used again, not "
        "released anew. If parties' data are not those of its first part, the model is not of "
        "them: a new run needs another name."
    )

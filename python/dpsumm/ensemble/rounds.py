"""A run of `learn` by private updates, with its question, its rounds and its model."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from dpsumm.basics.checks import check_whole
from dpsumm.basics.visible import logger
from dpsumm.ensemble.consumer import Consumer
from dpsumm.ensemble.inputs import Space
from dpsumm.ensemble.protocols import Updates
from dpsumm.ensemble.students.choose import choose
from dpsumm.ensemble.students.student import Candidate
from dpsumm.ensemble.terms import Terms
from dpsumm.ensemble.updates.curator import UpdateCurator
from dpsumm.ensemble.updates.guarantees import ARGUMENT, UpdatesPrivacy
from dpsumm.ensemble.updates.messages import PROTOCOL, NoisyMoments
from dpsumm.ensemble.updates.model import UpdatesModel
from dpsumm.ensemble.updates.plan import plan_updates
from dpsumm.ensemble.updates.recipe import RECORDS_PER_OWNER, Recipe
from dpsumm.ensemble.vote import Asked, check_listed, settings_of
from dpsumm.errors import InvalidParameterError
from dpsumm.privacy.events import Protected, Unit
from dpsumm.privacy.guarantees import Used
from dpsumm.privacy.ledger import Ledger
from dpsumm.privacy.record import Books, RunRecord
from dpsumm.report.notes import Note

_log = logger(__name__)


# From the curator and the open ledger to the noisy sums: who carries the messages.
Exchange = Callable[[UpdateCurator, Ledger], NoisyMoments]


def recipe_of(asked: Asked, updates: Updates, n_parties: int, n_given: int | None = None) -> Recipe:
    """Return the public numbers of a run.

    Parameters
    ----------
    n_given
        Rows of all parties, if they are in this process. Public with a record as the unit.
    """
    each = updates.records_per_owner
    if asked.unit is Unit.REPLACE_RECORD:
        if (each is None) == (n_given is None):
            raise InvalidParameterError(
                "records_per_owner: with a record as the unit it is counted where all parties are "
                "in this process, and needed where they are not: their rows on average, public; "
                + ("leave it out" if n_given is not None else "say about how many they have")
            )
    elif each is None:
        each = RECORDS_PER_OWNER
    if each is None:
        records = max(1, n_given or 0)
    else:
        check_whole(each, "records_per_owner", 1, 10**9)
        records = n_parties * each
    return Recipe(asked.unit.value, asked.epsilon, asked.delta, records)


def run_updates(
    asked: Asked,
    terms: Terms,
    recipe: Recipe,
    space: Space,
    points: NDArray[np.float64],
    names: Sequence[str],
    exchange: Exchange,
    *,
    about: Sequence[Note] = (),
    across: bool = False,
) -> UpdatesModel:
    """Return the model of some rounds. Warnings come before anything is spent.

    Parameters
    ----------
    points : (N, d)
        The public points.
    about
        Notes on the public points, which depend on no other data.
    """
    check_listed(terms, space)
    judged_by = (
        None if asked.validation is None else space.validation(asked.validation, terms.classes)
    )
    plan = plan_updates(points.shape[1], terms, recipe)
    told = [*about, *plan.advice]
    for note in told:
        warnings.warn(Note(f"learn: {note}", note.severity), stacklevel=3)
    with Ledger(asked.ledger, run=asked.run, delta=asked.delta) as book:
        book.hold_to("learn", settings_of("updates", space))
        curator = UpdateCurator(points, terms, recipe, names, ledger=book, seed=asked.seed)
        resumed = curator.resumed
        _log.info(
            "run %s: private updates of %d parties, %d classes, %d rounds",
            book.run,
            terms.n_parties,
            terms.n_classes,
            recipe.rounds,
        )
        moments = exchange(curator, book)
        privacy = UpdatesPrivacy(
            charges=book.charges(run=book.run),
            used=Used.of(book),
            delta=asked.delta,
            owners_argument=ARGUMENT,
            terms=terms,
        )
        record = _record(asked, terms, recipe, space, names, book, privacy, across, resumed)
    used = Candidate("private updates", curator.course.fitted)
    judged = choose([used], judged_by)[1]
    return UpdatesModel(
        votes=moments,
        privacy=privacy,
        plan=plan,
        student=used.name,
        candidates=judged,
        classes_=terms.labels,
        foreseen=tuple([*told, *([Note(_resumed(book.run))] if resumed else [])]),
        record=record,
        _used=used,
        _consumer=Consumer(points, terms),
        _space=space,
        _validation=judged_by,
        _course=curator.course,
    )


def _record(
    asked: Asked,
    terms: Terms,
    recipe: Recipe,
    space: Space,
    names: Sequence[str],
    book: Ledger,
    privacy: UpdatesPrivacy,
    across: bool,
    resumed: bool,
) -> RunRecord:
    """Return what may stand in a dossier: public facts alone."""
    return RunRecord(
        command="learn",
        protocol=PROTOCOL,
        run=book.run,
        finished=datetime.now(UTC).isoformat(timespec="seconds"),
        delta=asked.delta,
        seeded=asked.seed is not None,
        parties=tuple(names),
        units={Protected.OWNERS.value: terms.n_parties} if recipe.whole else {},
        schemas={"all parties": (space.labelled or space.schema).fingerprint},
        settings={
            "Classes": ", ".join(map(str, terms.classes)),
            "Budget of the parties": f"epsilon {asked.epsilon:g} at delta {asked.delta:g}",
            "Unit": asked.unit.value,
            "Registered parties": f"{terms.n_parties:,}",
            "Public points": f"{terms.n_points:,}",
            "Rounds": f"{recipe.rounds}",
            "Records, " + ("declared" if recipe.whole else "public"): f"{recipe.records:,}",
            "Digest of the terms and points": terms.digest,
        },
        statements=tuple(privacy.statements()),
        books={"": Books(None if book.path is None else book.path.name, privacy.charges)},
        across=across,
        resumed=resumed,
    )


def _resumed(run: str) -> str:
    return (
        f"Run {run!r} was resumed: the rounds it had released were used again, not released anew. "
        "If parties' data are not those of its first part, the model is of both."
    )

"""A run of `learn` by private updates: what was asked, the rounds, the model."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Mapping
from datetime import UTC, datetime

from dpsumm.checks import check_installed, check_whole
from dpsumm.ensemble.consumer import Consumer
from dpsumm.ensemble.inputs import Given
from dpsumm.ensemble.points import points_notes
from dpsumm.ensemble.students.choose import choose
from dpsumm.ensemble.students.student import Candidate
from dpsumm.ensemble.terms import Terms
from dpsumm.ensemble.updates.curator import UpdateCurator
from dpsumm.ensemble.updates.guarantees import ARGUMENT, UpdatesPrivacy
from dpsumm.ensemble.updates.messages import PROTOCOL
from dpsumm.ensemble.updates.model import UpdatesModel
from dpsumm.ensemble.updates.party import Updater
from dpsumm.ensemble.updates.plan import plan_updates
from dpsumm.ensemble.updates.recipe import RECORDS_PER_OWNER, Recipe
from dpsumm.ensemble.vote import SETTINGS, Asked, check_listed
from dpsumm.exchange.driver import Progress, run_in_process
from dpsumm.exchange.roles import Party
from dpsumm.privacy.events import Protected, Unit
from dpsumm.privacy.ledger import Ledger
from dpsumm.privacy.record import Books, RunRecord
from dpsumm.report.notes import Note
from dpsumm.visible import logger

_log = logger(__name__)


def recipe_of(asked: Asked, given: Given, records_per_owner: int | None) -> Recipe:
    """Return the public numbers of a run: with a record as the unit, sizes are public."""
    if asked.unit is Unit.WHOLE_OWNER:
        each = RECORDS_PER_OWNER if records_per_owner is None else records_per_owner
        check_whole(each, "records_per_owner", 1, 10**9)
        records = len(given.names) * each
    else:
        records = max(1, sum(table.n_given for table in given.tables.values()))
    return Recipe(asked.unit.value, asked.epsilon, asked.delta, records)


def run_updates(
    asked: Asked,
    terms: Terms,
    given: Given,
    *,
    records_per_owner: int | None = None,
    progress: Progress | None = None,
) -> UpdatesModel:
    """Return the model of some rounds among parties in this process."""
    check_installed("scipy", "private updates need", "learn")
    check_listed(terms, given.space)
    judged_by = (
        None
        if asked.validation is None
        else given.space.validation(asked.validation, terms.classes)
    )
    recipe = recipe_of(asked, given, records_per_owner)
    plan = plan_updates(given.points.shape[1], terms, recipe)
    about = points_notes(given.public_points)
    for note in (*about, *plan.notes):
        warnings.warn(Note(f"learn: {note}", note.severity), stacklevel=3)
    parties: Mapping[str, Party] = {
        name: Updater(table, terms.classes) for name, table in given.tables.items()
    }
    with Ledger(asked.ledger, run=asked.run, delta=asked.delta) as book:
        book.hold_to("learn", {"method": "updates"})
        curator = UpdateCurator(
            given.points, terms, recipe, given.names, ledger=book, seed=asked.seed
        )
        resumed = curator.resumed
        schema = "" if given.space.labelled is None else given.space.labelled.fingerprint
        bound = hashlib.sha256(json.dumps([PROTOCOL, schema]).encode()).hexdigest()
        book.record(SETTINGS, lambda: b"", binding=bound)
        _log.info(
            "run %s: private updates of %d parties, %d classes, %d rounds",
            book.run,
            terms.n_parties,
            terms.n_classes,
            recipe.rounds,
        )
        moments = run_in_process(curator, parties, progress)
        privacy = UpdatesPrivacy(
            charges=book.charges(run=book.run),
            delta=asked.delta,
            owners_argument=ARGUMENT,
            terms=terms,
        )
        record = _record(asked, terms, recipe, given, book, privacy, resumed)
    used = Candidate("private updates", curator.course.fitted)
    judged = choose([used], judged_by)[1]
    return UpdatesModel(
        votes=moments,
        privacy=privacy,
        plan=plan,
        student=used.name,
        candidates=judged,
        classes_=terms.labels,
        foreseen=tuple([*about, *plan.notes, *([Note(_resumed(book.run))] if resumed else [])]),
        record=record,
        _used=used,
        _consumer=Consumer(given.points, terms),
        _space=given.space,
        _validation=judged_by,
        _course=curator.course,
    )


def _record(
    asked: Asked,
    terms: Terms,
    recipe: Recipe,
    given: Given,
    book: Ledger,
    privacy: UpdatesPrivacy,
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
        parties=given.names,
        units={Protected.OWNERS.value: terms.n_parties} if recipe.whole else {},
        schemas={"all parties": (given.space.labelled or given.space.schema).fingerprint},
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
        resumed=resumed,
    )


def _resumed(run: str) -> str:
    return (
        f"Run {run!r} was resumed: the rounds it had released were used again, not released anew. "
        "If parties' data are not those of its first part, the model is of both."
    )

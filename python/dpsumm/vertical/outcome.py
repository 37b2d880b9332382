"""Settings of a run of synthetic rows, and its result with its record."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import UTC, datetime

from dpsumm.basics.names import check_name
from dpsumm.data.frame import Backend
from dpsumm.errors import InvalidParameterError
from dpsumm.privacy import accounting
from dpsumm.privacy.events import Protected
from dpsumm.privacy.ledger import Ledger
from dpsumm.privacy.record import Books, RunRecord
from dpsumm.privacy.seeds import check_seed
from dpsumm.vertical.agreed import Agreed
from dpsumm.vertical.grid import drawn_from
from dpsumm.vertical.label_fit import fit_label
from dpsumm.vertical.label_score import score_label
from dpsumm.vertical.layout import HELPER, Budget, Released
from dpsumm.vertical.notes import notes_of
from dpsumm.vertical.privacy import SynthesisPrivacy
from dpsumm.vertical.result import Synthetic
from dpsumm.vertical.tables import Tables

# Drawn rows that the label's model is fitted on, and the seed of their draw: it touches no privacy.
_ROWS, _SEED = 30_000, 0


def synthetic_of(
    released: Released,
    agreed: Agreed,
    protocol: Tables,
    budget: Budget,
    *,
    seed: int | None,
    books: Mapping[str, Books] | None = None,
    run: str,
    started: float,
    backend: Backend | None,
    resumed: bool = False,
) -> Synthetic:
    """Return the result of a run's noisy tables: a model fitted to them. Post-processing.

    `books` are the owners', None if these are elsewhere; `resumed` tells whether they had releases
    of this run before.
    """
    model = protocol.fit(released)
    drawn = model.draw(_ROWS, seed=_SEED)
    levels = tuple(
        drawn_from(one, starts)
        for one, starts in zip(agreed.in_order, released.starts, strict=True)
    )
    privacy = SynthesisPrivacy(
        agreed.layout.owners,
        budget.noise_multiplier,
        budget.delta,
        seed is not None,
        agreed.ids is not None,
        budget.way,
    )
    label = fit_label(released, levels, drawn)
    score = None if label is None else score_label(released, levels, drawn, label)
    finished = datetime.now(UTC)
    return Synthetic(
        model=model,
        label_model=label,
        label_score=score,
        tables=released,
        privacy=privacy,
        n_records=released.n_records,
        seed=seed,
        levels=levels,
        seconds=time.perf_counter() - started,
        notes=notes_of(
            released,
            model,
            agreed.layout,
            levels,
            protocol,
            privacy,
            score,
            resumed=run if resumed else None,
        ),
        fits=model.mixture.chi2 <= protocol.stop,
        run=run,
        finished=finished,
        backend=backend,
        record=_record(agreed, protocol, privacy, released, books, run, finished, resumed),
    )


def _record(
    agreed: Agreed,
    protocol: Tables,
    privacy: SynthesisPrivacy,
    released: Released,
    books: Mapping[str, Books] | None,
    run: str,
    finished: datetime,
    resumed: bool,
) -> RunRecord:
    """Return what may stand in a dossier: public facts, and the noise, alone."""
    layout, plan = agreed.layout, released.plan
    return RunRecord(
        command="synthesize",
        protocol=privacy.way.value,
        run=run,
        finished=finished.isoformat(timespec="seconds"),
        delta=privacy.delta,
        seeded=privacy.seeded,
        parties=layout.owners if layout.same_columns else (*layout.owners, HELPER),
        units={Protected.RECORDS.value: released.n_records},
        schemas=dict(zip(layout.owners, layout.schemas, strict=True)),
        settings={
            "Records": f"{released.n_records:,}",
            "Parameters": repr(protocol),
            "Columns": "; ".join(
                f"{name}: {', '.join(layout.columns[j] for j in layout.of_owner(place))}"
                for place, name in enumerate(layout.holders)
            ),
            "Label": "none" if layout.label is None else layout.columns[layout.label],
            "Identifiers": agreed.ids
            or ("none needed" if layout.same_columns else "none: equal order was trusted"),
            "Noise of one-way tables": f"standard deviation {plan.one_way_std:.6g}, times "
            "the root of a column's number of tables",
            "Two-way tables": f"{len(plan.pairs)}"
            + f", and {len(plan.coarse)} coarse ones" * bool(plan.coarse),
        },
        statements=tuple(privacy.statements()),
        books=books or {},
        across=books is None,
        resumed=resumed,
        observers={"everybody, owners included": privacy.epsilon()},
    )


def check_books(opened: Mapping[str, Ledger], run: str) -> None:
    """Refuse to go on with a run that released its tables if some books do not know it."""
    if any(book.has("two-way") for book in opened.values()):
        for name, book in opened.items():
            if not book.has("start"):
                raise InvalidParameterError(
                    f"run: {run!r} has released tables at other owners, and the ledger of {name!r} "
                    "does not know it: its part of these tables is lost. Give that owner's file, "
                    "or a new name, under which all is released and charged anew"
                )


def everywhere(opened: Mapping[str, Ledger], key: str, made: bytes) -> bytes:
    """Record opened tables in all books before anybody sees them, and return those that count.

    The shares are made anew until then, and no more. Of two processes the one that was first at the
    first book decides.
    """
    for book in opened.values():
        made = book.record(key, lambda made=made: made)  # type: ignore[misc]
    return made


def check_asked(
    owners: object,
    epsilon: float,
    delta: float,
    protocol: object,
    seed: int | None,
    ledger: object,
) -> None:
    """Refuse what no run can have."""
    accounting.check_epsilon(epsilon)
    accounting.check_delta(delta)
    if not isinstance(owners, Mapping) or not all(isinstance(name, str) for name in owners):
        raise InvalidParameterError("owners must be a dict of name to data")
    for name in owners:
        check_name(name, "owners")
    if not isinstance(protocol, Tables):
        raise InvalidParameterError(f"protocol must be Tables(), got {type(protocol).__name__}")
    if ledger is not None and not (isinstance(ledger, Mapping) and set(ledger) <= set(owners)):
        raise InvalidParameterError(
            "ledger must be a dict of owners' names to the files of their own books"
        )
    check_seed(seed, ledger)

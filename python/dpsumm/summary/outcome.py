"""The result of a run from a curator's selection, and the record that a dossier reads."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from numpy.typing import NDArray

from dpsumm.data.frame import Backend
from dpsumm.data.kinds.along import typed
from dpsumm.data.kinds.label import labels_of
from dpsumm.data.schema import Schema
from dpsumm.privacy.events import Protected, Unit
from dpsumm.privacy.guarantees import PrivacyReport, Used
from dpsumm.privacy.record import Books, RunRecord
from dpsumm.summary.notes import notes_of
from dpsumm.summary.pool import PointsRead
from dpsumm.summary.protocols import Curator, Protocol, Selection, Setting
from dpsumm.summary.result import Summary
from dpsumm.summary.stability import COPIES_DROPPED


def summary_of(
    selection: Selection,
    curator: Curator,
    protocol: Protocol,
    *,
    started: float,
    schema: Schema,
    backend: Backend | None,
    target_labels: NDArray[Any] | None,
    embedded: bool = False,
    across: bool = False,
    notes: Sequence[str] = (),
) -> Summary:
    """Return a curator's selection as the result of a run, whose ledger must still be open.

    Parameters
    ----------
    target_labels
        The consumer's own, of each target record, for the verdict alone.
    embedded
        Whether records were sent under a secret map.
    """
    setting, book, records = curator.setting, curator.setting.ledger, selection.records
    labels, listed = records.labels, schema.label is not None and schema.label.categories
    privacy = PrivacyReport(
        charges=book.charges(run=book.run),
        used=Used.of(book),
        delta=setting.delta,
        owners_argument=protocol.owners_argument,
        accesses_everything=len(selection.pool.owner) == sum(setting.n_records.values()),
        embedded=embedded,
        coalition=protocol.coalition,
        published=protocol.published_figures(setting),
    )
    finished = datetime.now(UTC)
    return Summary(
        points=records.values,
        # Owners may have sent one label as a number and as text.
        labels=labels if labels is None or listed else labels_of(labels.tolist()),
        owner=selection.owner,
        index=records.rows,
        names=setting.names,
        n_records=tuple(setting.n_records.get(name, 0) for name in setting.names),
        schema=schema,
        accesses=len(selection.pool.owner),
        mmd2=float(selection.curve[-1]),
        curve=selection.curve,
        gamma=curator.kernel.gamma,
        privacy=privacy,
        protocol=protocol.name,
        scaled=selection.scaled,
        pool=PointsRead(
            selection.pool.records,
            selection.pool.owner,
            selection.pool.scaled,
            selection.picks,
            schema,
            setting.names,
            backend,
        ),
        target=setting.target,
        target_labels=target_labels,
        target_self=selection.target_self,
        size_requested=setting.size,
        seconds=time.perf_counter() - started,
        notes=notes_of(selection, curator, protocol, privacy, schema, notes),
        carried=tuple(map(typed, records.carried)),
        backend=backend,
        stability=COPIES_DROPPED if setting.drop_target_copies else protocol.stability(setting),
        run=book.run,
        ledger=book.path,
        finished=finished,
        record=_record(setting, protocol, privacy, schema, finished, embedded, across),
    )


def _record(
    setting: Setting,
    protocol: Protocol,
    privacy: PrivacyReport,
    schema: Schema,
    finished: datetime,
    embedded: bool,
    across: bool,
) -> RunRecord:
    """Return what may stand in a dossier: public facts alone."""
    book = setting.ledger
    settings = {
        "Points asked for": f"{setting.size:,}",
        "Budget of the target": f"epsilon {setting.epsilon:g} at delta {setting.delta:g}",
        "Unit": Unit.REPLACE_RECORD.value,
        "Protocol and parameters": repr(protocol),
        "Kernel": repr(setting.kernel),
        "Records of the target": f"{len(setting.target):,}",
        "Labels": "travelled along" if setting.labelled else "none",
        "Copies of the target": "left out" if setting.drop_target_copies else "not looked for",
        "Embedding": "a secret map, which the curator lacks" if embedded else "none",
    }
    units = {Protected.TARGET.value: len(setting.target)}
    # Whether an owner elsewhere could describe its data may depend on them.
    if not across:
        counts = setting.n_records
        settings["Records of the owners"] = ", ".join(f"{n}: {c:,}" for n, c in counts.items())
        units[Protected.OWNERS.value] = min(counts.values())
    return RunRecord(
        command="summarize",
        protocol=_own_name(protocol),
        run=book.run,
        finished=finished.isoformat(timespec="seconds"),
        delta=setting.delta,
        seeded=setting.seed is not None,
        parties=setting.names,
        units=units,
        schemas={"all parties": schema.fingerprint},
        settings=settings,
        # How much was read may depend on bids.
        statements=tuple(replace(privacy, accesses_everything=False).statements()),
        books={"": Books(None if book.path is None else book.path.name, privacy.charges)},
        across=across,
        resumed=book.resumed,
    )


def _own_name(protocol: Protocol) -> str:
    """Return what a record calls a protocol.

    A class of somebody else's goes by its own name, whatever it inherits or says of itself: the
    register of messages is of dpsumm's.
    """
    kind = type(protocol)
    if kind.__module__.partition(".")[0] == "dpsumm":
        return protocol.name
    return f"{kind.__module__}.{kind.__qualname__}"

"""A run whose owners and helper are elsewhere, by any engine that carries messages."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from dpsumm.basics.checks import plain
from dpsumm.data.extract import Source
from dpsumm.data.schema import Schema
from dpsumm.data.short import SchemaLike
from dpsumm.errors import InvalidDataError, InvalidParameterError, ProtocolError
from dpsumm.exchange.across import Channel, run_across
from dpsumm.exchange.codec import Codec
from dpsumm.exchange.driver import Progress
from dpsumm.exchange.journal import Journal, JournalError
from dpsumm.exchange.messages import Answer, Request
from dpsumm.exchange.roles import Party
from dpsumm.privacy import accounting
from dpsumm.privacy.events import Protected
from dpsumm.privacy.ledger import Ledger
from dpsumm.privacy.weak import check_budget
from dpsumm.vertical.agreed import Agreed, with_label_counted
from dpsumm.vertical.grid import counted_as
from dpsumm.vertical.helper import check_secret
from dpsumm.vertical.inputs import read_held
from dpsumm.vertical.messages import Join
from dpsumm.vertical.outcome import synthetic_of
from dpsumm.vertical.owner import Owner, fresh_nonce
from dpsumm.vertical.products import Dealer
from dpsumm.vertical.result import Synthetic
from dpsumm.vertical.rows import Rows
from dpsumm.vertical.sums import coordinator_of
from dpsumm.vertical.tables import Tables
from dpsumm.vertical.way import Way
from dpsumm.vertical.wire import CODEC


class SiloOwner(Party):
    """An owner on a machine of its own. It reads its data and opens its books when a run begins.

    Public parameters come with the run's first message. The owner alone has its
    schema, its keys, and its ledger, whose cap refuses a run that would cost too much.

    Parameters
    ----------
    ledger
        File of its own books, with a cap on ``"records"``. In the folder ``<ledger>.rows``
        next to it are the levels of its records by run, so that a run is about the same ones.
    secret
        32 bytes that it shares with the helper alone. Owners of the same columns need no keys.
    alignment
        32 bytes that all owners share, and neither helper nor coordinator. It is the key of the
        digest by which they compare identifiers.
    """

    codec: ClassVar[Codec] = CODEC

    def __init__(
        self,
        name: str,
        source: Source,
        schema: Schema,
        *,
        ledger: str | os.PathLike[str],
        secret: bytes | None = None,
        alignment: bytes | None = None,
    ) -> None:
        for key in (secret, alignment):
            if key is not None:
                check_secret(key)
        if secret is not None and secret == alignment:
            raise InvalidParameterError(
                "secret: it is the owners' common key, too, and so known to the others. Give each "
                "owner one of its own"
            )
        with Ledger(ledger) as book:
            if book.cap(Protected.RECORDS) is None:
                raise InvalidParameterError(
                    "ledger: it has no cap on records, and any number of runs could be asked for. "
                    "Set one with 'dpsumm ledger cap'"
                )
        self._name, self._source, self._schema = name, source, with_label_counted(schema)
        self._ledger = ledger
        self._rows = Path(f"{os.fspath(ledger)}.rows")
        self._secret, self._alignment = secret, alignment
        self._owner: Owner | None = None
        self._book: Ledger | None = None

    def answer(self, request: Request) -> Answer:
        """Answer. See `Owner`."""
        if isinstance(request, Join):
            if self._owner is not None:
                raise ProtocolError("the run has begun already")
            self._owner = self._joined(request)
        if self._owner is None:
            raise ProtocolError(f"no answer to a {type(request).__name__} before a run begins")
        return self._owner.answer(request)

    def close(self) -> None:
        """Close the ledger."""
        if self._book is not None:
            self._book.close()

    def _joined(self, request: Join) -> Owner:
        known = tuple(column.name for column in self._schema.kernel)
        if request.columns != known:
            raise ProtocolError(
                f"the run is for columns {', '.join(request.columns)}, and this owner's schema has "
                f"{', '.join(known)}. Give coordinator and owner the same file"
            )
        levels = [
            counted_as(column, {column.name: edges.tolist()} if len(edges) else None)
            for column, edges in zip(self._schema.kernel, request.edges, strict=True)
        ]
        ids = request.ids or None
        if ids is not None and ids not in [column.name for column in self._schema.carried]:
            raise ProtocolError(f"ids: this owner's schema has no column {ids!r} of kind 'ignore'")
        if ids is not None and self._alignment is None:
            raise ProtocolError("ids cannot be compared without the owners' common key")
        self._book = Ledger(self._ledger, run=request.run, delta=request.delta)
        if self._book.has("one-way"):
            rows = Rows.read(self._rows, request.run)
        else:
            held = read_held(self._source, self._name, self._schema, levels, ids)
            rows = Rows(request.run, held.codes, held.digest(self._alignment or b""), fresh_nonce())
        return Owner(
            self._name,
            rows.codes,
            tuple(one.size for one in levels),
            schema=self._schema.fingerprint,
            order=rows.order,
            ledger=self._book,
            secret=self._secret,
            nonce=rows.nonce,
            trees=tuple(one.tree for one in levels),
            keep=lambda: rows.write(self._rows),
        )


def synthesize_silos(
    channel: Channel,
    schema: Mapping[str, SchemaLike],
    *,
    epsilon: float = 1.0,
    delta: float = 1e-5,
    label: str | None = None,
    protocol: Tables | None = None,
    ids: str | None = None,
    journal: str | os.PathLike[str] | None = None,
    run: str | None = None,
    max_bytes: int = 2**28,
    out: str | os.PathLike[str] | None = None,
    rows: int | None = None,
    report: str | os.PathLike[str] | None = None,
    allow_weak_privacy: bool = False,
    progress: Progress | None = None,
) -> Synthetic:
    """Return synthetic rows of owners that a channel reaches, and a helper named ``"helper"``.

    Owners charge their own ledgers, and nothing is charged here. Owners of the same columns, whose
    schemas are equal, need no helper.

    Parameters
    ----------
    channel
        The engine's, see `Channel`.
    schema
        Of all owners by name. They are fixed before the run.
    epsilon, delta, label, protocol, ids
        As for `synthesize`. Public. Tables come by pads, so `Mpyc` is refused.
    journal, run
        File of the answers, and the run's name. A run that died is resumed with both. The answers
        are removed when the rows are saved, since the run has ended then.
    max_bytes
        Largest answer that is read.
    out, rows
        Where rows are saved, ``.parquet`` or ``.csv``, and how many.
    report
        Where the report is saved before the run ends. With `out` only.
    allow_weak_privacy
        As for `synthesize`. A weak epsilon is refused before anybody is asked, a weak delta
        as soon as owners have told how many records there are, before anything is released.
    progress
        Called with (stage, done, total).

    Raises
    ------
    InvalidParameterError, InvalidDataError
        Before anything is released.
    ProtocolError
        An owner or the helper failed. A release stays charged and is sent again under the
        same name.

    Privacy
    -------
    As `synthesize`. Owners and helper see that a run stops, not why.

    See Also
    --------
    dpsumm.synthesize : The same in one process.
    dpsumm.summary.silos.summarize_silos : A summary instead.

    Examples
    --------
    In an app of Flower, whose channel reaches both owners and the helper (``docs/deploy.md``):

    >>> from dpsumm.vertical.silos import synthesize_silos
    >>> synthetic = synthesize_silos(  # doctest: +SKIP
    ...     channel, {"registry": "registry.toml", "clinic": "clinic.toml"},
    ...     journal="run.db", run="spring", out="rows.parquet",
    ... )
    """
    started = time.perf_counter()
    epsilon, delta = plain(epsilon), plain(delta)
    accounting.check_epsilon(epsilon)
    accounting.check_delta(delta)
    protocol = Tables() if protocol is None else protocol
    if not isinstance(protocol.secret_product, Dealer):
        raise InvalidParameterError(
            "secret_product must be Dealer() across machines; Mpyc() runs on one machine"
        )
    run = run or uuid.uuid4().hex
    agreed = Agreed.of(schema, protocol.bins, ids, label, protocol.pairs)
    check_budget(epsilon, 0.0, 1, allowed=allow_weak_privacy)
    budget = protocol.budget(epsilon, delta)
    refused = None if allow_weak_privacy else epsilon
    if agreed.layout.same_columns:
        budget = replace(budget, way=Way.SUMS)
    coordinator = coordinator_of(agreed.layout, budget, run, refused=refused)
    with Journal(journal, run) as kept:
        try:
            released, _ = run_across(
                coordinator,
                channel,
                kept,
                minimum=len(coordinator.names),
                max_bytes=max_bytes,
                progress=progress,
            )
        except InvalidDataError as error:
            if not coordinator.begun and not isinstance(error, JournalError):
                # Nothing was released: the owners put their data right and are asked anew.
                kept.forget()
            raise
        synthetic = synthetic_of(
            released,
            agreed,
            protocol,
            budget,
            seed=None,
            run=run,
            started=started,
            backend=None,
        )
        if out is not None:
            with kept.ending(out):
                synthetic.save(out, rows)
                if report is not None:
                    synthetic.report(report)
    return synthetic

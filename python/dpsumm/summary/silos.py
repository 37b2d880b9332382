"""A run whose owners are elsewhere, by any engine that carries messages."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

import numpy as np

from dpsumm.basics.checks import plain
from dpsumm.basics.names import check_name
from dpsumm.data.inputs import Source, read_target
from dpsumm.data.short import SchemaLike, schema_of
from dpsumm.errors import InvalidParameterError, ProtocolError
from dpsumm.exchange.across import Channel, describe, run_across
from dpsumm.exchange.driver import Progress
from dpsumm.exchange.journal import Journal
from dpsumm.privacy.ledger import Ledger
from dpsumm.privacy.weak import check_budget
from dpsumm.summary.guards import check_sample, check_target
from dpsumm.summary.kernel import RBF
from dpsumm.summary.notes import data_notes
from dpsumm.summary.outcome import summary_of
from dpsumm.summary.protocols import Protocol, Setting
from dpsumm.summary.result import Summary
from dpsumm.summary.settings import check_run, held_to, settle_kernel

# Of all points across silos: a public fact, the same whatever anybody's files are.
PRECISION = np.dtype(np.float64)


def summarize_silos(
    channel: Channel,
    owners: Sequence[str],
    target: Source,
    *,
    schema: SchemaLike,
    size: int,
    epsilon: float = 1.0,
    delta: float = 1e-5,
    protocol: Protocol | str | None = None,
    kernel: RBF | None = None,
    ledger: str | os.PathLike[str] | None = None,
    run: str | None = None,
    seed: int | None = None,
    allow_weak_privacy: bool = False,
    drop_target_copies: bool = False,
    minimum: int = 1,
    max_bytes: int = 2**28,
    out: str | os.PathLike[str] | None = None,
    report: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Summary:
    """Return a summary of owners that a channel reaches.

    Parameters
    ----------
    channel
        The engine's, see `Channel`.
    owners
        All owners of the run by name, fixed before it. Their number is public and enters messages,
        so it must not depend on which owners are able to answer.
    schema
        Of all parties. An owner whose data were read with another one is left out.
    target, size, epsilon, delta, protocol, kernel, seed, drop_target_copies
        As for `summarize`.
    ledger, run
        As for `summarize`. Answers are kept next to the ledger, in ``<ledger>.answers``, until the
        summary is written. So a run that died is resumed by its name.
    minimum
        Owners without which there is no summary.
    max_bytes
        Largest answer of an owner that is read.
    out
        Where the summary is saved, ``.parquet`` or ``.csv``. Only then are the answers removed. The
        run has ended then, and its name sends no further request.
    report
        Where the report is saved before the run ends. With `out` only.

    Raises
    ------
    InvalidParameterError, InvalidDataError, BudgetExceededError
        As `summarize`, before anything is released.
    InvalidDataError
        `out` cannot be written. All answers are kept.
    ProtocolError
        Too few owners, or under the Auction an owner failed that cannot be spared.

    Privacy
    -------
    As `summarize`. Under Offers the broadcast goes out whether or not the others could describe
    their data, so that no owner's failure changes what another receives. Under the Auction an owner
    may notice that the run does not begin or stops. The cause is not told.

    See Also
    --------
    dpsumm.summarize : The same in one process.
    dpsumm.ensemble.silos.learn_silos : A classifier instead.
    dpsumm.vertical.silos.synthesize_silos : Synthetic rows instead.

    Examples
    --------
    In an app of Flower, whose channel reaches the owners (``docs/deploy.md``):

    >>> from dpsumm.summary.silos import summarize_silos
    >>> summary = summarize_silos(  # doctest: +SKIP
    ...     channel, ["north", "south"], "clinic.csv", schema="schema.toml", size=200,
    ...     ledger="books.db", run="spring", out="summary.parquet",
    ... )
    """
    started = time.perf_counter()
    epsilon, delta = plain(epsilon), plain(delta)
    protocol = check_run(size, epsilon, delta, protocol, seed, ledger)
    names = _names(owners, minimum)
    if not protocol.silos:
        raise InvalidParameterError(
            f"protocol must be Offers or Auction across silos. {protocol.name} runs in one process"
        )
    schema = schema_of(schema)
    goal = read_target(target, schema)
    check_target(goal)
    check_budget(
        epsilon,
        delta,
        len(goal),
        allowed=allow_weak_privacy,
        seed=seed,
        unprotected=protocol.unprotected,
    )

    def check_owners(records: int) -> None:
        check_budget(
            protocol.epsilon_owners,
            delta,
            records,
            allowed=allow_weak_privacy or not protocol.epsilon_owners,
            seed=seed,
            name="epsilon_owners",
        )

    check_owners(1)  # before anybody is asked; then by the numbers that owners tell
    check_sample(getattr(protocol, "sample", None), goal)
    with (
        Ledger(ledger, run=run, delta=delta) as book,
        Journal(None if ledger is None else f"{Path(ledger)}.answers", book.run) as journal,
    ):
        book.hold_to("summarize", held_to(names, size, protocol, schema))
        described, unable = describe(
            channel,
            journal,
            names,
            schema=schema.fingerprint,
            max_bytes=max_bytes,
        )
        # This life has charged nothing yet. Under Offers one that describes its data is enough for
        # the broadcast: whether another's are fit for it must not show in what an owner receives.
        if len(unable) == len(names) or (unable and protocol.needs_all):
            raise ProtocolError(
                "nothing was released: the Auction needs all its owners at the beginning, Offers "
                "at least one ("
                + "; ".join(f"{name!r} {why}" for name, why in unable.items())
                + "). Put them right and run again under the same name"
            )
        check_owners(sum(told.n_records for told in described.values()))
        setting = Setting(
            target=goal.scaled,
            columns=schema.names,
            schema=schema,
            n_records={name: told.n_records for name, told in described.items()},
            owners=names,
            size=size,
            epsilon=epsilon,
            delta=delta,
            kernel=settle_kernel(kernel, protocol, schema),
            labelled=schema.label is not None,
            ledger=book,
            seed=seed,
            drop_target_copies=drop_target_copies,
        )
        curator = protocol.curator(setting)
        selection, failed = run_across(
            curator,
            channel,
            journal,
            absent=unable,
            minimum=minimum,
            max_bytes=max_bytes,
            progress=progress,
            schema=schema.fingerprint,
        )
        summary = summary_of(
            selection,
            curator,
            protocol,
            started=started,
            schema=schema,
            backend=goal.backend,
            target_labels=goal.labels,
            across=True,
            notes=[
                *(f"{n!r} was left out: {why}." for n, why in failed.items()),
                *data_notes([goal]),
            ],
        )
        with nullcontext() if out is None else journal.ending(out):
            if out is not None:
                summary.save(out)
                if report is not None:
                    summary.report(report)
    return summary


def _names(owners: Sequence[str], minimum: int) -> tuple[str, ...]:
    if not owners or len(set(owners)) < len(owners) or not all(owners):
        raise InvalidParameterError("owners must be distinct names, at least one")
    for name in owners:
        check_name(name, "owners")
    if not 1 <= minimum <= len(owners):
        raise InvalidParameterError(
            f"minimum must be between 1 and {len(owners)}, the number of owners, got {minimum!r}"
        )
    return tuple(owners)

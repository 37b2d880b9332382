"""The call that makes synthetic rows of a table that owners hold in parts.

It imports other modules when it is called, so that its name loads none.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import time
import uuid
import warnings
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpsumm.data.extract import Source
    from dpsumm.data.file import File
    from dpsumm.data.short import SchemaLike
    from dpsumm.exchange.driver import Progress
    from dpsumm.vertical.result import Synthetic
    from dpsumm.vertical.tables import Tables


def synthesize(
    owners: Mapping[str, Source] | str | os.PathLike[str] | File,
    *,
    schema: SchemaLike | Mapping[str, SchemaLike],
    epsilon: float = 1.0,
    delta: float = 1e-5,
    label: str | None = None,
    protocol: Tables | None = None,
    ids: str | None = None,
    ledger: Mapping[str, str | os.PathLike[str]] | None = None,
    run: str | None = None,
    seed: int | None = None,
    allow_weak_privacy: bool = False,
    progress: Progress | None = None,
) -> Synthetic:
    """Return synthetic rows of a table if every owner holds some of its columns or its records.

    Every owner counts its own columns and adds noise. Tables of two owners' columns come from a
    secret product of their records, with the noise of both, and neither owner sees the other's
    records. A helper deals random pads for this. Models that are fitted to the noisy tables cost no
    further privacy.

    If the schemas of all owners are equal, each owner holds all columns of records of its own, as
    hospitals do. Then every owner counts all pairs of columns, and the noisy tables are added. One
    owner alone may have rows made of its table, too.

    Parameters
    ----------
    owners
        Dict of names to data, each a data frame (pandas, polars, pyarrow), an array, or the path of
        a CSV, Parquet, Excel or SQL file. Or a folder or pattern of such files, each called by its
        owner. Owners of different columns hold the same records, in the same order unless `ids` is
        given.
    schema
        Dict of names to the owners' public schemas, as for `summarize`. If all owners hold the same
        columns, their one schema is enough. With
        ``when_missing="encode"`` a missing value is a level of its column, and otherwise it is
        refused. Rows are never dropped.
    epsilon, delta
        Budget of one record, towards every party.
    label
        Column that models of the rows should predict. Its tables get more of the budget. By default
        the column of kind ``"label"`` in the schemas, if there is one.
    protocol
        `Tables()` by default.
    ids
        Name of a column of identifiers, of kind ``"ignore"`` in every schema. Records are sorted by
        it, and owners with other identifiers are refused.
    ledger
        Dict of names to the files of the owners' own ledgers (in memory by default). Charges are on
        ``"records"``.
    run
        Name of the run. The name of a run that was interrupted resumes it. With the same ledgers
        its messages are sent again, byte for byte, and are charged once.
    seed
        For tests and experiments. The run is repeatable, and **not private** (its epsilon is
        infinite).
    allow_weak_privacy
        Accept a budget that protects little, with a note of its odds. This is an epsilon above 10,
        or a delta of at least 1 / records.
    progress
        Called with (stage, done, total).

    Returns
    -------
    Synthetic

    Raises
    ------
    InvalidParameterError, InvalidDataError
        Before anything is released. The message names the parameter or the owner and the way out.
    BudgetExceededError
        A ledger's cap does not allow a release.

    Privacy
    -------
    One replaced record is (epsilon, delta)-DP, where the number of records is public, towards the
    analyst in all its columns, and towards each owner in its columns at the others. The helper must
    not collude with an owner or the coordinator. In one process all roles are this process, which
    holds all records. So it counts tables of two owners directly, with the noise of both owners,
    and sends no masked rows. If owners hold the same columns, one replaced record is
    (epsilon, delta)-DP towards everybody but its own owner and, in one process, who can reach
    that. There is no helper. See `Synthetic.privacy`.

    See Also
    --------
    dpsumm.plan_synthesis : What to expect, before any data are read.
    dpsumm.Tables : How the tables are made and fitted.
    dpsumm.vertical.Synthetic : The result.

    Examples
    --------
    >>> import numpy as np, dpsumm
    >>> rng = np.random.default_rng(0)
    >>> smoker = rng.integers(0, 2, 5000)
    >>> age = rng.integers(20, 60, 5000) + 15 * smoker
    >>> synthetic = dpsumm.synthesize(
    ...     {"registry": age[:, None], "clinic": smoker[:, None]},
    ...     schema={
    ...         "registry": {"age": {"bounds": (20, 80), "whole": True}},
    ...         "clinic": {"smoker": [0, 1]},
    ...     },
    ... )
    >>> rows = synthetic.sample(1000, backend="polars")
    >>> rows.columns
    ['age', 'smoker']
    >>> mean = dict(rows.group_by("smoker").mean().iter_rows())
    >>> bool(mean[1] - mean[0] > 8)
    True
    >>> bool(synthetic.privacy.epsilon(1e-5) <= 1)
    True
    """
    from dpsumm.basics.checks import plain
    from dpsumm.data.file import each_file
    from dpsumm.errors import InvalidParameterError
    from dpsumm.exchange.driver import run_in_process
    from dpsumm.exchange.roles import Party
    from dpsumm.privacy.ledger import Ledger
    from dpsumm.privacy.record import Books
    from dpsumm.privacy.weak import check_budget, warn_unrecorded
    from dpsumm.report.outside import strange_notes
    from dpsumm.vertical.agreed import Agreed, by_owner
    from dpsumm.vertical.coordinator import parameters_of
    from dpsumm.vertical.inputs import backend_of, read_held
    from dpsumm.vertical.keys import SECRET_BYTES
    from dpsumm.vertical.layout import HELPER
    from dpsumm.vertical.mpyc import Meeting, MpycHelper, MpycOwner, check_mpyc
    from dpsumm.vertical.outcome import check_asked, check_books, everywhere, synthetic_of
    from dpsumm.vertical.owner import Owner, hold
    from dpsumm.vertical.products import Mpyc
    from dpsumm.vertical.sums import coordinator_of
    from dpsumm.vertical.tables import Tables
    from dpsumm.vertical.together import NoHelper, OwnerTogether
    from dpsumm.vertical.way import Way
    from dpsumm.vertical.work import kept, restored

    started = time.perf_counter()
    epsilon, delta, seed = plain(epsilon), plain(delta), plain(seed)
    protocol = Tables() if protocol is None else protocol
    sources: Mapping[str, Source] = each_file(owners)
    check_asked(sources, epsilon, delta, protocol, seed, ledger)
    engine = protocol.secret_product
    by_mpyc = isinstance(engine, Mpyc)
    agreed = Agreed.of(by_owner(sources, schema), protocol.bins, ids, label, protocol.pairs)
    budget, sums = protocol.budget(epsilon, delta), agreed.layout.same_columns
    if by_mpyc and sums:
        raise InvalidParameterError(
            "secret_product must be left out if all owners hold the same columns"
        )
    # What is not installed is refused before anything is charged.
    if by_mpyc:
        check_mpyc()
    else:
        budget = replace(budget, way=Way.SUMS_TOGETHER if sums else Way.TOGETHER)
    run = run or uuid.uuid4().hex
    books = ledger or {}
    with contextlib.ExitStack() as stack:
        opened = {
            name: stack.enter_context(Ledger(books.get(name), run=run, delta=delta))
            for name in sources
        }
        check_books(opened, run)
        resumed = any(book.has("one-way") for book in opened.values())
        for name, book in opened.items():
            hold(book, name, parameters_of(agreed.layout, budget))
        known = next((book for book in opened.values() if book.has("tables")), None)
        if known is None:
            held = {
                name: read_held(source, name, agreed.schemas[name], agreed.levels[name], ids)
                for name, source in sources.items()
            }
            counts = [len(one.codes) for one in held.values()]
            records = sum(counts) if sums else min(counts)
            check_budget(epsilon, delta, records, allowed=allow_weak_privacy, seed=seed)
            warn_unrecorded(ledger, seed, epsilon)
            for note in strange_notes({name: one.hints for name, one in held.items()}):
                warnings.warn(note, stacklevel=2)
            # Fresh in every process: what they hide is kept nowhere.
            keys = {name: secrets.token_bytes(SECRET_BYTES) for name in sources}
            alignment = secrets.token_bytes(32)
            kind: type[Owner] = MpycOwner if by_mpyc else Owner if sums else OwnerTogether
            parties = {
                name: kind(
                    name,
                    held[name].codes,
                    tuple(one.size for one in agreed.levels[name]),
                    schema=agreed.schemas[name].fingerprint,
                    order=held[name].digest(alignment),
                    ledger=opened[name],
                    secret=keys[name],
                    seed=seed,
                    joint=not sums,
                    trees=tuple(one.tree for one in agreed.levels[name]),
                )
                for name in sources
            }
            roles: dict[str, Party] = {**parties, **({} if sums else {HELPER: NoHelper()})}
            for role in parties.values():
                if isinstance(role, OwnerTogether):
                    role.others = parties  # type: ignore[assignment]
            if isinstance(engine, Mpyc):
                roles[HELPER] = MpycHelper(keys)
                meeting = stack.enter_context(Meeting(engine.patience))
                for one in roles.values():
                    assert isinstance(one, MpycOwner | MpycHelper)
                    one.meeting = meeting
            coordinator = coordinator_of(
                agreed.layout, budget, run, keep=partial(everywhere, opened, "coarse tables")
            )
            tables = kept(run_in_process(coordinator, roles, progress))
        else:
            tables = known.record("tables", lambda: b"")
        tables = everywhere(opened, "tables", tables)
        released = restored(agreed.layout, budget, tables)
        held_by = {
            name: Books(None if book.path is None else book.path.name, book.charges(run=run))
            for name, book in opened.items()
        }
    return synthetic_of(
        released,
        agreed,
        protocol,
        budget,
        seed=seed,
        books=held_by,
        run=run,
        resumed=resumed,
        started=started,
        backend=next(filter(None, map(backend_of, sources.values())), None),
    )

"""The one call: from owners' data and a target to a summary.

It imports what it needs when it is called, so that its name costs nothing.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from dpsumm.basics.visible import logger

if TYPE_CHECKING:
    from dpsumm.data.inputs import Owners, Source
    from dpsumm.data.short import SchemaLike
    from dpsumm.exchange.driver import Progress
    from dpsumm.summary.embedding import Embedding
    from dpsumm.summary.kernel import RBF
    from dpsumm.summary.protocols import Protocol
    from dpsumm.summary.result import Summary

_log = logger(__name__)


def summarize(
    owners: Owners,
    target: Source,
    *,
    size: int,
    epsilon: float = 1.0,
    delta: float = 1e-5,
    protocol: Protocol | str | None = None,
    kernel: RBF | Embedding | None = None,
    schema: SchemaLike | None = None,
    ledger: str | os.PathLike[str] | None = None,
    run: str | None = None,
    seed: int | None = None,
    allow_weak_privacy: bool = False,
    drop_target_copies: bool = False,
    progress: Progress | None = None,
) -> Summary:
    """Return `size` records of the owners whose distribution is close to that of a target.

    The curator releases a noisy average of the target to the owners. Each owner answers with a few
    of its records, and the curator selects the summary among these. Other protocols do it in other
    ways, see `protocol`.

    Parameters
    ----------
    owners
        List or dict (name -> data) of K owners, or a folder or pattern of files (``sites/*.csv``),
        each an owner called by its file's name. Data: (m_i, c) float32 or float64 array, pair of
        such an array and (m_i,) labels, data frame (pandas, polars, pyarrow), path of a CSV or
        Parquet file, a `Stream` for rows that do not fit in memory, or `Shards` for rows that do
        not fit on a machine. C-contiguous arrays are
        used without a copy; do not modify them during the call.
    target
        The consumer's data, same columns, at least 2 records. Labels are not needed. Where they
        are there, in the label's column or as ``(points, labels)``, they serve the verdict and
        `Summary.fit`: they are sent to nobody, and nothing is chosen by them.
    size
        Points in the summary (p), at most the owners' records in all.
    epsilon
        Budget for the target's records towards the owners, in nats, above 0. Pool, Uniform and
        Greedy release nothing and leave it unspent; a release with parameters of its own (`Mwem`,
        `Exact`, a noise multiplier) spends what those say. A cap that holds whatever the protocol
        is set in the `ledger`.
    delta
        Probability, in (0, 1), with which epsilon may fail to hold.
    protocol
        "offers", the default; "auction", which is the paper's; "pool", "uniform" or "greedy",
        which are baselines. `Offers(spread=0)` and such have options; or a `Protocol` of your own.
    kernel
        `RBF(gamma)` with a public bandwidth. By default ``RBF.for_schema`` if every column has
        bounds or categories; else it must be given, but for `Pool`, `Uniform` and `Greedy`, which
        send it to nobody and take the target's own: that one is in `Summary.gamma`, and private.
        For a less trusted curator, `Embedding.draw(...)`: a secret map, shared by consumer and
        owners, under which all records are sent and selected. Points of the summary are then
        features, which ``RBF(0.5)`` compares.
    schema
        What the columns are, public. A dict such as ``{"age": (20, 90), "sex": ["f", "m"],
        "outcome": "label"}``, a `Schema`, or the path of its TOML file. In a dict a tuple has
        bounds, to which values are clipped and scaled for the comparison. A list has categories, a
        word is a kind, and a dict is what `Column` takes. Columns that are not named
        are not read. The label travels with the points and is never used. An array has its columns
        in the order of the schema, which may then be a list such as ``[(20, 90), (80, 200)]``.
        Without a schema all columns are numbers.
    ledger
        SQLite file with the books of the target's holder, kept across runs; in memory by default.
    run
        Name of the run in the ledger; give that of a run that died to resume it. Other owners,
        another size, protocol or schema, or a release of other parameters are refused. The records
        are not compared: give those of then.
    seed
        For tests and experiments: repeatable, and **not private** (epsilon is then infinite).
    allow_weak_privacy
        Go on, with a note of its odds, with a budget that promises next to nothing: an
        epsilon above 10, the target's or the owners' (`Protocol.epsilon_owners`), a delta that is
        not below 1 / target records, or requests that tell owners of each other without a
        guarantee (`Protocol.unprotected`).
    drop_target_copies
        Whether points that equal a record of the target in every column are left out of the
        summary. Costs nothing: the curator does it after the last message. `Summary.private_model`
        then refuses.
    progress
        Called with (stage, done, total).

    Returns
    -------
    Summary

    Raises
    ------
    InvalidParameterError, InvalidDataError
        Before anything is released. The message names the parameter or the party and the way out.
    BudgetExceededError
        The ledger's cap does not allow the release.
    MissingExtraError
        Files are given and polars is not installed.
    ShardLostError
        Workers that hold shards were lost for good. After the release: see `run`.

    Privacy
    -------
    Towards an owner: (epsilon, delta)-DP for one replaced record of the target, sizes public;
    nothing about other owners (0, 0). Towards curator and consumer: none. See `Summary.privacy`.

    See Also
    --------
    dpsumm.run : The same from a file of options.
    dpsumm.Summarizer : The same as an estimator of scikit-learn.
    dpsumm.plan : What to expect, before any data are read.
    dpsumm.compare : Rehearses the protocols on made-up data.

    Examples
    --------
    >>> import numpy as np, dpsumm
    >>> rng = np.random.default_rng(0)
    >>> owners = [rng.normal(shift, 1, (500, 2)) for shift in (-3, 0, 3)]
    >>> target = rng.normal(2, 1, (1000, 2))
    >>> summary = dpsumm.summarize(owners, target, size=50, kernel=dpsumm.RBF(0.25))
    >>> summary.points.shape, bool(summary.mmd2 < 0.15)  # uniform sampling: 0.33
    ((50, 2), True)
    >>> summary.privacy.epsilon(1e-5) <= 1.0, summary.privacy.epsilon(1e-5, protected="owners")
    (True, 0.0)
    """
    from dpsumm.basics.checks import plain
    from dpsumm.data.inputs import read_inputs
    from dpsumm.data.short import schema_of
    from dpsumm.errors import InvalidParameterError
    from dpsumm.exchange.driver import run_in_process
    from dpsumm.privacy.ledger import Ledger
    from dpsumm.privacy.weak import check_budget, warn_unrecorded
    from dpsumm.summary.embedding import Embedding, embed
    from dpsumm.summary.guards import check_sample, check_target
    from dpsumm.summary.kernel import RBF
    from dpsumm.summary.notes import data_notes
    from dpsumm.summary.outcome import summary_of
    from dpsumm.summary.protocols import Setting
    from dpsumm.summary.settings import check_kernel, check_run, held_to, settle_kernel

    started = time.perf_counter()
    epsilon, delta = plain(epsilon), plain(delta)
    protocol = check_run(size, epsilon, delta, protocol, seed, ledger)
    embedding = kernel if isinstance(kernel, Embedding) else None
    kernel = RBF(0.5) if isinstance(kernel, Embedding) else kernel
    if schema is None:
        check_kernel(kernel, protocol)
    tables, goal = read_inputs(
        owners,
        target,
        schema=None if schema is None else schema_of(schema),
        own_labels=True,
    )
    check_target(goal)
    check_budget(
        epsilon,
        delta,
        len(goal),
        allowed=allow_weak_privacy,
        seed=seed,
        unprotected=protocol.unprotected,
    )
    if protocol.epsilon_owners:
        check_budget(
            protocol.epsilon_owners,
            delta,
            sum(len(table.in_memory) for table in tables if table.in_memory is not None),
            allowed=allow_weak_privacy,
            seed=seed,
            name="epsilon_owners",
        )
    warn_unrecorded(ledger, seed, epsilon)
    in_memory = [table.in_memory for table in tables if table.in_memory is not None]
    if len(in_memory) < len(tables) and (embedding is not None or not protocol.streams):
        raise InvalidParameterError(
            "owners: a Stream works with Offers and without an embedding, and so do Shards; give "
            "the data in memory"
        )
    if embedding is not None:
        protocol.check_embedded()
        tables, goal = [embed(table, embedding) for table in in_memory], embed(goal, embedding)
    check_sample(getattr(protocol, "sample", None), goal)
    kernel = settle_kernel(kernel, protocol, tables[0].schema)
    with Ledger(ledger, run=run, delta=delta) as book:
        setting = Setting(
            target=goal.scaled,
            columns=tables[0].columns,
            schema=tables[0].schema,
            n_records={table.name: len(table) for table in tables},
            size=size,
            epsilon=epsilon,
            delta=delta,
            kernel=kernel,
            labelled=tables[0].labels is not None,
            ledger=book,
            seed=seed,
            drop_target_copies=drop_target_copies,
        )
        _log.info(
            "run %s: %s, %d owners, size %d, %d columns",
            book.run,
            protocol.name,
            len(tables),
            size,
            len(tables[0].columns),
        )
        curator = protocol.curator(setting)
        roles = {
            table.name: protocol.owner(table, None if seed is None else seed + 1 + i)
            for i, table in enumerate(tables)
        }
        book.hold_to("summarize", held_to(setting.names, size, protocol, tables[0].schema))
        selection = run_in_process(curator, roles, progress)
        _log.info("run %s: done", book.run)
        return summary_of(
            selection,
            curator,
            protocol,
            started=started,
            schema=tables[0].schema,
            backend=tables[0].backend,
            target_labels=goal.labels,
            embedded=embedding is not None,
            notes=data_notes([*tables, goal]),
        )

"""The one call: from owners' data and a target to a summary.

It imports other modules when it is called, so that its name loads none.
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
    """Return `size` real records of the owners that match a target.

    The curator sends all owners a noisy average of the target. Each owner answers with a few of its
    records, and the curator selects the summary among these. For other ways see `protocol`.

    Parameters
    ----------
    owners
        K owners, as a dict (name to data) or a list. A folder or a pattern such as ``sites/*.csv``
        is also possible, where each file is an owner named after the file. An owner's data are an
        (m_i, c) float32 or float64 array, or a pair of it and (m_i,) labels. They may also be a
        data frame (pandas, polars, pyarrow) or the path of a CSV, Parquet, Excel or SQL file. For
        rows that do not fit in memory give a `Stream`, for those of several machines `Shards`.
        C-contiguous arrays are used without a copy, so do not modify them during the call.
    target
        The consumer's data, with the same columns and at least 2 records. Labels are not needed. If
        there are some, in the label's column or as ``(points, labels)``, they serve the verdict and
        `Summary.fit`. They are not sent to anyone, and no point is chosen by them.
    size
        Points in the summary (p), at most the records of all owners together.
    epsilon
        Budget of the target's records towards the owners, above 0. Pool, Uniform and Greedy release
        nothing and do not spend it. A release with its own parameters (`Mwem`, `Exact`, a noise
        multiplier) spends what these say. For a limit that always holds, set a cap in the `ledger`.
    delta
        Probability, in (0, 1), with which epsilon may fail to hold.
    protocol
        ``"offers"`` (the default), ``"auction"`` (the paper's), or one of the baselines ``"pool"``,
        ``"uniform"`` and ``"greedy"``. For options give an object such as `Offers(spread=0)`, or a
        `Protocol` of your own.
    kernel
        `RBF(gamma)` with a public bandwidth. If every column has bounds or categories, the default
        is ``RBF.for_schema``. Otherwise it is needed, except for `Pool`, `Uniform` and `Greedy`.
        These take the target's own bandwidth, which is private, and send it to no owner. For a less
        trusted curator give `Embedding.draw(...)`, a secret map that consumer and owners share. The
        points of the summary are then features, which ``RBF(0.5)`` compares.
    schema
        Public description of the columns. Give a dict such as ``{"age": (20, 90), "sex": ["f",
        "m"], "outcome": "label"}``, a `Schema`, or the path of its TOML file. In a dict a tuple has
        bounds, to which values are clipped, and a list has categories. A word is a kind, and a dict
        has the arguments of `Column`. Columns that are not named are not read. The label is carried
        along, and no point is chosen by it. For an array give the columns in its order, for example
        as a list ``[(20, 90), (80, 200)]``. Without a schema all columns are numbers.
    ledger
        SQLite file with the charges of the target's holder, kept across runs. By default the
        charges are only in memory.
    run
        Name of the run in the ledger. Give the name of a run that was interrupted to resume it,
        with the same records, which are not compared. Other owners, another size, protocol or
        schema, and a release with other parameters are refused.
    seed
        For tests and experiments. The run is repeatable, and **not private** (its epsilon is
        infinite).
    allow_weak_privacy
        Accept a budget that protects little, with a note of its odds. This is an epsilon above 10
        of the target or the owners (`Protocol.epsilon_owners`), or a delta of at least 1 / target
        records. Requests that show owners something of each other without a guarantee
        (`Protocol.unprotected`) need it, too.
    drop_target_copies
        Leave out points that equal a record of the target in every column. It costs no privacy,
        because the curator does it after the last message. `Summary.private_model` is then refused.
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
        Workers that hold shards were lost, maybe after the release. Resume by `run`.

    Privacy
    -------
    Towards an owner, one replaced record of the target is (epsilon, delta)-DP, where sizes are
    public, and other owners' records are protected at epsilon 0. The curator and the consumer see
    records without protection. See `Summary.privacy`.

    See Also
    --------
    dpsumm.run : The same from a file of options.
    dpsumm.summary.Summarizer : The same as an estimator of scikit-learn.
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
    from dpsumm.data.frame import numeric_names
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
    epsilon, delta, seed = plain(epsilon), plain(delta), plain(seed)
    protocol = check_run(size, epsilon, delta, protocol, seed, ledger)
    embedding = kernel if isinstance(kernel, Embedding) else None
    kernel = RBF(0.5) if isinstance(kernel, Embedding) else kernel
    if schema is None:
        points = target[0] if isinstance(target, tuple) and target else target
        check_kernel(kernel, protocol, numeric_names(points) or ["x0"])
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
            "owners: a Stream works with Offers and without an embedding, and so do Shards. Give "
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

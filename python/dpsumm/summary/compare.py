"""A rehearsal of the protocols on made-up or public data, with cost and quality of each."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpsumm import kernels
from dpsumm.basics.checks import check_whole, counted
from dpsumm.data.inputs import Owners, Source, read_inputs
from dpsumm.data.schema import Schema
from dpsumm.data.short import SchemaLike, schema_of
from dpsumm.errors import InvalidParameterError
from dpsumm.exchange.driver import Progress
from dpsumm.summary.kernel import RBF
from dpsumm.summary.made_up import NUMBERS, MadeUpOwners, coded, make_up
from dpsumm.summary.protocols import Greedy, Offers, Pool, Protocol, Uniform
from dpsumm.summary.result import Summary
from dpsumm.summary.summarize import summarize

# Rows of a public target that must be left to judge by.
LEAST_FRESH = 20


@dataclass(frozen=True)
class Rehearsed:
    """Cost and quality of a protocol over the runs of a rehearsal.

    Attributes
    ----------
    protocol
        Its name.
    epsilon, epsilon_owners
        Of a record of the target, and of an owner's record towards another owner, at the given
        delta.
    reads
        Mean number of points that were read for each point of the summary.
    ratio, weighted_ratio
        MMD^2 to the target's distribution over that of the greedy that reads everything, as the
        ratio of means over the runs, with equal weights and with `Summary.weights`.
    error, weighted_error
        Standard errors of their logarithms, NaN for a single run.

    See Also
    --------
    dpsumm.compare : Makes one for each protocol, with an example.
    """

    protocol: str
    epsilon: float
    epsilon_owners: float
    reads: float
    ratio: float
    error: float
    weighted_ratio: float
    weighted_error: float

    def shown(self, weighted: bool = False) -> str:
        """Return a ratio and, if there is more than one run, its range of one standard error."""
        ratio, error = self.ratio, self.error
        if weighted:
            ratio, error = self.weighted_ratio, self.weighted_error
        if math.isnan(error):
            return f"{ratio:.3g}"
        return f"{ratio:.3g} ({ratio * math.exp(-error):.3g} to {ratio * math.exp(error):.3g})"


@dataclass(frozen=True)
class Comparison:
    """Protocols side by side, made by :func:`compare`.

    Attributes
    ----------
    rows
        Pool, Offers and Uniform.
    runs
        Number of rehearsals, each with its own data.
    title
        Description of the rehearsal.

    See Also
    --------
    dpsumm.compare : Makes one, with an example.
    dpsumm.summary.compare.Rehearsed : One row of it.
    """

    rows: tuple[Rehearsed, ...]
    runs: int
    title: str

    @property
    def advice(self) -> str:
        """A sentence on Pool and Offers."""
        pool, offers = self.rows[:2]
        apart = math.log(pool.ratio / offers.ratio) if min(pool.ratio, offers.ratio) > 0 else 0.0
        if apart > 2 * math.hypot(pool.error, offers.error):
            return "Offers came closer than the pool at equal reads: worth their epsilon here."
        return (
            "Offers did not come clearly closer than the pool at equal reads: take "
            "`protocol=Pool()`, which costs no epsilon."
        )

    def __str__(self) -> str:
        lines = [
            self.title,
            f"{'protocol':12}{'epsilon':>9}{'owners':>8}{'reads':>7}"
            f"{'MMD^2 / greedy':>23}{'with weights':>23}",
        ]
        lines += [
            f"{row.protocol:12}{row.epsilon:9.3g}{row.epsilon_owners:8.3g}{row.reads:7.3g}"
            f"{row.shown():>23}{row.shown(weighted=True):>23}"
            for row in self.rows
        ]
        lines.append(
            "MMD^2 to the target's distribution over that of the greedy that reads everything; in "
            f"brackets the range of one standard error, of {counted(self.runs, 'run', 'runs')}."
        )
        return "\n".join([*lines, self.advice])


def compare(
    owners: Owners | MadeUpOwners | None = None,
    target: Source | None = None,
    *,
    size: int,
    target_size: int,
    schema: SchemaLike | None = None,
    epsilon: float = 1.0,
    delta: float = 1e-5,
    reads_per_record: float = 4.0,
    runs: int = 5,
    progress: Progress | None = None,
) -> Comparison:
    """Rehearse Pool, Offers and Uniform on data like yours, and return their cost and quality.

    It runs them on data that are made up by the schema, or on *public* data if you give some. Never
    give it private data, because guarantees do not cover parameters that were chosen by them.

    Parameters
    ----------
    owners, target
        Public data, as for `summarize`. From `target` each run draws `target_size` rows at random
        as its target, and it is judged on the others, at least 20. Instead of both you may give
        `MadeUpOwners`, which are the default.
    size, target_size
        Points of the summary, and of the target.
    schema
        The columns. Made-up data need bounds or categories for all of them, and have eight numbers
        by default. For public data without bounds, the bandwidth follows from a median distance.
    epsilon, delta, reads_per_record
        As for a run of `Offers`. The pool gets the same reads_per_record.
    runs
        Number of rehearsals, at least 1, each with other data or another split of the given data.
    progress
        Called with (stage, done, total).

    Raises
    ------
    InvalidParameterError
        A parameter is out of range, only one of `owners` and `target` is given, the target has too
        few rows, or the schema is not bounded.
    InvalidDataError
        As for `summarize`.

    Privacy
    -------
    Made-up and public data need none. Noise is fresh in every call, so figures differ a little.

    See Also
    --------
    dpsumm.plan : A prediction for one protocol, without a rehearsal.

    Examples
    --------
    >>> from dpsumm import compare
    >>> from dpsumm.summary import MadeUpOwners
    >>> found = compare(MadeUpOwners(3, 300, rarity=0.05), size=20, target_size=200, runs=2)
    >>> [row.protocol for row in found.rows], found.rows[0].epsilon
    (['random pool', 'Offers', 'uniform'], 0.0)
    >>> found.rows[1].ratio < found.rows[2].ratio  # uniform records are far from a rare target
    True
    """
    check_whole(runs, "runs", 1)
    check_whole(target_size, "target_size", 2)
    protocols: list[Protocol] = [
        Pool(reads_per_record=reads_per_record),
        Offers(reads_per_record=reads_per_record),
        Uniform(),
        Greedy(),
    ]
    owners = MadeUpOwners() if owners is None and target is None else owners
    if owners is None or isinstance(owners, MadeUpOwners) != (target is None):
        raise InvalidParameterError(
            "owners, target: give both, of public data, or none for made-up data"
        )
    known = None if schema is None else schema_of(schema)
    if isinstance(owners, MadeUpOwners):
        made, about = _made_up(owners, known or NUMBERS, runs, size, target_size)
    else:
        made, about = _public(owners, target, known, runs, target_size), "public data"
    found: list[list[_Found]] = []
    for done, (sources, goal, fresh, columns) in enumerate(made):
        if progress is not None:
            progress("rehearsals", done, runs)
        kernel = RBF.for_schema(columns) if columns.bounded else RBF.from_public(fresh)
        seen = columns.encode(fresh)
        # What the fresh points' own sampling adds to MMD^2.
        noise = (1 - kernels.mean_kernel_self(seen, kernel.gamma)) / (len(seen) - 1)
        found.append([])
        for protocol in protocols:
            summary = summarize(
                sources,
                goal,
                size=size,
                epsilon=epsilon,
                delta=delta,
                schema=columns,
                kernel=kernel,
                protocol=protocol,
            )
            mmd2, weighted = (
                kernels.mmd2(summary.scaled, seen, kernel.gamma, weights) - noise
                for weights in (None, summary.weights)
            )
            found[-1].append(_Found(mmd2, weighted, summary))
    if progress is not None:
        progress("rehearsals", runs, runs)
    title = f"{size} points for a target of {target_size}: {about}, epsilon {epsilon:g}"
    return Comparison(tuple(_rows(found)), runs, title)


class _Found(NamedTuple):
    """One run: MMD^2 to the target's distribution, with equal weights and with its own."""

    mmd2: float
    weighted: float
    summary: Summary


_Split = tuple[Sequence[Source], Source, NDArray[np.float64], Schema]


def _made_up(
    owners: MadeUpOwners, schema: Schema, runs: int, size: int, target_size: int
) -> tuple[Iterator[_Split], str]:
    """Return made-up data for each run, and what they are."""
    most = owners.n_owners * owners.n_records
    if size > most:
        raise InvalidParameterError(
            f"size must be at most the owners' records in all ({most}), got {size}"
        )
    if not schema.bounded:
        raise InvalidParameterError(
            "schema: made-up data need bounds or categories for every column"
        )
    made = (make_up(schema, seed, owners, target_size=target_size) for seed in range(runs))
    return (
        ((one.owners, one.target, one.fresh, one.schema) for one in made),
        f"{owners.n_owners} owners of {owners.n_records} made-up records, {owners.rarity:.3g} like "
        "the target",
    )


def _public(
    owners: Owners,
    target: Source,
    schema: Schema | None,
    runs: int,
    target_size: int,
) -> Iterator[_Split]:
    tables, goal = read_inputs(owners, target, schema=schema)
    in_memory = [table.in_memory for table in tables if table.in_memory is not None]
    if len(in_memory) < len(tables):
        raise InvalidParameterError("owners: a rehearsal needs its data in memory, not a Stream")
    if len(goal) < target_size + LEAST_FRESH:
        raise InvalidParameterError(
            f"target: has {len(goal)} rows, and a rehearsal needs target_size ({target_size}) and "
            f"{LEAST_FRESH} more to judge by"
        )
    columns = coded(goal.schema)
    sources = [table.values for table in in_memory]
    for seed in range(runs):
        order = np.random.default_rng(seed).permutation(len(goal))
        drawn, left = np.split(goal.values[order], [target_size])
        yield sources, drawn, left, columns


def _rows(found: Sequence[Sequence[_Found]]) -> Iterator[Rehearsed]:
    """Return a row for each protocol but the last, which is the reference."""
    for position in range(len(found[0]) - 1):
        mine = [run[position] for run in found]
        last = mine[-1].summary
        base = np.array([run[-1].mmd2 for run in found])
        ratio, error = _ratio(np.array([each.mmd2 for each in mine]), base)
        weighted = _ratio(np.array([each.weighted for each in mine]), base)
        yield Rehearsed(
            protocol=last.protocol,
            epsilon=last.privacy.epsilon(),
            epsilon_owners=last.privacy.epsilon(protected="owners"),
            reads=float(np.mean([each.summary.reads_per_record for each in mine])),
            ratio=ratio,
            error=error,
            weighted_ratio=weighted[0],
            weighted_error=weighted[1],
        )


def _ratio(above: NDArray[np.float64], below: NDArray[np.float64]) -> tuple[float, float]:
    """Return the ratio of means of pairs, and the standard error of its logarithm.

    To first order: that of the mean of ``above / mean(above) - below / mean(below)``.
    """
    a, b, n = float(above.mean()), float(below.mean()), len(above)
    if n == 1:
        return a / b, math.nan
    return a / b, float(np.sqrt(np.square(above / a - below / b).sum() / (n * (n - 1))))

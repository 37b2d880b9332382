"""What to expect of `synthesize` before any data are touched, from public numbers alone."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

from dpsumm.basics.checks import check_number, check_whole, plain
from dpsumm.data.kinds.kind import Kind
from dpsumm.data.short import SchemaLike
from dpsumm.errors import InvalidParameterError
from dpsumm.privacy import accounting
from dpsumm.privacy.events import Gaussian
from dpsumm.report.notes import Note, Severity
from dpsumm.report.numbers import advised
from dpsumm.report.plan import Plan
from dpsumm.report.verdict import Verdict
from dpsumm.vertical.agreed import Agreed
from dpsumm.vertical.chosen import GROUPS
from dpsumm.vertical.grid import Grid
from dpsumm.vertical.label_plan import auc_of_rows, label_noise
from dpsumm.vertical.layout import Budget, Layout
from dpsumm.vertical.levels import limits_of
from dpsumm.vertical.margins import mean_error
from dpsumm.vertical.noise import NoisePlan, refined
from dpsumm.vertical.tables import FEW_RECORDS, Tables

# Standard deviations of its noise from which on a number is said to be seen.
SEEN = 3.0
# Median of `PlannedTable.least_correlation` below which the noise is small, and above which
# synthetic rows are no better than columns drawn apart. Measured on parts of Adult
# (docs/results-rows.md).
LITTLE, NOTHING = 0.1, 1.5
# Tables that a printed plan lists.
_SHOWN = 4
# For these AUCs on real records a plan prints those of rows. If the rows keep this much of the one
# in the middle, a larger budget gains little.
_AUCS, _KEPT = (0.7, 0.8, 0.9), 0.02


@dataclass(frozen=True)
class PlannedTable:
    """A two-way table of a plan.

    Attributes
    ----------
    columns
        Their names.
    cells
        Levels of one times levels of the other, before rare ones are merged.
    noise_std
        Standard deviation of the noise in each cell as released: of both owners' where the
        columns are of two.
    visible
        So many cells at most can hold `SEEN` standard deviations of that noise.
    least_correlation
        If both columns are cut into halves, the least correlation of the halves that this table
        alone shows, at `SEEN` standard deviations. Above 1, the table shows nothing. Of two
        rounds, the coarse table must show it, too, unless the pair was named.

    See Also
    --------
    dpsumm.vertical.plan.plan_synthesis : Makes one for each table. Its example runs.
    """

    columns: tuple[str, str]
    cells: int
    noise_std: float
    visible: int
    least_correlation: float


@dataclass(frozen=True)
class SynthesisPlan(Plan):
    """Prediction of a run of `synthesize`, made by :func:`plan_synthesis`.

    Attributes
    ----------
    n_records, epsilon, delta
        As given.
    single_std
        Standard deviation of the noise in the tables of one column.
    tables
        The two-way tables, those that show least first.
    sent_bytes
        What each owner sends the others, by name. Less after rare levels are merged.
    least_correlation
        The median of the tables' own. Infinite if there is no table.
    least_epsilon
        Epsilon from which on the noise would be small at this number of records.
    least_records
        Records from which on it would at this epsilon.
    mean_errors
        By how much the rows' mean of a column of numbers or dates (in days) may be off, by name.
        It matters where few records far out carry the mean, and narrower bounds make it less.
    again
        Pairs that a second round counts by their bins. 0 if there is one round.
    label_noise
        Noise in all tables with the label, see `label_auc`. None if the label is no category, or
        none was named.

    See Also
    --------
    dpsumm.vertical.plan.plan_synthesis : Makes one. Its example runs.
    """

    n_records: int
    epsilon: float
    delta: float
    single_std: float
    tables: tuple[PlannedTable, ...]
    sent_bytes: Mapping[str, int]
    least_correlation: float
    least_epsilon: float
    least_records: int
    mean_errors: Mapping[str, float]
    again: int = 0
    label_noise: float | None = None

    def label_auc(self, on_real: float) -> tuple[float, float]:
        """Return the AUC for the label that models of the rows should reach, as a range.

        In 34 of 48 runs on four tables that the estimate was not made with, the AUC was in the
        range. In 45 it was there or within 0.03 (docs/results-rows.md). These labels had two
        classes, and more were not measured. The estimate knows only the noise, and not what bins
        and the model of the rows lose.

        Parameters
        ----------
        on_real
            A guess of the AUC of models that are trained on all real records, 0.5 to 1.

        Raises
        ------
        InvalidParameterError
            The guess is out of range, or the plan has no label of kind category.

        Examples
        --------
        >>> from dpsumm import plan_synthesis
        >>> made = plan_synthesis(
        ...     {"registry": {"age": (20, 80)}, "clinic": {"ill": ["no", "yes"]}}, 2000, label="ill"
        ... )
        >>> low, high = made.label_auc(0.8)
        >>> bool(0.7 < low < high <= 0.8)
        True
        """
        if self.label_noise is None:
            raise InvalidParameterError(
                "label_auc needs a plan with a label of kind category. Give `label=` to the plan"
            )
        check_number(on_real, "on_real", 0.5, 1.0)
        return auc_of_rows(on_real, self.label_noise, self.n_records)

    @property
    def title(self) -> str:
        """The run that is planned, in a line."""
        return (
            f"Synthetic rows of {self.n_records:,} records, epsilon {self.epsilon:g}, delta "
            f"{self.delta:g}"
        )

    @property
    def verdict(self) -> Verdict:
        """Which dependences between columns the rows will show."""
        if not self.tables:
            why = "no two columns have more than one level each"
            return Verdict("there is nothing to join", why, Severity.ALARM)
        if self.n_records < FEW_RECORDS or self.least_correlation > NOTHING:
            why = "the noise is above the signal"
            return Verdict("columns of the rows will be independent", why, Severity.ALARM)
        if self.least_correlation > LITTLE:
            why = "the noise can be felt"
            return Verdict("only strong dependences will show", why, Severity.WARNING)
        return Verdict("most dependences will show", "the noise is small")

    @property
    def _budget(self) -> tuple[float, float, int]:
        return self.epsilon, self.delta, self.n_records

    def _advice(self) -> Iterable[Note]:
        if self.tables and self.least_correlation > LITTLE:
            yield Note(
                f"An epsilon of {advised(self.least_epsilon)}, or {self.least_records:,} records "
                "at this epsilon, would make the noise small. Fewer bins and fewer columns help, "
                "too."
            )
        if self.n_records < FEW_RECORDS:
            yield Note(
                f"{self.n_records} records are few. At most the distributions of single columns "
                "survive the noise."
            )

    def _rows(self) -> list[tuple[str, str]]:
        rows = [
            (
                "noise, tables of one column",
                f"{self.single_std:.1f} records; levels with fewer than {SEEN:g} times that share "
                "one",
            ),
        ]
        if self.mean_errors:
            off = [f"{error:.2g} ({name})" for name, error in self.mean_errors.items()]
            more = ", ..." * (len(off) > _SHOWN)
            rows.append(("means may be off by", ", ".join(off[:_SHOWN]) + more))
        if self.label_noise is not None:
            ranges = [self.label_auc(auc) for auc in _AUCS]
            shown = [
                f"{low:.2f} to {high:.2f} {where} {auc:g}"
                for where, auc, (low, high) in zip(
                    ("where real records give", "for", "for"), _AUCS, ranges, strict=True
                )
            ]
            rows.append(("AUC for the label", ", ".join(shown)))
            kept = sum(ranges[1]) / 2 > _AUCS[1] - _KEPT
            limit = "bins and model, so more budget gains little" if kept else "the noise"
            rows.append(("which is limited by", limit))
        if self.tables:
            half = (
                f"{self.least_correlation:.2g} and more in half of the {len(self.tables)} tables "
                f"(below {LITTLE:g} the noise is small, above {NOTHING:g} it decides)"
            )
            rows.append(("correlation that is seen", half))
            if self.again:
                rows.append(("counted by bins", f"the {self.again} pairs that stand out most"))
            rows += [
                ("" if k else "tables that show least", _line(table))
                for k, table in enumerate(self.tables[:_SHOWN])
            ]
        sent = ", ".join(f"{name} {size / 1e6:.1f} MB" for name, size in self.sent_bytes.items())
        return [*rows, ("sent to the others", sent)]


def _line(table: PlannedTable) -> str:
    least = table.least_correlation
    seen = f"correlations from {least:.2g}" if least <= 1 else "no correlation is seen"
    return (
        f"{' x '.join(table.columns)}: {table.cells} cells, noise {table.noise_std:.1f} each, at "
        f"most {table.visible} above {SEEN:g} sd, {seen}"
    )


def plan_synthesis(
    schema: Mapping[str, SchemaLike],
    records: int,
    *,
    epsilon: float = 1.0,
    delta: float = 1e-5,
    label: str | None = None,
    protocol: Tables | None = None,
    ids: str | None = None,
) -> SynthesisPlan:
    """Return what to expect of `dpsumm.synthesize`, before any data are touched.

    A plan is made from public numbers only. So guarantees cover an epsilon, bins or columns that
    were chosen by a plan. They do not cover any that were chosen by looking at private data. A run
    merges levels that the noise hides and then plans the rest again, so its tables are smaller and
    have less noise.

    Parameters
    ----------
    schema
        Owner's name to its schema, as for `synthesize`.
    records
        How many records all owners hold, at least 1. Of the same columns, all owners together.
    epsilon, delta, label, protocol, ids
        As for :func:`dpsumm.synthesize`.

    Raises
    ------
    InvalidParameterError
        A parameter out of range, or schemas that cannot be joined.

    See Also
    --------
    dpsumm.synthesize : The run itself.
    dpsumm.vertical.SynthesisPlan : The result.

    Examples
    --------
    >>> from dpsumm import Column, Schema, plan_synthesis
    >>> schema = {
    ...     "registry": Schema([Column("age", bounds=(20, 80), whole=True)]),
    ...     "clinic": Schema([Column("smoker", categories=("no", "yes"))]),
    ... }
    >>> made = plan_synthesis(schema, 5000)
    >>> str(made.verdict)
    'most dependences will show: the noise is small'
    >>> made.tables[0].cells
    24
    >>> plan_synthesis(schema, 100).verdict.level
    'do not use'
    """
    epsilon, delta = plain(epsilon), plain(delta)
    accounting.check_epsilon(epsilon)
    accounting.check_delta(delta)
    check_whole(records, "records", 1, 10**12)
    if not isinstance(schema, Mapping):
        raise InvalidParameterError("schema must be a dict of owners' names to their schemas")
    protocol = Tables() if protocol is None else protocol
    if not isinstance(protocol, Tables):
        raise InvalidParameterError(f"protocol must be Tables(), got {type(protocol).__name__}")
    agreed = Agreed.of(schema, protocol.bins, ids, label, protocol.pairs)
    layout = agreed.layout
    budget = protocol.budget(epsilon, delta)
    noise = _expected(layout, budget)
    tables = _planned(layout, noise, records)
    least = _least(tables)
    return SynthesisPlan(
        n_records=records,
        epsilon=epsilon,
        delta=delta,
        single_std=noise.one_way_std,
        tables=tables,
        sent_bytes=_sent(layout, records),
        least_correlation=least,
        least_epsilon=_least_epsilon(layout, budget, records, delta),
        least_records=math.ceil(records * least / LITTLE) if tables else 0,
        mean_errors=_mean_errors(agreed, noise, records),
        again=len(set(noise.coarse) & set(noise.pairs)),
        label_noise=label_noise(noise) if _is_category(agreed) else None,
    )


def _is_category(agreed: Agreed) -> bool:
    label = agreed.layout.label
    return label is not None and agreed.in_order[label].column.kind is Kind.CATEGORY


def _mean_errors(agreed: Agreed, noise: NoisePlan, records: int) -> dict[str, float]:
    """Return by how much means may be off, of columns that a tree counts."""
    errors = {}
    for j, one in enumerate(agreed.in_order):
        if isinstance(one, Grid):
            errors[one.name] = mean_error(noise, j, limits_of(one.column), records)
    return errors


def _least(tables: Sequence[PlannedTable]) -> float:
    return median(table.least_correlation for table in tables) if tables else math.inf


def _least_epsilon(layout: Layout, budget: Budget, records: int, delta: float) -> float:
    """Return an epsilon at which the noise is small."""
    wanted = budget
    while tables := _planned(layout, _expected(layout, wanted), records):
        if (more := _least(tables) / LITTLE) <= 1:
            return accounting.compose([(Gaussian(wanted.noise_multiplier), 1)], delta)
        # At least a little: very small noise is counted in another way, see `noise.JOINED`.
        wanted = replace(wanted, noise_multiplier=wanted.noise_multiplier / max(more, 1.01))
    return math.inf


def _expected(layout: Layout, budget: Budget) -> NoisePlan:
    """Return the noise to expect. Of two rounds, if the second counts the largest tables."""
    noise = budget.plan(layout, layout.planned)
    without = [pair for pair in noise.pairs if layout.label not in pair]
    most = budget.again * sum(size > 1 for size in layout.planned)
    if not budget.two_rounds(layout) or len(without) <= most:
        return noise
    singles = noise.counted, noise.single_std
    groups = [min(size, GROUPS) for size in layout.planned]
    part = budget.coarse_part(layout)
    coarse = budget.plan(layout, groups, singles, layout.planned, part)
    largest = sorted(without, key=lambda pair: -math.prod(layout.planned[j] for j in pair))
    again = sorted({*layout.pairs, *largest[:most]})
    return refined(coarse, layout.planned, again, budget.noise_multiplier, layout.pairs)


def _planned(layout: Layout, noise: NoisePlan, records: int) -> tuple[PlannedTable, ...]:
    """Return the tables, those that show least first."""
    cells = {pair: math.prod(layout.planned[j] for j in pair) for pair, _ in noise.every}
    groups = [min(size, GROUPS) for size in layout.planned]
    finer = {pair: math.sqrt(noise.variance(index)) for index, pair in enumerate(noise.pairs)}
    coarse = {}
    # Any pair without the label may be counted again, with noise by its cells, see `plan_noise`.
    usual = [
        std * cells[pair] ** (1 / 3)
        for pair, std in zip(noise.pairs, noise.pair_std, strict=True)
        if pair in noise.coarse and pair not in layout.pairs
    ]
    for pair, std in zip(noise.coarse, noise.coarse_std, strict=True):
        both = math.sqrt(noise.noises(pair))
        if pair not in layout.pairs:
            # First, it must stand out there.
            coarse[pair] = _least_seen(both * std, math.prod(groups[j] for j in pair), records)
            finer[pair] = both * usual[0] / cells[pair] ** (1 / 3)
    tables = []
    for pair, std in finer.items():
        tables.append(
            PlannedTable(
                columns=(layout.columns[pair[0]], layout.columns[pair[1]]),
                cells=cells[pair],
                noise_std=std,
                visible=min(cells[pair], int(records / (SEEN * std))),
                least_correlation=max(
                    _least_seen(std, cells[pair], records), coarse.get(pair, 0.0)
                ),
            )
        )
    return tuple(sorted(tables, key=lambda table: -table.least_correlation))


def _least_seen(std: float, cells: int, records: int) -> float:
    """Return the least correlation of halves that a table shows.

    Of halves as large as each other: all cells, half of them with the other sign.
    """
    return SEEN * std * math.sqrt(cells) / records


def _sent(layout: Layout, records: int) -> dict[str, int]:
    """Return the bytes of the rows that each owner sends its peers: a word for each level.

    Owners of the same columns send their noisy tables instead.
    """
    if layout.same_columns:
        codes = sum(size for size in layout.planned if size > 1)
        return dict.fromkeys(layout.owners, 8 * (layout.counts_of(0) + codes**2))
    sent = {}
    for p, name in enumerate(layout.owners):
        width = sum(layout.planned[j] for j in layout.of_owner(p) if layout.planned[j] > 1)
        sent[name] = 4 * width * records * (len(layout.owners) - 1)
    return sent

"""Blocks of the pages on tables of mixed columns: distance, models, weights, few owners, plans."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
import polars as pl
from numpy.typing import NDArray

import dpsumm
from evidence.markdown import cell, markdown, number
from evidence.measures import MODELS
from evidence.methods import ALL, FIT, GREEDY, ORACLE, OWN, READ, SYNTHETIC, UNIFORM_READ
from evidence.ratios import Ratio, Ratios, overall, ratio, ratios
from evidence.runner import Scenario

READS = (2, 4, 8)
POOLS, OFFERS = [[f"{name}, {rho}" for rho in READS] for name in ("pool", "Offers")]
# What models are trained on: what to call it, the method, and whether with weights.
TRAINED_ON = (
    ("all owners' data", ALL, False),
    ("all, importance weights", ALL, True),
    ("uniform", "uniform", False),
    ("pool, 4", "pool, 4", False),
    ("Offers, 4, epsilon 0.3", "Offers, 4, epsilon 0.3", False),
    ("Offers, 4", "Offers, 4", False),
    ("Offers, 8", "Offers, 8", False),
    ("greedy on all data", GREEDY, False),
    (READ, READ, False),
    (UNIFORM_READ, UNIFORM_READ, False),
    ("DP-MERF", SYNTHETIC, False),
    ("DP-MERF, importance weights", SYNTHETIC, True),
    ("the target's own labels", ORACLE, False),
    (FIT, FIT, False),
    ("own labels and as many uniform points", UNIFORM_READ + OWN, False),
)
SHORT = (
    "all owners' data",
    "uniform",
    "Offers, 4",
    "the target's own labels",
    FIT,
    "own labels and as many uniform points",
)
WITHIN = 1.5
# Offers are worse than a pool that releases nothing, if they are so many times as far.
MUCH_WORSE = 1.15
# What Offers' geometric means were to be at most, by points read and whether with weights:
# on images and made-up data, and on tables.
AIMS: dict[tuple[int, bool], tuple[float | None, float | None]] = {
    (2, False): (None, 1.6),
    (4, False): (1.12, 1.15),
    (8, False): (1.03, 1.05),
    (2, True): (1.13, 1.1),
    (4, True): (1.04, 1.05),
    (8, True): (None, 1.03),
}

Floats = NDArray[np.float64]


def distance_table(made: Ratios, among: Sequence[Scenario], methods: Sequence[str]) -> str:
    """Each method's ratio in each scenario, and the geometric mean."""
    rows = [
        [f"{s.title} (m {s.m}, p {s.size})", *(cell(made.get((s.name, m))) for m in methods)]
        for s in among
    ]
    rows.append(["**geometric mean**", *(cell(mean_ratio(made, among, m)) for m in methods)])
    return markdown(["scenario", *methods], rows)


def pool_table(made: Ratios, among: Sequence[Scenario]) -> str:
    """Say where Offers are farther from the target than a pool of as many reads, and how far."""
    rows = []
    for rho, pool, offers in zip(READS, POOLS, OFFERS, strict=True):
        pairs = [(s, made.get((s.name, offers)), made.get((s.name, pool))) for s in among]
        over = sorted(
            ((mine.value / other.value, s.name) for s, mine, other in pairs if mine and other),
            reverse=True,
        )
        worse = "; ".join(f"{number(r)} {name}" for r, name in over if r > MUCH_WORSE)
        rows.append([str(rho), str(len(over)), str(sum(r > 1 for r, _ in over)), worse])
    heads = ["points read", "scenarios", "farther than the pool", f"above {MUCH_WORSE:g} times"]
    return markdown(heads, rows)


def aims_table(
    made: Ratios, weighted: Ratios, main: Sequence[Scenario], tables: Sequence[Scenario]
) -> str:
    """Geometric means of Offers beside what they were to be."""
    rows = []
    for (rho, with_weights), aims in AIMS.items():
        row = [str(rho), "summary.weights" if with_weights else "equal"]
        for aim, among in zip(aims, (main, tables), strict=True):
            found = mean_ratio(weighted if with_weights else made, among, f"Offers, {rho}")
            if aim is None or found is None:
                row += ["", ""]
            else:
                row += [f"{aim:g}", number(found.value) + " **missed**" * (found.value > aim)]
        rows.append(row)
    groups = ("images and made-up data", "tables")
    heads = [f"{group}, {what}" for group in groups for what in ("wanted", "measured")]
    return markdown(["points read", "weights", *heads], rows)


def mean_ratio(made: Ratios, among: Sequence[Scenario], method: str) -> Ratio | None:
    """Return a method's geometric mean over scenarios, if there is a ratio above 0 in each."""
    found = [made.get((s.name, method)) for s in among]
    return None if None in found else overall([r for r in found if r is not None])


def models_table(table: pl.DataFrame, among: Sequence[Scenario]) -> str:
    """Accuracy and AUC of three models by what they are trained on: means over scenarios."""
    heads = [f"{model}, {what}" for model in MODELS for what in ("accuracy", "AUC")]
    columns = [f"{model}{what}" for model in MODELS for what in ("", "_auc")]
    rows = []
    for title, method, weighted in TRAINED_ON:
        names = [f"{column}{'_weighted' * weighted}" for column in columns]
        cells = [_percent(_by_scenario(table, among, method, [name])) for name in names]
        rows.append([title, *cells])
    return markdown(["trained on", *heads], rows)


def worth_table(table: pl.DataFrame, made: Ratios, among: Sequence[Scenario]) -> str:
    """When a summary is worth it: distances, and the mean AUC of the three models."""
    titles = {title: (method, weighted) for title, method, weighted in TRAINED_ON}
    near = ("uniform", "pool, 4", "Offers, 4")
    rows = []
    for s in [*among, None]:
        these = among if s is None else [s]
        cells = ["**mean**" if s is None else s.title]
        for method in near:
            found = mean_ratio(made, these, method)
            cells.append("" if found is None else number(found.value))
        for title in SHORT:
            method, weighted = titles[title]
            names = [f"{model}_auc{'_weighted' * weighted}" for model in MODELS]
            shares = _percent(_by_scenario(table, these, method, names))
            cells.append(shares if s is None else shares.partition(" ")[0])
        rows.append(cells)
    heads = [f"MMD²: {method}" for method in near] + [f"AUC: {title}" for title in SHORT]
    return markdown(["data", *heads], rows)


def _by_scenario(
    table: pl.DataFrame, among: Sequence[Scenario], method: str, columns: Sequence[str]
) -> list[Floats]:
    """Return, for each scenario, the mean of some columns in each split that has them all."""
    chosen = table.filter(pl.col("method") == method)
    return [
        chosen.filter(pl.col("scenario") == s.name)
        .drop_nulls(list(columns))
        .sort("seed")
        .select(pl.mean_horizontal(*columns))
        .to_series()
        .to_numpy()
        for s in among
    ]


def _percent(parts: Sequence[Floats], sign: str = "") -> str:
    """Return the mean over scenarios with half its 95 % interval for other splits, in %."""
    parts = [part for part in parts if len(part)]
    if not parts:
        return ""
    middle = 100 * float(np.mean([part.mean() for part in parts]))
    if min(map(len, parts)) < 2:
        return f"{middle:{sign}.1f}"
    return f"{middle:{sign}.1f} ± {100 * _half(parts):.1f}"


def _half(parts: Sequence[Floats]) -> float:
    """Half the 95 % interval of the mean of scenarios' means, by Student's t."""
    from scipy import stats

    variance = sum(part.var(ddof=1) / len(part) for part in parts) / len(parts) ** 2
    freedom = sum(len(part) - 1 for part in parts)
    return float(stats.t.ppf(0.975, freedom) * np.sqrt(variance))


def weights_table(table: pl.DataFrame, among: Sequence[Scenario]) -> str:
    """What weights change, in pairs: distances of means, and accuracy and AUC in points."""
    heads = [f"{model}, {what}" for model in MODELS for what in ("accuracy", "AUC")]
    rows = []
    for method in ("pool, 4", *OFFERS):
        mine = table.filter(pl.col("method") == method)
        found = []
        for s in among:
            part = mine.filter(pl.col("scenario") == s.name).drop_nulls(["means", "means_weighted"])
            if len(part):
                found.append(ratio(part["means_weighted"].to_numpy(), part["means"].to_numpy()))
        cells = [method, cell(overall(found))]
        for column in (f"{model}{what}" for model in MODELS for what in ("", "_auc")):
            pairs = mine.with_columns(gain=pl.col(f"{column}_weighted") - pl.col(column))
            cells.append(_percent(_by_scenario(pairs, among, method, ["gain"]), "+"))
        rows.append(cells)
    return markdown(["with weights", "distance of means, ratio", *heads], rows)


def few_table(made: Ratios, table: pl.DataFrame, among: Sequence[Scenario]) -> str:
    """The same records at fewer owners: ratios, and what was read."""
    methods = ["pool, 4", *OFFERS]
    rows = []
    for s in sorted(among, key=lambda s: s.options["owners"]):
        read = [_read(table, s, m) for m in methods]
        cells = [
            f"{cell(made.get((s.name, m)))}{f'; {number(r)} read' if r is not None else ''}"
            for m, r in zip(methods, read, strict=True)
        ]
        rows.append([str(s.options["owners"]), *cells])
    return markdown(["owners", *methods], rows)


def _read(table: pl.DataFrame, s: Scenario, method: str) -> float | None:
    mine = table.filter((pl.col("scenario") == s.name) & (pl.col("method") == method))
    return float((mine["accesses"] / mine["points"]).to_numpy().mean()) if len(mine) else None


def predictions(
    table: pl.DataFrame, known: Sequence[Scenario]
) -> dict[float, list[tuple[float, bool]]]:
    """Return, by epsilon, plans over what was measured, and whether that is in their range."""
    made = ratios(table)
    found: dict[float, list[tuple[float, bool]]] = {0.3: [], 1.0: [], 3.0: []}
    for s, epsilon, rho in product(known, found, READS):
        name = f"Offers, {rho}" if epsilon == 1 else f"Offers, {rho}, epsilon {epsilon:g}"
        measured = made.get((s.name, name))
        if measured is not None and measured.value > 0:
            plan = dpsumm.plan(
                s.m,
                s.size,
                epsilon=epsilon,
                protocol=dpsumm.Offers(reads_per_record=rho),
                rarity=s.options.get("share"),
            )
            low, high = plan.likely
            found[epsilon].append((plan.ratio / measured.value, low <= measured.value <= high))
    return found


def plan_table(table: pl.DataFrame, known: Sequence[Scenario]) -> str:
    """How far plans are from what was measured."""
    rows = []
    for epsilon, quotients in predictions(table, known).items():
        if quotients:
            off = np.exp(np.abs(np.log([each for each, _ in quotients])))
            stated = np.mean([inside for _, inside in quotients])
            cells = [f"{np.mean(off <= WITHIN):.0%}", f"{stated:.0%}", f"{np.median(off):.2f}"]
            rows.append([f"{epsilon:g}", str(len(off)), *cells])
    heads = [f"within {WITHIN:g}", "within the range it states", "median factor"]
    return markdown(["epsilon", "scenarios and reads", *heads], rows)

"""Pages of docs/ on points and the README's table, filled in from the table of results."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl

import dpsumm
from evidence.figures import draw
from evidence.markdown import cell, markdown, number
from evidence.methods import FIT, GREEDY, INVITED, METHODS, ORACLE
from evidence.page_tables import (
    OFFERS,
    POOLS,
    aims_table,
    distance_table,
    few_table,
    mean_ratio,
    models_table,
    plan_table,
    pool_table,
    weights_table,
    worth_table,
)
from evidence.ratios import Ratios, ratios
from evidence.runner import Scenario
from evidence.sources import digest

AUCTIONS = ["Auction, 10 rounds", "Auction, as published"]
VARIANTS = [name for name in METHODS if name.endswith((" picked only", " drawn only"))]
MAIN = [ORACLE, "uniform", *POOLS, *OFFERS, *AUCTIONS]
BUDGETS = ["Offers, 4, epsilon 0.3", "Offers, 4, epsilon 3", "Offers, 2, epsilon 100"]
ROOT = Path(__file__).resolve().parent.parent
PAGES = ("docs/results.md", "evidence/results/points.md")


def write(
    table: pl.DataFrame, known: Mapping[str, Scenario], machine: Mapping[str, str], folder: Path
) -> None:
    """Fill the blocks of the pages and write them to `folder`, and the plots to its docs/images.

    `machine`: what the results were made with, from `evidence.runner.made_with`.
    """
    made, weighted = ratios(table), ratios(table, "mmd2_weighted")
    main, tables = of_group(known, table, "main"), of_group(known, table, "tables")
    makers: dict[str, Callable[[], str]] = {
        "runs": lambda: _runs(table, machine),
        "ratios": lambda: _main_table(made, main, MAIN),
        "weighted": lambda: _weighted_table(table, weighted, main),
        "variants": lambda: _variants(made, main),
        "spending": lambda: _spending_table(table, main),
        "share": lambda: _share_table(made, of_group(known, table, "share")),
        "invited": lambda: _invited_table(table, made, of_group(known, table, "invited")),
        "accuracy": lambda: _accuracy_table(table, main),
        "privacy": _privacy_table,
        "beside-pool": lambda: pool_table(made, [*main, *tables]),
        "worst": lambda: _worst_table(made),
        "tables": lambda: distance_table(made, tables, ["uniform", *POOLS, *OFFERS, *BUDGETS]),
        "tables-weighted": lambda: distance_table(weighted, tables, [GREEDY, *POOLS, *OFFERS]),
        "aims": lambda: aims_table(made, weighted, main, tables),
        "models": lambda: models_table(table, tables),
        "worth": lambda: worth_table(table, made, tables),
        "training": lambda: weights_table(table, tables),
        "few": lambda: few_table(made, table, of_group(known, table, "few")),
        "plan": lambda: plan_table(table, list(known.values())),
    }
    blocks = {block: make() for block, make in makers.items()}
    for page in PAGES:
        text = (ROOT / page).read_text()
        for block, content in blocks.items():
            text = filled(text, block, content)
        (folder / page).parent.mkdir(parents=True, exist_ok=True)
        (folder / page).write_text(text)
    draw(table, made, known, folder / "docs/images")


def filled(text: str, block: str, content: str) -> str:
    """Return the page with a block's content between its marks."""
    if content.startswith("|") and content.count("\n") < 2:  # a table's head alone
        content = "*No results of this code yet.*"
    whole = f"<!-- {block} -->\n{content}\n<!-- end -->"
    return re.sub(rf"<!-- {block} -->.*?<!-- end -->", lambda _: whole, text, flags=re.DOTALL)


def of_group(known: Mapping[str, Scenario], table: pl.DataFrame, group: str) -> list[Scenario]:
    """Return the scenarios of a group that have results."""
    present = set(table["scenario"])
    return [s for s in known.values() if group in s.groups and s.name in present]


def _mean_rows(
    made: Ratios, main: Sequence[Scenario], methods: Sequence[str]
) -> list[tuple[str, list[str]]]:
    """Return the means over all main scenarios, and over those that no choice was made on."""
    held = [s for s in main if not s.tuned]
    return [
        ("**geometric mean**", [cell(mean_ratio(made, main, m)) for m in methods]),
        (
            "**no choice was made on these**",
            [cell(mean_ratio(made, held, m)) for m in methods],
        ),
    ]


def _main_table(made: Ratios, main: Sequence[Scenario], methods: Sequence[str]) -> str:
    methods = [m for m in methods if any((s.name, m) in made for s in main)]
    rows = [
        [f"{s.title} (m {s.m}, p {s.size})", *(cell(made.get((s.name, m))) for m in methods)]
        for s in main
    ]
    rows += [[name, *cells] for name, cells in _mean_rows(made, main, methods)]
    return markdown(["scenario", *methods], rows)


def _variants(made: Ratios, main: Sequence[Scenario]) -> str:
    head = ["Offers, 4", *(name for name in VARIANTS if mean_ratio(made, main, name))]
    rows = [[name, *cells] for name, cells in _mean_rows(made, main, head) if len(head) > 1]
    return markdown(["MMD² / greedy's", *head], rows)


def _weighted_table(table: pl.DataFrame, made: Ratios, main: Sequence[Scenario]) -> str:
    """Ratios to the greedy with equal weights; in the last columns to that with weights."""
    methods = [GREEDY, *POOLS, *OFFERS]
    over = ratios(table, "mmd2_weighted", "mmd2_weighted")
    last = ["pool, 4", "Offers, 4"]
    rows = []
    for s in main:
        cells = [made.get((s.name, m)) for m in methods] + [over.get((s.name, m)) for m in last]
        rows.append([s.title, *map(cell, cells)])
    for (name, left), (_, right) in zip(
        _mean_rows(made, main, methods), _mean_rows(over, main, last), strict=True
    ):
        rows.append([name, *left, *right])
    return markdown(["scenario", *methods, *(f"{m}, over the greedy's" for m in last)], rows)


def _share_table(made: Ratios, among: Sequence[Scenario]) -> str:
    methods = ["uniform", "pool, 4", "pool, 8", *OFFERS]
    rows = [
        [f"{100 * s.options['share']:g} %", *(cell(made.get((s.name, m))) for m in methods)]
        for s in among
    ]
    return markdown(["share of the target's digits", *methods], rows)


def _invited_table(table: pl.DataFrame, made: Ratios, among: Sequence[Scenario]) -> str:
    """Each ratio with the points read for each summary point."""
    methods = ["Offers, 4", *(f"Offers, 4, {name} owners only (not private)" for name in INVITED)]
    rows = []
    for s in among:
        cells = []
        for m in methods:
            mine = table.filter((pl.col("scenario") == s.name) & (pl.col("method") == m))
            read = f"; {number(_read(mine).mean())} read" if len(mine) else ""
            cells.append(cell(made.get((s.name, m))) + read)
        rows.append([s.title if s.data == "mnist" else f"Synthetic, {s.title}", *cells])
    return markdown(["scenario", "all owners", *INVITED], rows)


def _read(rows: pl.DataFrame) -> np.ndarray:
    return (rows["accesses"] / rows["points"]).to_numpy()


def _spending_table(table: pl.DataFrame, main: Sequence[Scenario]) -> str:
    """Points read and seconds, as measured: means and medians of the main scenarios."""
    rows = []
    for method in (GREEDY, *MAIN):
        names = [s.name for s in main]
        mine = table.filter((pl.col("method") == method) & pl.col("scenario").is_in(names))
        if method == ORACLE or not len(mine):
            continue
        # Scenarios count alike, however many splits they have.
        each = mine.with_columns(read=pl.col("accesses") / pl.col("points"))
        each = each.group_by("scenario").agg(pl.col("read").mean(), pl.col("seconds").median())
        read, seconds = each["read"].to_numpy(), mine["seconds"].to_numpy()
        rows.append(
            [
                method,
                f"{number(read.mean())} ({number(read.min())} to {number(read.max())})",
                f"{number(float(np.median(each['seconds'])))} ({number(seconds.max())})",
            ]
        )
    return markdown(["method", "points read for each (range)", "seconds, median (most)"], rows)


def _worst_table(made: Ratios, count: int = 3) -> str:
    """Name the scenarios in which a method's ratio is highest, and those in which it beats 1."""
    rows = []
    for method in (name for name in MAIN if name != ORACLE):
        mine = [(found, name) for (name, m), found in made.items() if m == method]
        mine.sort(key=lambda each: (-each[0].value, each[1]))
        worst = "; ".join(f"{number(found.value)} {name}" for found, name in mine[:count])
        # An interval of one split has no ends, and a comparison with them is false.
        better = sorted(name for found, name in mine if found.high < 1)
        rows.append([method, worst, ", ".join(better)])
    head = ["method", f"its {count} worst scenarios", "better than the greedy (interval below 1)"]
    return markdown(head, rows)


def _accuracy_table(table: pl.DataFrame, main: Sequence[Scenario]) -> str:
    shown = [GREEDY, ORACLE, "uniform", "pool, 4", "pool, 8", "Offers, 4", "Offers, 8"]
    shown += ["Auction, 10 rounds", FIT]
    rows, table = [], table.filter(pl.col("scenario").is_in([s.name for s in main]))
    for s in main:
        for model in ("svm", "trees"):
            part = table.filter(pl.col("scenario") == s.name).drop_nulls(model)
            if len(part):
                each = (part.filter(pl.col("method") == m)[model].to_numpy() for m in shown)
                rows.append([s.title if model == "svm" else "", model, *map(_percent, each)])
    for model in ("svm", "trees") if rows else ():
        each = (table.filter(pl.col("method") == m)[model].drop_nulls().to_numpy() for m in shown)
        cells = [f"{100 * shares.mean():.1f}" if len(shares) else "" for shares in each]
        rows.append(["**mean**" if model == "svm" else "", model, *cells])
    return markdown(["accuracy in %", "model", *shown], rows)


def _percent(shares: np.ndarray) -> str:
    """Return the mean with half its 95 % interval, by Student's t."""
    from scipy import stats

    if not len(shares):
        return ""
    if len(shares) == 1:
        return f"{100 * shares[0]:.1f}"
    half = stats.t.ppf(0.975, len(shares) - 1) * shares.std(ddof=1) / np.sqrt(len(shares))
    return f"{100 * shares.mean():.1f} ± {100 * half:.1f}"


def _privacy_table() -> str:
    """Epsilons do not depend on the data: from one run each, not seeded, with size 400."""
    rng = np.random.default_rng(0)
    owners = [rng.normal(size=(200, 2)) for _ in range(4)]
    rows = []
    for name in (GREEDY, *MAIN):
        if name == ORACLE:
            continue
        protocol = METHODS[name].protocol(400)  # type: ignore[misc]
        summary = dpsumm.summarize(
            owners,
            rng.normal(size=(200, 2)),
            size=400,
            epsilon=METHODS[name].epsilon,
            delta=1e-5,
            kernel=dpsumm.RBF(0.5),
            protocol=protocol,  # type: ignore[arg-type]
            allow_weak_privacy=True,
        )
        owner = summary.privacy.epsilon(1e-5, protected="owners")
        between = "no guarantee" if np.isinf(owner) else f"{owner:.3g}"
        target, published = summary.privacy.epsilon(1e-5), " ".join(summary.privacy.published)
        rows.append([name, f"{target:.3g}", between, published])
    return markdown(["method", "epsilon, target", "epsilon, other owners", "published"], rows)


def _runs(table: pl.DataFrame, machine: Mapping[str, str]) -> str:
    each = table.group_by("scenario").agg(pl.col("seed").n_unique())["seed"].to_list()
    return (
        f"{len(table):,} runs: {table['scenario'].n_unique()} scenarios, "
        f"{table['method'].n_unique()} methods, {min(each)} to {max(each)} splits of each, "
        f"{table['seconds'].sum() / 60:.0f} minutes of summarising in all. Made with "
        + ", ".join(f"{name} {value}" for name, value in machine.items())
        + "."
        + (
            f" The code of this page is {digest()}: what that would give has not been measured."
            if machine["code"].split()[0] != digest()
            else ""
        )
    )

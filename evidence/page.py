"""docs/results.md and the README's table, filled in from the table of results."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl

import dpsumm
from evidence.figures import draw
from evidence.methods import GREEDY, INVITED, METHODS, ORACLE
from evidence.ratios import Ratio, Ratios, overall, ratios
from evidence.runner import Scenario

POOLS, OFFERS = [[f"{name}, {rho}" for rho in (2, 4, 8)] for name in ("pool", "Offers")]
AUCTIONS = ["Auction, 10 rounds", "Auction, as published"]
VARIANTS = [name for name in METHODS if "only" in name or "features" in name]
VARIANTS = [name for name in VARIANTS if "main" in METHODS[name].groups]
MAIN = [ORACLE, "uniform", *POOLS, *OFFERS, *AUCTIONS]
ROOT = Path(__file__).resolve().parent.parent
PAGES = ("docs/results.md", "README.md")


def write(
    table: pl.DataFrame, known: Mapping[str, Scenario], machine: Mapping[str, str], folder: Path
) -> None:
    """Fill the blocks of the pages and write them to `folder`, and the plots to its docs/images.

    `machine`: what the results were made with, from `evidence.runner.made_with`.
    """
    made, weighted = ratios(table), ratios(table, "mmd2_weighted")
    main = of_group(known, table, "main")
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
        "worst": lambda: _worst_table(made),
        "readme": lambda: _readme_table(made, weighted, main),
    }
    for name in PAGES:
        text = (ROOT / name).read_text()
        for block, make in makers.items():
            if f"<!-- {block} -->" in text:
                text = _filled(text, block, make())
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    draw(table, made, known, folder / "docs/images")


def _filled(text: str, block: str, content: str) -> str:
    whole = f"<!-- {block} -->\n{content}\n<!-- end -->"
    return re.sub(rf"<!-- {block} -->.*?<!-- end -->", lambda _: whole, text, flags=re.DOTALL)


def of_group(known: Mapping[str, Scenario], table: pl.DataFrame, group: str) -> list[Scenario]:
    """Return the scenarios of a group that have results."""
    present = set(table["scenario"])
    return [s for s in known.values() if group in s.groups and s.name in present]


def mean(made: Ratios, among: Sequence[Scenario], method: str) -> Ratio | None:
    """Return a method's geometric mean over scenarios, if there is a ratio above 0 in each."""
    found = [made.get((s.name, method)) for s in among]
    return None if None in found else overall([r for r in found if r is not None])


def _number(value: float) -> str:
    return f"{value:.3g}" if value < 10 else f"{value:.0f}"


def _cell(found: Ratio | None) -> str:
    if found is None:
        return ""
    if np.isnan(found.low):
        return _number(found.value)
    if np.isinf(found.high):
        return f"{_number(found.value)} (not determined)"
    return f"{_number(found.value)} ({_number(found.low)} to {_number(found.high)})"


def _markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _mean_rows(
    made: Ratios, main: Sequence[Scenario], methods: Sequence[str]
) -> list[tuple[str, list[str]]]:
    """Return the means over all main scenarios, and over those that no choice was made on."""
    held = [s for s in main if not s.tuned]
    return [
        ("**geometric mean**", [_cell(mean(made, main, m)) for m in methods]),
        ("**of those that no choice was made on**", [_cell(mean(made, held, m)) for m in methods]),
    ]


def _main_table(made: Ratios, main: Sequence[Scenario], methods: Sequence[str]) -> str:
    methods = [m for m in methods if any((s.name, m) in made for s in main)]
    rows = [
        [f"{s.title} (m {s.m}, p {s.size})", *(_cell(made.get((s.name, m))) for m in methods)]
        for s in main
    ]
    rows += [[name, *cells] for name, cells in _mean_rows(made, main, methods)]
    return _markdown(["scenario", *methods], rows)


def _variants(made: Ratios, main: Sequence[Scenario]) -> str:
    head = ["Offers, 4", *VARIANTS]
    rows = [[name, *cells] for name, cells in _mean_rows(made, main, head)]
    return _markdown(["MMD² / greedy's", *head], rows)


def _weighted_table(table: pl.DataFrame, made: Ratios, main: Sequence[Scenario]) -> str:
    """Ratios to the greedy with equal weights; in the last columns to that with weights."""
    methods = [GREEDY, *POOLS, *OFFERS]
    over = ratios(table, "mmd2_weighted", "mmd2_weighted")
    last = ["pool, 4", "Offers, 4"]
    rows = []
    for s in main:
        cells = [made.get((s.name, m)) for m in methods] + [over.get((s.name, m)) for m in last]
        rows.append([s.title, *map(_cell, cells)])
    for (name, left), (_, right) in zip(
        _mean_rows(made, main, methods), _mean_rows(over, main, last), strict=True
    ):
        rows.append([name, *left, *right])
    return _markdown(["scenario", *methods, *(f"{m}, over the greedy's" for m in last)], rows)


def _share_table(made: Ratios, among: Sequence[Scenario]) -> str:
    methods = ["uniform", "pool, 4", "pool, 8", *OFFERS]
    rows = [
        [f"{100 * s.options['share']:g} %", *(_cell(made.get((s.name, m))) for m in methods)]
        for s in among
    ]
    return _markdown(["share of the target's digits", *methods], rows)


def _invited_table(table: pl.DataFrame, made: Ratios, among: Sequence[Scenario]) -> str:
    """Each ratio with the points read for each summary point."""
    methods = ["Offers, 4", *(f"Offers, 4, {name} owners only (not private)" for name in INVITED)]
    rows = []
    for s in among:
        cells = []
        for m in methods:
            mine = table.filter((pl.col("scenario") == s.name) & (pl.col("method") == m))
            read = f"; {_number(_read(mine).mean())} read" if len(mine) else ""
            cells.append(_cell(made.get((s.name, m))) + read)
        rows.append([s.title if s.data == "mnist" else f"Synthetic, {s.title}", *cells])
    return _markdown(["scenario", "all owners", *INVITED], rows)


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
                f"{_number(read.mean())} ({_number(read.min())} to {_number(read.max())})",
                f"{_number(float(np.median(each['seconds'])))} ({_number(seconds.max())})",
            ]
        )
    return _markdown(["method", "points read for each (range)", "seconds, median (most)"], rows)


def _worst_table(made: Ratios, count: int = 3) -> str:
    """Name the scenarios in which a method's ratio is highest, and those in which it beats 1."""
    rows = []
    for method in (name for name in MAIN if name != ORACLE):
        mine = [(found, name) for (name, m), found in made.items() if m == method]
        mine.sort(key=lambda each: (-each[0].value, each[1]))
        worst = "; ".join(f"{_number(found.value)} {name}" for found, name in mine[:count])
        # An interval of one split has no ends, and a comparison with them is false.
        better = sorted(name for found, name in mine if found.high < 1)
        rows.append([method, worst, ", ".join(better)])
    head = ["method", f"its {count} worst scenarios", "better than the greedy (interval below 1)"]
    return _markdown(head, rows)


def _accuracy_table(table: pl.DataFrame, main: Sequence[Scenario]) -> str:
    shown = [GREEDY, ORACLE, "uniform", "pool, 4", "pool, 8", "Offers, 4", "Offers, 8"]
    shown += ["Auction, 10 rounds"]
    rows = []
    for s in main:
        for model in ("svm", "trees"):
            part = table.filter(pl.col("scenario") == s.name).drop_nulls(model)
            if len(part):
                each = (part.filter(pl.col("method") == m)[model].to_numpy() for m in shown)
                rows.append([s.title if model == "svm" else "", model, *map(_percent, each)])
    for model in ("svm", "svm_weighted", "trees"):
        each = (table.filter(pl.col("method") == m)[model].drop_nulls().to_numpy() for m in shown)
        cells = [f"{100 * shares.mean():.1f}" if len(shares) else "" for shares in each]
        rows.append(["**mean**" if model == "svm" else "", model.replace("_", ", "), *cells])
    return _markdown(["accuracy in %", "model", *shown], rows)


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
        )
        owner = summary.privacy.epsilon(1e-5, protected="owners")
        figures = getattr(protocol, "published_figures", lambda _: ())(400)
        between = "no guarantee" if np.isinf(owner) else f"{owner:.3g}"
        rows.append([name, f"{summary.privacy.epsilon(1e-5):.3g}", between, " ".join(figures)])
    return _markdown(["method", "epsilon, target", "epsilon, other owners", "published"], rows)


def _runs(table: pl.DataFrame, machine: Mapping[str, str]) -> str:
    count = table.select("scenario", "seed").n_unique()
    return (
        f"{len(table):,} runs: {table['scenario'].n_unique()} scenarios, "
        f"{table['method'].n_unique()} methods, {count} splits, "
        f"{table['seconds'].sum() / 60:.0f} minutes of summarising in all. Made with "
        + ", ".join(f"{name} {value}" for name, value in machine.items())
        + "."
    )


README_ROWS = {
    "mnist-a": "MNIST, 10 owners, target 1000",
    "mnist-rare-2": "the same, target-like digits are 2 % of the data",
    "mnist-a-100": "the first with a target of 100",
    "adult-c": "Adult, people under 60 for a target of 60 and over",
    "heart-a": "Heart disease, 3 hospitals, target 40",
}


def _readme_table(made: Ratios, weighted: Ratios, main: Sequence[Scenario]) -> str:
    columns = {
        "Offers, 4: (1, 1e-5)": (made, "Offers, 4"),
        "with weights": (weighted, "Offers, 4"),
        "random pool, 4": (made, "pool, 4"),
        "uniform": (made, "uniform"),
        "Auction as published": (made, "Auction, as published"),
    }
    rows = [
        [title, *(_plain(among.get((name, m))) for among, m in columns.values())]
        for name, title in README_ROWS.items()
    ]
    means = [_plain(mean(among, main, m)) for among, m in columns.values()]
    return _markdown(["data", *columns], [*rows, [f"all {len(main)}", *means]])


def _plain(found: Ratio | None) -> str:
    return "" if found is None else _number(found.value)

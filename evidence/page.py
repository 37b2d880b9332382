"""Tables and plots of docs/results.md, from the table of results."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl

import dpsumm
from evidence.methods import GREEDY, METHODS, ORACLE
from evidence.runner import Scenario

MAIN = [name for name, method in METHODS.items() if "main" in method.groups and name != GREEDY]
Ratios = dict[tuple[str, str], np.ndarray]  # (scenario, method) -> one for each seed


def write(table: pl.DataFrame, known: Mapping[str, Scenario], template: Path, folder: Path) -> None:
    """Fill the template's blocks, write it to `folder` and the plots to `folder`/images."""
    makers: dict[str, Callable[[], str]] = {
        "ratios": lambda: _ratios_table(table, known),
        "weighted": lambda: _weighted_table(table, known),
        "accuracy": lambda: _accuracy_table(table, known),
        "privacy": _privacy_table,
        "share": lambda: _growth_table(table, known, "share", "share of the target's digits"),
        "runs": lambda: _runs(table),
    }
    text = template.read_text()
    for name, make in makers.items():
        block = f"<!-- {name} -->\n{make()}\n<!-- end -->"
        text = re.sub(
            rf"<!-- {name} -->.*?<!-- end -->", lambda _, b=block: b, text, flags=re.DOTALL
        )
    (folder / "images").mkdir(parents=True, exist_ok=True)
    (folder / "results.md").write_text(text)
    _draw(table, known, folder / "images")


def ratios(table: pl.DataFrame, column: str = "mmd2") -> Ratios:
    """Return MMD^2 to fresh points over that of the greedy on all data, same scenario and seed."""
    greedy = table.filter(pl.col("method") == GREEDY).select("scenario", "seed", base="mmd2")
    joined = table.join(greedy, on=["scenario", "seed"]).drop_nulls(column).sort("seed")
    parts = joined.group_by("scenario", "method", maintain_order=True)
    return {
        (str(key[0]), str(key[1])): (part[column] / part["base"]).to_numpy() for key, part in parts
    }


def interval(values: np.ndarray) -> tuple[float, float, float]:
    """Return the geometric mean and its 95 % interval, by Student's t on the logarithms."""
    from scipy import stats

    logs = np.log(values)
    middle = float(logs.mean())
    if len(logs) < 2:
        return float(np.exp(middle)), float("nan"), float("nan")
    half = float(stats.t.ppf(0.975, len(logs) - 1) * logs.std(ddof=1) / np.sqrt(len(logs)))
    return tuple(float(np.exp(x)) for x in (middle, middle - half, middle + half))  # type: ignore[return-value]


def _number(value: float) -> str:
    return f"{value:.3g}" if value < 10 else f"{value:.0f}"


def _cell(values: np.ndarray | None) -> str:
    if values is None or not len(values):
        return ""
    middle, low, high = interval(values)
    if np.isnan(low):
        return _number(middle)
    return f"{_number(middle)} ({_number(low)} to {_number(high)})"


def _markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _of_group(known: Mapping[str, Scenario], table: pl.DataFrame, group: str) -> list[Scenario]:
    present = set(table["scenario"])
    return [s for s in known.values() if group in s.groups and s.name in present]


def _ratios_table(table: pl.DataFrame, known: Mapping[str, Scenario]) -> str:
    made, rows = ratios(table), []
    methods = [m for m in MAIN if any(key[1] == m for key in made)]
    for s in _of_group(known, table, "main"):
        cells = [_cell(made.get((s.name, m))) for m in methods]
        rows.append([f"{s.title} (m {s.m}, p {s.size})", *cells])
    rows += _mean_rows(made, known, table, methods)
    return _markdown(["scenario", *methods], rows)


def _mean_rows(
    made: Ratios, known: Mapping[str, Scenario], table: pl.DataFrame, methods: Sequence[str]
) -> list[list[str]]:
    """Return the means over all main scenarios, and over those that no choice was made on."""
    held = {name: s for name, s in known.items() if not s.tuned}
    return [
        ["**geometric mean**", *_means(made, known, table, methods)],
        ["**of those that no choice was made on**", *_means(made, held, table, methods)],
    ]


def _means(
    made: Ratios, known: Mapping[str, Scenario], table: pl.DataFrame, methods: Sequence[str]
) -> list[str]:
    names = [s.name for s in _of_group(known, table, "main")]
    out = []
    for method in methods:
        values = [np.log(made[name, method]).mean() for name in names if (name, method) in made]
        out.append(_number(float(np.exp(np.mean(values)))) if len(values) == len(names) else "")
    return out


def _weighted_table(table: pl.DataFrame, known: Mapping[str, Scenario]) -> str:
    made = ratios(table, "mmd2_weighted")
    wanted = ("pool, 2", "pool, 4", "pool, 8", "Offers, 2", "Offers, 4", "Offers, 8")
    methods = [m for m in wanted if _any(made, m)]
    rows = [
        [s.title, *(_cell(made.get((s.name, m))) for m in methods)]
        for s in _of_group(known, table, "main")
    ]
    rows += _mean_rows(made, known, table, methods)
    return _markdown(["scenario", *methods], rows)


def _any(made: Ratios, method: str) -> bool:
    return any(key[1] == method for key in made)


def _accuracy_table(table: pl.DataFrame, known: Mapping[str, Scenario]) -> str:
    shown = [m for m in (GREEDY, *MAIN) if "only" not in m and m in set(table["method"])]
    rows = []
    for s in _of_group(known, table, "main"):
        for model in ("svm", "svm_weighted", "trees"):
            part = table.filter(pl.col("scenario") == s.name).drop_nulls(model)
            if not len(part):
                continue
            means = dict(part.group_by("method").agg(pl.col(model).mean()).iter_rows())
            cells = [f"{100 * means[m]:.1f}" if m in means else "" for m in shown]
            rows.append([s.title if model == "svm" else "", model.replace("_", ", "), *cells])
    for model in ("svm", "svm_weighted", "trees"):
        means = dict(
            table.drop_nulls(model).group_by("method").agg(pl.col(model).mean()).iter_rows()
        )
        cells = [f"{100 * means[m]:.1f}" if m in means else "" for m in shown]
        rows.append(["**mean**" if model == "svm" else "", model.replace("_", ", "), *cells])
    return _markdown(["accuracy in %", "model", *shown], rows)


def _growth_table(
    table: pl.DataFrame, known: Mapping[str, Scenario], group: str, title: str
) -> str:
    made = ratios(table)
    methods = [
        m
        for m in ("uniform", "pool, 4", "pool, 8", "Offers, 2", "Offers, 4", "Offers, 8")
        if _any(made, m)
    ]
    rows = [
        [f"{s.options.get(group, '')}", *(_cell(made.get((s.name, m))) for m in methods)]
        for s in _of_group(known, table, group)
    ]
    return _markdown([title, *methods], rows)


def _privacy_table() -> str:
    """Epsilons do not depend on the data: from one run each, not seeded, with size 400."""
    rng = np.random.default_rng(0)
    owners = [rng.normal(size=(200, 2)) for _ in range(4)]
    rows = []
    for name, method in METHODS.items():
        if name == ORACLE or "main" not in method.groups:
            continue
        protocol = method.protocol(400)  # type: ignore[misc]
        summary = dpsumm.summarize(
            owners,
            rng.normal(size=(200, 2)),
            size=400,
            epsilon=method.epsilon,
            delta=1e-5,
            kernel=dpsumm.RBF(0.5),
            protocol=protocol,
        )
        owner = summary.privacy.epsilon(1e-5, protected="owners")
        figures = getattr(protocol, "published_figures", lambda _: ())(400)
        rows.append(
            [
                name,
                f"{summary.privacy.epsilon(1e-5):.3g}",
                "no guarantee" if np.isinf(owner) else f"{owner:.3g}",
                " ".join(figures),
            ]
        )
    return _markdown(["method", "epsilon, target", "epsilon, other owners", "published"], rows)


def _runs(table: pl.DataFrame) -> str:
    count = table.select("scenario", "seed").n_unique()
    return (
        f"{len(table):,} runs: {table['scenario'].n_unique()} scenarios, "
        f"{table['method'].n_unique()} methods, {count} splits, "
        f"{table['seconds'].sum() / 60:.0f} minutes of summarising in all; "
        f"dpsumm {dpsumm.__version__}."
    )


def _draw(table: pl.DataFrame, known: Mapping[str, Scenario], folder: Path) -> None:
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams |= {"svg.hashsalt": "dpsumm", "font.size": 9, "axes.spines.top": False}
    mpl.rcParams |= {"axes.spines.right": False, "axes.grid": True, "grid.alpha": 0.3}
    made = ratios(table)
    _bars(made, _of_group(known, table, "main"), folder / "results-figure1.svg")
    _frontier(table, made, known, folder / "results-frontier.svg")
    _curves(made, known, table, folder / "results-growth.svg")


def _save(figure, path: Path) -> None:  # type: ignore[no-untyped-def]
    figure.savefig(path, metadata={"Date": None}, bbox_inches="tight")
    import matplotlib.pyplot as plt

    plt.close(figure)


def _bars(made: Ratios, main: Sequence[Scenario], path: Path) -> None:
    """Draw the paper's figure 1: percent increase of MMD^2 over the greedy's."""
    import matplotlib.pyplot as plt

    methods = [
        m
        for m in ("pool, 4", "Offers, 4", "Auction, 10 rounds", "Auction, as published", "uniform")
        if _any(made, m)
    ]
    figure, axes = plt.subplots(figsize=(9, 0.5 * len(main) + 1), layout="constrained")
    height = 0.8 / len(methods)
    for j, method in enumerate(methods):
        present = [
            (i, made[s.name, method]) for i, s in enumerate(main) if (s.name, method) in made
        ]
        places = [-(i + (j - len(methods) / 2) * height) for i, _ in present]
        middles = [100 * (interval(values)[0] - 1) for _, values in present]
        axes.barh(places, middles, height, label=method)
    axes.set_yticks([-i for i in range(len(main))], [s.name for s in main])
    axes.set_xscale("symlog", linthresh=10)
    axes.axvline(0, color="black", linewidth=0.8)
    axes.set_xlabel("increase of MMD² to fresh target points over the non-private greedy's, in %")
    figure.legend(loc="outside upper center", ncols=5)
    _save(figure, path)


def _frontier(table: pl.DataFrame, made: Ratios, known: Mapping[str, Scenario], path: Path) -> None:
    """Draw quality against points accessed, and against epsilon; geometric means over scenarios."""
    import matplotlib.pyplot as plt

    names = [s.name for s in _of_group(known, table, "main")]

    def mean(method: str) -> float:
        values = [np.log(made[n, method]).mean() for n in names if (n, method) in made]
        return float(np.exp(np.mean(values))) if values else np.nan

    def read(method: str) -> float:
        part = table.filter((pl.col("method") == method) & pl.col("scenario").is_in(names))
        return float((part["accesses"] / part["points"]).mean()) if len(part) else np.nan  # type: ignore[arg-type]

    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    lines = {
        "Offers": ["Offers, 2", "Offers, 4", "Offers, 8"],
        "random pool": ["pool, 2", "pool, 4", "pool, 8"],
    }
    for label, methods in lines.items():
        left.plot([read(m) for m in methods], [mean(m) for m in methods], "o-", label=label)
    for method in ("Auction, 10 rounds", "Offers, 4, herded only", "uniform"):
        left.plot(read(method), mean(method), "s", label=method)
    left.set(xlabel="points read for each summary point", ylabel="MMD² / greedy's", yscale="log")
    left.legend()
    budgets = {0.3: "Offers, 4, epsilon 0.3", 1.0: "Offers, 4", 3.0: "Offers, 4, epsilon 3"}
    for s in sorted(_of_group(known, table, "m"), key=lambda s: s.m):
        values = [made.get((s.name, m)) for m in budgets.values()]
        if all(v is not None for v in values):
            right.plot(list(budgets), [interval(v)[0] for v in values], "o-", label=f"m = {s.m}")  # type: ignore[arg-type]
    right.set(
        xlabel="epsilon of the target", xscale="log", yscale="log", title="synthetic, Offers, 4"
    )
    right.set_xticks(list(budgets), [f"{budget:g}" for budget in budgets])
    for panel, ticks in ((left, (1, 2, 5, 10, 20)), (right, (0.8, 1, 1.2, 1.4, 1.6))):
        panel.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
        panel.minorticks_off()
    if right.lines:
        right.legend()
    _save(figure, path)


def _curves(made: Ratios, known: Mapping[str, Scenario], table: pl.DataFrame, path: Path) -> None:
    """Draw quality against m, K, p (synthetic) and the share of target-like points (MNIST)."""
    import matplotlib.pyplot as plt

    def of(s: Scenario, group: str) -> float:
        return {"m": s.m, "p": s.size}.get(group) or s.options.get(group, s.options.get("owners"))  # type: ignore[return-value]

    figure, panels = plt.subplots(1, 4, figsize=(11, 3.4), sharey=True, layout="constrained")
    titles = {
        "m": "target points m",
        "K": "owners K",
        "p": "summary points p",
        "share": "target-like share",
    }
    methods = ["uniform", "pool, 4", "Offers, 4", "Offers, 4, herded only", "Auction, 10 rounds"]
    for panel, (group, title) in zip(panels, titles.items(), strict=True):
        members = sorted(_of_group(known, table, group), key=lambda s: of(s, group))
        for method in methods:
            present = [s for s in members if (s.name, method) in made]
            if not present:
                continue
            stats = np.array([interval(made[s.name, method]) for s in present])
            places = [of(s, group) for s in present]
            (line,) = panel.plot(places, stats[:, 0], "o-", label=method, markersize=3)
            panel.fill_between(places, stats[:, 1], stats[:, 2], alpha=0.15, color=line.get_color())
        panel.set(xlabel=title, xscale="log", yscale="log")
    panels[0].set_ylabel("MMD² / greedy's")
    handles, labels = panels[0].get_legend_handles_labels()
    if handles:
        figure.legend(handles, labels, loc="outside upper center", ncols=len(labels))
    _save(figure, path)

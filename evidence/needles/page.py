"""The figures of docs/needles.md and of README's first table, from the results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from evidence.figures import save
from evidence.markdown import markdown
from evidence.page import ROOT, filled

RANDOM, OFFERS = "random records", "Offers"
MEAN, CENTRES = "nearest to a private mean", "nearest to four private centres"
GREEDY = "all records read"
SHOWN = (RANDOM, MEAN, CENTRES, OFFERS, GREEDY)
TITLES = {
    "tables": "Census, women in professions",
    "images": "Digits, 4 and 9",
    "texts": "Docstrings, two topics of SciPy",
    "signals": "Made-up heartbeats, two rhythms",
}
BASE = {"share": 0.01, "owners": 20, "m": 200, "epsilon": 1.0}
SWEEPS = {
    "share": "needles, %",
    "owners": "owners",
    "m": "records of the target",
    "epsilon": "epsilon",
}
Table = pl.DataFrame


def write(table: Table, machine: Mapping[str, str], folder: Path) -> str:
    """Fill the blocks of both pages and draw the figure, into `folder`; return the main table."""
    base = table.filter(_at({}))
    main = first(base, SHOWN)
    few = first(base, [method for method in SHOWN if method != CENTRES])
    blocks = {"needles": main, "needles-few": few, "needles-made": _made(table, machine)}
    blocks["needles-times"] = _times(base)
    blocks |= {f"needles-{name}": sweep(table, name) for name in SWEEPS}
    for name in ("README.md", "docs/needles.md"):
        text = (ROOT / name).read_text()
        for block, content in blocks.items():
            text = filled(text, block, content)
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    draw(base, folder / "docs/images/needles.svg")
    return main


def _at(other: Mapping[str, float]) -> pl.Expr:
    """Return the condition of the base setting, but for what is named."""
    return pl.all_horizontal(pl.col(name) == value for name, value in (BASE | other).items())


def first(base: Table, methods: Sequence[str]) -> str:
    """Return the main table: needles among the points kept, and accuracy, at four reads a point."""
    rows = []
    for name in _present(base):
        cells = [
            f"{_percent(base, name, method, 'needles')}; {_percent(base, name, method, 'accuracy')}"
            for method in methods
        ]
        rows.append([TITLES[name], *cells])
    return markdown(["needles", *methods], rows)


def _times(base: Table) -> str:
    """Return how many times as common needles are, from the least haystack to the most."""
    found = [
        [_of(base, name, method, "needles").to_numpy().mean() for name in _present(base)]
        for method in (OFFERS, RANDOM)
    ]
    times = np.divide(*found)
    return (
        f"Among the points that Offers keep, needles are {times.min():.0f} to {times.max():.0f} "
        "times as common as among points chosen from random records."
    )


def sweep(table: Table, name: str) -> str:
    """Return one table: needles among the points kept by Offers, and by what else is there."""
    rows = []
    for value in sorted(set(table[name])):
        at = table.filter(_at({name: value}))
        shown = f"{100 * value:g}" if name == "share" else f"{value:g}"
        cells = []
        for haystack in TITLES:
            methods = (RANDOM, MEAN, OFFERS, GREEDY)
            found = [_mean(at, haystack, method, "needles") for method in methods]
            cells.append("" if None in found else " / ".join(f"{100 * x:.0f}" for x in found))
        rows.append([shown, *cells])
    return markdown([SWEEPS[name], *TITLES.values()], rows)


def _present(table: Table) -> list[str]:
    return [name for name in TITLES if name in set(table["scenario"])]


def _of(table: Table, name: str, method: str, what: str, reads: int = 4) -> pl.Series:
    wanted = 0 if method == GREEDY else reads
    return table.filter(
        (pl.col("scenario") == name) & (pl.col("method") == method) & (pl.col("reads") == wanted)
    )[what]


def _mean(table: Table, name: str, method: str, what: str) -> float | None:
    found = _of(table, name, method, what)
    return None if found.is_empty() else float(found.to_numpy().mean())


def _percent(table: Table, name: str, method: str, what: str) -> str:
    found = 100 * _of(table, name, method, what).to_numpy()
    error = 1.96 * found.std(ddof=1) / np.sqrt(len(found)) if len(found) > 1 else np.nan
    return f"{found.mean():.0f} ± {error:.0f}"


def _made(table: Table, machine: Mapping[str, str]) -> str:
    seeds = len(set(table["seed"]))
    known = ("code", "Python", "numpy", "scikit-learn", "processor")
    made = ", ".join(f"{name} {machine[name]}" for name in known if name in machine)
    return f"{len(table):,} runs, {seeds} draws of each setting. Made with {made}."


def draw(base: Table, path: Path) -> None:
    """Draw recall and accuracy by reads: a column for each haystack."""
    import matplotlib as mpl

    mpl.use("svg")
    import matplotlib.pyplot as plt

    mpl.rcParams |= {"svg.hashsalt": "dpsumm", "font.size": 9}
    names = _present(base)
    figure, axes = plt.subplots(
        2, len(names), figsize=(10, 4.6), sharex=True, sharey="row", layout="constrained"
    )
    rows: Sequence[tuple[str, str]] = (
        ("recall", "needles read,\n% of those there are"),
        ("accuracy", "accuracy on\nfresh needles, %"),
    )
    reads = sorted(set(base["reads"]) - {0})
    for line, (what, label) in zip(axes, rows, strict=True):
        for panel, name in zip(line, names, strict=True):
            _panel(panel, base, name, what, reads)
        line[0].set_ylabel(label)
    for panel, name in zip(axes[0], names, strict=True):
        panel.set_title(TITLES[name].split(",")[0])
    for panel in axes[1]:
        panel.set_xlabel("records read for each point kept")
    figure.legend(*axes[1][0].get_legend_handles_labels(), loc="outside lower center", ncols=5)
    path.parent.mkdir(parents=True, exist_ok=True)
    save(figure, path)


def _panel(panel: Any, base: Table, name: str, what: str, reads: Sequence[int]) -> None:
    for number, method in enumerate(SHOWN):
        colour, most = f"C{number}", base.filter(pl.col("reads") == 0)
        if method == GREEDY:
            if what == "accuracy":
                level = 100 * most.filter(pl.col("scenario") == name)[what].to_numpy().mean()
                panel.axhline(level, color="0.5", linestyle=":", label=method)
            continue
        means = [100 * _of(base, name, method, what, r).to_numpy().mean() for r in reads]
        width = 2.2 if method == OFFERS else 1.2
        panel.plot(reads, means, color=colour, marker="o", markersize=3, lw=width, label=method)
    panel.set_xscale("log", base=2)
    panel.set_xticks(reads, [f"{r}" for r in reads])
    panel.set_ylim(0, 100)
    panel.grid(alpha=0.3)
    panel.spines[["top", "right"]].set_visible(False)

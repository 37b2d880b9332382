"""Figures of docs/results.md."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from evidence.methods import EPSILONS
from evidence.ratios import Ratio, Ratios, overall
from evidence.runner import Scenario

# One colour for a method, in all figures.
COLOURS = {
    "Offers, 4": "C0",
    "pool, 4": "C1",
    "Auction, 10 rounds": "C2",
    "Auction, as published": "C3",
    "uniform": "C4",
    "Offers, 4, picked only": "C9",
}
RATIO = "MMD² / greedy's"


def draw(table: pl.DataFrame, made: Ratios, known: Mapping[str, Scenario], folder: Path) -> None:
    """Draw all figures to `folder`."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams |= {"svg.hashsalt": "dpsumm", "font.size": 9, "axes.spines.top": False}
    mpl.rcParams |= {"axes.spines.right": False, "axes.grid": True, "grid.alpha": 0.3}
    folder.mkdir(parents=True, exist_ok=True)
    present = [s for s in known.values() if s.name in set(table["scenario"])]
    main = [s for s in present if "main" in s.groups]
    _increase(made, main, folder / "results-figure1.svg")
    _frontier(table, made, present, main, folder / "results-frontier.svg")
    _growth(made, present, folder / "results-growth.svg")


def save(figure: Any, path: Path) -> None:
    """Write a figure without what would differ between two runs, and close it."""
    import matplotlib.pyplot as plt

    figure.savefig(path, metadata={"Date": None}, bbox_inches="tight")
    plt.close(figure)


def _increase(made: Ratios, main: Sequence[Scenario], path: Path) -> None:
    """Draw the paper's figure 1: percent increase of MMD^2 over the greedy's, with intervals."""
    import matplotlib.pyplot as plt

    methods = [m for m in COLOURS if "picked" not in m]
    figure, axes = plt.subplots(figsize=(9, 0.42 * len(main) + 1.2), layout="constrained")
    for j, method in enumerate(methods):
        here = [(i, made[s.name, method]) for i, s in enumerate(main) if (s.name, method) in made]
        places = [i + 0.14 * (j - (len(methods) - 1) / 2) for i, _ in here]
        colour = COLOURS[method]
        axes.plot([r.value for _, r in here], places, "o", color=colour, label=method, markersize=4)
        axes.hlines(
            places, [max(r.low, 0.3) for _, r in here], [r.high for _, r in here], color=colour
        )
    axes.set_yticks(range(len(main)), [s.name for s in main])
    axes.invert_yaxis()
    ticks = (0.5, 0.75, 1, 1.5, 2, 3, 5, 11, 31, 101, 301)
    axes.set(xscale="log", xlim=(0.45, 600))
    axes.set_xticks(ticks, [f"{100 * (tick - 1):+.0f}" if tick != 1 else "0" for tick in ticks])
    axes.minorticks_off()
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_xlabel("increase of MMD² to the target's distribution over the greedy's, in %")
    figure.legend(loc="outside upper center", ncols=5)
    save(figure, path)


def _frontier(
    table: pl.DataFrame,
    made: Ratios,
    present: Sequence[Scenario],
    main: Sequence[Scenario],
    path: Path,
) -> None:
    """Draw quality against points read, over the main scenarios, and against epsilon."""
    import matplotlib.pyplot as plt

    names = [s.name for s in main]
    figure, panels = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained")
    left, middle, right = panels

    def place(method: str) -> tuple[float, float]:
        found = overall(made[n, method] for n in names if (n, method) in made)
        part = table.filter((pl.col("method") == method) & pl.col("scenario").is_in(names))
        read = pl.col("accesses") / pl.col("points")
        each = part.group_by("scenario").agg(read=read.mean())["read"].to_numpy()
        return (each.mean(), found.value) if found and len(each) else (np.nan, np.nan)

    for family in ("Offers", "pool"):
        places = np.array([place(f"{family}, {rho}") for rho in (2, 4, 8)])
        left.plot(places[:, 0], places[:, 1], "o-", color=COLOURS[f"{family}, 4"], label=family)
    for method in ("Auction, 10 rounds", "Auction, as published", "uniform"):
        left.plot(*place(method), "s", color=COLOURS[method], label=method)
    left.set(xlabel="points read for each summary point", ylabel=RATIO, title="geometric means")
    left.legend()
    epsilons = sorted((*EPSILONS, 1.0))
    for panel, group, title in ((middle, "m", "synthetic"), (right, "epsilon", "MNIST A")):
        for s in sorted((s for s in present if group in s.groups), key=lambda s: s.m):
            named = ["Offers, 4" if e == 1 else f"Offers, 4, epsilon {e:g}" for e in epsilons]
            found = [made.get((s.name, m)) for m in named]
            _line(panel, epsilons, found, label=f"m = {s.m}")
        panel.set(xlabel="epsilon of the target", xscale="log", title=f"{title}, Offers, 4")
        panel.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
        if panel.lines:
            panel.legend()
    for panel in panels:
        _ratio_axis(panel)
    save(figure, path)


def _line(panel: Any, places: Sequence[float], found: Sequence[Ratio | None], **style: Any) -> None:
    """Draw what is there, with intervals, if there are two points at least."""
    there = [(x, r) for x, r in zip(places, found, strict=True) if r is not None]
    if len(there) < 2:
        return
    xs = [x for x, _ in there]
    (line,) = panel.plot(xs, [r.value for _, r in there], "o-", markersize=3, **style)
    low, high = [max(r.low, 0.1) for _, r in there], [r.high for _, r in there]
    panel.fill_between(xs, low, high, alpha=0.12, color=line.get_color(), linewidth=0)


def _ratio_axis(panel: Any) -> None:
    panel.set_yscale("log")
    low, high = panel.get_ylim()
    low = max(low, 0.4)  # intervals may reach 0
    panel.set_ylim(bottom=low)
    ticks = (0.5, 0.7, 1, 1.5, 2, 3, 5, 10, 20, 50, 100, 300)
    shown = [tick for tick in ticks if low <= tick <= high]
    panel.set_yticks(shown, [f"{tick:g}" for tick in shown])
    panel.minorticks_off()


def _growth(made: Ratios, present: Sequence[Scenario], path: Path) -> None:
    """Draw quality against m, K, p and the share of target-like points."""
    import matplotlib.pyplot as plt

    def owners(s: Scenario) -> float:
        return float(s.options.get("owners", 10))

    grid: dict[str, tuple[str, str, Callable[[Scenario], float]]] = {
        "m": ("synthetic", "target points m", lambda s: s.m),
        "K": ("synthetic", "owners K", owners),
        "p": ("synthetic", "summary points p", lambda s: s.size),
        "share": ("MNIST", "share of target-like points", lambda s: s.options["share"]),
        "mnist-K": ("MNIST A", "owners K", owners),
        "mnist-p": ("MNIST A", "summary points p", lambda s: s.size),
    }
    figure, panels = plt.subplots(2, 3, figsize=(11, 6), sharey="row", layout="constrained")
    for panel, (group, (title, label, of)) in zip(panels.flat, grid.items(), strict=True):
        members = sorted((s for s in present if group in s.groups), key=of)
        for method in ("Offers, 4", "Offers, 4, picked only", "pool, 4", "Auction, 10 rounds"):
            found = [made.get((s.name, method)) for s in members]
            style = {"label": method, "color": COLOURS[method]}
            _line(panel, [of(s) for s in members], found, **style)
        panel.set(xlabel=label, xscale="log", title=title)
        places = [of(s) for s in members]
        panel.set_xticks(places, [f"{x:g}" for x in places])
        panel.minorticks_off()
    for row in panels:
        for panel in row:
            _ratio_axis(panel)
        row[0].set_ylabel(RATIO)
    handles, labels = panels[0, 0].get_legend_handles_labels()
    if handles:
        figure.legend(handles, labels, loc="outside upper center", ncols=len(labels))
    save(figure, path)

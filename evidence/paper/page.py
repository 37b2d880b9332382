"""evidence/results/section-4.md, filled in from the table of results, and its figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evidence.markdown import markdown
from evidence.page import filled
from evidence.paper.base import stored
from evidence.paper.design import Design
from evidence.paper.measure import ALONE, GREEDY, METHODS, OTHERS, PUBLISHED, SOUND, UNIFORM
from evidence.ratios import ratio

ROOT = Path(__file__).resolve().parents[2]
PAGE, PICTURE = "evidence/results/section-4.md", "docs/images/results-paper.svg"
BASE = "none: always the most frequent label"
COLOURS = dict(zip(METHODS, ("black", "C3", "C2", "C0", "C4"), strict=True))
Table = pl.DataFrame


def write(
    table: Table, known: Mapping[str, Design], machine: Mapping[str, str], folder: Path
) -> None:
    """Fill the blocks of the page and draw its figure, into `folder`."""
    text = (ROOT / PAGE).read_text()
    present = [design for design in known.values() if design.name in set(table["design"])]
    blocks = {
        "runs": _runs(table, machine),
        "growth": "\n\n".join(_growth(table, design) for design in present),
        "verdicts": "\n".join(_verdict(table, design) for design in present),
        "models": _models(table),
    }
    for block, content in blocks.items():
        text = filled(text, block, content)
    (folder / PAGE).parent.mkdir(parents=True, exist_ok=True)
    (folder / PAGE).write_text(text)
    _draw(table, present, folder / PICTURE)


def _of(table: Table, column: str, **wanted: object) -> NDArray[np.float64]:
    """Return a column of the rows wanted, in the order of the splits."""
    for name, value in wanted.items():
        table = table.filter(pl.col(name) == value)
    return table.sort("seed")[column].to_numpy()


def _increase(table: Table, **wanted: object) -> tuple[float, float, float]:
    """Return the percent increase of MMD^2 over the greedy's, with a 95 % interval."""
    mine = _of(table, "mmd2", **wanted)
    found = ratio(mine, _of(table, "mmd2", **{**wanted, "method": GREEDY}))
    low, mid, high = (100 * (x - 1) for x in (found.low, found.value, found.high))
    return low, mid, high


def _mean(values: NDArray[np.float64]) -> tuple[float, float, float]:
    """Return the mean of splits, with Student's 95 % interval."""
    from scipy import stats

    middle = float(values.mean())
    if len(values) < 2:
        return middle, middle, middle
    off = float(stats.t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / len(values) ** 0.5)
    return middle - off, middle, middle + off


def _shown(found: tuple[float, float, float], digits: int = 0, unit: float = 1.0) -> str:
    low, mid, high = (f"{unit * x:,.{digits}f}" for x in found)
    return f"{mid} ({low} to {high})"


def _base(table: Table, design: str) -> str:
    """Return the base rate of a design's splits that are shown."""
    here = table.filter(pl.col("design") == design).select("seed").unique()
    rates = stored().filter(pl.col("design") == design).join(here, on="seed")
    if rates.is_empty():
        return "not counted"
    return _shown(_mean(rates["share"].to_numpy()), 1, 100)


def _growth(table: Table, design: Design) -> str:
    rows = [[BASE, *[_base(table, design.name)] * len(design.sizes)]]
    for method in METHODS:
        cells = []
        for size in design.sizes:
            here = {"design": design.name, "part": "growth", "size": size, "method": method}
            correct = _shown(_mean(_of(table, "accuracy", **here)), 1, 100)
            above = "" if method == GREEDY else f"{_shown(_increase(table, **here))}; "
            cells.append(f"{above}{correct}")
        rows.append([method, *cells])
    head = ["method", *(f"p = {size}" for size in design.sizes)]
    splits = table.filter(pl.col("design") == design.name)["seed"].n_unique()
    return f"**{design.title}.** Splits: {splits} of {design.splits}.\n\n{markdown(head, rows)}"


def _verdict(table: Table, design: Design) -> str:
    """Say what came of the paper's two statements, at each size."""
    lines = []
    for question, one, other in (
        ("The private greedy as published less uniform", PUBLISHED, UNIFORM),
        ("The sound private greedy less uniform", SOUND, UNIFORM),
        ("The private greedy as published less the greedy", PUBLISHED, GREEDY),
        ("The sound private greedy less the greedy", SOUND, GREEDY),
    ):
        gaps = []
        for size in design.sizes:
            here = {"design": design.name, "part": "growth", "size": size}
            gap = _of(table, "accuracy", **here, method=one)
            gaps.append(_mean(100 * (gap - _of(table, "accuracy", **here, method=other))))
        each = ", ".join(
            f"{_shown(gap, 1)} at p = {size}" for gap, size in zip(gaps, design.sizes, strict=True)
        )
        lines.append(f"- {design.name}. {question}, in points: {each}. **{_said(gaps)}.**")
    return "\n".join(lines)


def _said(gaps: Sequence[tuple[float, float, float]]) -> str:
    """Say in words which way differences go, by their means and intervals."""
    means = [middle for _, middle, _ in gaps]
    low, high = min(means), max(means)
    clear = sum(below > 0 or above < 0 for below, _, above in gaps)
    sizes = f"clear of 0 at {clear} of {len(gaps)} sizes"
    if low > 0:
        return f"Ahead by {low:.1f} to {high:.1f}, {sizes}"
    if high < 0:
        return f"Behind by {-high:.1f} to {-low:.1f}, {sizes}"
    return f"Between {-low:.1f} behind and {high:.1f} ahead, {sizes}"


def _models(table: Table) -> str:
    found = table.filter((pl.col("part") == "models") & pl.col("epsilon").is_not_null())
    keys = found.select("design", "method", "size").unique(maintain_order=True).rows()
    epsilons = sorted(found["epsilon"].unique())
    rows = [
        [BASE, "", *[_base(table, name)] * len(epsilons)]
        for name in found["design"].unique(maintain_order=True)
    ]
    for design, method, size in sorted(keys, key=lambda k: (k[1] in (ALONE, OTHERS), k[2])):
        cells: list[str] = []
        for epsilon in epsilons:
            here = {"design": design, "method": method, "size": size, "epsilon": epsilon}
            values = _of(found, "accuracy", **here)
            cells.append(_shown(_mean(values), 1, 100) if len(values) else "")
        rows.append([method, f"{size:,}", *cells])
    head = [f"epsilon {e:g}" if np.isfinite(e) else "no noise" for e in epsilons]
    return f"{markdown(['trained on', 'points', *head], rows)}\n\n{_best(found)}"


def _best(found: Table) -> str:
    """Say how often uniform gives the best private model of a summary."""
    private = found.filter(pl.col("epsilon").is_finite(), ~pl.col("method").is_in([ALONE, OTHERS]))
    cells = private.group_by("design", "size", "epsilon").agg(
        pl.col("accuracy").filter(pl.col("method") == UNIFORM).mean().alias("uniform")
    )
    others = private.filter(pl.col("method") != UNIFORM)
    means = others.group_by("design", "size", "epsilon", "method").agg(pl.col("accuracy").mean())
    best = means.group_by("design", "size", "epsilon").agg(pl.col("accuracy").max().alias("best"))
    both = cells.join(best, on=["design", "size", "epsilon"])
    ahead = both.filter(pl.col("uniform") > pl.col("best"))
    return (
        f"Of summaries of the same size and epsilon, uniform gives a better private model than "
        f"either Auction in {len(ahead)} of {len(both)} cells."
    )


def _runs(table: Table, machine: Mapping[str, str]) -> str:
    minutes = table["seconds"].sum() / 60
    made = ", ".join(f"{name} {value}" for name, value in machine.items())
    return f"{len(table):,} rows, {minutes:.0f} minutes of summarising. Made with {made}."


def _draw(table: Table, present: list[Design], path: Path) -> None:
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams |= {"svg.hashsalt": "dpsumm", "font.size": 9, "axes.spines.top": False}
    mpl.rcParams |= {"axes.spines.right": False, "axes.grid": True, "grid.alpha": 0.3}
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(
        2, len(present), figsize=(4.5 * len(present), 6), layout="constrained", squeeze=False
    )
    for column, design in enumerate(present):
        for method in METHODS:
            here = {"design": design.name, "part": "growth", "method": method}
            if method != GREEDY:
                _line(
                    axes[0, column],
                    design,
                    method,
                    [_increase(table, **here, size=size) for size in design.sizes],
                )
            right = [
                _mean(100 * _of(table, "accuracy", **here, size=size)) for size in design.sizes
            ]
            _line(axes[1, column], design, method, right)
        axes[0, column].set(title=design.name, xscale="log", yscale="symlog")
        axes[1, column].set(xscale="log", xlabel="points of the summary (p)")
        for ax in axes[:, column]:
            ax.set_xticks(design.sizes, [str(size) for size in design.sizes])
            ax.minorticks_off()
    axes[0, 0].set_ylabel("increase of MMD² over the greedy, %")
    axes[1, 0].set_ylabel("accuracy of a linear SVM, %")
    handles, labels = axes[1, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=3)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None}, bbox_inches="tight")
    plt.close(figure)


def _line(ax: Any, design: Design, method: str, found: list[tuple[float, float, float]]) -> None:
    low, middle, high = zip(*found, strict=True)
    ax.plot(design.sizes, middle, "o-", color=COLOURS[method], label=method, markersize=3)
    ax.fill_between(design.sizes, low, np.minimum(high, 1e6), color=COLOURS[method], alpha=0.12)

"""Plots of growth: CPU-seconds against each size, one SVG a subject, light and without a date."""

from __future__ import annotations

from pathlib import Path
from typing import Any

COLOURS = ("#0b6e99", "#d9730d", "#4d7c0f", "#9333ea", "#64748b", "#be123c")
SIZE_NAMES = {
    "n": "n, points",
    "c": "c, columns",
    "d": "d, features",
    "p": "p, points picked",
    "K": "K, owners",
    "T": "T, iterations",
}


def draw(results: dict[str, Any], folder: Path, suffix: str = "svg") -> list[Path]:
    """Draw every subject that has growth; return the files."""
    import matplotlib as mpl

    mpl.use("Agg")
    # Text stays text: small files that can be searched; a fixed salt makes equal files.
    style = {"svg.fonttype": "none", "svg.hashsalt": "dpsumm", "font.size": 12}
    with mpl.rc_context(style):
        return [
            _draw(name, grown, folder / f"growth-{name}.{suffix}")
            for name, subject in results.items()
            if (grown := _grown(subject["rows"]))
        ]


def _grown(rows: list[dict[str, Any]]) -> dict[str, dict[str, list[tuple[int, float]]]]:
    """Grown size -> contender -> [(size, CPU-seconds)]."""
    grown: dict[str, dict[str, list[tuple[int, float]]]] = {}
    for row in rows:
        if row["grows"] and "cpu" in row:
            lines = grown.setdefault(row["grows"], {})
            lines.setdefault(row["contender"], []).append((row["sizes"][row["grows"]], row["cpu"]))
    return grown


def _draw(name: str, grown: dict[str, dict[str, list[tuple[int, float]]]], path: Path) -> Path:
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(
        1, len(grown), figsize=(4.2 * len(grown), 4.2), sharey=True, squeeze=False
    )
    contenders = list(dict.fromkeys(c for lines in grown.values() for c in lines))
    for axis, (size, lines) in zip(axes[0], grown.items(), strict=True):
        for contender, points in lines.items():
            colour = COLOURS[contenders.index(contender) % len(COLOURS)]
            xs, ys = zip(*points, strict=True)
            axis.plot(xs, ys, "o-", color=colour, linewidth=2, markersize=5, label=contender)
        axis.set(xscale="log", yscale="log", xlabel=SIZE_NAMES[size])
        axis.grid(alpha=0.3)
        axis.spines[["top", "right"]].set_visible(False)
    axes[0][0].set_ylabel("CPU-seconds")
    handles = dict(
        pair
        for axis in axes[0]
        for pair in zip(*reversed(axis.get_legend_handles_labels()), strict=True)
    )
    figure.tight_layout()
    # Beside the axes, whatever its names are: the picture grows with it.
    beside = {"loc": "center left", "bbox_to_anchor": (1.0, 0.55), "frameon": False}
    figure.legend(handles.values(), handles.keys(), title=name, **beside)
    dated = {"metadata": {"Date": None}} if path.suffix == ".svg" else {}
    figure.savefig(path, bbox_inches="tight", pad_inches=0.25, **dated)
    plt.close(figure)
    return path

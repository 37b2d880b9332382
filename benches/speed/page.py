"""The table and the plots of one run."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

TITLES = {
    "selection": "Selection towards a target",
    "features": "Random Fourier features",
    "mmd": "Exact MMD²",
    "bids": "Best bid",
    "mwem": "MWEM",
    "offers": "Offers from a streamed file",
    "protocols": "Whole protocols",
}


def seconds(value: float | None) -> str:
    """Return seconds with three digits, in a readable unit."""
    if value is None:
        return ""
    for unit, scale in (("s", 1), ("ms", 1e-3)):
        if value >= scale:
            return f"{value / scale:.3g} {unit}"
    return f"{value / 1e-6:.3g} µs"


def table(run: dict[str, Any]) -> str:
    """Return the run as Markdown: machine, limits, one table a subject."""
    machine, limits = run["machine"], run["limits"]
    lines = [
        "# Speed",
        "",
        f"Printed by `{run['command']}` on {run['date']}. CPU seconds of all threads, the median "
        "of the runs given; ratio: CPU seconds over those of the first row of the same size.",
        "",
        "Machine: " + ", ".join(f"{key} {value}" for key, value in machine.items()) + ".",
        f"Measured limits of one thread: reading {limits['read'] / 1e9:.1f} GB/s; NumPy's matrix "
        f"product {limits['f32'] / 1e9:.0f} (float32) and {limits['f64'] / 1e9:.0f} (float64) "
        "Gflop/s. NumPy has one thread, the others as many as they like.",
    ]
    for subject, title in TITLES.items():
        rows = [row for row in run["rows"] if row["subject"] == subject]
        if not rows:
            continue
        lines += ["", f"## {title}", "", "| size | who | CPU | wall | runs | ratio | |"]
        lines += ["|---|---|---|---|---|---|---|"]
        base: dict[str, float] = {}
        for row in rows:
            size = ", ".join(f"{key} {value:,}" for key, value in row["size"].items())
            base.setdefault(size, row["cpu"] or float("nan"))
            ratio = f"{row['cpu'] / base[size]:.2f}" if row["cpu"] else ""
            notes = "; ".join(f"{key} {_plain(value)}" for key, value in row["extra"].items())
            lines.append(
                f"| {size} | {row['who']} | {seconds(row['cpu'])} | {seconds(row['wall'])} "
                f"| {row['repeats'] or ''} | {ratio} | {notes} |"
            )
    return "\n".join(lines) + "\n"


def _plain(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


# What each subject grows in, and what must then be equal for rows to be of one curve.
AXES = {"selection": "n", "features": "n", "mmd": "n", "offers": "n", "protocols": "n"}


def plot(run: dict[str, Any], folder: Path) -> None:
    """Draw CPU seconds against the number of rows, one picture."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 3, figsize=(11, 6.4), layout="constrained")
    for axis, (subject, key) in zip(axes.flat, AXES.items(), strict=False):
        curves: dict[str, list[tuple[int, float]]] = defaultdict(list)
        for row in run["rows"]:
            if (
                row["subject"] == subject
                and row["cpu"]
                and row["size"].get("p", 0) not in (50, 5000)
            ):
                if subject == "features" and row["size"]["d"] == 64:
                    continue
                name = row["who"] + (f", K {row['size']['K']}" if "K" in row["size"] else "")
                curves[name].append((row["size"][key], row["cpu"]))
        for name, points in curves.items():
            axis.plot(*zip(*sorted(points), strict=True), "o-", label=name, markersize=4)
        axis.set(xscale="log", yscale="log", title=TITLES[subject], xlabel="rows")
        axis.grid(alpha=0.3)
        axis.legend(fontsize=7)
    axes[0, 0].set_ylabel("CPU seconds")
    axes[1, 0].set_ylabel("CPU seconds")
    axes[1, 2].axis("off")
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / "speed.svg")
    plt.close(figure)

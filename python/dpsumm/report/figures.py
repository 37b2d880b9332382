"""The report's figures, as data URIs. No text from users enters them to break them."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsumm.errors import MissingExtraError
from dpsumm.report.thinned import thinned

INK, SOFT, LINE, GREY = "#1d2733", "#5a6775", "#dfe3e8", "#b9c0c8"
SUMMARY, TARGET = "#c8551b", "#2a6496"
# Values of the target from which its directions are computed: their cost grows with the square.
MOST_VALUES = 1_000_000
# Letters of a name on an axis.
_LONGEST = 18

Array = NDArray[Any]
# What `directions` returns.
Directions = tuple[Array, Array, Array]


def new_axes() -> Any:
    """Return matplotlib's axes in a new pyplot figure."""
    try:
        from matplotlib import pyplot
    except ImportError:
        raise MissingExtraError("plot needs matplotlib: pip install 'dpsumm[report]'") from None
    return pyplot.subplots(layout="constrained")[1]


def directions(target: Array) -> Directions:
    """Return where to look from to see the target's spread.

    Parameters
    ----------
    target : (m, c)

    Returns
    -------
    centre : (c,)
        Mean of the target.
    axes : (2, c) or (1, c)
        Orthonormal principal directions of the target. The columns themselves when c is 1 or 2.
    share : (2,) or (1,)
        Share of the target's variance along each, 0 to 1.
    """
    centre = np.asarray(target, np.float64).mean(axis=0)
    target = thinned(np.asarray(target, np.float64), max(MOST_VALUES // target.shape[1], 100))
    centred = target - centre
    if target.shape[1] <= 2:
        axes = np.eye(target.shape[1])
    else:
        axes = np.linalg.svd(centred, full_matrices=False)[2][:2]
    variance = ((centred @ axes.T) ** 2).sum(axis=0)
    total = (centred**2).sum()
    share = variance / total if total > 0 else np.zeros(len(axes))
    return centre, axes, share


def overlay(target: Array, summary: Array, pool: Array, seen: Directions | None = None) -> str:
    """Return a picture of target, summary and pool, see `draw_overlay`: PNG as a data URI."""
    flat = target.shape[1] == 1
    figure, axes = _canvas(3.9 if flat else 5.2)
    draw_overlay(axes, target, summary, pool, seen)
    _legend(figure)
    return _data_uri(figure, "png")


def draw_overlay(
    axes: Any, target: Array, summary: Array, pool: Array, seen: Directions | None = None
) -> None:
    """Draw target, summary and pool on matplotlib's axes, from the target's main directions.

    Parameters
    ----------
    target : (m, c)
    summary : (p, c)
    pool : (q, c)
        In one dimension cumulative shares are drawn instead of a cloud.
    """
    centre, directed, _ = directions(target) if seen is None else seen
    if len(directed) == 1:
        _shares(axes, target[:, 0], summary[:, 0], pool[:, 0])
        axes.set(xlabel="value", ylabel="share of points below")
        return
    few = len(summary) <= 150
    for points, label, style in (
        (pool, "points read", {"s": 9, "color": GREY, "linewidths": 0}),
        (target, "target", {"s": 13, "color": TARGET, "alpha": 0.6, "linewidths": 0}),
        (
            summary,
            "summary",
            {"s": 26 if few else 15, "marker": "D", "facecolors": "none",
             "edgecolors": SUMMARY, "linewidths": 1.1 if few else 0.9},
        ),
    ):  # fmt: skip
        shown = (thinned(np.asarray(points, np.float64)) - centre) @ directed.T
        axes.scatter(*shown.T, label=label, **style)
    axes.set(xlabel="first direction", ylabel="second direction")


def growth(curve: Array, fresh: float) -> str:
    """Return a picture of MMD^2 after each pick, on logarithmic axes.

    Parameters
    ----------
    curve : (p,)
        Values at or below 0 (rounding) are not drawn.
    fresh
        Expected figure of one record of the target's own distribution. Of t records it is a t-th.

    Returns
    -------
    str
        SVG as a data URI.
    """
    figure, axes = _canvas(3.9)
    size = np.arange(1, len(curve) + 1)
    drawn = np.asarray(curve) > 0
    marker = "o" if drawn.sum() == 1 else None
    axes.plot(
        size[drawn],
        np.asarray(curve)[drawn],
        color=SUMMARY,
        linewidth=2,
        marker=marker,
        label="summary",
    )
    if fresh > 0:
        axes.plot(
            size, fresh / size, color=TARGET, linewidth=1.5, linestyle="--", label="fresh records"
        )
    best = int(np.argmin(curve))
    if drawn[best] and best < len(curve) - 1:
        axes.plot(size[best], curve[best], "o", color=SUMMARY, markersize=7, label="closest")
    if drawn.any():
        axes.set_yscale("log")
    if len(curve) > 20:
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.grid(axis="y", color=LINE, linewidth=0.8)
    axes.set_xlabel("points in the summary")
    axes.set_ylabel("MMD² to the target")
    _legend(figure)
    return _data_uri(figure, "svg")


def matrix(values: Array, names: Sequence[str], shade: str) -> str:
    """Return a picture of a square matrix as shaded cells, with the names of rows and columns.

    Parameters
    ----------
    values : (d, d)
        From 0 up, the larger the darker (up to 0.05 all are light); NaN is grey, the diagonal is
        left empty.

    Returns
    -------
    str
        SVG as a data URI.
    """
    figure, axes = _canvas(5.6)
    size = len(values)
    drawn = np.ma.masked_invalid(np.where(np.eye(size, dtype=bool), np.nan, values))
    hidden = np.isnan(values) & ~np.eye(size, dtype=bool)
    largest = max(float(drawn.max()), 0.05) if drawn.count() else 1.0
    axes.imshow(np.where(hidden, 0.35, np.nan), cmap="Greys", vmin=0, vmax=1)
    seen = axes.imshow(drawn, cmap="Blues", vmin=0, vmax=largest)
    short = [name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…" for name in names]
    small = 9 if size <= 25 else 6
    axes.set_xticks(range(size), short, fontsize=small, rotation=60, ha="right", parse_math=False)
    axes.set_yticks(range(size), short, fontsize=small, parse_math=False)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    bar = figure.colorbar(seen, ax=axes, shrink=0.8)
    bar.set_label(shade, color=INK, fontsize=11)
    bar.ax.tick_params(labelsize=9, colors=SOFT)
    bar.outline.set_visible(False)
    return _data_uri(figure, "svg")


def spectrum(energies: Array, noise: float) -> str:
    """Return a picture of the energy along each direction, next to that of noise alone.

    Parameters
    ----------
    energies : (m,)
        Above 0. Drawn on a logarithmic axis.
    noise
        Expected of each if there is nothing else.

    Returns
    -------
    str
        SVG as a data URI.
    """
    figure, axes = _canvas(3.9)
    place = np.arange(1, len(energies) + 1)
    least = min(noise, float(np.min(energies, initial=noise))) / 2
    axes.bar(place, np.asarray(energies) - least, bottom=least, color=TARGET, width=0.7)
    axes.axhline(noise, color=SUMMARY, linewidth=2, label="noise alone, expected")
    axes.set_yscale("log")
    axes.set_ylim(bottom=least)
    axes.set_xlabel("direction")
    axes.set_ylabel("squared shares of votes")
    axes.xaxis.get_major_locator().set_params(integer=True)
    _legend(figure)
    return _data_uri(figure, "svg")


def _shares(axes: Any, target: Array, summary: Array, pool: Array) -> None:
    """Draw which share of each set's values lies below a value."""
    for values, color, label, width in (
        (pool, GREY, "points read", 1.5),
        (target, TARGET, "target", 2.5),
        (summary, SUMMARY, "summary", 1.2),
    ):
        axes.ecdf(thinned(values), color=color, label=label, linewidth=width)


def _canvas(height: float) -> tuple[Any, Any]:
    """Return a figure 6.4 inches wide (large type: it is also read on phones) and its axes."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("reports need matplotlib: pip install 'dpsumm[report]'") from None
    # The object interface: no global state, no window, safe in a thread.
    figure = Figure(figsize=(6.4, height), layout="constrained")
    axes = figure.subplots()
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(SOFT)
    axes.tick_params(colors=SOFT, labelsize=12)
    for axis in (axes.xaxis, axes.yaxis):
        axis.label.set(color=INK, fontsize=13)
    return figure, axes


def _legend(figure: Any) -> None:
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(
        handles,
        labels,
        loc="outside upper center",
        ncols=3,
        frameon=False,
        fontsize=12,
        markerscale=1.5,
    )


def _data_uri(figure: Any, kind: str) -> str:
    from matplotlib import rc_context

    buffer = io.BytesIO()
    metadata = {"Date": None} if kind == "svg" else {"Software": None}
    # Names inside the picture are of what it shows, not of chance: equal results, equal pages.
    with rc_context({"svg.hashsalt": "dpsumm"}):
        figure.savefig(buffer, format=kind, dpi=200, metadata=metadata)
    encoded = base64.b64encode(buffer.getvalue()).decode("ascii")
    return f"data:image/{'svg+xml' if kind == 'svg' else 'png'};base64,{encoded}"

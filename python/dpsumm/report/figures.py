"""The report's figures, as data URIs. No text from users enters them to break them."""

from __future__ import annotations

import base64
import io
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsumm.errors import MissingExtraError

INK, SOFT, LINE, GREY = "#1d2733", "#5a6775", "#dfe3e8", "#b9c0c8"
SUMMARY, TARGET = "#c8551b", "#2a6496"
# More marks than this only make a darker blot and a larger file.
MOST_SHOWN = 3000
# Panels of single coordinates.
MOST_PANELS = 12

Array = NDArray[Any]


def directions(target: Array) -> tuple[Array, Array, Array]:
    """Return where to look from to see the target's spread.

    Parameters
    ----------
    target : (m, c)

    Returns
    -------
    centre : (c,)
        Mean of the target.
    axes : (2, c) or (1, c)
        Orthonormal principal directions of the target; the columns themselves when c is 1 or 2.
    share : (2,) or (1,)
        Share of the target's variance along each, 0 to 1.
    """
    target = np.asarray(target, np.float64)
    centre = target.mean(axis=0)
    centred = target - centre
    if target.shape[1] <= 2:
        axes = np.eye(target.shape[1])
    else:
        axes = np.linalg.svd(centred, full_matrices=False)[2][:2]
    variance = ((centred @ axes.T) ** 2).sum(axis=0)
    total = (centred**2).sum()
    share = variance / total if total > 0 else np.zeros(len(axes))
    return centre, axes, share


def overlay(target: Array, summary: Array, pool: Array | None) -> str:
    """Return a picture of target, summary and pool, seen from the target's main directions.

    Parameters
    ----------
    target : (m, c)
    summary : (p, c)
    pool : (q, c) or None

    Returns
    -------
    str
        PNG as a data URI. In one dimension it shows cumulative shares instead of a cloud.
    """
    centre, axes, _ = directions(target)
    seen = [
        (np.asarray(points, np.float64) - centre) @ axes.T
        for points in (target, summary, pool if pool is not None else np.empty((0, len(centre))))
    ]
    if len(axes) == 1:
        return _cumulative(*(points[:, 0] + centre[0] for points in seen))
    return _cloud(*seen)


def columns(target: Array, summary: Array, pool: Array) -> tuple[str, list[int]]:
    """Return pictures of single coordinates, those where pool and target differ most first.

    Parameters
    ----------
    target, summary, pool : (m, c), (p, c), (q, c)

    Returns
    -------
    str
        SVG as a data URI: cumulative shares of the three sets, in numbered panels.
    list of int
        Coordinate of each panel, at most `MOST_PANELS`.
    """
    apart = [_largest_gap(pool[:, j], target[:, j]) for j in range(pool.shape[1])]
    order = np.argsort(-np.array(apart), kind="stable")[:MOST_PANELS]
    n_rows = -(-len(order) // 3)
    figure, _ = _canvas(0.5 + 1.75 * n_rows)
    figure.clear()
    panels = figure.subplots(n_rows, 3, squeeze=False, sharey=True).ravel()
    for panel in panels[len(order) :]:
        panel.set_axis_off()
    for number, (panel, j) in enumerate(zip(panels, order, strict=False), 1):
        for points, color, label, width in (
            (pool, GREY, "pool", 1.5),
            (target, TARGET, "target", 2.5),
            (summary, SUMMARY, "summary", 1.2),
        ):
            panel.ecdf(thinned(points[:, j]), color=color, label=label, linewidth=width)
        panel.set_title(str(number), fontsize=10, color=INK)
        panel.spines[["top", "right"]].set_visible(False)
        panel.spines[["left", "bottom"]].set_color(SOFT)
        panel.tick_params(colors=SOFT, labelsize=8)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=3, frameon=False)
    return _data_uri(figure, "svg"), order.tolist()


def _largest_gap(a: Array, b: Array) -> float:
    """Return the largest difference of cumulative shares (Kolmogorov-Smirnov distance)."""
    a, b = np.sort(a), np.sort(b)
    values = np.concatenate([a, b])
    shares = [np.searchsorted(part, values, side="right") / len(part) for part in (a, b)]
    return float(np.abs(shares[0] - shares[1]).max())


def growth(curve: Array) -> str:
    """Return a picture of MMD^2 after each pick, on logarithmic axes.

    Parameters
    ----------
    curve : (p,)
        Values at or below 0 (rounding) are not drawn.

    Returns
    -------
    str
        SVG as a data URI.
    """
    figure, axes = _canvas(3.9)
    size = np.arange(1, len(curve) + 1)
    drawn = np.asarray(curve) > 0
    marker = "o" if drawn.sum() == 1 else None
    axes.plot(size[drawn], np.asarray(curve)[drawn], color=SUMMARY, linewidth=2, marker=marker)
    if drawn.any():
        axes.set_yscale("log")
    if len(curve) > 20:
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.grid(axis="y", color=LINE, linewidth=0.8)
    axes.set_xlabel("points in the summary")
    axes.set_ylabel("MMD² to the target")
    return _data_uri(figure, "svg")


def thinned(points: Array) -> Array:
    """Return at most `MOST_SHOWN` of the points, evenly spaced in their order."""
    if len(points) <= MOST_SHOWN:
        return points
    rows = np.linspace(0, len(points) - 1, MOST_SHOWN).astype(np.int64)
    return np.asarray(points[rows])


def _cloud(target: Array, summary: Array, pool: Array) -> str:
    figure, axes = _canvas(5.2)
    if len(pool):
        axes.scatter(*thinned(pool).T, s=9, color=GREY, linewidths=0, label="pool")
    axes.scatter(*thinned(target).T, s=13, color=TARGET, alpha=0.6, linewidths=0, label="target")
    axes.scatter(
        *thinned(summary).T,
        s=26 if len(summary) <= 150 else 15,
        marker="D",
        facecolors="none",
        edgecolors=SUMMARY,
        linewidths=1.1 if len(summary) <= 150 else 0.9,
        label="summary",
    )
    axes.set_xlabel("first direction")
    axes.set_ylabel("second direction")
    _legend(axes)
    return _data_uri(figure, "png")


def _cumulative(target: Array, summary: Array, pool: Array) -> str:
    figure, axes = _canvas(3.9)
    for points, color, label, width in (
        (pool, GREY, "pool", 2.0),
        (target, TARGET, "target", 3.0),
        (summary, SUMMARY, "summary", 1.5),
    ):
        if len(points):
            axes.ecdf(points, color=color, label=label, linewidth=width)
    axes.set_xlabel("value")
    axes.set_ylabel("share of points below")
    _legend(axes)
    return _data_uri(figure, "png")


def _canvas(height: float) -> tuple[Any, Any]:
    """Return a figure 6.4 inches wide (large type: it is also read on phones) and its axes."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("reports need matplotlib: pip install 'dpsumm[report]'") from None
    # The object interface: no global state, no window, safe in a thread.
    figure = Figure(figsize=(6.4, height), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(SOFT)
    axes.tick_params(colors=SOFT, labelsize=12)
    axes.xaxis.label.set(color=INK, fontsize=13)
    axes.yaxis.label.set(color=INK, fontsize=13)
    return figure, axes


def _legend(axes: Any) -> None:
    axes.legend(
        loc="lower center",
        bbox_to_anchor=(0.5, 1.0),
        ncols=3,
        frameon=False,
        fontsize=13,
        markerscale=1.5,
        handletextpad=0.3,
    )


def _data_uri(figure: Any, kind: str) -> str:
    buffer = io.BytesIO()
    metadata = {"Date": None} if kind == "svg" else {"Software": None}
    figure.savefig(buffer, format=kind, dpi=200, metadata=metadata)
    encoded = base64.b64encode(buffer.getvalue()).decode("ascii")
    return f"data:image/{'svg+xml' if kind == 'svg' else 'png'};base64,{encoded}"

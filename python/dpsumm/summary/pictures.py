"""The pictures of a summary's report, each with the words that explain it."""

from __future__ import annotations

import base64
import io
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpsumm.basics.checks import counted
from dpsumm.errors import InvalidParameterError
from dpsumm.report import figures, parts
from dpsumm.report.numbers import percent
from dpsumm.report.panels import panels as draw_panels
from dpsumm.report.parts import Html, safe, tag
from dpsumm.report.thinned import MOST_SHOWN, thinned
from dpsumm.summary.by_column import chance, worst_first

if TYPE_CHECKING:
    from dpsumm.summary.result import Summary

MOST_PANELS = 12
MOST_IMAGES = 10


def by_column(summary: Summary) -> Html:
    """Return the columns, each with the distributions of target, summary and read points."""
    panels, rest = worst_first(summary, MOST_PANELS)
    n = (
        summary.scaled.shape[1]
        if summary.scaled.shape[1] != len(summary.schema.cells)
        else len(summary.columns)
    )
    usual = chance(len(summary), len(summary.target))
    text = (
        "Where orange follows blue, the summary is like the target. Gap: the largest difference "
        f"of cumulative shares, or the share that would have to change its category; up to "
        f"{percent(min(usual, 1.0))} is chance, with so few points and records."
    )
    if n > len(panels):
        text += (
            f" The {len(panels)} of {n:,} columns with the largest gaps are shown; those of the "
            f"others are {percent(rest)} at most."
        )
    heading = "Column by column, the largest gap first"
    return parts.section(heading, parts.intro(text), draw_panels(panels))


def gallery(summary: Summary, image: tuple[int, int]) -> Html:
    """Return points as grey images, each above the target record that is most like it."""
    height, width = image
    if height * width != summary.scaled.shape[1]:
        raise InvalidParameterError(
            f"image: {height} x {width} pixels are not the {summary.scaled.shape[1]} columns of "
            "the data. Give (height, width)"
        )
    low, high = float(summary.target.min()), float(summary.target.max())
    chosen = thinned(np.arange(len(summary)), MOST_IMAGES)

    def drawn(row: NDArray[np.float64], kind: str, alt: str) -> Html:
        bright = np.clip((row - low) / max(high - low, 1e-300), 0.0, 1.0)
        grey = np.rint(255 * bright).astype(np.uint8).reshape(height, width)
        return Html(f'<img src="{safe(png(grey))}" alt="{alt}" class="{kind}">')

    shown = []
    for point in summary.scaled[chosen]:
        nearest = int(np.square(summary.target - point).sum(axis=1).argmin())
        above = drawn(point, "summary", "a point of the summary, as an image")
        below = drawn(summary.target[nearest], "target", "the target record most like it")
        shown.append(tag("div", above, below))
    text = (
        f"{len(shown)} of the {len(summary):,} points, from the first picked to the last, framed "
        "orange; below each, framed blue, the target record most like it."
    )
    return parts.section(
        "Picked points beside the target", parts.intro(text), tag("div", *shown, class_="pairs")
    )


def png(grey: NDArray[np.uint8]) -> str:
    """Return an image (height, width), 0 black to 255 white, as a PNG's data URI."""
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(grey).save(file, "PNG")
    return f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode('ascii')}"


def overlay(summary: Summary) -> Html:
    """Return the cloud of target, summary and read points."""
    seen = figures.directions(summary.target)
    return parts.figure(
        figures.overlay(summary.target, summary.scaled, summary.pool.scaled, seen),
        f"Cloud of {len(summary.target):,} target points with the {len(summary):,} points of "
        "the summary and the points read, which they were chosen from.",
        _overlay_caption(summary, seen),
    )


def _overlay_caption(summary: Summary, seen: figures.Directions) -> str:
    _, axes, share = seen
    marks = "Blue dots: target; orange diamonds: summary; grey: all points the curator read."
    most = MOST_SHOWN
    if max(len(summary.target), len(summary), len(summary.pool)) > most:
        marks += f" At most {most:,} of each are drawn."
    if len(axes) == 1:
        return (
            f"Share of points up to a value of {summary.schema.cells[0]}: target blue, summary "
            "orange, all points read grey."
        )
    if len(summary.schema.cells) == 2:
        across, up = summary.schema.cells
        return f"{marks} Across: {across}; up: {up}."
    return (
        f"{marks} Seen from the two directions in which the target varies most (principal "
        f"components; {share[0]:.0%} and {share[1]:.0%} of its variance), in the kernel's units."
    )


def growth(summary: Summary) -> Html:
    """Return how the distance falls with each point, next to what fresh records would give."""
    return parts.figure(
        figures.growth(summary.curve, summary.scale.fresh * len(summary)),
        f"Line: MMD squared goes from {summary.curve[0]:.3g} with one point to "
        f"{summary.curve[-1]:.3g} with {len(summary):,}.",
        "Orange: MMD² between the first points picked and the target. Dashed: what as many fresh "
        "target records would be expected to give. The line is measured on the target records "
        f"given, which the points were fitted to: add their sampling error, "
        f"{summary.scale.sampling:.3g}, to compare.{_closest(summary)}",
    )


def _closest(summary: Summary) -> str:
    """Say so when fewer points would have been clearly closer: the owners had no more that fit."""
    best = int(np.argmin(summary.curve))
    if summary.curve[best] > 0.9 * summary.curve[-1]:
        return ""
    points = counted(best + 1, "point", "points")
    return (
        f" The dot: the first {points} are closer ({summary.curve[best]:.3g}) than all "
        f"{len(summary):,} ({summary.curve[-1]:.3g}). The points read had no more that fit as "
        f"well; ask for fewer, read more (reads_per_record), or keep the first {best + 1:,}."
    )

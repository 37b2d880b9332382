"""How values are distributed in several sets of records, a small panel for each column."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpsumm.report.notes import Severity
from dpsumm.report.numbers import percent
from dpsumm.report.parts import Html, tag

WIDE, HIGH = 240, 80
# The sets, in the order in which they are drawn, with their classes of the style sheet.
SETS = ("pool", "target", "summary")
_COLOURS = {Severity.INFO: "soft", Severity.WARNING: "doubtful", Severity.ALARM: "bad"}


@dataclass(frozen=True)
class Bins:
    """Shares of numbers, from left to right.

    Attributes
    ----------
    shares : (3, number of bins)
        Of the points read, the target and the summary; each row adds up to 1 at most.
    """

    shares: NDArray[np.float64]
    ticks: tuple[str, str, str]


@dataclass(frozen=True)
class Categories:
    """Shares of categories, see `Bins`.

    Attributes
    ----------
    shares : (3, number of categories)
        As of `Bins`.
    """

    shares: NDArray[np.float64]
    names: tuple[str, ...]


@dataclass(frozen=True)
class Panel:
    """One column."""

    title: str
    said: str
    drawn: Bins | Categories
    severity: Severity = Severity.INFO


def panels(shown: Iterable[Panel]) -> Html:
    """Return panels side by side, as many in a row as there is room for, under a legend."""
    legend = tag(
        "p",
        *(
            tag("span", name, class_=f"key {kind}")
            for kind, name in zip(SETS, ("points read", "target", "summary"), strict=True)
        ),
        class_="legend",
    )
    return tag("div", legend, tag("div", *map(_panel, shown), class_="panels"))


def _panel(panel: Panel) -> Html:
    drawn = panel.drawn
    picture = _bins(drawn, panel.title) if isinstance(drawn, Bins) else _categories(drawn)
    title, said = tag("h3", panel.title), tag("p", panel.said, class_=_COLOURS[panel.severity])
    return tag("section", title, said, picture, class_="panel")


def _bins(drawn: Bins, title: str) -> Html:
    largest = float(drawn.shares.max()) or 1.0
    lines = [
        tag(
            "path",
            class_=kind,
            d=_outline(row / largest, closed=kind == "target"),
            vector_effect="non-scaling-stroke",
        )
        for kind, row in zip(SETS, drawn.shares, strict=True)
    ]
    low, middle, high = drawn.ticks
    picture = tag(
        "svg",
        *lines,
        viewBox=f"0 0 {WIDE} {HIGH}",
        preserveAspectRatio="none",
        role="img",
        aria_label=f"Shares of {title} from {low} to {high}: points read, target, summary.",
    )
    ticks = tag("div", *(tag("span", tick) for tick in (low, middle, high)), class_="ticks")
    return tag("div", picture, ticks)


def _outline(heights: NDArray[np.float64], *, closed: bool) -> str:
    """Return the path around bars of these heights, 0 to 1."""
    places = np.linspace(0, WIDE, len(heights) + 1)
    tops = HIGH - 1 - (HIGH - 3) * heights
    steps = "".join(f"V{top:.1f}H{right:.1f}" for top, right in zip(tops, places[1:], strict=True))
    return f"M0 {HIGH - 1}{steps}V{HIGH - 1}{'Z' if closed else ''}"


def _categories(drawn: Categories) -> Html:
    largest = float(drawn.shares.max()) or 1.0
    rows = (
        tag(
            "div",
            tag("span", name, class_="name"),
            tag("span", *(_bar(k, s, largest) for k, s in zip(SETS, shares, strict=True))),
            class_="category",
        )
        for name, shares in zip(drawn.names, drawn.shares.T.tolist(), strict=True)
    )
    return tag("div", *rows)


def _bar(kind: str, share: float, largest: float) -> Html:
    return tag(
        "i", class_=kind, style=f"width:{100 * share / largest:.1f}%", title=f"{percent(share)}"
    )


def shortened(names: Sequence[str], most: int = 24) -> tuple[str, ...]:
    """Return names of at most so many characters."""
    return tuple(name if len(name) <= most else f"{name[: most - 1]}…" for name in names)

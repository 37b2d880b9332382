"""How values are distributed in several sets of records, a small panel for each column."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np
from numpy.typing import NDArray

from dpsumm.data.kinds.items import EPOCH
from dpsumm.report.notes import Severity
from dpsumm.report.numbers import percent
from dpsumm.report.parts import Html, tag

WIDE, HIGH = 240, 80
# The sets, in the order in which they are drawn: their classes of the style sheet, and names.
SETS = {"pool": "points read", "target": "target", "summary": "summary"}
MOST_BARS = 8
_COLOURS = {Severity.INFO: "soft", Severity.WARNING: "doubtful", Severity.ALARM: "bad"}


@dataclass(frozen=True)
class Bins:
    """Shares of numbers, from left to right.

    Attributes
    ----------
    shares : (sets, number of bins)
        A row for each set, such as the read points, the target and the summary. It adds up to at
        most 1.
    """

    shares: NDArray[np.float64]
    ticks: tuple[str, str, str]


@dataclass(frozen=True)
class Categories:
    """Shares of categories, see `Bins`.

    Attributes
    ----------
    shares : (sets, number of categories)
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


def panels(shown: Iterable[Panel], sets: Mapping[str, str] = SETS) -> Html:
    """Return panels side by side, as many in a row as there is room for, under a legend."""
    names = (tag("span", name, class_=f"key {kind}") for kind, name in sets.items())
    legend = tag("p", *names, class_="legend")
    return tag("div", legend, tag("div", *(_panel(one, sets) for one in shown), class_="panels"))


def most_frequent(shares: NDArray[np.float64], names: Sequence[str]) -> Categories:
    """Return the most frequent categories, and all others as one."""
    names = shortened(names)
    if len(names) <= MOST_BARS:
        return Categories(shares, names)
    order = np.argsort(-shares.max(axis=0), kind="stable")
    kept, rest = np.sort(order[: MOST_BARS - 1]), order[MOST_BARS - 1 :]
    together = np.column_stack([shares[:, kept], shares[:, rest].sum(axis=1)])
    return Categories(together, (*(names[i] for i in kept), f"{len(rest):,} others"))


def histogram(
    sets: Sequence[NDArray[np.float64]], low: float, high: float, bins: int, *, is_date: bool
) -> Bins:
    """Return shares of numbers or days between two limits, those beyond at the ends.

    Examples
    --------
    >>> histogram([np.arange(6.0)], 0, 5, 3, is_date=False).shares.round(2).tolist()
    [[0.33, 0.33, 0.33]]
    """
    if not low < high:
        low, high = low - 0.5, high + 0.5
    edges = np.linspace(low, high, bins + 1, dtype=np.float64)
    if all((x == np.floor(x)).all() for x in sets):
        # As many whole numbers in each, or an even column would look uneven.
        low, high = math.floor(low), math.ceil(high)
        many = high - low + 1
        width = math.ceil(many / bins)
        edges = low - 0.5 + width * np.arange(math.ceil(many / width) + 1, dtype=np.float64)
        high = low + width * (len(edges) - 1) - 1
    shares = np.array(
        [np.histogram(np.clip(x, low, high), edges)[0] / max(len(x), 1) for x in sets]
    )
    ticks = tuple(tick(x, is_date=is_date) for x in (low, (low + high) / 2, high))
    return Bins(shares, (ticks[0], ticks[1], ticks[2]))


def tick(value: float, *, is_date: bool) -> str:
    """Return a number, or a day since 1970-01-01, as an axis has it."""
    if is_date:
        return date.fromordinal(round(value) + EPOCH).isoformat()
    return f"{value:,.0f}" if 100 <= abs(value) < 1e6 else f"{value:.3g}"


def _panel(panel: Panel, sets: Mapping[str, str]) -> Html:
    drawn = panel.drawn
    if isinstance(drawn, Bins):
        picture = _bins(drawn, panel.title, sets)
    else:
        picture = _categories(drawn, sets)
    title, said = tag("h3", panel.title), tag("p", panel.said, class_=_COLOURS[panel.severity])
    return tag("section", title, said, picture, class_="panel")


def _bins(drawn: Bins, title: str, sets: Mapping[str, str]) -> Html:
    largest = float(drawn.shares.max()) or 1.0
    lines = [
        tag(
            "path",
            class_=kind,
            d=_outline(row / largest, closed=kind == "target"),
            vector_effect="non-scaling-stroke",
        )
        for kind, row in zip(sets, drawn.shares, strict=True)
    ]
    low, middle, high = drawn.ticks
    picture = tag(
        "svg",
        *lines,
        viewBox=f"0 0 {WIDE} {HIGH}",
        preserveAspectRatio="none",
        role="img",
        aria_label=f"Shares of {title} from {low} to {high}: {', '.join(sets.values())}.",
    )
    ticks = tag("div", *(tag("span", tick) for tick in (low, middle, high)), class_="ticks")
    return tag("div", picture, ticks)


def _outline(heights: NDArray[np.float64], *, closed: bool) -> str:
    """Return the path around bars of these heights, 0 to 1."""
    places = np.linspace(0, WIDE, len(heights) + 1)
    tops = HIGH - 1 - (HIGH - 3) * heights
    steps = "".join(f"V{top:.1f}H{right:.1f}" for top, right in zip(tops, places[1:], strict=True))
    return f"M0 {HIGH - 1}{steps}V{HIGH - 1}{'Z' if closed else ''}"


def _categories(drawn: Categories, sets: Mapping[str, str]) -> Html:
    largest = float(drawn.shares.max()) or 1.0
    rows = (
        tag(
            "div",
            tag("span", name, class_="name"),
            tag("span", *(_bar(k, s, largest) for k, s in zip(sets, shares, strict=True))),
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

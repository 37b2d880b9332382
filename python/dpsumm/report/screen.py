"""The first screen of a page: the answer, who saw what, and what to do next."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dpsumm.privacy.guarantees import Used
from dpsumm.report import parts
from dpsumm.report.notes import shown_notes
from dpsumm.report.numbers import round_up, small
from dpsumm.report.parts import Html, safe, tag

# Places of the flow picture, in its own units: boxes and the gaps between their middles.
_BOX, _GAP, _TOP, _HIGH, _LINE = 96, 34, 48, 52, 14
# Letters of a line that have room over a gap.
_LETTERS = 20


@dataclass(frozen=True)
class Flow:
    """Three parties in a row, and what goes from each to the next.

    Attributes
    ----------
    parties
        Name of each, and a line about it.
    there
        What the first sends the second, and the second the third.
    back
        What the second sends the first, and the third the second. Empty: nothing.
    """

    parties: tuple[tuple[str, str], tuple[str, str], tuple[str, str]]
    there: tuple[str, str]
    back: tuple[str, str] = ("", "")

    @property
    def said(self) -> str:
        """The picture in words, for who cannot see it."""
        names = [name for name, _ in self.parties]
        ways = [
            *((names[i], names[i + 1], text) for i, text in enumerate(self.there)),
            *((names[i + 1], names[i], text) for i, text in enumerate(self.back)),
        ]
        return ". ".join(f"{one} to {other}: {text}" for one, other, text in ways if text) + "."


def flow(shown: Flow) -> Html:
    """Return a picture of the messages."""
    step = _BOX + _GAP
    marks = []
    for i, (name, about) in enumerate(shown.parties):
        x, middle = i * step, i * step + _BOX / 2
        marks.append(
            f'<rect x="{x}" y="{_TOP}" width="{_BOX}" height="{_HIGH}" rx="6"/>'
            + _text([textwrap.shorten(name, 15, placeholder="…")], middle, _TOP + 22, "name")
            + _text([textwrap.shorten(about, 18, placeholder="…")], middle, _TOP + 38, "soft")
        )
    for i, (there, back) in enumerate(zip(shown.there, shown.back, strict=True)):
        left, right = i * step + _BOX + 3, (i + 1) * step - 3
        middle = (left + right) / 2
        if there:
            lines = textwrap.wrap(there, _LETTERS)
            marks.append(_arrow(left, right, _TOP + 17))
            marks.append(_text(lines, middle, _TOP - 8 - _LINE * (len(lines) - 1), "soft"))
        if back:
            marks.append(_arrow(right, left, _TOP + 35))
            marks.append(_text(textwrap.wrap(back, _LETTERS), middle, _TOP + _HIGH + 18, "soft"))
    width, height = 3 * _BOX + 2 * _GAP, _TOP + _HIGH + (_TOP if any(shown.back) else 4)
    return Html(
        f'<svg class="flow" viewBox="-1 0 {width + 2} {height}" role="img" '
        f'aria-label="{safe(shown.said)}">{"".join(marks)}</svg>'
    )


def _arrow(start: float, end: float, y: float) -> str:
    back = math.copysign(6, start - end)
    return f'<path d="M{start} {y}H{end}M{end + back} {y - 4}L{end} {y}L{end + back} {y + 4}"/>'


def _text(lines: Sequence[str], x: float, y: float, kind: str) -> str:
    return "".join(
        f'<text class="{kind}" x="{x:g}" y="{y + i * _LINE:g}">{safe(line)}</text>'
        for i, line in enumerate(lines)
    )


def odds(who: str, what: str, epsilon: float, delta: float) -> list[Html]:
    """Return the meaning of a budget as a paragraph, or nothing if epsilon is infinite.

    A guess between two equally likely neighbouring worlds is right with probability
    ``(e^epsilon + delta) / (1 + e^epsilon)`` at most, which is rounded up.

    Examples
    --------
    >>> "73.2% of the time" in odds("An owner", "one of your records", 1.0, 1e-5)[0]
    True
    >>> odds("An owner", "one of your records", float("inf"), 1e-5)
    []
    """
    if not math.isfinite(epsilon):
        return []
    right = (1 + delta * math.exp(-epsilon)) / (1 + math.exp(-epsilon))
    most = min(math.ceil(1000 * right) / 10, 100.0)
    start = safe(f"{who} who guesses a fact about {what} at even odds is right at most")
    return [tag("p", Html(f"{start}\n<strong>{most:g}% of the time</strong>."))]


def big(value: str, what: str) -> Html:
    """Return one number that answers the question, with its meaning."""
    return tag("p", tag("b", value), tag("span", what), class_="big")


def meter(used: Used) -> Html:
    """Return the spent share of a cap as a bar, with its figures."""
    whose = {"target": "your records", "owners": "the owners' records"}
    text = (
        f"Budget of {whose.get(used.protected, 'the records')}: ε {round_up(used.epsilon)} of "
        f"{used.cap[0]:g} used, delta {small(used.delta)} of {small(used.cap[1])}."
    )
    full = tag("i", style=f"width:{100 * min(used.share, 1):.0f}%")
    return Html(tag("p", text) + tag("div", full, class_="meter", aria_hidden="true"))


def first_screen(
    question: str,
    answer: Iterable[Html],
    seen: Iterable[Html],
    steps: Iterable[str],
    warnings: Iterable[str],
    *,
    seeded: bool,
    used: Sequence[Used] = (),
) -> list[Html]:
    """Return the three cards that a reader sees first, under the alarms.

    Parameters
    ----------
    question, answer
        Title and content of the first card.
    seen
        Content of the second, on who saw what.
    steps
        What to do next, after the notes. Parts in backquotes are code.
    warnings
        The run's notes. Alarms stand over all cards, the first warnings among the steps.
    used
        The spent shares of the caps, for the second card.
    """
    alarms, first, rest = shown_notes(warnings, seeded=seeded)
    items = [*first, *(tag("p", parts.worded(step)) for step in steps)]
    cards = (
        (question, answer),
        ("Who saw what?", [*seen, *map(meter, used)]),
        ("What next?", [tag("ol", *(tag("li", item) for item in items)), *rest]),
    )
    return [
        *alarms,
        tag(
            "div",
            *(
                tag("section", tag("h2", f"{i}. {title}"), *content, class_="card")
                for i, (title, content) in enumerate(cards, 1)
            ),
            class_="screen",
        ),
    ]

"""Parts of a self-contained HTML page, made of elements that escape the text they are given."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import resources
from string import Template

from dpsumm import __version__
from dpsumm.basics.visible import visible


class Html(str):
    """Markup, escaped already."""

    __slots__ = ()


def tag(name: str, *content: str, **attributes: str) -> Html:
    """Return an element. Content and attributes are escaped, unless they are `Html`."""
    said = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{safe(value)}"' for key, value in attributes.items()
    )
    return Html(f"<{name}{said}>{safe(*content)}</{name}>")


def safe(*content: str) -> Html:
    """Return texts, with everything escaped that means something in HTML, and elements as one."""
    return Html("\n".join(x if isinstance(x, Html) else html.escape(visible(x)) for x in content))


def page(what: str, audience: str, headline: str, lead: Html, *content: Html) -> str:
    """Return the page: style, opening, content, and a footer with version and time."""
    template = resources.files("dpsumm.report").joinpath("template.html").read_text("utf-8")
    now = datetime.now(UTC)
    return Template(template).substitute(
        title=safe(f"{headline} ({what})"),
        content=safe(
            tag("p", audience, class_="over"), tag("h1", headline), tag("p", lead), *content
        ),
        footer=safe(f"dpsumm {__version__}, {now:%d %B %Y, %H:%M} UTC"),
    )


def tiles(figures: Iterable[tuple[str, str]]) -> Html:
    """Return figures in a row, each with its meaning."""
    each = (
        tag("div", tag("b", value), tag("span", what), class_="tile") for value, what in figures
    )
    return tag("div", *each, class_="tiles")


def worded(text: str) -> Html:
    """Return a message, its parts in backquotes as code."""
    parts = re.split("`([^`]+)`", text)
    return Html("".join(tag("code", x) if i % 2 else safe(x) for i, x in enumerate(parts)))


def note(text: str) -> Html:
    """Return the notes to read before relying on the rest."""
    return tag("div", tag("p", worded(text)), class_="note")


def alarm(call: str, text: str) -> Html:
    """Return a note that cannot be missed."""
    return tag("div", tag("p", tag("strong", call), worded(text)), class_="note alarm")


def warning(call: str, text: str) -> Html:
    """Return a note that takes nothing back and is to be looked at all the same."""
    return tag("div", tag("p", tag("strong", call), worded(text)), class_="note warning")


def section(heading: str, *content: Html) -> Html:
    """Return content under a heading."""
    return safe(tag("h2", heading), *content)


def appendix(heading: str, *content: Html) -> Html:
    """Return content under a heading that unfolds it. On paper it is unfolded."""
    return tag("details", tag("summary", tag("h2", heading)), *content, class_="appendix")


def intro(text: str) -> Html:
    """Return the paragraph that says how to read what follows."""
    return tag("p", text, class_="soft")


def folded(title: str, *content: Html) -> Html:
    """Return content that a click on its title unfolds."""
    return tag("details", tag("summary", title), *content)


def listed(texts: Iterable[str]) -> Html:
    """Return sentences as a list."""
    return tag("ul", *(tag("li", text) for text in texts))


def figure(source: str, alt: str, caption: str) -> Html:
    """Return a picture from a data URI of `dpsumm.report.figures`."""
    picture = Html(f'<img src="{safe(source)}" alt="{safe(alt)}">')
    return tag("figure", picture, tag("figcaption", caption))


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Html:
    """Return a table that becomes a stack of labelled cells on a narrow screen."""
    head = tag("tr", *(tag("th", text, scope="col") for text in heads))
    body = (
        tag("tr", *(tag("td", text, data_label=h) for h, text in zip(heads, row, strict=True)))
        for row in rows
    )
    return tag("table", tag("thead", head), tag("tbody", *body), class_="stack")


def facts(rows: Iterable[tuple[str, str]]) -> Html:
    """Return names with their values."""
    body = (tag("tr", tag("th", name, scope="row"), tag("td", text)) for name, text in rows)
    return tag("table", tag("tbody", *body))


@dataclass(frozen=True)
class Bar:
    """One row of `bars`."""

    name: str
    value: float
    said: str
    small: str = ""
    kind: str = ""


def bars(rows: Iterable[Bar], largest: float) -> Html:
    """Return bars of lengths in proportion, full from `largest` on."""
    return tag("div", *(_bar(row, largest) for row in rows), class_="bars", role="list")


def _bar(row: Bar, largest: float) -> Html:
    share = min(row.value / largest, 1.0) if largest > 0 else float(math.isinf(row.value))
    bar = tag("div", class_="bar", style=f"width:{100 * share:.2f}%")
    small = [tag("small", row.small)] if row.small else []
    track, said = tag("div", bar, class_="track"), tag("div", row.said, *small, class_="said")
    return safe(
        tag("div", row.name, class_="who"),
        tag("div", track, said, class_=f"what {row.kind}", role="listitem"),
    )

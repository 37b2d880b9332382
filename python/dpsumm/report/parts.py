"""Parts of a self-contained HTML page.

They escape the text they are given; `Html` is escaped already, and the type checker tells the two
apart.
"""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import resources
from string import Template
from typing import NewType

from dpsumm import __version__

Html = NewType("Html", str)


def safe(text: str) -> Html:
    """Return the text with everything escaped that means something in HTML."""
    return Html(html.escape(text, quote=True))


def page(title: str, *content: Html) -> str:
    """Return the page: style, content, and a footer with version and time."""
    template = resources.files("dpsumm.report").joinpath("template.html").read_text("utf-8")
    now = datetime.now(UTC)
    return Template(template).substitute(
        title=safe(title),
        content=_lines(content),
        footer=f"dpsumm {safe(__version__)}, {now:%d %B %Y, %H:%M} UTC",
    )


def opening(audience: str, headline: str, lead: Html) -> Html:
    """Return the head of the content: for whom it is, its one message, what was asked."""
    return Html(f'<p class="over">{safe(audience)}</p>\n<h1>{safe(headline)}</h1>\n<p>{lead}</p>')


def tiles(figures: Iterable[tuple[str, str]]) -> Html:
    """Return figures in a row, each with what it means."""
    body = _lines(
        Html(f'<div class="tile"><b>{safe(figure)}</b><span>{safe(text)}</span></div>')
        for figure, text in figures
    )
    return Html(f'<div class="tiles">\n{body}\n</div>')


def note(text: str) -> Html:
    """Return what a reader should know before relying on the rest."""
    return Html(f'<div class="note"><p>{safe(text)}</p></div>')


def alarm(call: str, text: str) -> Html:
    """Return a note that cannot be missed."""
    return Html(f'<div class="note alarm"><p><strong>{safe(call)}</strong> {safe(text)}</p></div>')


def section(heading: str, *content: Html) -> Html:
    """Return content under a heading."""
    return Html(f"\n<h2>{safe(heading)}</h2>\n{_lines(content)}")


def intro(text: str) -> Html:
    """Return the paragraph that says how to read what follows."""
    return Html(f'<p class="soft">{safe(text)}</p>')


def listed(texts: Iterable[str]) -> Html:
    """Return sentences as a list."""
    return Html(f"<ul>\n{_lines(Html(f'<li>{safe(text)}</li>') for text in texts)}\n</ul>")


def figure(source: str, alt: str, caption: str) -> Html:
    """Return a picture from a data URI of `dpsumm.report.figures`."""
    return Html(
        f'<figure>\n<img src="{safe(source)}" alt="{safe(alt)}">\n'
        f"<figcaption>{safe(caption)}</figcaption>\n</figure>"
    )


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Html:
    """Return a table that becomes a stack of labelled cells on a narrow screen."""
    head = "".join(f'<th scope="col">{safe(text)}</th>' for text in heads)
    body = _lines(
        Html(
            "<tr>"
            + "".join(
                f'<td data-label="{safe(head)}">{safe(cell)}</td>'
                for head, cell in zip(heads, row, strict=True)
            )
            + "</tr>"
        )
        for row in rows
    )
    return Html(
        f'<table class="stack"><thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table>'
    )


def facts(rows: Iterable[tuple[str, str]]) -> Html:
    """Return names with their values."""
    body = _lines(
        Html(f'<tr><th scope="row">{safe(name)}</th><td>{safe(text)}</td></tr>')
        for name, text in rows
    )
    return Html(f"<table>\n<tbody>\n{body}\n</tbody>\n</table>")


@dataclass(frozen=True)
class Bar:
    """One row of `bars`.

    Attributes
    ----------
    name, said, small
        Text before the bar, after it, and under that.
    value
        From 0 up; infinity is a full bar.
    kind
        Class of the style sheet: ``target``, ``owners`` or ``endless``.
    """

    name: str
    value: float
    said: str
    small: str = ""
    kind: str = ""


def bars(rows: Iterable[Bar], largest: float) -> Html:
    """Return bars of lengths in proportion; those of `largest` and more are full."""
    return Html(
        f'<div class="bars" role="list">\n{_lines(_bar(row, largest) for row in rows)}\n</div>'
    )


def _bar(row: Bar, largest: float) -> Html:
    share = min(row.value / largest, 1.0) if largest > 0 else float(math.isinf(row.value))
    more = f"<small>{safe(row.small)}</small>" if row.small else ""
    return Html(
        f'<div class="who">{safe(row.name)}</div>'
        f'<div class="what {row.kind}" role="listitem"><div class="track">'
        f'<div class="bar" style="width:{100 * share:.2f}%"></div></div>'
        f'<div class="said">{safe(row.said)}{more}</div></div>'
    )


def _lines(parts: Iterable[Html]) -> Html:
    return Html("\n".join(parts))

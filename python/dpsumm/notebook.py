"""How results show themselves in a notebook: small tables, escaped, with no style of their own."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape


def facts(title: str, rows: Iterable[tuple[str, str]], said: Iterable[str] = ()) -> str:
    """Return HTML of names with their values under a title, then sentences as a list.

    Parameters
    ----------
    title, rows, said
        Text; escaped here.
    """
    body = "".join(
        f'<tr><th style="text-align:left">{escape(name)}</th>'
        f'<td style="text-align:left">{escape(value)}</td></tr>'
        for name, value in rows
    )
    sentences = "".join(f"<li>{escape(text)}</li>" for text in said)
    return (
        f"<div><p><strong>{escape(title)}</strong></p><table>{body}</table>"
        f"{f'<ul>{sentences}</ul>' if sentences else ''}</div>"
    )


class Page:
    """A self-contained HTML page, which a notebook shows in a frame.

    Attributes
    ----------
    html
        The page as text.
    """

    def __init__(self, html: str) -> None:
        self.html = html

    def __repr__(self) -> str:
        return f"Page({len(self.html):,} characters of HTML)"

    def _repr_html_(self) -> str:
        # Nothing of the page may run or reach the notebook around it.
        return (
            f'<iframe srcdoc="{escape(self.html)}" sandbox="" title="report" '
            'style="width:100%;height:44rem;border:1px solid #dfe3e8"></iframe>'
        )

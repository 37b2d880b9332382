"""Small tables of names and values for notebooks: escaped, with no style of their own."""

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

"""Figures for readers, and small tables of names and values for notebooks, without a style."""

from __future__ import annotations

import math
from collections.abc import Iterable
from html import escape

from dpsumm.basics.visible import visible


def rounded_up(epsilon: float) -> str:
    """Return an epsilon for a sentence, with four decimals at most and never rounded down."""
    if math.isinf(epsilon):
        return "inf"
    # A ten-billionth above a figure is rounding, by which the accountant is above the truth anyway.
    return f"{math.ceil(epsilon * 1e4 - 1e-6) / 1e4:.4f}".rstrip("0").rstrip(".")


def facts(title: str, rows: Iterable[tuple[str, str]], said: Iterable[str] = ()) -> str:
    """Return HTML of names with their values under a title, then sentences as a list."""
    body = "".join(
        f'<tr><th style="text-align:left">{_safe(name)}</th>'
        f'<td style="text-align:left">{_safe(value)}</td></tr>'
        for name, value in rows
    )
    sentences = "".join(f"<li>{_safe(text)}</li>" for text in said)
    return (
        f"<div><p><strong>{_safe(title)}</strong></p><table>{body}</table>"
        f"{f'<ul>{sentences}</ul>' if sentences else ''}</div>"
    )


def _safe(text: str) -> str:
    return escape(visible(text))

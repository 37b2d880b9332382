"""Numbers and tables as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from evidence.ratios import Ratio


def number(value: float) -> str:
    """Return three digits, or the whole number."""
    return f"{value:.3g}" if value < 10 else f"{value:.0f}"


def cell(found: Ratio | None) -> str:
    """Return a ratio with its interval."""
    if found is None:
        return ""
    if np.isnan(found.low):
        return number(found.value)
    if np.isinf(found.high):
        return f"{number(found.value)} (not determined)"
    return f"{number(found.value)} ({number(found.low)} to {number(found.high)})"


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)

"""Numbers as a reader meets them."""

from __future__ import annotations

import math


def round_up(figure: float) -> str:
    """Return an epsilon for a reader: four significant digits, never rounded down."""
    if math.isinf(figure):
        return "∞"
    if figure == 0:
        return "0"
    step = 10.0 ** (math.floor(math.log10(figure)) - 3)
    # The accountant has already rounded up by a billionth: 1.0000000005 is still shown as 1.
    shown = math.ceil(figure / step - 1e-5) * step
    return f"{shown:,.0f}" if shown >= 1000 else f"{shown:.4g}"


def advised(epsilon: float) -> str:
    """Return an epsilon that would do, for a reader: two digits, never rounded down."""
    if math.isinf(epsilon):
        return "∞"
    step = 10.0 ** (math.floor(math.log10(epsilon)) - 1)
    return f"{math.ceil(epsilon / step - 1e-9) * step:.3g}"


def percent(share: float) -> str:
    """Return a share of 0 to 1 in percent, below a tenth with one decimal."""
    return f"{share:.1%}" if 0 < share < 0.1 else f"{share:.0%}"


def small(figure: float) -> str:
    """Return a small number, such as a delta, for a page: 1e-5, without the zero of 1e-05.

    With a hyphen at which no line is broken.
    """
    return f"{figure:g}".replace("e-0", "e-").replace("-", "\u2011")

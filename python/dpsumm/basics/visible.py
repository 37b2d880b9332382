"""Words that others choose, as a terminal, a log and a page show them."""

from __future__ import annotations

import logging
import re

# What a terminal obeys, line ends of Unicode, marks that turn text around or have no width, and
# halves of characters, which no terminal takes.
_CONTROLS = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)


def visible(text: object, keep: str = "") -> str:
    """Return a text of anybody's in one line, with its control characters as Python spells them.

    Examples
    --------
    >>> print(visible("north\\x1b[2J\\nall is well"))
    north\\x1b[2J\\nall is well
    """

    def spelled(one: re.Match[str]) -> str:
        return one[0] if one[0] in keep else one[0].encode("unicode_escape").decode()

    return _CONTROLS.sub(spelled, str(text))


def logger(name: str) -> logging.Logger:
    """Return a logger whose lines show others' words, the arguments of a message, as `visible`."""
    made = logging.getLogger(name)
    made.addFilter(_show_arguments)  # once: the logger knows those it has
    return made


def _show_arguments(record: logging.LogRecord) -> bool:
    if isinstance(record.args, tuple):
        record.args = tuple(
            visible(one) if isinstance(one, str | Exception) else one for one in record.args
        )
    return True

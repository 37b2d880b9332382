"""Words that others choose: how a terminal shows them, and which may become files and commands."""

from __future__ import annotations

import re

from dpsumm.errors import InvalidParameterError

MAX_NAME = 100
# Names that Windows keeps for devices.
_TAKEN = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?", re.IGNORECASE)
_REFUSED = re.compile(r'[/\\:*?"<>|]')


def check_name(name: str, parameter: str) -> None:
    """Refuse a name of an owner that is unsafe as a file, a word of a command or a text.

    Raises
    ------
    InvalidParameterError
        It is empty, longer than `MAX_NAME` or a device's of Windows. Or it has other than printable
        characters, a separator of paths, ``-`` or ``.`` first, or a space or ``.`` at an end.
    """
    if (
        not 0 < len(name) <= MAX_NAME
        or not name.isprintable()
        or name[0] in "-."
        or name[-1] == "."
        or name != name.strip()
        or visible(name) != name
        or _REFUSED.search(name)
        or _TAKEN.fullmatch(name)
    ):
        raise InvalidParameterError(
            f"{parameter}: the name {visible(name[:MAX_NAME])!r} could harm as a file or command; "
            "choose letters and digits"
        )


# What a terminal obeys, line ends of Unicode, and marks that turn text around.
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def visible(text: object, keep: str = "") -> str:
    """Return a text of anybody's in one line, with its control characters as Python spells them.

    Parameters
    ----------
    text
        What another party may have chosen: a name, a message, a log line.
    keep
        Control characters that stay, such as line ends of a text that dpsumm has made.

    Examples
    --------
    >>> print(visible("north\\x1b[2J\\nall is well"))
    north\\x1b[2J\\nall is well
    """

    def spelled(one: re.Match[str]) -> str:
        return one[0] if one[0] in keep else one[0].encode("unicode_escape").decode()

    return _CONTROLS.sub(spelled, str(text))


# A cell of a CSV file that begins so is a formula to a spreadsheet, also behind quotes of ours.
_FORMULA = re.compile(r"'*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")


def to_cell(text: str) -> str:
    """Return a text as a cell of a CSV file that no spreadsheet runs: with a quote before it.

    Only where it would be run, or begins like one of our cells: `from_cell` gives it back.
    """
    return f"'{text}" if _FORMULA.match(text) else text


def from_cell(cell: str) -> str:
    """Return the text of a cell that `to_cell` made; other texts as they are."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell

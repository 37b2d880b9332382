"""Which names that others choose may become files and words of commands."""

from __future__ import annotations

import re
from typing import Any

from dpsumm.basics.visible import visible
from dpsumm.errors import InvalidParameterError

MAX_NAME = 100
# Names that Windows keeps for devices.
_TAKEN = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?", re.IGNORECASE)
_REFUSED = re.compile(r'[/\\:*?"<>|]')


def is_name(value: Any) -> bool:
    """Return whether a value is a name that is safe as a file, a word of a command and a text.

    It is not if it is empty, longer than `MAX_NAME` or a device's of Windows. Nor if it has other
    than printable characters, a separator of paths, ``-`` or ``.`` first, or a space or ``.`` at an
    end.
    """
    return (
        type(value) is str
        and 0 < len(value) <= MAX_NAME
        and value.isprintable()
        and value[0] not in "-."
        and value[-1] != "."
        and value == value.strip()
        and visible(value) == value
        and not _REFUSED.search(value)
        and not _TAKEN.fullmatch(value)
    )


def check_name(name: object, parameter: str) -> None:
    """Refuse a name of an owner or a run that `is_name` does not take."""
    if not is_name(name):
        raise InvalidParameterError(
            f"{parameter}: the name {visible(name)[:MAX_NAME]!r} could harm as a file or command. "
            "Choose letters and digits"
        )


# A cell of a CSV file that begins so is a formula to a spreadsheet, also behind quotes of ours.
_FORMULA = re.compile(r"'*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")


def to_cell(text: str) -> str:
    """Return a text as a cell of a CSV file that no spreadsheet runs, with a quote before it.

    Only where it would be run, or begins like one of our cells: `from_cell` gives it back.
    """
    return f"'{text}" if _FORMULA.match(text) else text


def from_cell(cell: str) -> str:
    """Return the text of a cell that `to_cell` made. Other texts as they are."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell

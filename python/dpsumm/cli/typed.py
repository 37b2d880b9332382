"""Messages of the package in the words of a command line: what a parameter is called there."""

from __future__ import annotations

import re
from collections.abc import Collection

# A message that goes beyond one command begins with the parameter that it is about.
_FIRST = re.compile(r"^(\w+)(?=:| must | needs | \d| ∞)")
# A remedy in Python, then in brackets the option or command to type instead.
_BOTH = re.compile(
    r"\b([\w.]+(?:=(?:'[^']*'|[\w.]*(?:\([^()]*\))?|\S+)|\([^()]*\))?)\s\(((?:--|dpsumm )[^()]+)\)"
)
# Parameters whose options have other names.
_ALIASES = {
    "bounds": "column",
    "caps": "cap",
    "columns": "column",
    "n_parties": "parties",
    "n_points": "points",
    "n_records": "records",
    "owners": "owner",
    "parties": "owner",
}


def typed(message: str, options: Collection[str] = ()) -> str:
    """Return a message with options in place of parameters, wherever it names both or begins so.

    Parameters
    ----------
    message
        Of an error or a note.
    options
        Names of the parameters that are options of the command.

    Examples
    --------
    >>> typed("n_features must be even, got 7", {"n_features"})
    '--n-features must be even, got 7'
    >>> typed("Give less, or accept=True (--accept) if that is meant")
    'Give less, or --accept if that is meant'
    """
    said = _BOTH.sub(_option, message)
    first = _FIRST.match(said)
    if first is None:
        return said
    name = _ALIASES.get(first[1], first[1])
    return f"{_dashed(name)}{said[first.end() :]}" if name in options else said


def _option(both: re.Match[str]) -> str:
    """Return what to type, where Python's own words stand right before it."""
    python, option = both.groups()
    return option if re.search("[=(.]", python) or _dashed(python) == option else both[0]


def _dashed(name: str) -> str:
    return f"--{name.replace('_', '-')}"

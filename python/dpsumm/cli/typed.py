"""Messages of the package in the words of a command line: what a parameter is called there."""

from __future__ import annotations

import re
from collections.abc import Collection

# A message that goes beyond one command begins with the parameter that it is about.
_FIRST = re.compile(r"^(\w+)(?=:| must | needs | is for | \d| ∞)")
_CALL = r"[\w.]+(?:=(?:'[^']*'|\{[^{}]*\}|[\w.]*(?:\([^()]*\))?|\S+)|\((?:[^()]|\([^()]*\))*\))"
# One or several remedies in Python, then in brackets the options or commands to type instead.
_BOTH = re.compile(
    rf"( with )?\b((?:{_CALL},? or )*(?:{_CALL}|[\w.]+))\s\(((?:--|dpsumm )[^()]+)\)"
)
_OPTION = re.compile(r"--([a-z][a-z-]*)")
# Parameters whose options have other names.
_ALIASES = {
    "bounds": "schema",
    "caps": "cap",
    "columns": "schema",
    "kernel": "gamma",
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
        Names of the parameters that are options of the command. Of several options of which a
        message names the alternatives, only these are left; all if empty. What is done "with"
        something that the command has no option for is left to its user.

    Examples
    --------
    >>> typed("n_features must be even, got 7", {"n_features"})
    '--n-features must be even, got 7'
    >>> typed("Give less, or allow_weak_privacy=True (--allow-weak-privacy) if that is meant")
    'Give less, or --allow-weak-privacy if that is meant'
    >>> typed("File(path, FileFormat(kind='csv')) (--kind csv, or --format N:kind=csv)", {"kind"})
    '--kind csv'
    >>> typed("read it again with File(path, FileFormat(names=...)) (--names)", {"kind"})
    'read it again'
    """
    said = _BOTH.sub(lambda both: _option(both, options), message)
    first = _FIRST.match(said)
    if first is None:
        return said
    name = _ALIASES.get(first[1], first[1])
    return f"{_dashed(name)}{said[first.end() :]}" if name in options else said


def _option(both: re.Match[str], options: Collection[str]) -> str:
    """Return what to type, where Python's own words stand right before it."""
    by, python, said = both.groups(default="")
    named = [(part, _OPTION.findall(part)) for part in re.split(", (?:or )?", said)]
    had = [
        part
        for part, names in named
        if not options or all(name.replace("-", "_") in options for name in names)
    ]
    typable = (", or " if ", or " in said else ", ").join(had)
    if not typable:
        return "" if by else python
    replaces = re.search("[=(.]", python) or _dashed(python) == had[0]
    return f"{by}{typable}" if replaces else f"{by}{python} ({typable})"


def _dashed(name: str) -> str:
    return f"--{name.replace('_', '-')}"

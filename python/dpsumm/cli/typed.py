"""Messages of the package with parameters as a command line has them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection
from contextvars import ContextVar

# Parameters that are options of the command that runs.
OPTIONS: ContextVar[Collection[str]] = ContextVar("OPTIONS", default=())

# A message that goes beyond one command begins with the parameter that it is about.
_FIRST = re.compile(r"^(\w+)(?=:| must | needs | means | is for | \d| ∞)")
# A remedy in Python, such as `size`, `unit='replace one record'` or `protocol=Tables(bins=...)`.
_MARK = re.compile(r"`([^`]+)`")
# Its innermost keyword and value.
_KEYWORD = re.compile(r"\b(\w+)=('[^']*'|[\w.]+(?:\(\))?)\)*$")
# Keys of ``--format``.
_OF_FILES = ("kind", "separator", "encoding", "decimal", "names")
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


def typed(message: str, options: Collection[str] | None = None) -> str:
    """Return a message with options in place of parameters that it begins with or marks.

    Parameters
    ----------
    message
        Of an error or a note.
    options
        Names of the parameters that are options of the command, by default of the one that runs.
        What it has no option for stays as it is.

    Examples
    --------
    >>> typed("n_features must be even, got 7", {"n_features"})
    '--n-features must be even, got 7'
    >>> typed("Give less, or `allow_weak_privacy=True` if so meant", {"allow_weak_privacy"})
    'Give less, or --allow-weak-privacy if so meant'
    >>> typed("give `File(path, FileFormat(kind='csv'))` or `protocol=Pool()`", {"format"})
    'give --format kind=csv or `protocol=Pool()`'
    """
    known = OPTIONS.get() if options is None else options
    said = _MARK.sub(lambda mark: _option(mark, known), message)
    first = _FIRST.match(said)
    name = _known(first[1], known) if first else None
    return said if first is None or name is None else f"{name}{said[first.end(1) :]}"


def _option(mark: re.Match[str], options: Collection[str]) -> str:
    keyword = _KEYWORD.search(mark[1])
    python, value = keyword.groups() if keyword else (mark[1].partition("=")[0], "")
    name = _known(python, options)
    plain = value.removesuffix("()").lower() if value.endswith("()") else value.strip("'")
    if name is None:
        return mark[0]
    if python in _OF_FILES:
        # Of one file among several, whose name the message has.
        one = "NAME:" if mark[1].startswith("File(") and "owner" in options else ""
        return f"--format {shlex.quote(f'{one}{python}={plain}')}" if plain else name
    if value in ("", "True", "..."):
        return name
    return f"{name} {shlex.quote(plain)}"


def _known(parameter: str, options: Collection[str]) -> str | None:
    """Return the words of a parameter that is an option, or a key of ``--format``."""
    if parameter in _OF_FILES and "format" in options:
        return f"--format {parameter}"
    name = _ALIASES.get(parameter, parameter)
    return f"--{name.replace('_', '-')}" if name in options else None

"""A schema's columns as TOML, which people write, review and keep under version control."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from datetime import date
from typing import Any

import numpy as np

from dpsumm.basics.checks import listed
from dpsumm.basics.documents import parse_toml
from dpsumm.data.column import Column
from dpsumm.data.file import MISSING
from dpsumm.data.kinds.kind import Kind, WhenMissing
from dpsumm.errors import InvalidParameterError

VERSION = 1
_quoted = json.JSONEncoder(ensure_ascii=False).encode
# In the order in which they are written, with their defaults; "kind" is always written.
DEFAULTS: dict[str, Any] = {
    "kind": None,
    "bounds": None,
    "whole": False,
    "categories": (),
    "ordered": False,
    "other": None,
    "missing": MISSING,
    "when_missing": WhenMissing.REFUSE,
    "weight": 1.0,
    "date_format": None,
}
HEADER = """\
# The public schema of a dpsumm run: every party needs this file, unchanged.
# Nothing in it may be computed from private data: bounds and categories read from them leak.
"""


def to_toml(columns: Iterable[Column], header: str = HEADER) -> str:
    """Return the columns as TOML. What equals the defaults is left out."""
    parts = [f"{header}version = {VERSION}\n"]
    for column in columns:
        lines = [f"[columns.{_key(column.name)}]"]
        for name, default in DEFAULTS.items():
            value = getattr(column, name)
            if value != default:
                value = _short(value) if name in ("bounds", "weight") else value
                lines.append(f"{name} = {inline(value)}")
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def from_toml(text: str, where: str) -> list[Column]:
    """Return the columns that a TOML text holds."""
    document = parse_toml(text, where)
    _check_keys(document, ("version", "columns"), where)
    if document.get("version") != VERSION:
        raise InvalidParameterError(f"{where}: needs the line 'version = {VERSION}' at its top")
    columns = document.get("columns")
    if not isinstance(columns, dict) or not columns:
        raise InvalidParameterError(f"{where}: needs tables such as [columns.age]. It has none")
    try:
        return [_column(name, given) for name, given in columns.items()]
    except InvalidParameterError as error:
        raise InvalidParameterError(f"{where}: {error}") from None


def _column(name: str, given: Any) -> Column:
    if not isinstance(given, dict):
        raise InvalidParameterError(f"schema: [columns.{_key(name)}] must be a table")
    _check_keys(given, tuple(DEFAULTS), f"schema: column {name!r}")
    for key in ("categories", "missing", "bounds"):
        if key in given and not isinstance(given[key], list):
            raise InvalidParameterError(f"schema: column {name!r}: {key} must be a list")
    for key in ("ordered", "whole"):
        if not isinstance(given.get(key, False), bool):
            raise InvalidParameterError(f"schema: column {name!r}: {key} must be true or false")
    if not isinstance(given.get("date_format", ""), str):
        raise InvalidParameterError(f"schema: column {name!r}: date_format must be text")
    fixed: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in given.items()
    }
    return Column(name, **fixed)


def _check_keys(given: dict[str, Any], known: tuple[str, ...], where: str) -> None:
    unknown = [key for key in given if key not in known]
    if unknown:
        raise InvalidParameterError(f"{where}: unknown {listed(unknown)}. Known: {listed(known)}")


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _text(name)


def _text(value: str) -> str:
    # JSON's escapes are TOML's, but for the one character that TOML wants escaped besides.
    return _quoted(value).replace("\x7f", "\\u007f")


def inline(value: Any) -> str:
    """Return a value as TOML, on one line."""
    if isinstance(value, Kind | WhenMissing):
        return _text(value.value)
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(inline, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_key(str(key))} = {inline(one)}' for key, one in value.items())}}}"
    return str(int(value)) if isinstance(value, int | np.integer) else repr(float(value))


def _short(value: Any) -> Any:
    """Return bounds and weights, which are read as floats, as whole numbers if they are."""
    if isinstance(value, tuple):
        return tuple(map(_short, value))
    whole = isinstance(value, float) and value.is_integer() and abs(value) < 2**53
    return int(value) if whole else value

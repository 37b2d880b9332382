"""A run's options in a TOML file: what ``dpsumm run`` and `dpsumm.run` read."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from enum import Enum
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

from dpsumm.errors import InvalidParameterError


def _kind(hint: Any) -> Any:
    """Return the type of an option that is given."""
    kinds = get_args(hint) if isinstance(hint, UnionType) else (hint,)
    (kind,) = (one for one in kinds if one is not NoneType)
    return get_origin(kind) or kind


def kinds_of(groups: Sequence[type]) -> dict[str, Any]:
    """Return what may be said in groups of options, dataclasses, and of which type it is."""
    return {
        field.name: _kind(get_type_hints(group)[field.name])
        for group in groups
        for field in fields(group)
    }


# What a value must be: as TOML has it, and as Python's callers may have it.
_TAKEN: dict[type, tuple[tuple[type, ...], str]] = {
    bool: ((bool,), "true or false"),
    int: ((int,), "a whole number"),
    float: ((int, float), "a number"),
    str: ((str,), "a text"),
    Path: ((str, os.PathLike), "a path"),
}


def as_typed(
    given: Mapping[str, Any], groups: Sequence[type], folder: Path, where: str
) -> dict[str, Any]:
    """Return options by name, as they would be typed."""
    options: dict[str, Any] = {}
    formats: list[str] = []
    kinds = kinds_of(groups)
    for key, value in given.items():
        name = key.replace("-", "_")
        if name not in kinds:
            raise InvalidParameterError(
                f"{where}unknown option {key!r}; known are {', '.join(sorted(kinds))}"
            )
        formats += _formats(name, value)
        options[name] = _as_typed(name, kinds[name], value, folder, where + key)
    if formats:
        options["format"] = [*options.get("format", []), *formats]
    return options


def grouped(options: Mapping[str, Any], groups: Sequence[type], where: str) -> list[Any]:
    """Return what `as_typed` gives as the groups of a run's options.

    Raises
    ------
    InvalidParameterError
        One is missing that a run needs.
    """
    kinds = kinds_of(groups)
    for group in groups:
        for field in fields(group):
            if field.default is MISSING and field.name not in options:
                raise InvalidParameterError(f"{where}{field.name} is missing; a run needs one")
    # As the command line converts: the books of a run hold it to what 2.0 looks like, not 2.
    made = {
        name: kinds[name](value) if issubclass(kinds[name], (Path, Enum, float)) else value
        for name, value in options.items()
    }
    return [
        group(**{field.name: made[field.name] for field in fields(group) if field.name in made})
        for group in groups
    ]


# Lists of NAME=FILE, which may be tables; and files whose tables say how they are read.
_NAMED, _FILES = ("owner", "schema", "ledger"), ("target", "public_points", "validation")


def _as_typed(name: str, kind: Any, value: Any, folder: Path, where: str) -> Any:
    """Return a value as it would be typed."""
    if kind is list and name in _NAMED:
        if isinstance(value, dict):
            return [f"{owner}={folder / _file(file, where)}" for owner, file in value.items()]
        parts = (str(item).rpartition("=") for item in _listed(value, where))
        return [f"{owner}{equals}{folder / file}" for owner, equals, file in parts]
    if name in _FILES:
        return str(folder / _file(value, where))
    if name == "column" and isinstance(value, dict):
        return [f"{column}{_bounds(pair, where)}" for column, pair in value.items()]
    if name == "bins" and not isinstance(value, (list, tuple)):
        some = value.items() if isinstance(value, dict) else [("", value)]
        return [f"{column}{'=' * bool(column)}{_joined(one)}" for column, one in some]
    if name == "classes" and isinstance(value, (list, tuple)):
        return _joined(value)
    if issubclass(kind, list):
        return list(map(str, _listed(value, where)))
    if isinstance(value, (dict, list)):
        raise InvalidParameterError(f"{where} must be one value")
    if issubclass(kind, Enum):
        words: list[Any] = [one.value for one in kind]
        if value not in words:
            raise InvalidParameterError(f"{where} must be one of {', '.join(words)}, got {value!r}")
        return value
    taken, what = _TAKEN[kind]
    if not isinstance(value, taken) or (isinstance(value, bool) and kind is not bool):
        raise InvalidParameterError(f"{where} must be {what}, got {value!r}")
    return str(folder / str(value)) if kind is Path else value


def _formats(name: str, value: Any) -> list[str]:
    """Return what tables of owners or the consumer say of their files, as it would be typed."""
    files = {name: value} if name in _FILES else value if name == "owner" else {}
    return [
        f"{party}:{key}={','.join(said) if isinstance(said, list) else said}"
        for party, file in (files.items() if isinstance(files, dict) else ())
        if isinstance(file, dict)
        for key, said in file.items()
        if key != "file"
    ]


def _file(value: Any, where: str) -> str | os.PathLike[str]:
    """Return the path of a file that stands alone or in a table with its format."""
    path = value.get("file") if isinstance(value, dict) else value
    if not isinstance(path, (str, os.PathLike)):
        raise InvalidParameterError(
            f'{where} must hold paths, or tables such as {{ file = "a.dat", kind = "csv" }}'
        )
    return path


def _listed(value: Any, where: str) -> list[Any]:
    if not isinstance(value, (list, tuple)):
        raise InvalidParameterError(f"{where} must be a list")
    return list(value)


def _joined(values: Any) -> str:
    return ",".join(map(str, values if isinstance(values, (list, tuple)) else [values]))


def _bounds(pair: Any, where: str) -> str:
    if not (isinstance(pair, (list, tuple)) and len(pair) in (0, 2)):
        raise InvalidParameterError(f"{where} must hold [low, high], or [] for no bounds")
    return f"={pair[0]}:{pair[1]}" if pair else ""

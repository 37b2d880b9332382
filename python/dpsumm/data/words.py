"""Files of a run as words of options or of a TOML file describe them."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import MISSING as NO_DEFAULT
from dataclasses import dataclass, fields
from enum import Enum
from glob import has_magic
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

from dpsumm.data.file import KINDS, File, FileFormat, owner_files
from dpsumm.errors import InvalidParameterError


def parse_owners(given: Sequence[str]) -> dict[str, Path]:
    """Return name to file from the items of ``--owner``: ``NAME=FILE``, a folder or a pattern."""
    items: list[str] = []
    for item in given:
        if "=" in item or not (Path(item).is_dir() or has_magic(item)):
            items.append(item)
        else:
            items += [f"{name}={file}" for name, file in owner_files(item).items()]
    return parse_files("--owner", items)


def parse_files(option: str, given: Sequence[str]) -> dict[str, Path]:
    """Return name to file from ``NAME=FILE`` items."""
    files: dict[str, Path] = {}
    for item in given:
        name, equals, path = item.partition("=")
        if not (name and equals and path):
            raise InvalidParameterError(f"{option}: write NAME=FILE, got {item!r}")
        if name in files:
            raise InvalidParameterError(f"{option}: {name!r} is given twice. Give each a name")
        files[name] = Path(path)
    return files


_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,17}")


def values_said(text: str) -> list[str] | list[int]:
    """Return values between commas. They are whole numbers if all look so, as codes (01) do not.

    Examples
    --------
    >>> values_said("0, 1"), values_said("01, 1")
    ([0, 1], ['01', '1'])
    """
    words = [word.strip() for word in text.split(",")]
    return [int(word) for word in words] if all(map(_WHOLE.fullmatch, words)) else words


class Columns(list[str]):
    """The kind of an option that is a schema: its file, or ``NAME=WHAT`` of each column."""


def schema_files(given: Sequence[str] | None) -> list[Path]:
    """Return which of the items of ``--schema`` are files."""
    return [Path(item) for item in given or () if "=" not in item or item.endswith(".toml")]


# What ``--format`` may say of a file.
FORMAT_KEYS = ("kind", "separator", "encoding", "decimal", "names")


def formatted(
    owners: Mapping[str, Path], others: Mapping[str, Path], given: Sequence[str]
) -> tuple[dict[str, File], dict[str, File]]:
    """Return the files of owners and of others with the format of all, or with their own."""
    said: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for item in given:
        name, key, value = _said(item)
        if name in owners and name in others:
            raise InvalidParameterError(
                f"--format: {name!r} is the name of an owner, too. Call that owner otherwise"
            )
        if name and name not in owners and name not in others:
            known = ", ".join(filter(None, [*owners, *others]))
            raise InvalidParameterError(
                f"--format: no file is called {name!r}; "
                + (f"there are {known}" if known else "write KEY=VALUE, as there is one file")
            )
        if key in said[name]:
            raise InvalidParameterError(f"--format: {name}{':' * bool(name)}{key} is given twice")
        said[name][key] = value

    def each(files: Mapping[str, Path]) -> dict[str, File]:
        return {
            name: File(path, _format_of({**said[""], **said[name]})) for name, path in files.items()
        }

    return each(owners), each(others)


def _said(item: str) -> tuple[str, str, str]:
    """Return name, key and value of an item of ``--format``. The name is empty without one."""
    head, equals, value = item.partition("=")
    name, colon, key = head.rpartition(":")
    if not (equals and value) or key not in FORMAT_KEYS or (colon and not name):
        raise InvalidParameterError(
            f"--format: write KEY=VALUE or NAME:KEY=VALUE with a key of {', '.join(FORMAT_KEYS)}, "
            f"got {item!r}. A kind is one of {', '.join(KINDS)}"
        )
    return name, key, value


def _format_of(said: Mapping[str, str]) -> FileFormat:
    words: dict[str, Any] = dict(said)
    if "separator" in words:
        words["separator"] = words["separator"].replace("\\t", "\t")
    if "names" in words:
        words["names"] = tuple(name.strip() for name in words["names"].split(","))
    return FileFormat(**words)


@dataclass(frozen=True, kw_only=True)
class Format:
    """How the file is read.

    Parameters
    ----------
    format : KEY=VALUE
        How to read files, such as separator=';' or decimal=','. KEY is kind (csv, parquet,
        excel or sql), separator, encoding, decimal, or names for CSV files without a header row.
        Repeat it for each key.
    """

    format: list[str] | None = None

    def of(self, path: Path) -> File:
        """Return a file that is read so."""
        return formatted({}, {"": path}, self.format or [])[1][""]


def _kind(hint: Any) -> Any:
    """Return the type of an option that is given."""
    kinds = get_args(hint) if isinstance(hint, UnionType) else (hint,)
    (kind,) = (one for one in kinds if one is not NoneType)
    return get_origin(kind) or kind


def kinds_of(groups: Sequence[type]) -> dict[str, Any]:
    """Return the keys of groups of options, dataclasses, and the type of each."""
    return {
        field.name: field.metadata.get("kind") or _kind(get_type_hints(group)[field.name])
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
                f"{where}unknown option {key!r}. Known are {', '.join(sorted(kinds))}"
            )
        formats += _formats(name, value)
        options[name] = _as_typed(name, kinds[name], value, folder, where + key)
    if formats:
        options["format"] = [*options.get("format", []), *formats]
    return options


def grouped(options: Mapping[str, Any], groups: Sequence[type], where: str) -> list[Any]:
    """Return what `as_typed` gives as the groups of a run's options."""
    kinds = kinds_of(groups)
    for group in groups:
        for field in fields(group):
            if field.default is NO_DEFAULT and field.name not in options:
                raise InvalidParameterError(f"{where}{field.name} is missing. A run needs one")
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
    if kind is Columns:
        if isinstance(value, dict):
            return [f"{column}={_described(known)}" for column, known in value.items()]
        if not isinstance(value, (str, os.PathLike)):
            raise InvalidParameterError(
                f'{where} must be a path, or a table such as {{ age = [20, 90], ill = "label" }}'
            )
        return [str(folder / value)]
    if name == "format" and isinstance(value, dict):
        return [f"{key}={_joined(said)}" for key, said in value.items()]
    if kind is list and name in _NAMED:
        if isinstance(value, dict):
            return [f"{owner}={folder / _file(file, where)}" for owner, file in value.items()]
        parts = (str(item).rpartition("=") for item in _listed(value, where))
        return [f"{owner}{equals}{folder / file}" for owner, equals, file in parts]
    if name in _FILES:
        return str(folder / _file(value, where))
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


def _described(known: Any) -> str:
    """Return what a table says of a column; TOML has no tuples, so two numbers are bounds."""
    from dpsumm.data.schema_toml import inline

    if isinstance(known, str):
        return known
    is_pair = isinstance(known, (list, tuple)) and len(known) == 2
    if is_pair and not any(isinstance(end, (str, bool)) for end in known):
        return ":".join(map(str, known))
    return inline(known)


def _formats(name: str, value: Any) -> list[str]:
    """Return what tables of owners or the consumer say of their files, as it would be typed."""
    files = {name: value} if name in _FILES else value if name == "owner" else {}
    return [
        f"{party}:{key}={_joined(said)}"
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

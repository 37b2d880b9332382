"""Meaning of the command line's arguments."""

from __future__ import annotations

from collections.abc import Sequence
from glob import has_magic
from pathlib import Path

from dpsumm.data.files import MISSING, FileFormat
from dpsumm.data.folder import owner_files
from dpsumm.errors import InvalidParameterError


def parse_owners(given: Sequence[str]) -> dict[str, Path]:
    """Return name to file from the items of ``--owner``: ``NAME=FILE``, a folder or a pattern.

    Raises
    ------
    InvalidParameterError
        As `parse_files`, and as `owner_files` for folders and patterns such as ``sites/*.csv``.
    """
    items: list[str] = []
    for item in given:
        if "=" in item or not (Path(item).is_dir() or has_magic(item)):
            items.append(item)
        else:
            items += [f"{name}={file}" for name, file in owner_files(item).items()]
    return parse_files("--owner", items)


def parse_files(option: str, given: Sequence[str]) -> dict[str, Path]:
    """Return name to file from ``NAME=FILE`` items.

    Raises
    ------
    InvalidParameterError
        An item has another form, or a name is given twice.
    """
    files: dict[str, Path] = {}
    for item in given:
        name, equals, path = item.partition("=")
        if not (name and equals and path):
            raise InvalidParameterError(f"{option}: write NAME=FILE, got {item!r}")
        if name in files:
            raise InvalidParameterError(f"{option}: {name!r} is given twice; give each a name")
        files[name] = Path(path)
    return files


def parse_columns(given: Sequence[str]) -> tuple[list[str], dict[str, tuple[float, float]]]:
    """Return the columns and their bounds from ``NAME`` and ``NAME=LOW:HIGH`` items.

    Raises
    ------
    InvalidParameterError
        An item has another form.
    """
    columns = []
    bounds = {}
    for item in given:
        name, equals, pair = item.partition("=")
        if equals:
            low, _, high = pair.partition(":")
            try:
                bounds[name] = (float(low), float(high))
            except ValueError:
                raise InvalidParameterError(
                    f"--column: write NAME or NAME=LOW:HIGH with numbers, got {item!r}"
                ) from None
        if not name:
            raise InvalidParameterError(f"--column: the name is missing in {item!r}")
        columns.append(name)
    return columns, bounds


def file_format_of(
    names: str | None,
    separator: str,
    missing: Sequence[str] = (),
    drop_missing: bool = False,
    encoding: str = "utf-8",
    decimal: str = ".",
) -> FileFormat:
    """Return how text files are read, from the options that say it."""
    return FileFormat(
        names=None if names is None else tuple(name.strip() for name in names.split(",")),
        missing=(*MISSING, *missing),
        separator=separator.replace("\\t", "\t"),
        drop_missing=drop_missing,
        encoding=encoding,
        decimal=decimal,
    )

"""Meaning of the command line's arguments."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dpsumm.data.files import MISSING, FileFormat
from dpsumm.errors import InvalidParameterError


def parse_owners(given: Sequence[str]) -> dict[str, Path]:
    """Return name to file from ``NAME=FILE`` items.

    Raises
    ------
    InvalidParameterError
        An item has another form, or a name is given twice.
    """
    owners: dict[str, Path] = {}
    for item in given:
        name, equals, path = item.partition("=")
        if not (name and equals and path):
            raise InvalidParameterError(f"--owner: write NAME=FILE, got {item!r}")
        if name in owners:
            raise InvalidParameterError(f"--owner: {name!r} is given twice; give each a name")
        owners[name] = Path(path)
    return owners


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
) -> FileFormat:
    """Return how text files are read, from the options that say it."""
    return FileFormat(
        names=None if names is None else tuple(name.strip() for name in names.split(",")),
        missing=(*MISSING, *missing),
        separator=separator.replace("\\t", "\t"),
        drop_missing=drop_missing,
    )

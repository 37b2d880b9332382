"""Meaning of what is said in words of the files that are read: by options, or in a file of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from glob import has_magic
from pathlib import Path

from dpsumm.data.file import File
from dpsumm.data.files import KINDS, MISSING, FileFormat
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


# What ``--format`` may say of a file.
FORMAT_KEYS = ("kind", "separator", "encoding", "decimal", "names")


def formatted(
    owners: Mapping[str, Path], others: Mapping[str, Path], given: Sequence[str], usual: FileFormat
) -> tuple[dict[str, Path | File], dict[str, Path | File]]:
    """Return the files of owners and of others, those with a format of their own as `File`.

    Parameters
    ----------
    owners
        Name to file.
    others
        The same of the consumer's files, such as the target.
    given
        Items of ``--format``, ``NAME:KEY=VALUE`` with a key of `FORMAT_KEYS`.
    usual
        What holds of a file for which they do not say otherwise.

    Raises
    ------
    InvalidParameterError
        An item has another form, says what is said already, names no file, or two.
    """
    own: dict[str, dict[str, str]] = {}
    for item in given:
        head, equals, value = item.partition("=")
        name, colon, key = head.rpartition(":")
        if not (colon and equals and value) or key not in FORMAT_KEYS:
            raise InvalidParameterError(
                f"--format: write NAME:KEY=VALUE with a key of {', '.join(FORMAT_KEYS)}, got "
                f"{item!r}; a kind is one of {', '.join(KINDS)}"
            )
        if name in owners and name in others:
            raise InvalidParameterError(
                f"--format: {name!r} is the name of an owner, too; call that owner otherwise"
            )
        if name not in owners and name not in others:
            raise InvalidParameterError(
                f"--format: no file is called {name!r}; there are {', '.join([*owners, *others])}"
            )
        if key in own.setdefault(name, {}):
            raise InvalidParameterError(f"--format: {name}:{key} is given twice")
        own[name][key] = value

    def each(files: Mapping[str, Path]) -> dict[str, Path | File]:
        return {
            name: File(path, _changed(usual, own[name])) if name in own else path
            for name, path in files.items()
        }

    return each(owners), each(others)


def _changed(usual: FileFormat, own: Mapping[str, str]) -> FileFormat:
    """Return a file's own format, which leaves the rule on missing values to the run's."""
    return replace(
        usual,
        kind=own.get("kind", usual.kind),
        separator=_typed(own.get("separator", usual.separator)),
        encoding=own.get("encoding", usual.encoding),
        decimal=own.get("decimal", usual.decimal),
        names=_names(own["names"]) if "names" in own else usual.names,
        drop_missing=False,
    )


def _typed(separator: str) -> str:
    return separator.replace("\\t", "\t")


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(","))


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
        names=None if names is None else _names(names),
        missing=(*MISSING, *missing),
        separator=_typed(separator),
        drop_missing=drop_missing,
        encoding=encoding,
        decimal=decimal,
    )

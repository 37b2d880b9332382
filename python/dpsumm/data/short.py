"""A schema in one line: a dict of columns, or words such as ``age=20:90``."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, TypeAlias

from dpsumm.basics.checks import is_whole, listed
from dpsumm.basics.documents import parse_toml
from dpsumm.data.column import Column
from dpsumm.data.kinds.kind import Kind
from dpsumm.data.schema import Schema
from dpsumm.data.schema_toml import DEFAULTS
from dpsumm.data.words import schema_files, values_said
from dpsumm.errors import InvalidParameterError

# What a call takes as a schema.
SchemaLike: TypeAlias = Schema | str | os.PathLike[str] | Mapping[str, Any] | Sequence[Any]

_KINDS = tuple(kind.value for kind in Kind)


def schema_of(given: SchemaLike) -> Schema:
    """Return a schema that is given as such, as the path of its file, as a dict or as a list.

    A list describes the columns of arrays in their order, which are then ``x0``, ``x1``, and so on.

    Raises
    ------
    InvalidParameterError
        Naming the column and the way out.

    Examples
    --------
    >>> schema = schema_of({"age": (20, 90), "sex": ["f", "m"], "outcome": "label"})
    >>> schema.cells, schema.label.name
    (('age', 'sex=f', 'sex=m'), 'outcome')
    """
    if isinstance(given, (str, os.PathLike)):
        return Schema.read(given)
    if isinstance(given, list):
        given = {f"x{j}": known for j, known in enumerate(given)}
    if isinstance(given, Mapping):
        # Data frames of pandas may have whole numbers for names.
        return Schema(
            _column(str(name) if is_whole(name) else name, known) for name, known in given.items()
        )
    if not isinstance(given, Schema):
        raise InvalidParameterError(
            f"schema must be a Schema, the path of its file, a dict, or a list for arrays, got "
            f"{type(given).__name__}"
        )
    return given


def _column(name: Any, known: Any) -> Column:
    if isinstance(known, Mapping):
        unknown = [str(key) for key in known if key not in DEFAULTS]
        if unknown:
            raise InvalidParameterError(
                f"schema: column {name!r} has unknown {listed(unknown)}. A column takes "
                f"{listed(tuple(DEFAULTS))}"
            )
        return Column(name, **known)
    if isinstance(known, str) and known in _KINDS:
        return Column(name, known)
    if isinstance(known, tuple) and len(known) == 2:
        return Column(name, bounds=_dates(name, known) if _texts(known) else known)
    if isinstance(known, list) and known:
        return Column(name, categories=tuple(known))
    raise InvalidParameterError(
        f"schema: column {name!r} must be a tuple (low, high), a list of categories, one of "
        f"{listed(_KINDS)}, or a dict of what Column takes, got {known!r}"
    )


def _texts(known: tuple[Any, ...]) -> bool:
    return all(isinstance(end, str) for end in known)


def _dates(name: Any, known: tuple[str, str]) -> tuple[date, date]:
    try:
        return date.fromisoformat(known[0]), date.fromisoformat(known[1])
    except ValueError:
        raise InvalidParameterError(
            f"schema: column {name!r} needs two numbers or two dates such as '2020-01-31' in a "
            f"tuple, got {known!r}. Categories are a list"
        ) from None


def schema_said(given: Sequence[str] | None) -> Schema | None:
    """Return the schema that the items of ``--schema`` say: a file, or ``NAME=WHAT`` of columns.

    ``LOW:HIGH`` are numbers or dates, and ``A,B,...`` are categories, whole numbers if all can be
    read so. A word is a kind, and a list or a table of TOML means the same as in a dict.

    Raises
    ------
    InvalidParameterError
        Naming the item, or the column and the way out.

    Examples
    --------
    >>> schema_said(["age=20:90", "sex=f,m", "pulse={bounds=[30, 220], whole=true}"]).cells
    ('age', 'sex=f', 'sex=m', 'pulse')
    """
    if not given:
        return None
    if files := schema_files(given):
        if len(given) > 1:
            raise InvalidParameterError("schema: give one file, or each column by NAME=LOW:HIGH")
        return Schema.read(files[0])
    known: dict[str, Any] = {}
    for item in given:
        name, _, what = item.partition("=")
        if name in known:
            raise InvalidParameterError(f"schema: column {name!r} is given twice")
        known[name] = _value(name, what.strip())
    return schema_of(known)


def _value(name: str, what: str) -> Any:
    """Return what a dict would have of a column."""
    if what[:1] in ("[", "{"):
        return parse_toml(f"known = {what}", f"schema: column {name!r}")["known"]
    low, colon, high = what.partition(":")
    if colon:
        try:
            return _end(low), _end(high)
        except ValueError:
            raise InvalidParameterError(
                f"schema: column {name!r} needs LOW:HIGH, two numbers or two dates such as "
                f"2020-01-31, got {what!r}"
            ) from None
    if what in _KINDS:
        return what
    if "," not in what:
        raise InvalidParameterError(
            f"schema: column {name!r} needs NAME=LOW:HIGH, NAME=A,B,... (categories) or one of "
            f"{listed(_KINDS)}, got {what!r}"
        )
    return values_said(what)


def _end(text: str) -> float | date:
    try:
        return float(text)
    except ValueError:
        return date.fromisoformat(text.strip())

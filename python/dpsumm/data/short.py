"""A schema in one line, as a dict of columns."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, TypeAlias

from dpsumm.checks import listed
from dpsumm.data.column import Column
from dpsumm.data.kinds.kind import Kind
from dpsumm.data.schema import Schema
from dpsumm.data.schema_toml import DEFAULTS
from dpsumm.errors import InvalidParameterError

# What a call takes as a schema.
SchemaLike: TypeAlias = Schema | str | os.PathLike[str] | Mapping[str, Any]

_KINDS = tuple(kind.value for kind in Kind)


def schema_of(given: SchemaLike) -> Schema:
    """Return a schema that is given as such, as the path of its file, or as a dict.

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
    if isinstance(given, Mapping):
        return Schema(_column(name, known) for name, known in given.items())
    if not isinstance(given, Schema):
        raise InvalidParameterError(
            f"schema must be a Schema, the path of its file or a dict, got {type(given).__name__}"
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
    if isinstance(known, tuple) and len(known) == 2 and not all(isinstance(k, str) for k in known):
        return Column(name, bounds=known)
    if isinstance(known, list) and known:
        return Column(name, categories=tuple(known))
    raise InvalidParameterError(
        f"schema: column {name!r} must be a tuple (low, high), a list of categories, one of "
        f"{listed(_KINDS)}, or a dict of what Column takes, got {known!r}"
    )

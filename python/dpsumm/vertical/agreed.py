"""What all parties know and agree on before a run: columns, their levels, their owners."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dpsumm.basics.checks import listed
from dpsumm.data.kinds.kind import Kind
from dpsumm.data.schema import Schema
from dpsumm.data.short import SchemaLike, schema_of
from dpsumm.errors import InvalidParameterError
from dpsumm.vertical.grid import Counted, counted_as
from dpsumm.vertical.layout import ALL_OWNERS, HELPER, Layout
from dpsumm.vertical.levels import Bins

# Tables beyond these sizes hold noise and little else.
MOST_CELLS = 250_000
MOST_LEVELS = 2048


@dataclass(frozen=True, eq=False)
class Agreed:
    """The public columns of a run."""

    schemas: Mapping[str, Schema]
    levels: Mapping[str, tuple[Counted, ...]]
    layout: Layout
    ids: str | None

    @classmethod
    def of(
        cls,
        schema: Mapping[str, SchemaLike],
        bins: Bins | None,
        ids: str | None,
        label: str | None,
        pairs: Sequence[tuple[str, str]] = (),
    ) -> Agreed:
        """Return the columns, from public schemas alone."""
        read = {name: schema_of(known) for name, known in schema.items()}
        schemas = {name: with_label_counted(known) for name, known in read.items()}
        label = _label_of(read.values()) if label is None else label
        same = len({known.fingerprint for known in schemas.values()}) == 1
        if same and ids is not None:
            raise InvalidParameterError(
                "ids: all owners have one schema, so they hold the same columns of different "
                "records, and nothing is joined. Leave `ids` out"
            )
        once = dict([next(iter(schemas.items()))]) if same else schemas
        levels = public_levels(once, bins, ids)
        layout = layout_of(once, levels, label, ids, pairs)
        if same:
            for name in schemas:
                _check_owner(name)
            levels = dict.fromkeys(schemas, *levels.values())
            layout = replace(
                layout,
                owners=tuple(schemas),
                schemas=layout.schemas * len(schemas),
                same_columns=True,
            )
        return cls(schemas, levels, layout, ids)

    @property
    def in_order(self) -> tuple[Counted, ...]:
        """The levels of all columns, owner by owner."""
        every = list(self.levels.values())[: len(self.layout.holders)]
        return tuple(one for owner in every for one in owner)


def with_label_counted(schema: Schema) -> Schema:
    """Return a schema whose label is a category as any other, if its categories are listed."""
    if schema.label is None or not schema.label.categories:
        return schema
    category = replace(schema.label, kind=Kind.CATEGORY)
    return Schema([category if one is schema.label else one for one in schema.columns])


def _label_of(schemas: Iterable[Schema]) -> str | None:
    """Return the name of the one label that schemas have."""
    labels = sorted({one.label.name for one in schemas if one.label is not None})
    if len(labels) > 1:
        raise InvalidParameterError(
            f"label: columns {listed(labels)} have kind 'label'. Name one of them by `label`"
        )
    return labels[0] if labels else None


def by_owner(owners: Iterable[str], schema: object) -> dict[str, Any]:
    """Return each owner's schema from a dict of names, or from one schema that all have."""
    names = list(owners)
    if not isinstance(schema, Mapping):
        return dict.fromkeys(names, schema)
    if set(schema) == set(names):
        return {name: schema[name] for name in names}
    whole = any(isinstance(one, (Schema, os.PathLike)) for one in schema.values())
    if whole or set(schema) & set(names):
        raise InvalidParameterError(
            "schema must be that of all owners, or a dict of each owner's name to its schema: "
            f"{', '.join(map(repr, names)) or 'there is no owner'}"
        )
    return dict.fromkeys(names, schema)


def public_levels(
    schemas: Mapping[str, Schema], bins: Bins | None, ids: str | None
) -> dict[str, tuple[Counted, ...]]:
    """Return each owner's columns as levels, from public schemas alone."""
    levels: dict[str, tuple[Counted, ...]] = {}
    held_by: dict[str, str] = {}
    for name, schema in schemas.items():
        _check_owner(name)
        if not isinstance(schema, Schema):
            raise InvalidParameterError(
                f"schema: that of {name!r} must be a dpsumm.Schema, got {type(schema).__name__}"
            )
        if ids is not None:
            _check_ids(ids, name, schema)
        for column in schema.columns:
            if column.kind is Kind.LABEL:
                raise InvalidParameterError(
                    f"schema: column {column.name!r} is a label without categories, and rows "
                    "need a list of its values. Add `categories` to it, or give it kind 'number' "
                    "with bounds"
                )
            if column.kind is Kind.IGNORE and column.name != ids:
                raise InvalidParameterError(
                    f"schema: column {column.name!r} of {name!r} has kind 'ignore', so it cannot "
                    "be in synthetic rows. Leave it out of the schema, or, if it identifies the "
                    f"records of all owners, give `ids={column.name!r}`"
                )
            if column.in_kernel and held_by.setdefault(column.name, name) != name:
                raise InvalidParameterError(
                    f"schema: column {column.name!r} is held by {held_by[column.name]!r} and "
                    f"{name!r}. Leave it out of one of the two schemas, or rename it. Owners that "
                    "hold the same columns of different records need equal schemas"
                )
        levels[name] = tuple(counted_as(column, bins) for column in schema.kernel)
    if isinstance(bins, Mapping) and (unknown := set(bins) - set(held_by)):
        raise InvalidParameterError(f"bins: there is no column {min(unknown)!r}")
    _check_sizes([one for owner in levels.values() for one in owner])
    return levels


def _check_owner(name: str) -> None:
    if name in (HELPER, ALL_OWNERS) or not name.strip():
        raise InvalidParameterError(f"owners: no owner can be called {name!r}. Rename it")


def _check_ids(ids: str, name: str, schema: Schema) -> None:
    """Refuse identifiers that are none in an owner's schema. Its columns are public."""
    carried = [column.name for column in schema.carried]
    if ids in carried:
        return
    kinds = {column.name: Kind(column.kind).value for column in schema.columns}
    if ids in kinds:
        raise InvalidParameterError(
            f"ids: column {ids!r} has kind {kinds[ids]!r} in the schema of {name!r}. Identifiers "
            "have kind 'ignore', and are in no synthetic row"
        )
    way = (
        f"It has {listed(carried)}. Correct the spelling, the same in every schema"
        if carried
        else "Add it to the schemas of all owners"
    )
    raise InvalidParameterError(
        f"ids: the schema of {name!r} has no column {ids!r} of kind 'ignore'. {way}"
    )


def _check_sizes(levels: Sequence[Counted]) -> None:
    largest = sorted(levels, key=lambda one: one.tree.codes)[-2:]
    if largest[-1].tree.codes == 1:
        raise InvalidParameterError(
            "bins: every column has one level only, so there is nothing to count. Give more bins"
        )
    cells = math.prod(one.tree.codes for one in largest)
    if len(largest) == 2 and cells > MOST_CELLS:
        raise InvalidParameterError(
            f"bins: columns {largest[0].name!r} and {largest[1].name!r} make a table of "
            f"{cells} cells, at most {MOST_CELLS} are counted, and "
            "noise hides far fewer. Give fewer bins, or group categories under other"
        )
    if (total := sum(one.tree.codes for one in levels)) > MOST_LEVELS:
        raise InvalidParameterError(
            f"bins: all columns have {total} levels together, at most {MOST_LEVELS} are counted. "
            f"{largest[-1].name!r} has the most: give fewer bins, or group categories under other"
        )


def layout_of(
    schemas: Mapping[str, Schema],
    levels: Mapping[str, Sequence[Counted]],
    label: str | None,
    ids: str | None,
    pairs: Sequence[tuple[str, str]] = (),
) -> Layout:
    """Return the public columns of a run."""
    columns = tuple(one.name for owner in levels.values() for one in owner)
    if label is not None and label not in columns:
        raise InvalidParameterError(f"label: there is no column {label!r}")
    for name in (name for pair in pairs for name in pair):
        if name == label:
            raise InvalidParameterError(
                f"pairs must leave out the label {name!r}, because its tables have their own share"
            )
        if name not in columns:
            raise InvalidParameterError(f"pairs must name columns, {name!r} is missing")
    places = [(columns.index(one), columns.index(other)) for one, other in pairs]
    return Layout(
        owners=tuple(levels),
        schemas=tuple(schema.fingerprint for schema in schemas.values()),
        columns=columns,
        sizes=tuple(one.size for owner in levels.values() for one in owner),
        owner_of=tuple(p for p, owner in enumerate(levels.values()) for _ in owner),
        label=None if label is None else columns.index(label),
        edges=tuple(
            () if one.edges is None else tuple(one.edges.tolist())
            for owner in levels.values()
            for one in owner
        ),
        ids=ids or "",
        trees=tuple(one.tree for owner in levels.values() for one in owner),
        pairs=tuple(sorted((min(i, j), max(i, j)) for i, j in places)),
    )

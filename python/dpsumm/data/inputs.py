"""The data of all parties as tables with the same columns in the same order."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from dpsumm.basics.checks import counted
from dpsumm.basics.names import check_name
from dpsumm.data.extract import Extract, Source, Wanted
from dpsumm.data.file import File, FileFormat, each_file, file_of
from dpsumm.data.frame import Backend
from dpsumm.data.schema import Schema
from dpsumm.data.shards import Shards
from dpsumm.data.stream import Stream, StreamTable
from dpsumm.data.table import Table, encoded, read_table, usable
from dpsumm.errors import InvalidDataError, InvalidParameterError

# A list, a name to each, or a folder or pattern of files.
Owners: TypeAlias = Sequence[Source] | Mapping[str, Source] | str | os.PathLike[str] | File

__all__ = [
    "Backend",
    "FileFormat",
    "Owners",
    "Source",
    "Table",
    "read_inputs",
    "read_owners",
    "read_table",
]


def read_owners(owners: Owners, **wanted: Any) -> list[Table | StreamTable]:
    """Return one table per owner, all with the same columns in the same order.

    Each has the precision of its own data, not that of the others.

    Parameters
    ----------
    owners
        At least one. Name to source. Or a list, whose owners are called by the stem of their file
        or ``owner-0``, ``owner-1``, and so on. Or a folder or pattern of files (`owner_files`).
    **wanted
        See `Wanted`. The same for all owners.
    """
    return _tables(owners, Wanted(**wanted))


def _tables(owners: Owners, wanted: Wanted) -> list[Table | StreamTable]:
    """Return one table per owner. See `read_owners`."""
    sources = _named(owners)
    extracts = [
        usable(_first_rows(source, name, wanted), name, _of_block(source, wanted))
        for name, source in sources.items()
    ]
    # Arrays have no names of their own, so a data frame, if there is one, names the columns.
    first = next((one for one in extracts if one.backend is not None), extracts[0])

    # Without its rows, since this goes to wherever an owner's blocks are read.
    like = first.take(np.empty(0, dtype=np.int64))

    def table_of(extract: Extract) -> Table:
        return encoded(replace(_aligned(extract, like), schema=first.schema))

    tables = [table_of(extract) for extract in extracts]
    _check_labels(tables)

    def whole(head: Table) -> Table | StreamTable:
        source, name = sources[head.name], head.name
        if not isinstance(source, (Stream, Shards)):
            return head
        block = _of_block(source, wanted)
        return StreamTable(source, head, lambda raw: table_of(usable(raw, name, block)))

    return [whole(table) for table in tables]


def _of_block(source: Source, wanted: Wanted) -> Wanted:
    """Return what is wanted of each block of a stream, or of any other source itself."""
    if not isinstance(source, (Stream, Shards)):
        return wanted
    return replace(wanted, single=source.single)


def _first_rows(source: Source, name: str, wanted: Wanted) -> Source:
    """Return a source itself, or of a stream the first block, which tells what all are like."""
    if not isinstance(source, (Stream, Shards)):
        return source
    if wanted.drops:
        raise InvalidParameterError(
            f"{name!r}: a Stream or Shards tell how many rows they have before they read them, so "
            f"none can be dropped. Leave out when_missing='drop', and leave rows with missing "
            f"values out when writing the file"
        )
    return source.head()


def _check_labels(tables: Sequence[Table]) -> None:
    labelled = [table for table in tables if table.labels is not None]
    for table in tables:
        if labelled and table.labels is None:
            raise InvalidDataError(
                f"{table.name!r}: has no labels although {labelled[0].name!r} has. Give labels "
                f"for all owners or for none"
            )


def read_inputs(
    owners: Owners,
    target: Source,
    *,
    target_name: str = "target",
    own_labels: bool = False,
    **wanted: Any,
) -> tuple[list[Table | StreamTable], Table]:
    """Return the owners' tables and the target's, with the same columns.

    The target's is always float64, so that its release does not depend on the owners' data. An
    owner's has the precision of its own data.

    The target needs the owners' columns and may have others (an identifier), which are ignored.
    With `own_labels` its labels, if it has some, are read as well, None where one is missing.
    Without it they are ignored, too. Messages call it `target_name`.
    """
    what = Wanted(**wanted)
    tables = _tables(owners, what)
    if target_name in (table.name for table in tables):
        raise InvalidParameterError(
            f"owners must not be called {target_name!r}, as your own data are. Give that owner "
            "another name"
        )
    first = tables[0].head
    pair = isinstance(target, tuple)
    if pair and not own_labels:
        raise InvalidParameterError(
            f"{target_name}: labels are not used. Give the array of points alone"
        )
    if pair and first.labels is None:
        raise InvalidParameterError(
            f"{target_name}: has labels, although no owner has. Give the points alone, or the "
            f"owners' labels, too"
        )
    arrays = isinstance(target[0] if pair else target, np.ndarray)
    if what.schema is not None:
        label = own_labels and (pair or not arrays)
        what = replace(what, schema=what.schema.for_target(label=label))
    elif not arrays and first.backend is not None:
        what = replace(what, columns=first.columns, titles=first.titles)
    goal = _aligned(usable(target, target_name, replace(what, own_labels=own_labels)), first)
    goal = replace(goal, schema=first.schema.for_target())
    return tables, encoded(goal.astype(np.float64))


def read_target(target: Source, schema: Schema, *, name: str = "target") -> Table:
    """Return the target's table, with its own labels if it has some, where owners are elsewhere."""
    label = not isinstance(target, np.ndarray)
    what = Wanted(schema=schema.for_target(label=label), own_labels=True)
    goal = replace(usable(target, name, what), schema=schema.for_target())
    return encoded(goal.astype(np.float64))


def check_other_files(sources: Mapping[str, object], advice: str) -> None:
    """Refuse one file under two names. Paths are public, so this reveals no record."""
    taken: dict[Path, str] = {}
    for name, source in sources.items():
        if file := file_of(source):
            first = taken.setdefault(Path(file.path).resolve(), name)
            if first != name:
                raise InvalidParameterError(f"{first!r} and {name!r} are the same file; {advice}")


def _named(owners: Owners) -> dict[str, Source]:
    owners = each_file(owners)
    if isinstance(owners, Mapping):
        named = {str(name): source for name, source in owners.items()}
        if len(named) < len(owners) or any(not name.strip() for name in named):
            raise InvalidParameterError("owners: names must be distinct and not empty")
        for name in named:
            check_name(name, "owners")
    elif isinstance(owners, (list, tuple)):
        named = {}
        for i, source in enumerate(owners):
            file = file_of(source)
            name = f"owner-{i}" if file is None else Path(file.path).name.split(".")[0]
            if isinstance(source, Stream) and source.name is not None:
                name = source.name
            if name in named or not name:
                raise InvalidParameterError(
                    f"owners: two owners would be called {name!r}. Give a dict of name to source"
                )
            named[name] = source
    else:
        raise InvalidParameterError(
            f"owners must be a list of sources or a dict of name to source, "
            f"got {type(owners).__name__}. For one owner write [data]"
        )
    if not named:
        raise InvalidParameterError("owners: at least one owner is needed, got none")
    return named


def _aligned(data: Extract, like: Extract | Table) -> Extract:
    """Return the extract with the columns of another, by name. Arrays match by position."""
    has, wanted = data.schema.names, like.schema.names
    if has == wanted:
        return data
    if data.backend is None or like.backend is None:
        if len(has) == len(wanted) and data.backend is None:
            return data
        raise InvalidDataError(
            f"{data.name!r}: has {counted(len(has), 'column', 'columns')} and {like.name!r} has "
            f"{len(wanted)}, not all of them with names. All parties need the same columns"
        )
    for one, other in ((data, like), (like, data)):
        lacking = [
            title
            for column, title in zip(other.schema.names, other.titles, strict=True)
            if column not in one.schema.names
        ]
        if lacking:
            raise InvalidDataError(
                f"{one.name!r}: lacks {', '.join(lacking[:12])}, which {other.name!r} has. All "
                f"parties need the same columns (choose them with a schema)"
            )
    return data.ordered([has.index(column) for column in wanted])


def read_every_row(source: Source, *, name: str, schema: Schema) -> Table:
    """Read rows that will be predicted. Each gets a prediction, so none may be dropped."""
    table = read_table(source, name=name, schema=schema)
    if table.n_dropped:
        raise InvalidDataError(
            f"{name}: values are missing in columns whose rows the schema drops then, and a row "
            "that is dropped has no prediction. Fill the values in, or leave such rows out "
            "beforehand"
        )
    return table

"""Turn what a user has (arrays, data frames, files) into the arrays the algorithms work on.

Everything that could make a point meaningless or leak a value is refused here, before anything is
sent: missing and infinite values, text, columns that differ between owners. Messages name the
source, the column and the way out, never a value or a row.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpsumm.checks import all_usable, largest
from dpsumm.errors import InvalidDataError, InvalidParameterError
from dpsumm.frames import Backend, Extract, from_arrays, from_frame
from dpsumm.readers import FileFormat, read_file
from dpsumm.scaling import Bounds, check_bounds, listed, to_unit_box
from dpsumm.shards import Shards
from dpsumm.sifting import StreamTable
from dpsumm.streams import Stream

__all__ = [
    "Backend",
    "Bounds",
    "FileFormat",
    "Source",
    "Table",
    "read_inputs",
    "read_owners",
    "read_table",
]

Points: TypeAlias = NDArray[np.float64] | NDArray[np.float32]
# An array, a labelled pair of arrays, a path, or any data frame that narwhals knows.
Source: TypeAlias = Any

DROP = "impute them with public values, or drop such rows with FileFormat(drop_missing=True)"


@dataclass(frozen=True, eq=False)
class Table:
    """The usable rows of one owner or of the target.

    Attributes
    ----------
    name
        Name of the owner, or ``"target"``.
    values : (n, c) float32 or float64, C-contiguous
        The points in their own units, finite; the array passed in itself when it already fits.
    scaled : (n, c), same type
        What the kernel sees: columns with bounds clipped and scaled to [0, 1], the others as they
        are. The same object as `values` when there are no bounds.
    columns
        Names of the c columns; ``x0``, ``x1``, ... for arrays.
    labels : (n,) or None
        Numbers, booleans or text, one per row.
    backend
        The data-frame library the data came from (``"polars"`` for files), None for arrays.
    rows : (n,) int64 or None
        Row in the data as given of each row kept; None when all were kept.
    n_dropped
        Rows left out for missing values. Depends on the private data: not to be published.
    n_clipped
        Values outside the bounds, per column. Depends on the private data: not to be published.
    """

    name: str
    values: Points = field(repr=False)
    scaled: Points = field(repr=False)
    columns: tuple[str, ...]
    labels: NDArray[Any] | None = field(default=None, repr=False)
    backend: Backend | None = None
    rows: NDArray[np.int64] | None = field(default=None, repr=False)
    n_dropped: int = field(default=0, repr=False)
    n_clipped: tuple[int, ...] = field(default=(), repr=False)

    def __len__(self) -> int:
        """Return the number of rows kept."""
        return len(self.values)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Precision of the points."""
        return self.values.dtype

    def original_rows(self, index: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the rows, in the data as given, of rows of this table."""
        return index if self.rows is None else self.rows[index]

    def astype(self, dtype: np.dtype[Any]) -> Table:
        """Return the table with its points in another precision; itself if they have it."""
        if self.dtype == dtype:
            return self
        values = self.values.astype(dtype)
        scaled = values if self.scaled is self.values else self.scaled.astype(dtype)
        return replace(self, values=values, scaled=scaled)


def read_table(
    source: Source,
    *,
    name: str,
    columns: Sequence[str] | None = None,
    label: str | None = None,
    bounds: Bounds | None = None,
    file_format: FileFormat | None = None,
) -> Table:
    """Return one party's data as arrays.

    Parameters
    ----------
    source
        (n, c) array; pair of an (n, c) array and (n,) labels; data frame of pandas, polars,
        pyarrow or another library that narwhals supports (lazy frames are collected); or path of
        a CSV or Parquet file. Integers and booleans become float64; float32 stays float32 when
        all columns are.
    name
        Name of the party, for messages.
    columns
        Columns to use, in this order; None for all except `label`. Frames and files only.
    label
        Column with the labels. Frames and files only.
    bounds
        Public ``(low, high)`` per column name, in the column's units. The kernel then sees the
        column clipped to the bounds and scaled to [0, 1]; columns without bounds are used as they
        are. Bounds must not be computed from private data: they would leak it.
    file_format
        How files are read, and whether rows with missing values are dropped; `FileFormat()` if
        None.

    Raises
    ------
    InvalidDataError
        The data are empty, malformed, not numeric, missing or infinite somewhere in the selected
        columns, or lack a column.
    InvalidParameterError
        `columns`, `label` or `bounds` do not fit the source, or the source's type is unknown.
    MissingExtraError
        A file, and polars is not installed.
    """
    file_format = FileFormat() if file_format is None else file_format
    where = repr(name)
    if isinstance(source, (str, os.PathLike)):
        path = Path(source)
        where = f"{where} ({path})"
        source = read_file(path, file_format, where=where)
    is_array = isinstance(source, (tuple, np.ndarray))
    extract = (from_arrays if is_array else from_frame)(source, columns, label, where)
    if 0 in extract.values.shape:
        n_rows, n_columns = extract.values.shape
        raise InvalidDataError(
            f"{where}: the data are empty ({n_rows} rows, {n_columns} columns); leave the owner "
            f"out, or check columns"
        )
    return _with_bounds(_checked(extract, name, where, file_format.drop_missing), bounds)


def _checked(extract: Extract, name: str, where: str, drop_missing: bool) -> Table:
    """Return an extract as a table; drop or refuse missing values, refuse infinite ones."""
    values, labels, rows = extract.values, extract.labels, None
    missing = np.zeros(len(values), bool)
    # One pass decides the usual case; only then look column by column for what to say.
    suspects = () if all_usable(values) else extract.columns
    for j, column in enumerate(suspects):
        if (np.abs(values[:, j]) > largest(values.dtype)).any():
            raise InvalidDataError(
                f"{where}: column {column!r} has infinite values, or absurdly large ones; "
                "replace them by the limit of the sensible range, or mark them as missing"
            )
        absent = np.isnan(values[:, j])
        if absent.any() and not drop_missing:
            raise InvalidDataError(f"{where}: column {column!r} has missing values; {DROP}")
        missing |= absent
    if extract.unlabelled is not None:
        if extract.unlabelled.any() and not drop_missing:
            raise InvalidDataError(f"{where}: some labels are missing; {DROP}")
        missing |= extract.unlabelled
    if missing.all():
        raise InvalidDataError(
            f"{where}: no row is complete; leave columns with many missing values out"
        )
    if missing.any():
        rows = np.flatnonzero(~missing)
        values = values[rows]
        labels = None if labels is None else labels[rows]
    if labels is not None and labels.dtype.kind == "f" and np.isinf(labels).any():
        raise InvalidDataError(f"{where}: some labels are infinite; correct them")
    return Table(
        name=name,
        values=values,
        scaled=values,
        columns=extract.columns,
        labels=labels,
        backend=extract.backend,
        rows=rows,
        n_dropped=int(np.count_nonzero(missing)),
    )


def _with_bounds(table: Table, bounds: Bounds | None) -> Table:
    if not bounds:
        return table
    check_bounds(bounds, table.columns, repr(table.name))
    scaled, n_clipped = to_unit_box(table.values, table.columns, bounds)
    return replace(table, scaled=scaled, n_clipped=n_clipped)


def read_owners(
    owners: Sequence[Source] | Mapping[str, Source],
    *,
    columns: Sequence[str] | None = None,
    label: str | None = None,
    bounds: Bounds | None = None,
    file_format: FileFormat | None = None,
) -> list[Table | StreamTable]:
    """Return one table per owner, all with the same columns in the same order and precision.

    Parameters
    ----------
    owners
        Name to source; or a list, whose owners are called by the stem of their file or
        ``owner-0``, ``owner-1``, and so on. At least one.
    columns, label, bounds, file_format
        As for `read_table`, the same for all owners.

    Raises
    ------
    InvalidDataError, InvalidParameterError, MissingExtraError
        As `read_table`; also when owners differ in columns, in having labels, or in the kind of
        labels.
    """
    sources = _named(owners)

    def read(source: Source, name: str) -> Table:
        return read_table(source, name=name, columns=columns, label=label, file_format=file_format)

    tables = [
        read(_first_rows(source, name, file_format), name) for name, source in sources.items()
    ]
    # Arrays have no names of their own, so a data frame, if there is one, names the columns.
    first = next((table for table in tables if table.backend is not None), tables[0])
    tables = [_with_bounds(_aligned(table, first), bounds) for table in tables]
    _check_labels(tables)
    dtype = np.result_type(*(table.dtype for table in tables))

    def whole(head: Table) -> Table | StreamTable:
        source = sources[head.name]
        if not isinstance(source, (Stream, Shards)):
            return head
        return StreamTable(
            source, head, lambda raw: _with_bounds(_aligned(read(raw, head.name), head), bounds)
        )

    return [whole(table.astype(dtype)) for table in tables]


def _first_rows(source: Source, name: str, file_format: FileFormat | None) -> Source:
    """Return a source itself, or of a stream the first block, which tells what all are like."""
    if not isinstance(source, (Stream, Shards)):
        return source
    if file_format is not None and file_format.drop_missing:
        raise InvalidParameterError(
            f"{name!r}: a Stream or Shards tell how many rows they have before they read them, so "
            f"none can be dropped; leave out drop_missing, and rows with missing values when "
            f"writing the file"
        )
    return source.head()


def _check_labels(tables: Sequence[Table]) -> None:
    labelled = [table for table in tables if table.labels is not None]
    for table in tables:
        if labelled and table.labels is None:
            raise InvalidDataError(
                f"{table.name!r}: has no labels although {labelled[0].name!r} has; give labels "
                f"for all owners or for none"
            )
    texts = [table for table in labelled if _is_text(table)]
    numbers = [table for table in labelled if not _is_text(table)]
    if texts and numbers:
        raise InvalidDataError(
            f"{texts[0].name!r}: labels are text, but those of {numbers[0].name!r} are numbers; "
            f"give all labels the same type"
        )


def _is_text(table: Table) -> bool:
    return table.labels is not None and table.labels.dtype.kind == "U"


def read_inputs(
    owners: Sequence[Source] | Mapping[str, Source],
    target: Source,
    *,
    columns: Sequence[str] | None = None,
    label: str | None = None,
    bounds: Bounds | None = None,
    file_format: FileFormat | None = None,
) -> tuple[list[Table | StreamTable], Table]:
    """Return the owners' tables and the target's, with the same columns and precision.

    The target needs the owners' columns and may have others (a label, an identifier), which are
    ignored.

    Raises
    ------
    InvalidDataError, InvalidParameterError, MissingExtraError
        As `read_owners`; also when the target lacks a column of the owners.
    """
    tables = read_owners(
        owners, columns=columns, label=label, bounds=bounds, file_format=file_format
    )
    if isinstance(target, tuple):
        raise InvalidParameterError("target: labels are not used; give the array of points alone")
    by_position = isinstance(target, np.ndarray) or tables[0].backend is None
    names = None if by_position else tables[0].columns
    goal = read_table(target, name="target", columns=names, file_format=file_format)
    first = tables[0].head if isinstance(tables[0], StreamTable) else tables[0]
    goal = _with_bounds(_aligned(goal, first), bounds)
    dtype = np.result_type(tables[0].dtype, goal.dtype)
    return [table.astype(dtype) for table in tables], goal.astype(dtype)


def _named(owners: Sequence[Source] | Mapping[str, Source]) -> dict[str, Source]:
    if isinstance(owners, Mapping):
        named = {str(name): source for name, source in owners.items()}
        if len(named) < len(owners) or any(not name.strip() for name in named):
            raise InvalidParameterError("owners: names must be distinct and not empty")
    elif isinstance(owners, (list, tuple)):
        named = {}
        for i, source in enumerate(owners):
            is_path = isinstance(source, (str, os.PathLike))
            name = Path(source).name.split(".")[0] if is_path else f"owner-{i}"
            if isinstance(source, Stream) and source.name is not None:
                name = source.name
            if name in named or not name:
                raise InvalidParameterError(
                    f"owners: two owners would be called {name!r}; give a dict of name to source"
                )
            named[name] = source
    else:
        raise InvalidParameterError(
            f"owners must be a list of sources or a dict of name to source, "
            f"got {type(owners).__name__}; for one owner write [data]"
        )
    if not named:
        raise InvalidParameterError("owners: at least one owner is needed, got none")
    return named


def _aligned(table: Table, like: Table) -> Table:
    """Return the table with the columns of another, by name; arrays match by position."""
    if table.columns == like.columns:
        return table
    if table.backend is None or like.backend is None:
        if len(table.columns) == len(like.columns) and table.backend is None:
            return replace(table, columns=like.columns)
        raise InvalidDataError(
            f"{table.name!r}: has {len(table.columns)} columns and {like.name!r} has "
            f"{len(like.columns)}, not all of them with names; all parties need the same columns"
        )
    for one, other in ((table, like), (like, table)):
        lacking = [column for column in other.columns if column not in one.columns]
        if lacking:
            raise InvalidDataError(
                f"{one.name!r}: lacks {listed(lacking)}, which {other.name!r} has; all parties "
                f"need the same columns (choose them with columns)"
            )
    order = [table.columns.index(column) for column in like.columns]
    values = np.require(table.values[:, order], requirements="C")
    return replace(table, values=values, scaled=values, columns=like.columns)

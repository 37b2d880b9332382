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

from dpsumm.checks import all_usable, largest, listed
from dpsumm.encoding import has_fractions
from dpsumm.errors import InvalidDataError, InvalidParameterError
from dpsumm.frames import Backend, Chosen, Extract, from_arrays, from_frame
from dpsumm.readers import MISSING, FileFormat, read_file
from dpsumm.schema import Bounds, Kind, Schema, WhenMissing
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

DROP = (
    "impute them with public values, drop such rows with FileFormat(drop_missing=True), or say "
    "when_missing in a Schema"
)


@dataclass(frozen=True, eq=False)
class Table:
    """The usable rows of one owner or of the target.

    Attributes
    ----------
    name
        Name of the owner, or ``"target"``.
    schema
        What the columns are.
    values : (n, c) float32 or float64, C-contiguous
        The points as `Schema.encode` takes them: numbers in their own units, dates as days,
        categories by position, NaN where a missing value is encoded; the array passed in itself
        when it already fits.
    scaled : (n, e), same type
        What the kernel sees, see `Schema.encode`. The same object as `values` when that is the
        same.
    labels : (n,) or None
        Numbers, booleans or text, one per row.
    carried
        An (n,) array for each of `Schema.carried`: numbers, dates, or objects that are text.
    backend
        The data-frame library the data came from (``"polars"`` for files), None for arrays.
    rows : (n,) int64 or None
        Row in the data as given of each row kept; None when all were kept.
    n_dropped
        Rows left out for missing values. Depends on the private data: not to be published.
    n_clipped, n_missing, n_unknown
        Values outside the bounds, missing ones that are encoded, and values in no category, per
        column. Depend on the private data: not to be published.
    """

    name: str
    schema: Schema = field(repr=False)
    values: Points = field(repr=False)
    scaled: Points = field(repr=False)
    labels: NDArray[Any] | None = field(default=None, repr=False)
    carried: tuple[NDArray[Any], ...] = field(default=(), repr=False)
    backend: Backend | None = None
    rows: NDArray[np.int64] | None = field(default=None, repr=False)
    n_dropped: int = field(default=0, repr=False)
    n_clipped: tuple[int, ...] = field(default=(), repr=False)
    n_missing: tuple[int, ...] = field(default=(), repr=False)
    n_unknown: tuple[int, ...] = field(default=(), repr=False)

    def __len__(self) -> int:
        """Return the number of rows kept."""
        return len(self.values)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the c columns; ``x0``, ``x1``, ... for arrays."""
        return self.schema.names

    @property
    def width(self) -> int:
        """Coordinates of the kernel's space, e."""
        return int(self.scaled.shape[1])

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
    schema: Schema | None = None,
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
    schema
        What the columns are, instead of `columns`, `label` and `bounds`, which are a shorthand for
        one: number columns, of which some have bounds.
    file_format
        How files are read, and whether rows with missing values are dropped; `FileFormat()` if
        None. Of missing values the schema tells, if there is one.

    Raises
    ------
    InvalidDataError
        The data are empty, malformed, lack a column, or hold what the schema does not allow:
        missing values, infinite numbers, values of another kind or in no category.
    InvalidParameterError
        `columns`, `label`, `bounds` or `schema` do not fit the source or each other, or the
        source's type is unknown.
    MissingExtraError
        A file, and polars is not installed.
    """
    table = _read(source, name, columns, label, schema, file_format)
    if bounds:
        _check_shorthand(schema, columns, label, bounds)
        table = replace(table, schema=table.schema.with_bounds(bounds))
    return _encoded(table)


def _read(
    source: Source,
    name: str,
    columns: Sequence[str] | None,
    label: str | None,
    schema: Schema | None,
    file_format: FileFormat | None,
) -> Table:
    """Return a table that is yet to be encoded."""
    drop_missing = file_format is not None and file_format.drop_missing
    _check_shorthand(schema, columns, label, None)
    if schema is None:
        chosen = Chosen(columns, label, drop_missing)
        extract = extract_of(source, name, chosen, file_format)
        if extract.backend is None and drop_missing:
            extract = replace(extract, schema=extract.schema.with_rule(WhenMissing.DROP))
    else:
        extract = extract_of(source, name, schema, file_format)
    return _checked(extract, name, _where(source, name), drop_unlabelled=drop_missing)


def extract_of(
    source: Source, name: str, wanted: Schema | Chosen, file_format: FileFormat | None
) -> Extract:
    """Return the columns of a source as they are, not judged; see `read_table`.

    Raises
    ------
    InvalidDataError, InvalidParameterError, MissingExtraError
        The source cannot be read, or does not fit the columns wanted.
    """
    where = _where(source, name)
    schema = wanted if isinstance(wanted, Schema) else None
    source = opened(source, name, schema, file_format)
    if not isinstance(source, (tuple, np.ndarray)):
        return from_frame(source, wanted, where)
    if isinstance(wanted, Chosen) and (wanted.columns is not None or wanted.label is not None):
        raise InvalidParameterError(
            f"{where}: arrays have no column names, so columns and label cannot be given; slice "
            f"the array and give labels as a pair (values, labels), or use a data frame"
        )
    return from_arrays(source, schema, where)


def opened(
    source: Source, name: str, schema: Schema | None, file_format: FileFormat | None
) -> Source:
    """Return a source itself, or of a path the data frame that is there."""
    file_format = FileFormat() if file_format is None else file_format
    if schema is not None and (file_format.drop_missing or file_format.missing != MISSING):
        raise InvalidParameterError(
            "schema: it says what means a missing value and what happens then; leave out missing "
            "and drop_missing of the file format, and set missing and when_missing of its columns"
            " (instead of --missing, --drop-missing)"
        )
    if not isinstance(source, (str, os.PathLike)):
        return source
    marks = None if schema is None else schema.marks
    return read_file(Path(source), file_format, where=_where(source, name), marks=marks)


def _where(source: Source, name: str) -> str:
    is_path = isinstance(source, (str, os.PathLike))
    return f"{name!r} ({Path(source)})" if is_path else repr(name)


def _check_shorthand(
    schema: Schema | None,
    columns: Sequence[str] | None,
    label: str | None,
    bounds: Bounds | None,
) -> None:
    if schema is None:
        return
    if not isinstance(schema, Schema):
        raise InvalidParameterError(
            f"schema must be a dpsumm.Schema, got {type(schema).__name__}; "
            f"read a file with Schema.read(path)"
        )
    if columns is not None or label is not None or bounds:
        raise InvalidParameterError(
            "schema: it says which columns there are, their bounds and the label; leave out "
            "columns, bounds and label (--column, --label)"
        )


def _checked(extract: Extract, name: str, where: str, *, drop_unlabelled: bool = False) -> Table:
    """Return an extract as a table; drop or refuse missing values, refuse senseless ones."""
    schema, values, labels, rows = extract.schema, extract.values, extract.labels, None
    missing = np.zeros(len(values), bool)
    for column, count in zip(schema.kernel, extract.n_unreadable, strict=False):
        if count:
            raise InvalidDataError(
                f"{where}: column {column.name!r} has values that are no "
                f"{Kind(column.kind).value}; correct them, add their mark to missing, or change "
                f"the kind or date_format in the schema"
            )
    # One pass decides the usual case; only then look column by column for what to say.
    plain = all_usable(values) and all(
        column.kind is Kind.NUMBER and not column.whole for column in schema.kernel
    )
    for j, column in enumerate(() if plain else schema.kernel):
        codes = values[:, j]
        if (np.abs(codes) > largest(values.dtype)).any():
            raise InvalidDataError(
                f"{where}: column {column.name!r} has infinite values, or absurdly large ones; "
                "replace them by the limit of the sensible range, or mark them as missing"
            )
        listed_only = column.kind is Kind.CATEGORY and column.other is None
        if listed_only and (codes == len(column.categories)).any():
            raise InvalidDataError(
                f"{where}: column {column.name!r} has values that are in none of the schema's "
                f"categories; add them there if they are public, or give other"
            )
        if column.whole and has_fractions(codes):
            raise InvalidDataError(
                f"{where}: column {column.name!r} has values that are not whole; correct them, or "
                f"leave out whole in the schema"
            )
        absent = np.isnan(codes)
        if absent.any() and column.when_missing is WhenMissing.REFUSE:
            raise InvalidDataError(f"{where}: column {column.name!r} has missing values; {DROP}")
        if not column.encodes_missing:
            missing |= absent
    if extract.unlabelled is not None:
        rule = None if schema.label is None else schema.label.when_missing
        drop = drop_unlabelled or rule is WhenMissing.DROP
        if extract.unlabelled.any() and not drop:
            raise InvalidDataError(f"{where}: some labels are missing; {DROP}")
        missing |= extract.unlabelled
    if missing.all():
        raise InvalidDataError(
            f"{where}: no row is complete; leave columns with many missing values out"
        )
    carried = extract.carried
    if missing.any():
        rows = np.flatnonzero(~missing)
        values = values[rows]
        labels = None if labels is None else labels[rows]
        carried = tuple(column[rows] for column in carried)
    if labels is not None and labels.dtype.kind == "f" and np.isinf(labels).any():
        raise InvalidDataError(f"{where}: some labels are infinite; correct them")
    return Table(
        name=name,
        schema=schema,
        values=values,
        scaled=values,
        labels=labels,
        carried=carried,
        backend=extract.backend,
        rows=rows,
        n_dropped=int(np.count_nonzero(missing)),
    )


def _encoded(table: Table) -> Table:
    """Return the table with its points in the kernel's space, and with what was counted."""
    schema = table.schema
    scaled, n_clipped = schema.encode(table.values)
    codes = list(zip(schema.kernel, table.values.T, strict=True))
    return replace(
        table,
        scaled=scaled,
        n_clipped=n_clipped,
        n_missing=tuple(
            int(np.isnan(x).sum()) if column.encodes_missing else 0 for column, x in codes
        ),
        n_unknown=tuple(
            int((x == len(column.categories)).sum()) if column.categories else 0
            for column, x in codes
        ),
    )


def read_owners(
    owners: Sequence[Source] | Mapping[str, Source],
    *,
    columns: Sequence[str] | None = None,
    label: str | None = None,
    bounds: Bounds | None = None,
    schema: Schema | None = None,
    file_format: FileFormat | None = None,
) -> list[Table | StreamTable]:
    """Return one table per owner, all with the same columns in the same order and precision.

    Parameters
    ----------
    owners
        Name to source; or a list, whose owners are called by the stem of their file or
        ``owner-0``, ``owner-1``, and so on. At least one.
    columns, label, bounds, schema, file_format
        As for `read_table`, the same for all owners.

    Raises
    ------
    InvalidDataError, InvalidParameterError, MissingExtraError
        As `read_table`; also when owners differ in columns, in having labels, or in the kind of
        labels.
    """
    sources = _named(owners)
    _check_shorthand(schema, columns, label, bounds)

    def read(source: Source, name: str) -> Table:
        return _read(source, name, columns, label, schema, file_format)

    tables = [
        read(_first_rows(source, name, schema, file_format), name)
        for name, source in sources.items()
    ]
    # Arrays have no names of their own, so a data frame, if there is one, names the columns.
    first = next((table for table in tables if table.backend is not None), tables[0])
    common = first.schema.with_bounds(bounds) if bounds else first.schema

    def encoded(table: Table) -> Table:
        return _encoded(replace(_aligned(table, first), schema=common))

    tables = [encoded(table) for table in tables]
    _check_labels(tables)
    dtype = np.result_type(*(table.dtype for table in tables))

    def whole(head: Table) -> Table | StreamTable:
        source = sources[head.name]
        if not isinstance(source, Stream):
            return head
        return StreamTable(source, head, lambda raw: encoded(read(raw, head.name)))

    return [whole(table.astype(dtype)) for table in tables]


def _first_rows(
    source: Source, name: str, schema: Schema | None, file_format: FileFormat | None
) -> Source:
    """Return a source itself, or of a stream the first block, which tells what all are like."""
    if not isinstance(source, Stream):
        return source
    drops = file_format is not None and file_format.drop_missing
    if schema is not None:
        drops = any(column.when_missing is WhenMissing.DROP for column in schema.columns)
    if drops:
        raise InvalidParameterError(
            f"{name!r}: a Stream tells how many rows it has before it reads them, so none can be "
            f"dropped; leave out drop_missing (or when_missing 'drop'), and leave rows with "
            f"missing values out when writing the file"
        )
    return next(iter(replace(source, block_rows=min(source.block_rows, 4096)).blocks()))


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
    schema: Schema | None = None,
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
        owners,
        columns=columns,
        label=label,
        bounds=bounds,
        schema=schema,
        file_format=file_format,
    )
    if isinstance(target, tuple):
        raise InvalidParameterError("target: labels are not used; give the array of points alone")
    first = tables[0].head if isinstance(tables[0], StreamTable) else tables[0]
    wanted = None if schema is None else schema.for_target()
    by_position = isinstance(target, np.ndarray) or first.backend is None
    names = None if by_position or schema is not None else first.columns
    goal = _aligned(_read(target, "target", names, None, wanted, file_format), first)
    goal = _encoded(replace(goal, schema=first.schema.for_target()))
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
            return table
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
    return replace(table, values=values, scaled=values)

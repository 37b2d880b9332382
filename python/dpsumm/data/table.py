"""One party's data (an array, a data frame, a file) as the arrays the algorithms work on.

Everything that could make a point meaningless or leak a value is refused here, before anything is
sent: what the schema does not allow, missing and infinite values. Messages name the source, the
column and the way out, never a value or a row.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpsumm.data.extract import Backend, Chosen, Extract, from_arrays, from_frame
from dpsumm.data.file import File
from dpsumm.data.files import MISSING, FileFormat
from dpsumm.data.marks import CANDIDATES, Marks, Score, choose
from dpsumm.data.read_file import read_file
from dpsumm.data.records import Records
from dpsumm.data.schema import Bounds, Kind, Schema, WhenMissing
from dpsumm.errors import InvalidDataError, InvalidParameterError

# An array, a labelled pair of arrays, a path, or any data frame that narwhals knows.
Source: TypeAlias = Any
# Makes a table of a block of raw rows.
Reader: TypeAlias = "Callable[[Any], Table]"

# What to do about missing values when there is no schema.
DROP = (
    "impute them with public values, drop such rows with FileFormat(drop_missing=True), or say "
    "when_missing in a Schema"
)
# The same of a file: the command line has files only.
DROP_FROM_FILE = (
    "impute them with public values, drop such rows with FileFormat(drop_missing=True) "
    "(--drop-missing), or say when_missing in a schema's file (--schema)"
)
# What to do about values that a schema refuses, by what they are.
WAY_OUT = {
    "missing": (
        "impute them with public values, or say when_missing in the schema: 'drop' leaves such "
        "rows out, 'encode' keeps them, with 'missing' as a value of its own"
    ),
    "missing labels": (
        "fill them in, or say when_missing = 'drop' in the schema, which leaves such rows out"
    ),
    "no number": (
        "correct them (a decimal point, no unit, no separator of thousands), add their mark to "
        "missing, or change the kind in the schema"
    ),
    "no date": (
        "correct them (year-month-day), add their mark to missing, or give date_format in the "
        "schema, such as '%d.%m.%Y'; if only this one of the parties writes dates otherwise, "
        "convert its file, for date_format holds for all"
    ),
    "no category": (
        "correct them, add their mark to missing, or change the kind in the schema; if the "
        "categories are text such as '02139', read the column as text (pandas: dtype=str)"
    ),
    "infinite": ("replace them by the limit of the sensible range, or mark them as missing"),
    "in no category": (
        "add them to categories if they are public, or say other in the schema, the one value "
        "that they all count as"
    ),
    "not whole": "correct them, or leave out whole in the schema",
}
# What messages call them.
SAID = {
    "missing": "missing values",
    "infinite": "infinite values, or absurdly large ones",
    "in no category": "values that are in none of the schema's categories",
}


@dataclass(frozen=True, eq=False, kw_only=True)
class Table(Records):
    """The usable rows of one owner or of the target, besides what all `Records` have.

    Attributes
    ----------
    name
        Name of the owner, or ``"target"``.
    schema
        What the columns are.
    scaled : (n, e), type of `values`
        What the kernel sees, see `Schema.encode`. The same object as `values` when that is the
        same; those are the array passed in itself when it already fits.
    backend
        The data-frame library the data came from (``"polars"`` for files), None for arrays.
    indexed
        Whether it is a pandas frame whose index does not count its rows from 0. Depends on the
        private data.
    titles
        What messages call the columns: by their names, unless these come from a file's header.
    n_dropped
        Rows left out for missing values. Depends on the private data: not to be published.
    n_clipped, n_missing, n_unknown
        Values outside the bounds, missing ones that are encoded, and values in no category, per
        column. Depend on the private data: not to be published.
    """

    name: str
    schema: Schema = field(repr=False)
    scaled: NDArray[Any] = field(repr=False)
    backend: Backend | None = None
    indexed: bool = field(default=False, repr=False)
    titles: tuple[str, ...] = ()
    n_dropped: int = field(default=0, repr=False)
    n_clipped: tuple[int, ...] = field(default=(), repr=False)
    n_missing: tuple[int, ...] = field(default=(), repr=False)
    n_unknown: tuple[int, ...] = field(default=(), repr=False)

    # What a `StreamTable` has too.
    @property
    def head(self) -> Table:
        """The rows that are read before the run: all."""
        return self

    @property
    def in_memory(self) -> Table:
        """The table itself."""
        return self

    def points_at(self, index: NDArray[np.int64]) -> NDArray[Any]:
        """Return some of the rows as the kernel sees them; see `StreamTable.points_at`."""
        return self.scaled[index]

    def rows_at(self, index: NDArray[np.int64]) -> Table:
        """Return some of the rows, ascending positions; see `StreamTable.rows_at`."""
        return self.take(index)

    def sift(self, score: Score, rng: np.random.Generator, count: int) -> tuple[Table, Marks]:
        """Return the candidates and their marks; see `StreamTable.sift`."""
        marks = Marks.of(self.rows, score(self.scaled), rng.random(len(self)))
        kept = choose(marks, max(CANDIDATES, count))
        return (self if len(kept) == len(self) else self.take(kept)), marks[kept]

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

    def take(self, index: NDArray[np.int64]) -> Self:
        """Return some of the rows, in the order of `index`."""
        part = super().take(index)
        whole = self.scaled is self.values
        return replace(part, scaled=part.values if whole else self.scaled[index])

    @classmethod
    def concat(cls, parts: Sequence[Self]) -> Self:
        """Return the rows of all tables in order; see `Records.concat`."""
        table, whole = super().concat(parts), parts[0].scaled is parts[0].values
        scaled = table.values if whole else np.concatenate([part.scaled for part in parts])
        return replace(table, scaled=scaled)

    def astype(self, dtype: np.dtype[Any]) -> Table:
        """Return the table with its values in another precision; itself if they have it.

        Values are cast and then encoded, never the encoded points: whoever gets the values must
        find the same points.
        """
        if self.dtype == dtype:
            return self
        values = self.values.astype(dtype)
        return replace(self, values=values, **_encoded(self.schema, values))


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
        a CSV or Parquet file. All become float64, but for arrays of float32 and with
        ``FileFormat(single=True)``.
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
        How files are read, in which precision, and whether rows with missing values are dropped;
        `FileFormat()` if None. Of missing values the schema tells, if there is one.

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
    wanted = wanted_of(columns, label, bounds, schema, file_format)
    extract = usable(source, name, wanted, file_format)
    if bounds:
        extract = replace(extract, schema=extract.schema.with_bounds(bounds))
    return encoded(extract)


def usable(
    source: Source,
    name: str,
    wanted: Schema | Chosen,
    file_format: FileFormat | None,
    missing: str = WAY_OUT["missing"],
) -> Extract:
    """Return the usable rows of a source; `missing` says what to do about values that lack."""
    if isinstance(source, File):
        source, file_format = source.path, source.format
    extract, where = extract_of(source, name, wanted, file_format), _where(source, name)
    if isinstance(wanted, Schema):
        return _checked(extract, where, missing, drop_unlabelled=False)
    if extract.backend is None and wanted.drop_missing:
        extract = replace(extract, schema=extract.schema.with_rule(WhenMissing.DROP))
    remedy = DROP_FROM_FILE if isinstance(source, (str, os.PathLike)) else DROP
    return _checked(extract, where, remedy, drop_unlabelled=wanted.drop_missing)


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
    is_path = isinstance(source, (str, os.PathLike))
    values = source[0] if isinstance(source, tuple) and source else source
    # Of SciPy, of whatever format: NumPy would take it for a single object.
    if hasattr(values, "toarray") and hasattr(values, "nnz"):
        raise InvalidParameterError(
            f"{where}: sparse matrices are not read; give its .toarray() if that fits into memory, "
            f"or fewer columns, as TruncatedSVD of scikit-learn makes them when it is fitted on "
            f"public data"
        )
    given, source = source, opened(source, name, schema, file_format)
    text = is_path and (file_format or FileFormat()).kind_of(Path(given), where) != "parquet"
    if not isinstance(source, (tuple, np.ndarray)):
        single = file_format is not None and file_format.single
        extract = from_frame(source, wanted, where, fields=text, secret=is_path, single=single)
        return replace(extract, name=name)
    if isinstance(wanted, Chosen) and (wanted.columns is not None or wanted.label is not None):
        raise InvalidParameterError(
            f"{where}: arrays have no column names, so columns and label cannot be given; slice "
            f"the array and give labels as a pair (values, labels), or use a data frame"
        )
    return replace(from_arrays(source, schema, where), name=name)


def opened(
    source: Source,
    name: str,
    schema: Schema | None,
    file_format: FileFormat | None,
    *,
    typed: bool = False,
) -> Source:
    """Return a source itself, or of a path the data frame that is there; see `read_file`."""
    file_format = FileFormat() if file_format is None else file_format
    if schema is not None and (file_format.drop_missing or file_format.missing != MISSING):
        raise InvalidParameterError(
            "schema: it says what means a missing value and what happens then; leave out "
            "FileFormat(missing=..., drop_missing=...) (--missing, --drop-missing), and set "
            "missing and when_missing of its columns instead"
        )
    if not isinstance(source, (str, os.PathLike)):
        return source
    marks = None if schema is None else schema.marks
    where = _where(source, name)
    return read_file(Path(source), file_format, where=where, marks=marks, typed=typed)


def _where(source: Source, name: str) -> str:
    is_path = isinstance(source, (str, os.PathLike))
    return f"{name!r} ({Path(source)})" if is_path else repr(name)


def wanted_of(
    columns: Sequence[str] | None,
    label: str | None,
    bounds: Bounds | None,
    schema: Schema | None,
    file_format: FileFormat | None,
) -> Schema | Chosen:
    """Return which columns of a source are read: the schema, or what is a shorthand for one.

    Raises
    ------
    InvalidParameterError
        Both are given; saying what to leave out.
    """
    if schema is None:
        return Chosen(columns, label, file_format is not None and file_format.drop_missing)
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
    return schema


def _checked(extract: Extract, where: str, remedy: str, *, drop_unlabelled: bool) -> Extract:
    """Return the extract's usable rows; drop or refuse missing values, refuse senseless ones.

    `remedy` says what to do about missing values.
    """
    schema, values = extract.schema, extract.values
    missing = np.zeros(len(values), bool)
    titles = extract.titles or tuple(f"column {name!r}" for name in schema.names)
    for column, title, count in zip(schema.kernel, titles, extract.n_unreadable, strict=False):
        if count:
            what = f"no {Kind(column.kind).value}"
            raise InvalidDataError(f"{where}: {title} has values that are {what}; {WAY_OUT[what]}")
    for j, fault in schema.faults(values):
        if fault == "missing" and schema.kernel[j].when_missing is WhenMissing.DROP:
            missing |= np.isnan(values[:, j])
        else:
            said = SAID.get(fault, f"values that are {fault}")
            way_out = remedy if fault == "missing" else WAY_OUT[fault]
            raise InvalidDataError(f"{where}: {titles[j]} has {said}; {way_out}")
    if extract.unlabelled is not None:
        rule = None if schema.label is None else schema.label.when_missing
        drop = drop_unlabelled or rule is WhenMissing.DROP
        if extract.unlabelled.any() and not drop:
            way_out = WAY_OUT["missing labels"] if remedy == WAY_OUT["missing"] else remedy
            raise InvalidDataError(f"{where}: some labels are missing; {way_out}")
        missing |= extract.unlabelled
    if missing.all():
        raise InvalidDataError(
            f"{where}: no row is complete; leave columns with many missing values out"
        )
    n_dropped = int(np.count_nonzero(missing))
    kept = replace(extract, unlabelled=None, titles=titles, n_dropped=n_dropped)
    if n_dropped:
        kept = kept.take(np.flatnonzero(~missing))
    return kept


def encoded(extract: Extract) -> Table:
    """Return usable rows with their points in the kernel's space, and with what was counted."""
    return Table(
        extract.rows,
        extract.values,
        extract.labels,
        extract.carried,
        name=extract.name,
        schema=extract.schema,
        backend=extract.backend,
        indexed=extract.indexed,
        titles=extract.titles,
        n_dropped=extract.n_dropped,
        **_encoded(extract.schema, extract.values),
    )


def _encoded(schema: Schema, values: NDArray[Any]) -> dict[str, Any]:
    """Return what a table has beyond an extract."""
    scaled, n_clipped = schema.encode(values)
    codes = list(zip(schema.kernel, values.T, strict=True))
    return {
        "scaled": scaled,
        "n_clipped": n_clipped,
        "n_missing": tuple(
            int(np.isnan(x).sum()) if column.encodes_missing else 0 for column, x in codes
        ),
        "n_unknown": tuple(
            int((x == len(column.categories)).sum()) if column.categories else 0
            for column, x in codes
        ),
    }

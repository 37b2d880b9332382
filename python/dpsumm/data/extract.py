"""Columns of any source as the schema's numbers, missing ones marked, not judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpsumm.basics.checks import counted, listed
from dpsumm.data.column import Column
from dpsumm.data.file import MISSING, file_of
from dpsumm.data.frame import Backend, Cells, Frame, frame_of, is_frame
from dpsumm.data.kinds.kind import Kind, Read, WhenMissing
from dpsumm.data.kinds.label import PLAIN, Label
from dpsumm.data.read_file import read_file
from dpsumm.data.schema import Schema
from dpsumm.errors import InvalidDataError, InvalidParameterError

# An array, a labelled pair of arrays, a path, or any data frame that narwhals knows.
Source: TypeAlias = Any
# Rows that are laid side by side at a time: a line of memory is written to at once.
SOME_ROWS = 4096


@dataclass(frozen=True, eq=False, kw_only=True)
class Extract:
    """The columns of one source that a schema names, missing values NaN, missing labels arbitrary.

    Attributes
    ----------
    rows, labels, carried
        See `Records`.
    values : (n, c)
        Codes of each column of `Schema.kernel`. An array without marks is not copied.
    schema
        The one given, or made for the source when none was.
    name
        Name of the party.
    unlabelled : (n,) bool or None
        Where the label is missing; None when none is.
    n_unreadable
        Values, per column, that were neither of the column's kind nor marked as missing.
    n_dropped
        Rows left out for missing values.
    columns
        Which columns are read where there is no schema, in this order. By default all.
    titles
        What messages call the columns.
    backend
        Library of the data frame, None for arrays.
    indexed
        Whether it is a pandas frame whose index does not count its rows from 0.
    """

    rows: NDArray[np.int64]
    values: NDArray[Any]
    schema: Schema
    labels: NDArray[Any] | None = None
    carried: tuple[NDArray[Any], ...] = ()
    name: str = ""
    unlabelled: NDArray[np.bool_] | None = None
    n_unreadable: tuple[int, ...] = ()
    n_dropped: int = 0
    titles: tuple[str, ...] = ()
    backend: Backend | None = None
    indexed: bool = False

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.rows)

    @property
    def codes(self) -> tuple[NDArray[Any], ...]:
        """The columns of `values`, each (n,)."""
        return tuple(self.values.T)

    def take(self, index: NDArray[np.int64]) -> Extract:
        """Return some of the rows, in the order of `index`."""
        return replace(
            self,
            rows=self.rows[index],
            values=self.values[index],
            labels=None if self.labels is None else self.labels[index],
            carried=tuple(column[index] for column in self.carried),
            unlabelled=None if self.unlabelled is None else self.unlabelled[index],
        )

    def ordered(self, order: Sequence[int]) -> Extract:
        """Return the extract with its columns in another order. The schema stays."""
        return replace(self, values=np.ascontiguousarray(self.values[:, order]))

    def astype(self, dtype: Any) -> Extract:
        """Return the extract in another precision, or itself if it has it."""
        values = self.values.astype(dtype, copy=False)
        return self if values is self.values else replace(self, values=values)


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """The columns that are read of every source, by a schema or as numbers with or without names.

    Parameters
    ----------
    schema
        The columns and the meaning of missing values. Without one all are numbers.
    columns
        Which columns are read where there is no schema, in this order. By default all.
    titles
        What messages call the columns. Empty: by their names.
    own_labels
        Whether labels stay with who reads them: a table may lack the label's column, or some of its
        values, which are then None.
    single
        Whether the numbers of a data frame become float32. A `File` says it of itself.
    """

    schema: Schema | None = None
    columns: tuple[str, ...] = ()
    titles: tuple[str, ...] = ()
    own_labels: bool = False
    single: bool = False

    def __post_init__(self) -> None:
        """Check the schema."""
        if not isinstance(self.schema, Schema | None):
            raise InvalidParameterError(
                f"schema must be a dpsumm.Schema, got {type(self.schema).__name__}. "
                f"Read a file with Schema.read(path)"
            )

    @property
    def drops(self) -> bool:
        """Whether rows with a missing value are left out."""
        columns = () if self.schema is None else self.schema.columns
        return any(one.when_missing is WhenMissing.DROP for one in columns)

    def schema_for(self, present: Sequence[str], where: str) -> Schema:
        """Return the schema of a source with these columns."""
        if self.schema is not None:
            return self.schema
        names = self.columns or tuple(present)
        if not names:
            raise InvalidDataError(f"{where}: the data are empty (no columns)")
        return _numbers(names)

    def frame(self, source: Source, name: str, *, typed: bool = False) -> Frame:
        """Return the columns of a data frame or of a file. See `read_file`."""
        where, file = where_of(source, name), file_of(source)
        if file is None:
            return frame_of(source, where)
        # What means "no value" is the schema's to say.
        missing = MISSING if self.schema is None else ()
        return read_file(Path(file.path), file.format, where=where, missing=missing, typed=typed)

    def extract(self, source: Source, name: str) -> Extract:
        """Return the columns of a source as they are, not judged."""
        where = where_of(source, name)
        values = source[0] if isinstance(source, tuple) and source else source
        # Of SciPy, of whatever format: NumPy would take it for a single object.
        if hasattr(values, "toarray") and hasattr(values, "nnz"):
            raise InvalidParameterError(
                f"{where}: sparse matrices are not read. Give its .toarray() if that fits into "
                f"memory, or fewer columns, as TruncatedSVD of scikit-learn makes them when it is "
                f"fitted on public data"
            )
        if isinstance(source, tuple) and len(source) == 2 and is_frame(source[0]):
            return replace(_of_pair(*source, self, where), name=name)
        if not isinstance(source, (tuple, np.ndarray)):
            file, frame = file_of(source), self.frame(source, name)
            wanted = self if file is None else replace(self, single=file.format.single)
            return replace(_of_frame(frame, wanted, where, file is not None), name=name)
        return replace(_of_arrays(source, self.schema, where), name=name)


def where_of(source: Source, name: str) -> str:
    """Return what messages call a source."""
    file = file_of(source)
    return repr(name) if file is None else f"{name!r} ({file.path})"


def _of_arrays(source: Any, schema: Schema | None, where: str) -> Extract:
    """Return an (n, c) array, or a pair of it and (n,) labels, as an extract.

    Columns match the schema's by position. Without a schema they are ``x0``, ``x1``, and so on.
    """
    labels = None
    if isinstance(source, tuple):
        if len(source) != 2:
            raise InvalidParameterError(
                f"{where}: a labelled owner is a pair (values, labels), got {len(source)} items"
            )
        source, labels = source
    values = _masked_as_nan(source) if isinstance(source, np.ma.MaskedArray) else source
    values = np.asarray(values)
    if values.ndim != 2:
        way_out = "; use values.reshape(-1, 1) for one column" if values.ndim == 1 else ""
        raise InvalidDataError(
            f"{where}: needs an array of shape (rows, columns), got {values.ndim} dimensions"
            f"{way_out}"
        )
    if values.dtype.kind not in "fiub":
        raise InvalidDataError(
            f"{where}: needs an array of real numbers, got type {values.dtype}. "
            f"Convert it with astype(float)"
        )
    dtype = np.float32 if values.dtype == np.float32 else np.float64
    values = np.ascontiguousarray(values, dtype=dtype)  # no copy when it already fits
    if 0 in values.shape:
        raise _empty(values.shape, where)
    n_unreadable: tuple[int, ...] = ()
    if schema is None:
        schema = _numbers(tuple(f"x{j}" for j in range(values.shape[1])))
    else:
        _check_fits(values.shape[1], schema, labels is not None, where)
        reads = [kind.read_numbers(x) for kind, x in zip(schema.seen, values.T, strict=True)]
        n_unreadable = tuple(read.n_unreadable for read in reads)
        if any(read.values.base is not values for read in reads):
            values = np.stack([read.values.astype(dtype) for read in reads], axis=1)
    extract = Extract(
        rows=np.arange(len(values)),
        values=values,
        schema=schema,
        n_unreadable=n_unreadable,
        titles=_titles(schema),
    )
    return extract if labels is None else _labelled(extract, labels, where)


def _of_pair(frame: Any, labels: Any, wanted: Wanted, where: str) -> Extract:
    """Return a pair of a data frame and labels, by the frame's names."""
    schema = wanted.schema
    if schema is None:
        extract = _of_frame(frame_of(frame, where), wanted, where, False)
        return _labelled(extract, labels, where)
    if schema.label is None or schema.carried:
        _check_fits(len(schema.kernel), schema, True, where)
    own = replace(wanted, schema=schema.for_target())
    extract = _of_frame(frame_of(frame, where), own, where, False)
    return _labelled(replace(extract, schema=schema), labels, where)


def _labelled(extract: Extract, labels: Any, where: str) -> Extract:
    """Return an extract with labels that were given next to it, by position."""
    schema = extract.schema
    hidden = np.ma.getmaskarray(labels) if isinstance(labels, np.ma.MaskedArray) else None
    labels = np.asarray(labels)
    if labels.shape != (len(extract.rows),):
        raise InvalidDataError(
            f"{where}: needs one label per row, a one-dimensional array of length "
            f"{len(extract.rows)}, got shape {labels.shape}"
        )
    if labels.dtype.kind not in "fiubUO":
        raise InvalidDataError(
            f"{where}: labels must hold numbers, booleans or text, got type {labels.dtype}. Encode "
            f"them first"
        )
    absent = np.zeros(labels.shape, bool) if hidden is None else hidden
    how = PLAIN if schema.label is None else schema.label.how
    assert isinstance(how, Label)
    try:
        read = how.read_array(labels, absent)
    except InvalidDataError as error:
        raise InvalidDataError(f"{where}: {error}") from None
    return replace(extract, labels=read.values, unlabelled=read.absent)


def _titles(schema: Schema) -> tuple[str, ...]:
    return tuple(f"column {name!r}" for name in schema.names)


@lru_cache(maxsize=4)  # many owners with the same columns, or many blocks of one
def _numbers(names: tuple[str, ...]) -> Schema:
    return Schema.numbers(names)


def _check_fits(n_columns: int, schema: Schema, labelled: bool, where: str) -> None:
    """Refuse an array whose columns are not the schema's."""
    if schema.carried or (schema.label is not None and not labelled):
        raise InvalidParameterError(
            f"{where}: an array has no columns for {listed([c.name for c in schema.carried])}"
            if schema.carried
            else f"{where}: give a pair (values, labels), because the schema has a label"
        )
    if n_columns != len(schema.kernel):
        raise InvalidDataError(
            f"{where}: has {counted(n_columns, 'column', 'columns')}, the schema "
            f"{len(schema.kernel)}: {listed(schema.names)}. Those of an array are matched by "
            f"position"
        )


def _of_frame(frame: Frame, wanted: Wanted, where: str, secret: bool) -> Extract:
    """Return columns of a frame as an extract.

    `secret`: names of columns come from a file, whose header may be a record. They are not quoted.
    """
    schema = wanted.schema_for(frame.names, where)
    if wanted.own_labels and schema.label is not None and schema.label.name not in frame.names:
        schema = schema.for_target()
    titles = wanted.titles or _titles(schema)
    if wanted.schema is None and not wanted.columns and secret:
        titles = tuple(f"column {frame.names.index(n) + 1} of the file" for n in schema.names)
    named = dict(zip(schema.names, titles, strict=True))
    for column in schema.columns:
        if column.name not in frame.names:
            label = "label " * (column is schema.label)
            what = named.get(column.name, f"{label}column {column.name!r}")
            # What it has instead is not said: without a header these are a record's values.
            raise InvalidDataError(
                f"{where}: has no {what}, which its schema or another party has. Check the "
                f"spelling, and of a text file the header row and the separator"
            )
    # Whatever the columns have: one record can make one text, and would set the precision of all.
    dtype = np.dtype(np.float32 if wanted.single else np.float64)
    blocks: list[NDArray[Any]] = []
    n_unreadable = np.zeros(len(schema.kernel), np.int64)

    def add(cells: dict[str, Cells]) -> None:
        """Read consecutive rows. A code follows from its value and the public column alone."""
        codes = []
        for j, column in enumerate(schema.kernel):
            title = f"{where}: {named[column.name]}"
            read = _read(column, cells.pop(column.name), title)  # and its memory is free
            if read.n_unreadable and wanted.schema is None:
                raise _not_numeric(title, "fields that are no number")
            n_unreadable[j] += read.n_unreadable
            with np.errstate(over="ignore"):  # then it is infinite, and refused
                # As -0.0 and 0.0 are one value, and one integer, they are one number.
                codes.append(np.add(read.values, 0.0, dtype=dtype, casting="same_kind"))
        blocks.append(_beside(codes))

    rest = [column.name for column in schema.columns if not column.in_kernel]
    columns = frame.take(rest, schema.names, add)
    n_rows = sum(map(len, blocks))
    if not n_rows:
        raise _empty((0, len(schema.kernel)), where)
    values = _joined(blocks)
    labels = Read(np.empty(0))
    try:
        if schema.label is not None:
            labels = schema.label.how.read(columns[schema.label.name])
        along = tuple(c.how.read(columns[c.name]).values for c in schema.carried)
    except InvalidDataError as error:
        raise InvalidDataError(f"{where}: {error}") from None
    except Exception:  # of the library that holds the column; its message may quote data
        raise InvalidDataError(
            f"{where}: the label or an ignored column cannot be read. Convert it to numbers, text "
            f"or dates, or leave it out"
        ) from None
    return Extract(
        rows=np.arange(n_rows),
        values=values,
        schema=schema,
        labels=None if schema.label is None else labels.values,
        carried=along,
        unlabelled=labels.absent,
        n_unreadable=tuple(n_unreadable.tolist()),
        titles=titles,
        backend=frame.backend,
        indexed=frame.indexed,
    )


def _beside(codes: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Return columns side by side, (n, c): some rows at a time, which stay in the cache."""
    out = np.empty((len(codes[0]), len(codes)), codes[0].dtype)
    for start in range(0, len(out), SOME_ROWS):
        rows = slice(start, start + SOME_ROWS)
        for j, column in enumerate(codes):
            out[rows, j] = column[rows]
    return out


def _joined(blocks: list[NDArray[Any]]) -> NDArray[Any]:
    """Return blocks of rows as one array, and leave none of them."""
    if len(blocks) == 1:
        return blocks.pop()
    out, start = np.empty((sum(map(len, blocks)), blocks[0].shape[1]), blocks[0].dtype), 0
    blocks.reverse()
    while blocks:
        block = blocks.pop()  # and its memory is free
        out[start : start + len(block)] = block
        start += len(block)
    return out


def _read(column: Column, cells: Cells, title: str) -> Read:
    try:
        return column.how.read(cells)
    except TypeError:
        if column.kind is Kind.NUMBER:
            raise _not_numeric(title, f"type {cells.type_name}") from None
        raise InvalidDataError(
            f"{title} has type {cells.type_name}, which does not fit its kind "
            f"{Kind(column.kind).value!r}. Change the kind, or convert the column"
        ) from None
    except Exception:  # of the library that holds the column; its message may quote data
        raise InvalidDataError(
            f"{title} cannot be read (type {cells.type_name}). Convert it to numbers, text or dates"
        ) from None


def _not_numeric(title: str, found: str) -> InvalidDataError:
    # Such as pandas' decimal.Decimal, which are numbers to everybody but the data frame.
    objects = ", or make it numbers by astype(float)" if found == "type Object" else ""
    return InvalidDataError(
        f"{title} is not numeric ({found}). Convert it, or say its kind in a `schema`, such as "
        f"'category' or 'date'{objects}"
    )


def _empty(shape: tuple[int, ...], where: str) -> InvalidDataError:
    return InvalidDataError(
        f"{where}: the data are empty ({shape[0]} rows, {shape[1]} columns). Leave an owner "
        f"without records out, or check columns"
    )


def _masked_as_nan(masked: np.ma.MaskedArray[Any, Any]) -> NDArray[Any]:
    values = np.asarray(masked.data)
    if values.dtype.kind not in "fiub":
        return values
    hidden = np.ma.getmaskarray(masked)
    return np.where(hidden, np.float32(np.nan), values)

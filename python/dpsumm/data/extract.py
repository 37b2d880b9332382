"""Columns of arrays and data frames as the schema's numbers, missing ones marked, not judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpsumm.checks import counted, listed
from dpsumm.data.along import carried, is_int64
from dpsumm.data.labels import read_labels
from dpsumm.data.records import Records
from dpsumm.data.schema import Column, Kind, Schema
from dpsumm.data.values import (
    as_floats,
    has_text_categories,
    items_of,
    numbers_to_codes,
    to_codes,
)
from dpsumm.errors import InvalidDataError, InvalidParameterError

if TYPE_CHECKING:
    import narwhals as nw

Backend: TypeAlias = Literal["pandas", "polars", "pyarrow"]
# Columns that are written at a time, and rows of them: so many stay in cache.
TOGETHER, SOME_ROWS = 16, 4096


@dataclass(frozen=True, eq=False, kw_only=True)
class Extract(Records):
    """The columns of one source that a schema names, missing values NaN, missing labels arbitrary.

    Attributes
    ----------
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
    titles
        What messages call the columns; empty: by their names.
    backend
        Library of the data frame, None for arrays.
    indexed
        Whether it is a pandas frame whose index does not count its rows from 0.
    """

    schema: Schema
    name: str = ""
    unlabelled: NDArray[np.bool_] | None = None
    n_unreadable: tuple[int, ...] = ()
    n_dropped: int = 0
    titles: tuple[str, ...] = ()
    backend: Backend | None = None
    indexed: bool = False


def from_arrays(source: Any, schema: Schema | None, where: str) -> Extract:
    """Return an (n, c) array, or a pair of it and (n,) labels, as an extract.

    Columns match the schema's by position; without a schema they are ``x0``, ``x1``, and so on.

    Raises
    ------
    InvalidDataError
        Not two-dimensional or not real numbers; labels of another length or kind; another number
        of columns than the schema's.
    InvalidParameterError
        The schema has columns that an array cannot hold.
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
            f"{where}: needs an array of real numbers, got type {values.dtype}; "
            f"convert it with astype(float)"
        )
    dtype = np.float32 if values.dtype == np.float32 else np.float64
    values = np.ascontiguousarray(values, dtype=dtype)  # no copy when it already fits
    if 0 in values.shape:
        raise _empty(values.shape, where)
    unreadable: tuple[int, ...] = ()
    if schema is None:
        schema = _numbers(tuple(f"x{j}" for j in range(values.shape[1])), None, False)
    else:
        values, unreadable = _recoded(values, schema, labels is not None, where)
    rows = np.arange(len(values))
    if labels is None:
        return Extract(rows, values, None, schema=schema, n_unreadable=unreadable)
    hidden = np.ma.getmaskarray(labels) if isinstance(labels, np.ma.MaskedArray) else None
    labels = np.asarray(labels)
    if labels.shape != values.shape[:1]:
        raise InvalidDataError(
            f"{where}: needs one label per row, a one-dimensional array of length "
            f"{values.shape[0]}, got shape {labels.shape}"
        )
    if labels.dtype.kind not in "fiubUO":
        raise InvalidDataError(
            f"{where}: labels must hold numbers, booleans or text, got type {labels.dtype}; encode "
            f"them first"
        )
    absent = np.zeros(labels.shape, bool) if hidden is None else hidden
    try:
        labels, unlabelled = read_labels(labels, absent, schema.label, "labels")
    except InvalidDataError as error:
        raise InvalidDataError(f"{where}: {error}") from None
    return Extract(
        rows, values, labels, schema=schema, unlabelled=unlabelled, n_unreadable=unreadable
    )


@lru_cache(maxsize=4)  # many owners with the same columns, or many blocks of one
def _numbers(names: tuple[str, ...], label: str | None, drop_missing: bool) -> Schema:
    return Schema.numbers(names, label=label, drop_missing=drop_missing)


def _recoded(
    values: NDArray[Any], schema: Schema, labelled: bool, where: str
) -> tuple[NDArray[Any], tuple[int, ...]]:
    """Return an array's columns as the schema's numbers, itself if it has them, and the unreadable
    values of each.
    """
    if schema.carried or (schema.label is not None) != labelled:
        raise InvalidParameterError(
            f"{where}: an array has no columns for {listed([c.name for c in schema.carried])}"
            if schema.carried
            else f"{where}: give arrays as pairs (values, labels) exactly if the schema has a label"
        )
    if values.shape[1] != len(schema.kernel):
        raise InvalidDataError(
            f"{where}: has {counted(values.shape[1], 'column', 'columns')}, the schema "
            f"{len(schema.kernel)}: {listed(schema.names)}; those of an array are matched by "
            f"position"
        )
    found = [numbers_to_codes(column, values[:, j]) for j, column in enumerate(schema.kernel)]
    counts = tuple(count for _, count in found)
    if all(codes.base is values for codes, _ in found):
        return values, counts
    return np.stack([codes.astype(values.dtype) for codes, _ in found], axis=1), counts


def from_frame(
    source: Any,
    wanted: Schema | Chosen,
    where: str,
    *,
    fields: bool = False,
    secret: bool = False,
    single: bool = False,
) -> Extract:
    """Return columns of a data frame as an extract; lazy frames are collected.

    Parameters
    ----------
    wanted
        A schema, or which of the columns are numbers and which is the label.
    fields
        Texts are fields of a text file, see `to_codes`.
    secret
        Names of columns come from a file, whose header may be a record: they are not quoted.
    single
        Values are float32, else float64.

    Raises
    ------
    InvalidDataError
        A column is absent, repeated or of a type that does not fit its kind.
    InvalidParameterError
        Not a data frame, or the columns chosen contradict each other.
    """
    import narwhals as nw

    frame = as_frame(source, where)
    present = list(frame.collect_schema().names())
    schema = wanted.schema(present, where) if isinstance(wanted, Chosen) else wanted
    titles = tuple(f"column {name!r}" for name in schema.names)
    if isinstance(wanted, Chosen) and wanted.columns is None and secret:
        titles = tuple(f"column {present.index(name) + 1} of the file" for name in schema.names)
    if isinstance(wanted, Chosen) and wanted.titles:
        titles = wanted.titles
    for column in schema.columns:
        if column.name not in present:
            what = f"{'label ' * (column.kind is Kind.LABEL)}column {column.name!r}"
            if column.in_kernel:
                what = titles[schema.kernel.index(column)]
            # What it has instead is not said: without a header these are a record's values.
            raise InvalidDataError(
                f"{where}: has no {what}; all parties need the same columns, by name: check the "
                f"spelling, and of a text file the header row and the separator"
            )
    if isinstance(frame, nw.LazyFrame):
        try:
            frame = frame.select(*(column.name for column in schema.columns)).collect()
        except Exception:  # of the query inside; its message may quote data
            raise InvalidDataError(
                f"{where}: the lazy frame cannot be computed; collect it yourself to see why"
            ) from None
    if not len(frame):
        raise _empty((0, len(schema.kernel)), where)
    # Whatever the columns have: one record can make one text, and would set the precision of all.
    values = np.empty((len(frame), len(schema.kernel)), np.float32 if single else np.float64)
    n_unreadable = []
    for first in range(0, len(schema.kernel), TOGETHER):
        group: list[NDArray[Any]] = []
        for j, column in enumerate(schema.kernel[first : first + TOGETHER], first):
            series, title = frame.get_column(column.name), f"{where}: {titles[j]}"
            codes, count = _codes(column, series, title, fields)
            if count and isinstance(wanted, Chosen):
                raise _not_numeric(title, "fields that are no number")
            n_unreadable.append(count)
            group.append(codes)
        _interleave(group, values[:, first : first + TOGETHER])
    backend = frame.implementation.value
    labels = unlabelled = None
    try:
        if schema.label is not None:
            labels, unlabelled = _labels(frame[schema.label.name], schema.label)
        along = tuple(carried(column, frame[column.name]) for column in schema.carried)
    except InvalidDataError as error:
        raise InvalidDataError(f"{where}: {error}") from None
    except Exception:  # of the library that holds the column; its message may quote data
        raise InvalidDataError(
            f"{where}: the label or an ignored column cannot be read; convert it to numbers, text "
            f"or dates, or leave it out"
        ) from None
    return Extract(
        np.arange(len(values)),
        values,
        labels,
        along,
        schema=schema,
        unlabelled=unlabelled,
        n_unreadable=tuple(n_unreadable),
        titles=titles,
        backend=backend if backend in ("pandas", "polars", "pyarrow") else None,
        indexed=backend == "pandas" and _has_own_index(frame),
    )


def _has_own_index(frame: Any) -> bool:
    """Return whether the index of a pandas frame is another one than pandas gives by itself."""
    import narwhals as nw

    index: Any = nw.maybe_get_index(frame)
    return not (type(index).__name__ == "RangeIndex" and (index.start, index.step) == (0, 1))


@dataclass(frozen=True)
class Chosen:
    """Columns as `summarize` is told of them without a schema: all are numbers.

    Attributes
    ----------
    columns
        Names; None for all but the label.
    label
        Name of the label's column.
    drop_missing
        Whether rows with a missing value are left out.
    titles
        What messages call the columns; empty: by their names.
    """

    columns: Sequence[str] | None
    label: str | None
    drop_missing: bool
    titles: tuple[str, ...] = ()

    def schema(self, present: Sequence[str], where: str) -> Schema:
        """Return the schema for a source with these columns."""
        if isinstance(self.columns, str):
            raise InvalidParameterError(f"columns must be a list of names, got {self.columns!r}")
        if not isinstance(self.label, str | None):
            raise InvalidParameterError(f"label must be the name of a column, got {self.label!r}")
        chosen = self.columns
        wanted = [n for n in present if n != self.label] if chosen is None else list(chosen)
        if len(set(wanted)) < len(wanted):
            raise InvalidParameterError("columns: a name is given twice")
        if self.label in wanted:
            raise InvalidParameterError(
                f"columns: {self.label!r} is the label; leave it out of columns"
            )
        if not wanted:
            raise InvalidDataError(f"{where}: the data are empty (no columns besides the label)")
        return _numbers(tuple(wanted), self.label, self.drop_missing)


def _interleave(columns: Sequence[NDArray[Any]], out: NDArray[Any]) -> None:
    """Write columns side by side, some rows at a time: a line of memory is written to at once."""
    with np.errstate(over="ignore"):  # then it is infinite, and refused
        for start in range(0, len(out), SOME_ROWS):
            rows = slice(start, start + SOME_ROWS)
            for j, codes in enumerate(columns):
                # As -0.0 and 0.0 are one value, and one integer, they are one number.
                np.add(codes[rows], 0.0, out=out[rows, j], casting="same_kind")


def _codes(
    column: Column, series: nw.Series[Any], title: str, fields: bool
) -> tuple[NDArray[Any], int]:
    # Without its parameters: those of an Enum are the values.
    dtype = type(series.dtype).__name__
    try:
        return to_codes(column, series, fields=fields)
    except TypeError:
        if column.kind is Kind.NUMBER:
            raise _not_numeric(title, f"type {dtype}") from None
        raise InvalidDataError(
            f"{title} has type {dtype}, which does not fit its kind "
            f"{Kind(column.kind).value!r}; change the kind, or convert the column"
        ) from None
    except Exception:  # of the library that holds the column; its message may quote data
        raise InvalidDataError(
            f"{title} cannot be read (type {dtype}); convert it to numbers, text or dates"
        ) from None


def _not_numeric(title: str, found: str) -> InvalidDataError:
    # Such as pandas' decimal.Decimal, which are numbers to everybody but the data frame.
    objects = ", or make it numbers by astype(float)" if found == "type Object" else ""
    return InvalidDataError(
        f"{title} is not numeric ({found}); leave it out with columns (--column), make it the "
        f"label (--label), or encode it with public categories that a Schema lists (--schema)"
        f"{objects}"
    )


def _empty(shape: tuple[int, ...], where: str) -> InvalidDataError:
    return InvalidDataError(
        f"{where}: the data are empty ({shape[0]} rows, {shape[1]} columns); leave an owner "
        f"without records out, or check columns"
    )


def as_frame(source: Any, where: str) -> Any:
    """Return a data frame of any library, lazy or not, whose column names are distinct texts.

    Raises
    ------
    InvalidDataError
        Two columns have the same name.
    InvalidParameterError
        Not a data frame.
    """
    import narwhals as nw

    try:
        frame = nw.from_native(source)
        names = list(frame.collect_schema().names())
    except TypeError:
        raise InvalidParameterError(
            f"{where}: cannot read data of type {type(source).__name__}; give an array "
            f"(np.asarray), a pair of arrays, a data frame, or the path of a file"
        ) from None
    except nw.exceptions.DuplicateError:
        raise InvalidDataError(f"{where}: two columns have the same name; rename one") from None
    text = {name: str(name) for name in names}  # pandas numbers unnamed columns
    if not all(name.strip() and "\0" not in name for name in text.values()):
        raise InvalidDataError(
            f"{where}: a column has no name, or one with a NUL character; rename it"
        )
    if all(isinstance(name, str) for name in names):
        return frame
    if len(set(text.values())) < len(text):
        raise InvalidDataError(f"{where}: two columns have the same name; rename one")
    return frame.rename(text)


def _labels(series: nw.Series[Any], column: Column) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    import narwhals as nw

    dtype, what = series.dtype, f"label column {series.name!r}"
    absent = np.asarray(series.is_null().to_numpy(), bool)
    numbers: NDArray[Any] | None = None
    if dtype == nw.Boolean:
        numbers = series.fill_null(False).to_numpy().astype(np.bool_)
    elif dtype.is_integer() and is_int64(series):
        numbers = series.fill_null(0).to_numpy().astype(np.int64)
    elif dtype.is_numeric() and not dtype.is_integer():
        numbers = as_floats(series)
    if numbers is not None:
        return read_labels(numbers, absent, column, what)
    if not has_text_categories(series) or dtype.is_nested():
        raise InvalidDataError(
            f"{what} must hold numbers, booleans or text, got type {type(dtype).__name__}; encode "
            f"it first"
        )
    return read_labels(items_of(series), absent, column, what)


def _masked_as_nan(masked: np.ma.MaskedArray[Any, Any]) -> NDArray[Any]:
    values = np.asarray(masked.data)
    if values.dtype.kind not in "fiub":
        return values
    hidden = np.ma.getmaskarray(masked)
    return np.where(hidden, np.float32(np.nan), values)

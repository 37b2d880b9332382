"""Columns of arrays and data frames as one float array, missing values marked but not judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from dpsumm.errors import InvalidDataError, InvalidParameterError
from dpsumm.scaling import listed

Backend: TypeAlias = Literal["pandas", "polars", "pyarrow"]


@dataclass(frozen=True, eq=False)
class Extract:
    """Selected columns of one source.

    Attributes
    ----------
    values : (n, c) float32 or float64, C-contiguous
        NaN where a value is missing.
    columns
        Names of the c columns.
    labels : (n,) or None
        Numbers, booleans or text; arbitrary where missing.
    unlabelled : (n,) bool or None
        Where the label is missing; None when there are no labels.
    backend
        Library of the data frame, None for arrays.
    """

    values: NDArray[Any]
    columns: tuple[str, ...]
    labels: NDArray[Any] | None = None
    unlabelled: NDArray[np.bool_] | None = None
    backend: Backend | None = None


def from_arrays(
    source: Any, columns: Sequence[str] | None, label: str | None, where: str
) -> Extract:
    """Return an (n, c) array, or a pair of it and (n,) labels, as an extract.

    Raises
    ------
    InvalidDataError
        Not two-dimensional or not real numbers; labels of another length or kind.
    InvalidParameterError
        `columns` or `label` are given: arrays have no names.
    """
    if columns is not None or label is not None:
        raise InvalidParameterError(
            f"{where}: arrays have no column names, so columns and label cannot be given; slice "
            f"the array and give labels as a pair (values, labels), or use a data frame"
        )
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
    names = tuple(f"x{j}" for j in range(values.shape[1]))
    if labels is None:
        return Extract(values, names)
    hidden = np.ma.getmaskarray(labels) if isinstance(labels, np.ma.MaskedArray) else None
    labels = np.asarray(labels)
    if labels.shape != values.shape[:1]:
        raise InvalidDataError(
            f"{where}: needs one label per row, a one-dimensional array of length "
            f"{values.shape[0]}, got shape {labels.shape}"
        )
    if labels.dtype == object and all(isinstance(item, str) for item in labels):
        labels = labels.astype(np.str_)
    if labels.dtype.kind not in "fiubU":
        raise InvalidDataError(
            f"{where}: labels must be numbers, booleans or text, got type {labels.dtype}; "
            f"encode them first"
        )
    unlabelled = np.isnan(labels) if labels.dtype.kind == "f" else np.zeros(labels.shape, bool)
    return Extract(values, names, labels, unlabelled if hidden is None else unlabelled | hidden)


def from_frame(
    source: Any, columns: Sequence[str] | None, label: str | None, where: str
) -> Extract:
    """Return columns of a data frame as an extract; lazy frames are collected.

    Raises
    ------
    InvalidDataError
        A column is absent, repeated or not numeric.
    InvalidParameterError
        Not a data frame, or `columns` and `label` contradict each other.
    """
    frame = _as_frame(source, where)
    names = _selected(frame.columns, columns, label, where)
    if isinstance(frame, nw.LazyFrame):
        try:
            frame = frame.select(*names, *([] if label is None else [label])).collect()
        except Exception:  # of the query inside; its message may quote data
            raise InvalidDataError(
                f"{where}: the lazy frame cannot be computed; collect it yourself to see why"
            ) from None
    dtypes = {column: frame[column].dtype for column in names}
    for column, dtype in dtypes.items():
        if not (dtype.is_numeric() or dtype == nw.Boolean):
            raise InvalidDataError(
                f"{where}: column {column!r} is not numeric (type {dtype}); leave it out with "
                f"columns, make it the label, or encode it with public categories"
            )
    single = all(dtype == nw.Float32 for dtype in dtypes.values())
    values = np.empty((len(frame), len(names)), np.float32 if single else np.float64)
    for j, column in enumerate(names):
        series = frame[column]
        values[:, j] = (series if single else series.cast(nw.Float64)).to_numpy()
    backend = frame.implementation.value
    known: Backend | None = backend if backend in ("pandas", "polars", "pyarrow") else None
    if label is None:
        return Extract(values, names, backend=known)
    labels, unlabelled = _labels(frame[label], where)
    return Extract(values, names, labels, unlabelled, known)


def _as_frame(source: Any, where: str) -> Any:
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
    if all(isinstance(name, str) for name in names):
        return frame
    text = {name: str(name) for name in names}  # pandas numbers unnamed columns
    if len(set(text.values())) < len(text):
        raise InvalidDataError(f"{where}: two columns have the same name; rename one")
    return frame.rename(text)


def _selected(
    present: Sequence[str], columns: Sequence[str] | None, label: str | None, where: str
) -> tuple[str, ...]:
    if isinstance(columns, str):
        raise InvalidParameterError(f"columns must be a list of names, got {columns!r}")
    wanted = [name for name in present if name != label] if columns is None else list(columns)
    if len(set(wanted)) < len(wanted):
        raise InvalidParameterError("columns: a name is given twice")
    if label in wanted:
        raise InvalidParameterError(f"columns: {label!r} is the label; leave it out of columns")
    for kind, name in [("column", name) for name in wanted] + [("label column", label)]:
        if name is not None and name not in present:
            raise InvalidDataError(
                f"{where}: has no {kind} {name!r}; the columns are {listed(present)}"
            )
    return tuple(wanted)


def _labels(series: nw.Series[Any], where: str) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    dtype = series.dtype
    unlabelled = np.asarray(series.is_null().to_numpy(), bool)
    if dtype == nw.Boolean:
        labels = series.fill_null(False).to_numpy().astype(np.bool_)
    elif dtype.is_integer():
        labels = series.fill_null(0).to_numpy().astype(np.int64)
    elif dtype.is_numeric():
        labels = series.cast(nw.Float64).to_numpy()
        unlabelled = unlabelled | np.isnan(labels)
    elif dtype in (nw.String, nw.Categorical, nw.Enum):
        labels = series.cast(nw.String).fill_null("").to_numpy().astype(np.str_)
    else:
        raise InvalidDataError(
            f"{where}: label column {series.name!r} must hold numbers, booleans or text, "
            f"got type {dtype}; encode it first"
        )
    return labels, unlabelled


def _masked_as_nan(masked: np.ma.MaskedArray[Any, Any]) -> NDArray[Any]:
    values = np.asarray(masked.data)
    if values.dtype.kind not in "fiub":
        return values
    hidden = np.ma.getmaskarray(masked)
    return np.where(hidden, np.float32(np.nan), values)

"""Columns as users have them, as the numbers that `Schema.encode` takes; and back.

A value means the same in a CSV file, a Parquet file and any data frame: ``1``, ``1.0`` and
``" 1"`` are one number and one category.

Privacy: the code of a value is a function of that value and the public column alone. Whether a file
or a library stores a column as text or as numbers depends on all of its values, so the two must
mean the same; where they cannot (the number 2139 for the category ``"02139"``), the number is no
value of the column, and the run is refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import date
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpsumm.data.column import EPOCH, Column, Kind
from dpsumm.data.items import NULLS, codes_of, date_marks, numeric_marks

if TYPE_CHECKING:
    import narwhals as nw
    import polars as pl


def to_codes(
    column: Column, series: nw.Series[Any], *, fields: bool = False
) -> tuple[NDArray[Any], int]:
    """Return a column as numbers, NaN where missing, and how many values could not be read.

    Parameters
    ----------
    fields
        The texts are fields of a text file, so they may be numbers even in a column without marks.

    Returns
    -------
    codes : (n,) float64, or float32 if the column is
        Not to be written to: it may be the column's memory. See `Schema.encode`; one past the last
        category for a value that is in none, whether the column has an `other` or not.
    n_unreadable
        Values that are no number, no date or, since their type makes them ambiguous, no category,
        nor a mark of a missing value. Their codes are NaN.

    Raises
    ------
    TypeError
        The column's type has nothing to do with its kind.
    ValueError
        Its type is categorical, and a category is no text.
    """
    import narwhals as nw

    dtype = series.dtype
    text_null = column.kind is Kind.CATEGORY and not NULLS.isdisjoint(column.categories)
    if text_null and dtype not in (nw.String, nw.Object) and series.null_count():
        raise TypeError  # was it the category?
    if series.null_count() == len(series):  # its type says nothing of it
        return np.full(len(series), np.nan), 0
    number = dtype.is_numeric() or dtype == nw.Boolean
    if column.kind is Kind.NUMBER and number:
        # Float32 as it is, without a copy: in float64 these are the same numbers.
        numbers = series.to_numpy() if dtype == nw.Float32 else as_floats(series)
        return without_marks(column, numbers), 0
    text = (nw.String, nw.Categorical, nw.Enum, nw.Object, nw.Unknown)
    dates = (nw.Date, nw.Datetime)
    if column.kind is Kind.NUMBER and not (column.missing or fields):
        raise TypeError  # without a mark, nothing but numbers can be meant
    fitting = {Kind.NUMBER: text, Kind.DATE: (*text, *dates), Kind.CATEGORY: text}
    if not (dtype in fitting[Kind(column.kind)] or (column.kind is Kind.CATEGORY and number)):
        raise TypeError
    if column.kind is Kind.NUMBER and series.implementation.is_polars() and dtype == nw.String:
        return _number_fields(column, series.to_native())
    if not has_text_categories(series):
        raise ValueError("categories that are not text")
    return _counted(codes_of(items_of(series), column))


def has_text_categories(series: nw.Series[Any]) -> bool:
    """Return whether a column is not categorical, or all its values are text.

    Of equal values a library keeps one category: for 1 and True, or one moment in two zones, the
    one that came first, which may be another record's.
    """
    import narwhals as nw

    return series.dtype not in (nw.Categorical, nw.Enum) or all(
        item is None or isinstance(item, str) for item in items_of(series)
    )


def as_floats(series: nw.Series[Any]) -> NDArray[np.float64]:
    """Return a column of numbers as float64, NaN where there is none.

    Decimals one by one: Arrow's cast rounds by the column's scale, which another record may set.
    """
    import narwhals as nw

    if series.dtype == nw.Decimal:
        return np.array([math.nan if x is None else float(x) for x in items_of(series)], np.float64)
    if series.dtype.is_integer():  # Arrow's cast refuses those that a float rounds
        absent = np.asarray(series.is_null().to_numpy(), bool)
        return np.where(absent, np.nan, series.fill_null(0).to_numpy().astype(np.float64))
    return np.asarray(series.cast(nw.Float64).to_numpy())


def numbers_to_codes(column: Column, values: NDArray[Any]) -> tuple[NDArray[Any], int]:
    """Return a column of an array as `to_codes` does; dates are days since 1970-01-01."""
    if column.kind is Kind.CATEGORY:
        items = [None if math.isnan(item) else item for item in values.tolist()]
        return _counted(codes_of(items, column))
    codes = without_marks(column, values)
    days = list(date_marks(column))
    return (np.where(np.isin(codes, days), codes.dtype.type(np.nan), codes) if days else codes), 0


def _number_fields(column: Column, fields: pl.Series) -> tuple[NDArray[np.float64], int]:
    """Return texts as numbers: most by polars, the few that it takes for none one by one."""
    import polars

    numbers = fields.cast(polars.Float64, strict=False)
    rest = np.flatnonzero((numbers.is_null() & fields.is_not_null()).to_numpy())
    codes = numbers.to_numpy(writable=True)
    codes[codes == -np.inf] = np.inf
    codes = without_marks(column, codes)
    codes[rest] = codes_of(fields[rest].to_list(), column)
    return _counted(codes)


def _counted(codes: NDArray[np.float64]) -> tuple[NDArray[np.float64], int]:
    """Return codes with NaN for -inf, which stands for a value that is none, and how many."""
    unreadable = codes == -np.inf
    return np.where(unreadable, np.nan, codes), int(np.count_nonzero(unreadable))


def without_marks(column: Column, numbers: NDArray[Any]) -> NDArray[Any]:
    """Return numbers with NaN for those that mean a missing value."""
    marks = numeric_marks(column)
    if not marks:
        return numbers
    return np.where(np.isin(numbers, list(marks)), numbers.dtype.type(np.nan), numbers)


def to_originals(column: Column, codes: NDArray[Any]) -> tuple[Any, Any]:
    """Return a column as users have it, and its narwhals type if that has to be said.

    Returns
    -------
    values
        An array for numbers that are all there, the codes themselves unless whole; else a list,
        None where missing.
    dtype
        Type of the list's items, None for an array.
    """
    import narwhals as nw

    if column.kind is Kind.NUMBER and not np.isnan(codes).any():
        return (codes.astype(np.int64) if column.whole else codes), None
    known: list[Any] = [*column.categories, column.other]
    dtype: Any = {Kind.NUMBER: nw.Float64, Kind.DATE: nw.Date}.get(Kind(column.kind), nw.String)
    if column.kind is Kind.CATEGORY and not isinstance(known[0], str):
        dtype = nw.Float64
        if all(isinstance(value, int) for value in known if value is not None):
            dtype = nw.Boolean if isinstance(known[0], bool) else nw.Int64
    if dtype == nw.Float64:
        known = [None if value is None else float(value) for value in known]
    if column.whole:
        dtype = nw.Int64
    back: dict[Kind, Callable[[float], Any]] = {
        Kind.NUMBER: int if column.whole else float,
        Kind.DATE: lambda code: date.fromordinal(EPOCH + int(code)),
        Kind.CATEGORY: lambda code: known[int(code)],
    }
    one = back[Kind(column.kind)]
    return [None if math.isnan(code) else one(code) for code in codes.tolist()], dtype


def as_series(name: str, values: Any, dtype: Any, backend: Any) -> Any:
    """Return values with a type, as `to_originals` gives them, as a column for a data frame."""
    import narwhals as nw

    if dtype is None:
        return values
    if backend == "pandas":
        # Its integers and truth values have no missing ones, and its dates need pyarrow.
        short = any(value is None for value in values)
        dtype = {nw.Int64: nw.Float64, nw.Boolean: nw.Object}.get(dtype, dtype) if short else dtype
        dtype = nw.Datetime("us") if dtype == nw.Date else dtype
    if dtype == nw.Object:
        return values
    return nw.new_series(name, values, dtype, backend=backend)


def items_of(series: nw.Series[Any]) -> list[Any]:
    """Return the values as Python objects, None for null and NaN."""
    import narwhals as nw

    items = list(series.to_list())
    for i in np.flatnonzero(series.is_null().to_numpy()):
        items[i] = None
    if series.dtype in (nw.String, nw.Categorical, nw.Enum):
        return items
    return [None if isinstance(item, float) and math.isnan(item) else item for item in items]

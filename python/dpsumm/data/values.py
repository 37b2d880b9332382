"""Columns as users have them, as the numbers that `Schema.encode` takes; and back.

A value means the same in a CSV file, a Parquet file and any data frame: ``1``, ``1.0`` and
``" 1"`` are one number and one category.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Hashable
from datetime import date, datetime, timezone
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpsumm.checks import is_number
from dpsumm.data.cells import EPOCH
from dpsumm.data.schema import Column, Kind
from dpsumm.errors import InvalidDataError

if TYPE_CHECKING:
    import narwhals as nw

# Characters of a text that travels with a point. An array gives every text the room of the longest
# one, so one long text would cost the curator that much for each point of the pool.
MOST_CHARACTERS = 2**12


def to_codes(column: Column, series: nw.Series[Any]) -> tuple[NDArray[Any], int]:
    """Return a column as numbers, NaN where missing, and how many values could not be read.

    Returns
    -------
    codes : (n,) float32 if the column holds such numbers, else float64
        See `Schema.encode`; one past the last category for a value that is in none, whether the
        column has an `other` or not.
    n_unreadable
        Values that are no number, or no date, nor a mark of a missing value. Their codes are NaN.

    Raises
    ------
    TypeError
        The column's type has nothing to do with its kind.
    """
    import narwhals as nw

    dtype = series.dtype
    number = dtype.is_numeric() or dtype == nw.Boolean
    if column.kind is Kind.NUMBER and number:
        numbers = np.empty(len(series), np.float32 if dtype == nw.Float32 else np.float64)
        numbers[:] = (series if dtype == nw.Float32 else series.cast(nw.Float64)).to_numpy()
        return without_marks(column, numbers), 0
    text = (nw.String, nw.Categorical, nw.Enum, nw.Object, nw.Unknown)
    dates = (nw.Date, nw.Datetime)
    if column.kind is Kind.NUMBER and not column.missing:
        raise TypeError  # without a mark, nothing but numbers can be meant
    fitting = {Kind.NUMBER: text, Kind.DATE: (*text, *dates), Kind.CATEGORY: text}
    if not (dtype in fitting[Kind(column.kind)] or (column.kind is Kind.CATEGORY and number)):
        raise TypeError
    reader = {Kind.NUMBER: _number, Kind.CATEGORY: _category(column), Kind.DATE: _date(column)}
    codes = _by_item(_items(series), column, reader[Kind(column.kind)])
    unreadable = codes == -np.inf
    return np.where(unreadable, np.nan, codes), int(np.count_nonzero(unreadable))


def numbers_to_codes(column: Column, values: NDArray[Any]) -> NDArray[Any]:
    """Return a column of an array as `to_codes` does; dates are days since 1970-01-01."""
    if column.kind is Kind.CATEGORY:
        items = [None if math.isnan(item) else item for item in values.tolist()]
        return _by_item(items, column, _category(column))
    return without_marks(column, values)


def without_marks(column: Column, numbers: NDArray[Any]) -> NDArray[Any]:
    """Return numbers with NaN for those that mean a missing value."""
    marks = _numeric_marks(column)
    if not marks:
        return numbers
    return np.where(np.isin(numbers, list(marks)), numbers.dtype.type(np.nan), numbers)


def carried(column: Column, series: nw.Series[Any]) -> NDArray[Any]:
    """Return a column that travels along: numbers, dates, or objects that are text.

    Missing: NaN, NaT, empty text. A time with a zone is given in UTC.

    Raises
    ------
    InvalidDataError
        A text is longer than `MOST_CHARACTERS`.
    """
    import narwhals as nw

    dtype = series.dtype
    whole = not bool(np.any(series.is_null().to_numpy()))
    if dtype == nw.Boolean and whole:
        return series.to_numpy().astype(np.bool_)
    if dtype.is_integer() and whole:
        return series.to_numpy().astype(np.int64)
    if dtype.is_numeric():
        return np.asarray(series.cast(nw.Float64).to_numpy())
    items = _items(series)
    if dtype in (nw.Date, nw.Datetime):
        unit = "M8[D]" if dtype == nw.Date else "M8[us]"
        return np.array([_without_zone(item) for item in items], dtype=unit)
    marks = _text_marks(column)
    texts = np.empty(len(items), dtype=object)
    texts[:] = ["" if item is None or str(item).strip() in marks else str(item) for item in items]
    if any(len(text) > MOST_CHARACTERS for text in texts):
        raise InvalidDataError(
            f"column {series.name!r} has texts of more than {MOST_CHARACTERS} characters, which "
            f"cannot travel with the points; leave it out of the schema, or shorten them"
        )
    return texts


def joined(parts: list[NDArray[Any]]) -> NDArray[Any]:
    """Return parts of a carried column as one array; text if their kinds do not go together."""
    kinds = {part.dtype.kind for part in parts}
    if len(kinds) == 1 or kinds <= set("iuf"):
        return np.concatenate(parts)
    return np.concatenate([_as_text(part) for part in parts])


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


def carried_to_originals(values: NDArray[Any]) -> tuple[Any, Any]:
    """Return a carried column as `to_originals` does."""
    import narwhals as nw

    kind = values.dtype.kind
    if kind in "UO" and (values == "").any():
        return [text or None for text in values.tolist()], nw.String
    if kind == "f" and np.isnan(values).any():
        return [None if math.isnan(item) else item for item in values.tolist()], nw.Float64
    if kind == "M":
        days = values.dtype == np.dtype("M8[D]")
        return values.tolist(), nw.Date if days else nw.Datetime("us")
    return (values.astype(np.str_) if kind == "O" else values), None


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


def _items(series: nw.Series[Any]) -> list[Any]:
    """Return the values as Python objects, None for null and NaN."""
    import narwhals as nw

    items = list(series.to_list())
    for i in np.flatnonzero(series.is_null().to_numpy()):
        items[i] = None
    if series.dtype in (nw.String, nw.Categorical, nw.Enum):
        return items
    return [None if isinstance(item, float) and math.isnan(item) else item for item in items]


def _by_item(items: list[Any], column: Column, read: Callable[[Any], float]) -> NDArray[np.float64]:
    """Return the code of each item, NaN for a missing one; equal items are read once."""
    if not all(issubclass(kind, Hashable) for kind in set(map(type, items))):
        return np.array([math.nan if item is None else -math.inf for item in items], np.float64)
    marks, numeric = _text_marks(column), _numeric_marks(column)
    categories = set() if column.kind is not Kind.CATEGORY else _keys(column).keys()

    def code(item: Any) -> float:
        if isinstance(item, str):
            item = item.strip()
            if not item:
                return math.nan
        if column.kind is Kind.CATEGORY and _key(column, item) in categories:
            return read(item)
        number = _number(item)
        if (isinstance(item, str) and item in marks) or number in numeric:
            return math.nan
        return read(item)

    if len(set(map(type, items)) - {type(None)}) > 1:
        # Objects: 1 and True are equal and not the same.
        return np.array([math.nan if item is None else code(item) for item in items], np.float64)
    codes = {item: math.nan if item is None else code(item) for item in set(items)}
    return np.fromiter(map(codes.__getitem__, items), np.float64, len(items))


def _text_marks(column: Column) -> set[str]:
    return {mark.strip() for mark in column.missing if isinstance(mark, str)}


def _numeric_marks(column: Column) -> set[float]:
    numbers = {_number(mark) for mark in column.missing}
    return {number for number in numbers if math.isfinite(number)}


def _number(item: Any) -> float:
    """Return a number, -inf if it is none."""
    if isinstance(item, str):
        # Python would take 1_000 and the digits of all scripts.
        if not item.isascii() or "_" in item:
            return -math.inf
        try:
            number = float(item)
        except ValueError:
            return -math.inf
        return math.inf if math.isinf(number) else number
    if isinstance(item, bool | np.bool_) or is_number(item):
        number = float(item)
        return math.inf if math.isinf(number) else number
    try:
        return float(item) if type(item).__name__ == "Decimal" else -math.inf
    except ValueError:
        return -math.inf


def _key(column: Column, item: Any) -> Any:
    """Return what an item is compared by: all spellings of a value have one key."""
    first = column.categories[0]
    if isinstance(first, bool):
        words: dict[Any, Any] = {"true": True, "false": False}
        if isinstance(item, str):
            return words.get(item.lower(), item)
        return bool(item) if isinstance(item, bool | np.bool_) or item in (0, 1) else item
    if isinstance(first, str):
        if isinstance(item, str):
            return item
        number = _number(item)
        if isinstance(item, bool | np.bool_) or not math.isfinite(number):
            return str(item)
        return str(int(number)) if number == int(number) else str(item)
    number = _number(item)
    return number if math.isfinite(number) else item


def _keys(column: Column) -> dict[Any, int]:
    values = list(column.categories)
    if column.other is not None:  # the value itself may be in the data, as in a summary
        values.append(column.other)
    return {_key(column, value): i for i, value in enumerate(values)}


def _category(column: Column) -> Callable[[Any], float]:
    if column.kind is not Kind.CATEGORY:
        return _number
    keys = _keys(column)
    return lambda item: float(keys.get(_key(column, item), len(column.categories)))


def iso_date(text: str) -> date | None:
    """Return the day of ``YYYY-MM-DD``, a time after it or not; None if the text is no such."""
    # Not datetime.fromisoformat, which takes more spellings the newer Python is.
    match = re.fullmatch(r"([0-9]{4})-([0-9]{2})-([0-9]{2})([T ].*)?", text)
    try:
        return None if match is None else date(*map(int, match.groups()[:3]))
    except ValueError:
        return None


def _date(column: Column) -> Callable[[Any], float]:
    def read(item: Any) -> float:
        try:
            if isinstance(item, str):
                known = column.date_format
                item = iso_date(item) if known is None else datetime.strptime(item, known)
            if isinstance(item, date):
                return float(item.toordinal() - EPOCH)
        except (ValueError, OverflowError):
            pass
        return -math.inf

    return read


def _without_zone(item: Any) -> Any:
    if isinstance(item, datetime) and item.tzinfo is not None:
        return item.astimezone(timezone.utc).replace(tzinfo=None)
    return item


def _as_text(part: NDArray[Any]) -> NDArray[Any]:
    if part.dtype.kind in "UO":
        return part
    values, _ = carried_to_originals(part)
    return np.array(["" if item is None else str(item) for item in list(values)], dtype=object)

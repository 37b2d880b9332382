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
import re
from collections.abc import Callable, Hashable
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpsumm.checks import is_number
from dpsumm.data.column import EPOCH, Column, Kind
from dpsumm.errors import InvalidDataError

if TYPE_CHECKING:
    import narwhals as nw
    import polars as pl

# Characters of a text that travels with a point. An array gives every text the room of the longest
# one, so one long text would cost the curator that much for each point of the pool.
MOST_CHARACTERS = 2**12


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
    codes : (n,) float32 if the column holds such numbers, else float64
        See `Schema.encode`; one past the last category for a value that is in none, whether the
        column has an `other` or not.
    n_unreadable
        Values that are no number, no date or, since their type makes them ambiguous, no category,
        nor a mark of a missing value. Their codes are NaN.

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
        numbers[:] = series.to_numpy() if dtype == nw.Float32 else as_floats(series)
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
    return _counted(_by_item(_items(series), column))


def as_floats(series: nw.Series[Any]) -> NDArray[np.float64]:
    """Return a column of numbers as float64, NaN where there is none.

    Decimals one by one: Arrow's cast rounds by the column's scale, which another record may set.
    """
    import narwhals as nw

    if series.dtype == nw.Decimal:
        return np.array([math.nan if x is None else float(x) for x in series.to_list()], np.float64)
    return np.asarray(series.cast(nw.Float64).to_numpy())


def numbers_to_codes(column: Column, values: NDArray[Any]) -> tuple[NDArray[Any], int]:
    """Return a column of an array as `to_codes` does; dates are days since 1970-01-01."""
    if column.kind is Kind.CATEGORY:
        items = [None if math.isnan(item) else item for item in values.tolist()]
        return _counted(_by_item(items, column))
    return without_marks(column, values), 0


def _number_fields(column: Column, fields: pl.Series) -> tuple[NDArray[np.float64], int]:
    """Return texts as numbers: most by polars, the few that it takes for none one by one."""
    import polars

    numbers = fields.cast(polars.Float64, strict=False)
    rest = np.flatnonzero((numbers.is_null() & fields.is_not_null()).to_numpy())
    codes = numbers.to_numpy(writable=True)
    codes[codes == -np.inf] = np.inf
    codes = without_marks(column, codes)
    codes[rest] = _by_item(fields[rest].to_list(), column)
    return _counted(codes)


def _counted(codes: NDArray[np.float64]) -> tuple[NDArray[np.float64], int]:
    """Return codes with NaN for -inf, which stands for a value that is none, and how many."""
    unreadable = codes == -np.inf
    return np.where(unreadable, np.nan, codes), int(np.count_nonzero(unreadable))


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
        numbers = as_floats(series)
        # Beyond, a float would be another record's number: then as text.
        if not dtype.is_integer() or not (np.abs(numbers) >= 2**53).any():
            return numbers
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
    """Return parts of a carried column as one array; text if their kinds do not go together.

    Nor do whole numbers of 2**53 or more and floats, which would round them.
    """
    kinds = {part.dtype.kind for part in parts}
    whole = [part for part in parts if part.dtype.kind in "iu" and "f" in kinds]
    rounds = any(((part >= 2**53) | (part <= -(2**53))).any() for part in whole)
    if len(kinds) == 1 or (kinds <= set("iuf") and not rounds):
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


def _by_item(items: list[Any], column: Column) -> NDArray[np.float64]:
    """Return the code of each item, NaN for a missing one, -inf for one that cannot be read."""
    if not all(issubclass(kind, Hashable) for kind in set(map(type, items))):
        return np.array([math.nan if item is None else -math.inf for item in items], np.float64)
    readers = {Kind.NUMBER: _number, Kind.DATE: _date(column), Kind.CATEGORY: _category(column)}
    read, numeric = readers[Kind(column.kind)], _numeric_marks(column)
    marks = _text_marks(column) - set(_values(column))
    position = _position(column)

    def code(item: Any) -> float:
        if isinstance(item, str):
            item = item.strip()
            if not item or item in marks:
                return math.nan
        if numeric and _number(item) in numeric and position(item) is None:
            return math.nan
        return read(item)

    kinds = set(map(type, items)) - {type(None)}
    if len(kinds) > 1 or any(issubclass(kind, datetime) for kind in kinds):
        # Equal and not the same: 1 and True, or two zones' days at one moment.
        return np.array([math.nan if item is None else code(item) for item in items], np.float64)
    # Equal items are read once.
    codes = {item: math.nan if item is None else code(item) for item in set(items)}
    return np.fromiter(map(codes.__getitem__, items), np.float64, len(items))


def is_mark(column: Column, text: str) -> bool:
    """Return whether a trimmed text means a missing value in a column beside the kernel's."""
    return not text or text in _text_marks(column) or _number(text) in _numeric_marks(column)


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
    if not (isinstance(item, bool | np.bool_ | Decimal) or is_number(item)):
        return -math.inf
    try:
        number = float(item)
    except (ValueError, OverflowError):  # a signalling NaN; an integer of 309 digits
        return -math.inf
    return math.inf if math.isinf(number) else number


def _truth(item: Any) -> bool | None:
    """Return a truth value or the word for one, else None."""
    if isinstance(item, bool | np.bool_):
        return bool(item)
    return {"true": True, "false": False}.get(item.lower()) if isinstance(item, str) else None


def _spelling(item: Any) -> str | None:
    """Return the one spelling of all that may be the same number or truth value, else None.

    None also for a number that a float may have rounded: what it was is not known.
    """
    truth = _truth(item)
    if truth is not None:
        return str(truth)
    number = _number(item)
    if isinstance(item, str) and re.fullmatch(r"[+-]?[0-9]{1,99}", item):
        return str(int(item))
    if isinstance(item, int | np.integer) and abs(number) < 1e99:
        return str(int(item))
    if not abs(number) < 2**53:  # at 2**53 a float may be its neighbour, rounded
        return None
    return str(int(number)) if number == int(number) else repr(number)


def _values(column: Column) -> list[Any]:
    """Return the categories and `other`, which may be in the data itself, as in a summary."""
    return [*column.categories, *(() if column.other is None else (column.other,))]


def _position(column: Column) -> Callable[[Any], int | None]:
    """Return what gives the position of an item among the categories, None if it is none."""
    values = _values(column)
    if not values or isinstance(values[0], str):
        exact = {value: i for i, value in enumerate(values)}
        return lambda item: exact.get(item if item in exact else _spelling(item))

    def key(item: Any) -> bool | float | None:
        """Return what is the same for all spellings of a value."""
        truth, number = _truth(item), _number(item)
        if isinstance(values[0], bool):
            return bool(number) if truth is None and number in (0, 1) else truth
        return number if truth is None else float(truth)

    keys = {key(value): i for i, value in enumerate(values)}
    return lambda item: keys.get(key(item))


def _category(column: Column) -> Callable[[Any], float]:
    position = _position(column)
    texts = [value for value in column.categories if isinstance(value, str)]
    # Such as "02139": as a number it would be 2139, which is not what was written.
    ambiguous = any(_spelling(text) not in (None, text) for text in texts)

    def read(item: Any) -> float:
        if texts and not isinstance(item, str) and (ambiguous or _spelling(item) is None):
            return -math.inf
        place = position(item)
        return float(len(column.categories) if place is None else place)

    return read


def iso_date(text: str) -> date | None:
    """Return the day of ``YYYY-MM-DD``, a time after it or not; None if the text is no such.

    None also for a time with an offset: a library that takes it for a time moves it to UTC, which
    may be another day.
    """
    # Not datetime.fromisoformat, which takes more spellings the newer Python is.
    match = re.fullmatch(r"([0-9]{4})-([0-9]{2})-([0-9]{2})([T ].*)?", text)
    if match is None or re.search(r"[+-](?![0:]*$)[0-9:]+$", match[4] or ""):
        return None
    try:
        return date(*map(int, match.groups()[:3]))
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
        return item.astimezone(UTC).replace(tzinfo=None)
    return item


def _as_text(part: NDArray[Any]) -> NDArray[Any]:
    if part.dtype.kind in "UO":
        return part
    values, _ = carried_to_originals(part)
    return np.array(["" if item is None else str(item) for item in list(values)], dtype=object)

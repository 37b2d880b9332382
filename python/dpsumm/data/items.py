"""One value of a party's data as a schema's number: a function of that value and the column alone.

A library may hold a value as text or as a number, a truth value or a date, depending on the other
values of its column. So all that may be the same value have the same code; where they cannot (the
number 2139, which may have been ``"02139"``), the value is none of the column, and the run is
refused.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Hashable
from datetime import UTC, date, datetime, time
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsumm.checks import is_number
from dpsumm.data.column import EPOCH, Column, Kind, spells_nan

# Texts that a library may take for a truth value, and the digit it may have been.
_WORDS = {True: ("True", "true", "TRUE", "1"), False: ("False", "false", "FALSE", "0")}
# Texts that pyarrow reads as null where all other fields of the column are numbers. As text they
# would be `other`.
NULLS = frozenset("#N/A #NA -1.#IND -1.#QNAN 1.#IND 1.#QNAN N/A NA NULL n/a null".split()) | {
    "#N/A N/A"
}
# How `read_sheet` writes an Excel date, which has no spelling of its own.
_DATE_CELL = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?")


def codes_of(items: list[Any], column: Column) -> NDArray[np.float64]:
    """Return the code of each item, NaN for a missing one, -inf for one that cannot be read."""
    if not all(issubclass(kind, Hashable) for kind in set(map(type, items))):
        return np.array([math.nan if item is None else -math.inf for item in items], np.float64)
    code = _reader(column)
    kinds = set(map(type, items)) - {type(None)}
    if len(kinds) > 1 or any(issubclass(kind, datetime) for kind in kinds):
        # Equal and not the same: 1 and True, or two zones' days at one moment.
        return np.array([math.nan if item is None else code(item) for item in items], np.float64)
    # Equal items are read once.
    codes = {item: math.nan if item is None else code(item) for item in set(items)}
    return np.fromiter(map(codes.__getitem__, items), np.float64, len(items))


def _reader(column: Column) -> Callable[[Any], float]:
    """Return what gives an item's code as `codes_of` does."""
    readers = {Kind.NUMBER: number_of, Kind.DATE: _date(column), Kind.CATEGORY: _category(column)}
    read, position = readers[Kind(column.kind)], _position(column)
    numeric, days = numeric_marks(column), date_marks(column)
    absent = text_marks(column) | (NULLS if column.kind is Kind.CATEGORY else set())
    hidden = _hidden_spellings(column)

    def code(item: Any) -> float:
        if isinstance(item, str):
            item = item.strip()
            if not item or spells_nan(item) or (position(item) is None and item in absent):
                return math.nan
        elif math.isnan(number_of(item)):
            return math.nan
        elif hidden is not None and (_spelling(item) is None or _spelling(item) in hidden):
            return -math.inf  # one of the categories, perhaps
        if numeric and number_of(item) in numeric and position(item) is None:
            return math.nan
        found = read(item)
        return math.nan if found in days else found

    if hidden is None:
        return code
    # By what it may have been as text: what all of that counts as, if it is one thing.
    possible = {truth: {repr(code(word)) for word in words} for truth, words in _WORDS.items()}

    def with_truth(item: Any) -> float:
        if not isinstance(item, bool | np.bool_):
            return code(item)
        found = possible[bool(item)]
        return code(str(bool(item))) if len(found) == 1 else -math.inf

    return with_truth


def _hidden_spellings(column: Column) -> set[str] | None:
    """Return what text categories spell without being it, 2139 for "02139"; None if not text."""
    texts = [value for value in column.categories if isinstance(value, str)]
    if not texts:
        return None
    return {spelling for text in texts if (spelling := _spelling(text))} - set(texts)


def marks_in_text(column: Column) -> tuple[str, ...]:
    """Return the texts that mean "no value" in a text file: no mark that is a category, too."""
    position = _position(column)
    return tuple(text for mark in column.missing if position(text := str(mark).strip()) is None)


def is_mark(column: Column, text: str) -> bool:
    """Return whether a trimmed text means a missing value in a column beside the kernel's."""
    marked = text in text_marks(column) or number_of(text) in numeric_marks(column)
    return not text or spells_nan(text) or marked


def truth_marks(column: Column) -> dict[bool, bool | None]:
    """Return whether a truth value means a missing value; None if only some words for it do."""
    marked = {truth: {is_mark(column, word) for word in words} for truth, words in _WORDS.items()}
    return {truth: found.pop() if len(found) == 1 else None for truth, found in marked.items()}


def text_marks(column: Column) -> set[str]:
    """Return the trimmed texts that mean a missing value."""
    return {mark.strip() for mark in column.missing if isinstance(mark, str)}


def numeric_marks(column: Column) -> set[float]:
    """Return the numbers that mean a missing value."""
    numbers = {number_of(mark) for mark in column.missing}
    return {number for number in numbers if math.isfinite(number)}


def date_marks(column: Column) -> set[float]:
    """Return the days that mean a missing value, however a library holds them."""
    if column.kind is not Kind.DATE:
        return set()
    days = {_date(column)(mark) for mark in text_marks(column)}
    return {day for day in days if math.isfinite(day)}


def number_of(item: Any) -> float:
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
    number = number_of(item)
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
        marked = {_spelling(mark) for mark in column.missing}
        for truth, *_, digit in _WORDS.values():
            # A library may take one for the other (pyarrow: 1 for true, beside a word).
            if (truth in exact) != (digit in exact) and not {truth, digit} & marked:
                exact[truth] = exact[digit] = exact.get(truth, exact.get(digit, 0))
        return lambda item: exact.get(item if item in exact else _spelling(item))

    def key(item: Any) -> bool | float | None:
        """Return what is the same for all spellings of a value."""
        truth, number = _truth(item), number_of(item)
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
        if not isinstance(item, str):
            known = isinstance(item, bool | np.bool_ | Decimal) or is_number(item)
            if not known or (texts and (ambiguous or _spelling(item) is None)):
                return -math.inf
        place = position(item)
        return float(len(column.categories) if place is None else place)

    return read


def text_of(item: Any) -> str:
    """Return the one text of all that may be the same number, truth value or day; "" for none."""
    if isinstance(item, str):
        return item
    if item is None or (isinstance(item, float | np.floating) and math.isnan(item)):
        return ""
    if isinstance(item, datetime):
        zoned = item if item.tzinfo is None else item.astimezone(UTC).replace(tzinfo=None)
        day = zoned.time() == time()
        return (zoned.date() if day else zoned).isoformat()
    if isinstance(item, float | np.floating):
        number = float(item)
        whole = abs(number) < 2**53 and number.is_integer()
        return str(int(number)) if whole else repr(number)
    if isinstance(item, Decimal):
        return _decimal_text(item)
    return item.isoformat() if isinstance(item, date) else str(item)


def _decimal_text(item: Decimal) -> str:
    """Return the text of the whole number, or else of the float, that is this very number.

    Else the digits without zeros at the end: 1.10 and 1.1 are one, whatever scale a column has.
    """
    if item.is_nan():
        return ""
    if not item:
        return "0"
    if item.is_finite() and item.adjusted() < 99 and item == item.to_integral_value():
        return str(int(item))
    number = float(item)
    if Decimal(repr(number)) == item:
        return repr(number)
    exact = Context(max(1, len(item.as_tuple().digits)), Emin=MIN_EMIN, Emax=MAX_EMAX)
    return str(item.normalize(exact))


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
    known = column.date_format

    def day_of(text: str) -> date | None:
        if known is not None:
            try:
                return datetime.strptime(text, known)
            except ValueError:
                if not _DATE_CELL.fullmatch(text):
                    raise
        return iso_date(text)

    def read(item: Any) -> float:
        try:
            if isinstance(item, str):
                item = day_of(item)
            if isinstance(item, date):
                return float(item.toordinal() - EPOCH)
        except (ValueError, OverflowError):
            pass
        return -math.inf

    return read

"""The meaning of one value in any library's type, by functions of the value alone.

A library may hold a value as text or as a number, a truth value or a date, depending on the other
values of its column. So all that may be the same value has one number, one spelling, one text.
"""

from __future__ import annotations

import math
import re
from datetime import UTC, date, datetime, time
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from typing import Any

import numpy as np

from dpsumm.basics.checks import is_number

EPOCH = date(1970, 1, 1).toordinal()
# Texts that a library may take for a truth value, and the digit it may have been.
WORDS = {True: ("True", "true", "TRUE", "1"), False: ("False", "false", "FALSE", "0")}
# Texts that pyarrow reads as null where all other fields of the column are numbers. As text they
# would be `other`.
NULLS = frozenset("#N/A #NA -1.#IND -1.#QNAN 1.#IND 1.#QNAN N/A NA NULL n/a null".split()) | {
    "#N/A N/A"
}


def spells_nan(text: str) -> bool:
    """Return whether a library may hold this text as the number NaN: always a missing value."""
    text = text.strip()
    return text[-1:] in ("n", "N") and text.lower().lstrip("+-") == "nan"


def number_of(item: Any) -> float:
    """Return a number, or -inf if it is no number."""
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


def truth_of(item: Any) -> bool | None:
    """Return a truth value or the word for one, else None."""
    if isinstance(item, bool | np.bool_):
        return bool(item)
    return {"true": True, "false": False}.get(item.lower()) if isinstance(item, str) else None


def spelling(item: Any) -> str | None:
    """Return the one spelling of all that may be the same number or truth value, else None.

    None also for a number that a float may have rounded, since its digits are not known.
    """
    truth = truth_of(item)
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

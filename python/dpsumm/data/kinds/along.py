"""Columns that travel along with a point, which the kernel ignores.

A value's text, `text_of`, is a function of that value alone. A column's type is not, since a
library chooses it by all values. So texts alone are sent, nothing is refused or computed by a type,
and the summary's is one that gives every value its own text back.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsumm.data.frame import Cells
from dpsumm.data.kinds.items import text_of
from dpsumm.data.kinds.kind import How, Read
from dpsumm.errors import InvalidDataError

# Characters of a text that travels with a point. An array gives every text the room of the longest
# one, so one long text would cost the curator that much for each point of the pool.
MOST_CHARACTERS = 2**12
_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,17}")
_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:e[+-][0-9]+)?")


class Along(How):
    """A column that travels along. Missing: NaN, NaT, empty text. A time with a zone is in UTC."""

    def read(self, cells: Cells) -> Read:
        """See `How.read`; InvalidDataError if a text cannot travel, see `check_texts`."""
        import narwhals as nw

        dtype, whole = cells.dtype, not cells.n_absent
        truths = cells.truths()
        # Decimals one by one, as text: beside a truth value, say, a library holds them as objects.
        if truths is not None and whole:
            if not any(self.is_mark(str(x)) for x in (True, False)):
                return Read(truths)
        elif cells.is_number and truths is None and dtype != nw.Decimal:
            numbers = cells.floats()
            gone = self.marked(numbers)
            integers = cells.integers() if whole and not gone.any() else None
            if integers is not None:
                return Read(integers)
            # Whole numbers beside a gap go as text: a float would be written otherwise, "3.0".
            if not dtype.is_integer():
                return Read(np.where(gone, np.nan, numbers))
        if dtype == nw.Datetime:
            return Read(np.array(list(map(_without_zone, cells.items)), dtype="M8[us]"))
        distinct = cells.distinct
        if dtype == nw.Date:
            return Read(distinct.laid(np.array(distinct.items, dtype="M8[D]")))
        texts = [text_of(item) for item in distinct.items]
        texts = ["" if self.is_mark(text.strip()) else text for text in texts]
        check_texts(texts, f"column {cells.name!r}", "leave it out of the schema, or shorten them")
        return Read(distinct.laid(_objects(texts)))

    def originals(self, values: NDArray[Any]) -> tuple[Any, Any]:
        import narwhals as nw

        kind = values.dtype.kind
        if kind in "UO" and (values == "").any():
            texts = values.tolist()
            if all(not text or _WHOLE.fullmatch(text) for text in texts) and any(texts):
                return [int(text) if text else None for text in texts], nw.Int64
            return [text or None for text in texts], nw.String
        if kind == "f" and np.isnan(values).any():
            return [None if math.isnan(item) else item for item in values.tolist()], nw.Float64
        if kind == "M":
            days = values.dtype == np.dtype("M8[D]")
            return values.tolist(), nw.Date if days else nw.Datetime("us")
        return (values.astype(np.str_) if kind == "O" else values), None


def check_texts(texts: Iterable[str], what: str, way_out: str) -> None:
    """Refuse texts that no message holds: here, where nothing has been sent yet."""
    for text in texts:
        if len(text) > MOST_CHARACTERS:
            raise InvalidDataError(
                f"{what} has texts of more than {MOST_CHARACTERS} characters, which cannot travel "
                f"with the points; {way_out}"
            )
        if "\0" in text:
            raise InvalidDataError(
                f"{what} has texts with a NUL character, which cannot travel with the points. "
                f"Take it out"
            )
        if not text.isascii() and any("\ud800" <= letter <= "\udfff" for letter in text):
            raise InvalidDataError(
                f"{what} has texts with half a character (a lone surrogate), which cannot travel "
                f"with the points. Read the data again with their encoding"
            )


def joined(parts: list[NDArray[Any]]) -> NDArray[Any]:
    """Return parts of a column as one array. Each value's text if their kinds do not go together.

    Nor do whole numbers of 2**53 or more and what would make floats of them, and round them.
    """
    kinds = {part.dtype.kind for part in parts}
    if len(kinds) == 1 or (kinds <= set("iuf") and not _rounds(parts)):
        return np.concatenate(parts)
    return np.concatenate([as_text(part) for part in parts])


def as_text(part: NDArray[Any]) -> NDArray[Any]:
    """Return every value's text, as an array of text or of objects that are text."""
    return part if part.dtype.kind == "U" else _objects([text_of(item) for item in part.tolist()])


def typed(values: NDArray[Any]) -> NDArray[Any]:
    """Return texts that are all numbers, truth values, days or times as such, else as given.

    Only where every value's own text is the one given, a number's with or without the zero of
    ``1.0``: so ``250.10`` and ``007`` stay text.
    """
    if values.dtype.kind not in "UO":
        return values
    texts = {str(text) for text in values.tolist()}
    given = texts - {""}
    if given and texts <= {"True", "False"}:
        return np.array([text == "True" for text in values.tolist()])
    if given and all(map(_is_time, given)):
        unit = "M8[us]" if any("T" in text for text in given) else "M8[D]"
        return np.array([text or "NaT" for text in values.tolist()], dtype=unit)
    if not given or not all(map(_NUMBER.fullmatch, given)):
        return values
    numbers: dict[str, Any] = {text: _number(text) for text in given}
    if all(type(x) is int and str(x) == text for text, x in numbers.items()):
        if "" in texts or not all(-(2**63) <= x < 2**63 for x in numbers.values()):
            return values  # a float with a gap would be written otherwise
        return np.array([numbers[text] for text in values.tolist()], np.int64)
    if not any(
        all(spelled(float(x)) == text for text, x in numbers.items()) for spelled in (text_of, repr)
    ):
        return values
    numbers[""] = math.nan
    return np.array([numbers[text] for text in values.tolist()], np.float64)


def _rounds(parts: list[NDArray[Any]]) -> bool:
    """Return whether one array of all parts would round large whole numbers to floats."""
    if np.result_type(*parts).kind != "f":
        return False
    whole = [part for part in parts if part.dtype.kind in "iu"]
    return any(((part >= 2**53) | (part <= -(2**53))).any() for part in whole)


def _is_time(text: str) -> bool:
    """Return whether a text is that of a day, or of a time without a zone."""
    try:
        return text_of(datetime.fromisoformat(text)) == text
    except ValueError:
        return False


def _without_zone(item: Any) -> Any:
    if isinstance(item, datetime) and item.tzinfo is not None:
        return item.astimezone(UTC).replace(tzinfo=None)
    return item


def _objects(texts: list[str]) -> NDArray[Any]:
    array = np.empty(len(texts), dtype=object)
    array[:] = texts
    return array


def _number(text: str) -> int | float:
    return int(text) if text.lstrip("-").isdigit() else float(text)

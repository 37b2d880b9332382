"""Columns of dates: days since 1970-01-01, from texts, dates and times."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from datetime import date, datetime
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsumm.data.frame import Cells
from dpsumm.data.kinds.items import EPOCH, iso_date
from dpsumm.data.kinds.kind import Facts, Read
from dpsumm.data.kinds.number import Position

# How `read_sheet` writes an Excel date, which has no spelling of its own.
_DATE_CELL = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?")


class Date(Position):
    """A column of dates."""

    options = frozenset({"bounds", "weight", "when_missing", "date_format"})
    is_date = True

    @staticmethod
    def is_likely(facts: Facts) -> bool:
        """Return whether one of the bounds is a date."""
        pair = facts.bounds if isinstance(facts.bounds, Sequence) else ()
        return any(isinstance(bound, date) for bound in pair)

    def settled(self) -> dict[str, Any]:
        """Return bounds that are dates. They are needed."""
        if self.column.bounds is None:
            raise self.error("a date needs bounds, two dates. Or give it kind 'ignore'")
        pair = self.pair()
        if not all(type(bound) in (date, datetime) for bound in pair):
            raise self.bounds_error("is a date, so it needs a pair of dates")
        low, high = (bound.date() if isinstance(bound, datetime) else bound for bound in pair)
        if not low < high:
            raise self.bounds_error("needs low < high")
        return {"bounds": (low, high)}

    @cached_property
    def limits(self) -> tuple[float, float]:
        """The bounds as days since 1970-01-01."""
        low, high = (float(day.toordinal() - EPOCH) for day in self.column.bounds)  # type: ignore
        return low, high

    def present(self, cells: Cells) -> Read:
        """See `How.read`. A date or time may be one, or a text."""
        if not (cells.is_text or cells.is_time):
            raise TypeError
        return self.coded(cells)

    def read_numbers(self, values: NDArray[Any]) -> Read:
        """Return days since 1970-01-01."""
        codes, days = self.without_marks(values), list(self._days)
        marked = np.isin(codes, days) if days else None
        return Read(codes if marked is None else np.where(marked, codes.dtype.type(np.nan), codes))

    def found(self, item: Any) -> float:
        day = self._day(item)
        return math.nan if day in self._days else day

    @cached_property
    def _days(self) -> frozenset[float]:
        """Days that mean a missing value, however a library holds them."""
        return frozenset(day for day in map(self._day, self.text_marks) if math.isfinite(day))

    def _day(self, item: Any) -> float:
        try:
            if isinstance(item, str):
                item = self._parsed(item)
            if isinstance(item, date):
                return float(item.toordinal() - EPOCH)
        except (ValueError, OverflowError):
            pass
        return -math.inf

    def _parsed(self, text: str) -> date | None:
        if self.column.date_format is not None:
            try:
                return datetime.strptime(text, self.column.date_format)
            except ValueError:
                if not _DATE_CELL.fullmatch(text):
                    raise
        return iso_date(text)

    def originals(self, values: NDArray[Any]) -> tuple[Any, Any]:
        """Return dates."""
        import narwhals as nw

        days = np.nan_to_num(values).astype(np.int64).astype("M8[D]")
        return np.where(np.isnan(values), np.datetime64("NaT"), days).tolist(), nw.Date

    @staticmethod
    def drafted(days: Sequence[Any]) -> dict[str, Any]:
        """Return options for a column of days or times: whole years."""
        years = [day.year for day in days]
        low, high = date(min(years), 1, 1), date(min(max(years) + 1, 9999), 1, 1)
        return {"kind": "date", "bounds": (low, high)}

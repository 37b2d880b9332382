"""Columns of numbers. ``1``, ``1.0`` and ``" 1"`` are one number in every library."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpsumm.data.frame import Cells
from dpsumm.data.kinds.items import number_of
from dpsumm.data.kinds.kind import ABSENT, Facts, Read, Seen, has_fractions
from dpsumm.errors import InvalidParameterError

NO_LIMITS = (-math.inf, math.inf)
# A whole-number column of a sample with at most so many values is taken for categories.
MOST_NUMBERS = 6
# One limit, or an array of one per column.
_Limit = TypeVar("_Limit", float, NDArray[np.float64])


class Position(Seen):
    """A column with one cell for a value, a position between bounds: numbers and dates."""

    @property
    def cells(self) -> tuple[str, ...]:
        """Names of the column's coordinates."""
        name = self.column.name
        return (name, f"{name} missing") if self.column.encodes_missing else (name,)

    def write(self, codes: NDArray[np.float64], out: NDArray[Any]) -> None:
        if self.column.encodes_missing:
            out[np.isnan(codes), -1] = self.column.weight * math.sqrt(self.variance)
        out[:, 0] = self.column.weight * _place(codes, *(self.limits or NO_LIMITS))

    def n_clipped(self, codes: NDArray[Any]) -> int:
        """Return how many values are beyond the bounds."""
        low, high = self.limits or NO_LIMITS
        exact = codes.astype(np.float64, copy=False)
        return int(np.count_nonzero((exact < low) | (exact > high)))

    def draw(self, units: NDArray[np.float64]) -> NDArray[np.float64]:
        """See `Seen.draw`. Missing in one draw of ten if that is encoded."""
        assert self.limits is not None
        low, high = self.limits
        if not self.column.encodes_missing:
            return low + units * (high - low)
        # One number for both: which side of ABSENT it is on, and where it is beyond.
        place = (units - ABSENT) / (1 - ABSENT)
        return np.where(units < ABSENT, np.nan, low + place * (high - low))

    def pair(self) -> tuple[Any, Any]:
        """Return the bounds as given, two of them."""
        try:
            low, high = self.column.bounds  # type: ignore[misc]
        except (TypeError, ValueError):
            raise self.bounds_error("needs a pair (low, high)") from None
        return low, high

    def bounds_error(self, text: str) -> InvalidParameterError:
        """Return the refusal of bounds."""
        return InvalidParameterError(f"bounds: column {self.column.name!r} {text}")


class Number(Position):
    """A column of numbers."""

    options = frozenset({"bounds", "weight", "when_missing", "whole"})

    @staticmethod
    def is_likely(facts: Facts) -> bool:
        """Return True, because a column of no other kind is a number."""
        return True

    def settled(self) -> dict[str, Any]:
        """Return finite bounds, if there are any."""
        if self.column.bounds is None:
            if self.column.encodes_missing:
                raise self.error(
                    "when_missing 'encode' needs bounds: their middle stands for no value"
                )
            return {}
        low, high = self.pair()
        try:
            low, high = float(low), float(high)
        except (TypeError, ValueError, OverflowError):
            raise self.bounds_error("needs a pair of numbers (low, high)") from None
        # The width must be finite too: -1e308 to 1e308 would scale everything to 0.
        if not (low < high and math.isfinite(low) and math.isfinite(high - low)):
            raise self.bounds_error(f"needs finite low < high, got ({low:g}, {high:g})")
        return {"bounds": (low, high)}

    @property
    def limits(self) -> tuple[float, float] | None:
        """The bounds."""
        return self.column.bounds  # type: ignore[return-value]

    def present(self, cells: Cells) -> Read:
        """See `How.read`. Texts are numbers only where the column has marks, or a file's fields."""
        if cells.is_number:
            return Read(self.without_marks(cells.numbers()))
        # Without a mark, nothing but numbers can be meant.
        if not ((self.column.missing or cells.are_fields) and cells.is_text):
            raise TypeError
        texts = cells.texts
        if texts is None:
            return self.coded(cells)
        return Read.counted(texts.laid(self._fields(texts.items)))

    def found(self, item: Any) -> float:
        return number_of(item)

    def _fields(self, texts: Any) -> NDArray[np.float64]:
        """Return the codes of a polars column of text: most by polars, the few others by one."""
        import polars

        numbers = texts.cast(polars.Float64, strict=False)
        codes = numbers.to_numpy(writable=True)
        codes[codes == -np.inf] = np.inf
        codes = self.without_marks(codes)
        if numbers.null_count() > texts.null_count():
            rest = np.flatnonzero((numbers.is_null() & texts.is_not_null()).to_numpy())
            codes[rest] = self.codes(texts[rest].to_list())
        return codes

    def wrong(self, codes: NDArray[Any], least: float, most: float) -> Iterator[str]:
        """Yield whether whole numbers have fractions."""
        if self.column.whole and has_fractions(codes):
            yield "not whole"

    def originals(self, values: NDArray[Any]) -> tuple[Any, Any]:
        """Return numbers. They are the codes themselves if no value is missing, unless whole."""
        import narwhals as nw

        whole = self.column.whole
        if not np.isnan(values).any():
            return (values.astype(np.int64) if whole else values), None
        known = np.nan_to_num(values, posinf=np.inf, neginf=-np.inf)
        back = (known.astype(np.int64) if whole else known).astype(object)
        back[np.isnan(values)] = None
        return back.tolist(), nw.Int64 if whole else nw.Float64

    @staticmethod
    def drafted(values: Sequence[float], whole: bool) -> dict[str, Any]:
        """Return options for a column of numbers: bounds rounded outwards, or few categories.

        Data may have values that a sample lacks, such as more children. These count as the next
        number.
        """
        distinct = sorted(set(values))
        exact = all(value.is_integer() and abs(value) < 2**53 for value in distinct)
        if exact and len(distinct) <= MOST_NUMBERS:
            known = tuple(map(int, distinct))
            return {"categories": known, "other": known[-1] + 1}
        finite = [value for value in distinct if math.isfinite(value)] or [0.0]
        low, high = finite[0], finite[-1]
        # 29..77 becomes 20..80.
        step = 10.0 ** math.floor(math.log10((high - low) / 2)) if high > low else max(1, abs(low))
        low, high = math.floor(low / step) * step, math.ceil(high / step) * step
        return {"bounds": (low, high if high > low else low + step), "whole": whole}


@dataclass(frozen=True)
class Positions:
    """The columns of one cell, to be written at once as `Position.write` does.

    `columns` and `cells` are their positions among the values and in the points.
    """

    columns: tuple[int, ...]
    cells: tuple[int, ...]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    weight: NDArray[np.float64]

    @classmethod
    def of(cls, kinds: Sequence[Seen], starts: Sequence[int]) -> Positions:
        """Return those of all columns that are such."""
        found = [
            (j, start, *(kind.limits or NO_LIMITS), kind.column.weight)
            for j, (kind, start) in enumerate(zip(kinds, starts, strict=True))
            if isinstance(kind, Position) and not kind.column.encodes_missing
        ]
        rows = np.array([row[2:] for row in found], dtype=np.float64).reshape(-1, 3)
        return cls(tuple(row[0] for row in found), tuple(row[1] for row in found), *rows.T)

    def write(self, values: NDArray[Any], out: NDArray[Any]) -> None:
        """Write the columns of (n, c) values into (n, cells)."""
        exact = values[:, self.columns].astype(np.float64)
        out[:, self.cells] = self.weight * _place(exact, self.low, self.high)


def _place(codes: NDArray[np.float64], low: _Limit, high: _Limit) -> NDArray[np.float64]:
    """Return where numbers are within their limits. See `Positions`."""
    with np.errstate(invalid="ignore"):
        place = (np.clip(codes, low, high) - low) / (high - low)
    return np.where(np.isinf(low), codes, np.where(np.isnan(codes), 0.5, place))

"""What is publicly known about one column."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from enum import Enum
from typing import Any, TypeAlias

from dpsumm.checks import is_number
from dpsumm.data.files import MISSING
from dpsumm.errors import InvalidParameterError
from dpsumm.visible import visible

Value: TypeAlias = str | float | bool

EPOCH = date(1970, 1, 1).toordinal()


class Kind(str, Enum):
    """What a column is.

    See Also
    --------
    dpsumm.Column : Has one.
    """

    NUMBER = "number"
    CATEGORY = "category"
    DATE = "date"
    #: The kernel ignores it; it travels with the points as it is.
    IGNORE = "ignore"
    #: As IGNORE, and it is the summary's label. At most one. It may list categories.
    LABEL = "label"


class WhenMissing(str, Enum):
    """What happens to a missing value.

    See Also
    --------
    dpsumm.Column : Has one.
    """

    REFUSE = "refuse"
    DROP = "drop"
    ENCODE = "encode"


@dataclass(frozen=True)
class Column:
    """What is publicly known about one column: its kind, and bounds or categories.

    Parameters
    ----------
    name
        As in the data.
    kind
        A `Kind` or its value. By default ``"category"`` if there are `categories`, ``"date"`` if
        the `bounds` are dates, else ``"number"``.
    bounds
        (low, high) with low < high, finite numbers in the column's units, or dates. The kernel sees
        the value clipped to them and scaled to [0, 1]. Needed for dates; a number without bounds is
        used as it is.
    categories
        Distinct values, all text or all numbers or all truth values. The kernel sees one cell per
        value, such that two different ones are at distance `weight`. Text that is listed counts as
        it is; other text, and numbers of a data frame, by the number or truth value that it spells.
        If a category such as ``"02139"`` is no number's usual spelling, numbers are refused.
        ``1`` and ``True`` are one value, as are ``0`` and ``False``; if both are listed or one is
        a mark, they are two as text, and truth values of a data frame are refused. Of a label: its
        classes, as which the summary gives it back; by default it is the number or truth value that
        it spells, else text.
    ordered
        The categories are in their order, and the kernel sees their position, scaled to [0, 1].
    other
        The value that stands for every one that is not in `categories`: it has a cell of its own,
        and the summary gives `other` back instead. By default such data are refused.
    missing
        Marks that mean "no value", text or numbers, after removing spaces; besides empty text,
        null and NaN, which always do. A mark that is one of the `categories`, however it is
        spelled, is none. Of dates a mark such as ``"1900-01-01"`` means the day. Without any,
        a column of numbers in a data frame must not be text.
    when_missing
        ``"refuse"`` the data, ``"drop"`` the row, or ``"encode"``: as one more category, or as the
        middle of the range with a cell that says so. It is then at distance `weight` of every
        category, or as far from a uniform value of the range as two of these are from each other
        (root mean square; nothing depends on the data).
    weight
        Scale of the column in the kernel's space, 1e-6 to 1e6: the distance between the two bounds,
        or between two categories.
    date_format
        Format of dates given as text, see `datetime.strptime`; by default ``YYYY-MM-DD``, to which
        a time may be added, but no offset from UTC. The kernel and the summary have the day alone.
        Columns and Excel cells that are dates, not text, need no format and are taken under any.
    whole
        A number column has whole numbers of at most 2**53 in size, which the summary gives back as
        such; fractions are refused.

    Raises
    ------
    InvalidParameterError
        Naming the column and the way out.

    Privacy
    -------
    Public: every party has it. Nothing of it may be computed from private data; bounds and
    categories read from private data leak records.

    See Also
    --------
    dpsumm.Schema : All columns of a party.
    dpsumm.data.Kind : What a column holds.
    dpsumm.data.WhenMissing : What is done where a value is missing.

    Examples
    --------
    >>> Column("age", bounds=(20, 90)).kind.value
    'number'
    >>> Column("pain", categories=("none", "some", "strong"), ordered=True).kind.value
    'category'
    """

    name: str
    kind: Kind | str | None = None
    bounds: tuple[float, float] | tuple[date, date] | None = None
    categories: tuple[Value, ...] = ()
    ordered: bool = False
    other: Value | None = None
    missing: tuple[str | float, ...] = MISSING
    when_missing: WhenMissing | str = WhenMissing.REFUSE
    weight: float = 1.0
    date_format: str | None = None
    whole: bool = False

    def __post_init__(self) -> None:
        """Check the parameters; settle the kind."""
        if not isinstance(self.name, str) or not self.name.strip():
            raise InvalidParameterError("schema: a column's name must be text that is not empty")
        # It stands in plans and logs. NUL ends it in Arrow's C interface, where frames pass.
        if visible(self.name) != self.name:
            raise self._error("its name has control characters, which forge lines; rename it")
        if isinstance(self.categories, str) or isinstance(self.missing, str):
            raise self._error("categories and missing must be sequences of values")
        self._set(categories=tuple(self.categories), missing=tuple(self.missing))
        self._set(kind=self._member(Kind, self.kind or self._likely_kind(), "kind"))
        self._set(when_missing=self._member(WhenMissing, self.when_missing, "when_missing"))
        self._check_relevance()
        if self.bounds is not None:
            self._set(bounds=self._checked_bounds(self.bounds))
        if self.kind is Kind.CATEGORY or self.categories:
            self._check_categories()
        if self.kind is Kind.DATE and self.bounds is None:
            raise self._error("a date needs bounds, two dates; or give it kind 'ignore'")
        if self.when_missing is WhenMissing.ENCODE and self.kind is Kind.NUMBER and not self.bounds:
            raise self._error(
                "when_missing 'encode' needs bounds: their middle stands for no value"
            )
        if not (is_number(self.weight) and 1e-6 <= self.weight <= 1e6):
            raise self._error(f"weight must be a number from 1e-6 to 1e6, got {self.weight!r}")
        for mark in self.missing:
            if not (isinstance(mark, str) or (is_number(mark) and abs(mark) <= sys.float_info.max)):
                raise self._error(f"missing must hold text or finite numbers, got {mark!r}")

    @property
    def in_kernel(self) -> bool:
        """Whether the kernel sees the column."""
        return self.kind not in (Kind.IGNORE, Kind.LABEL)

    @property
    def limits(self) -> tuple[float, float] | None:
        """The bounds as numbers: dates as days since 1970-01-01."""
        if self.bounds is None:
            return None
        low, high = self.bounds
        return _as_number(low), _as_number(high)

    @property
    def encodes_missing(self) -> bool:
        """Whether a missing value is a point of the kernel's space."""
        return self.when_missing is WhenMissing.ENCODE

    def _set(self, **values: Any) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def _error(self, text: str) -> InvalidParameterError:
        return InvalidParameterError(f"schema: column {self.name!r}: {text}")

    def _member(self, kind: type[Enum], value: object, what: str) -> Enum:
        try:
            return kind(value)
        except ValueError:
            known = ", ".join(repr(member.value) for member in kind)
            raise self._error(f"{what} must be one of {known}, got {value!r}") from None

    def _likely_kind(self) -> Kind:
        if self.categories:
            return Kind.CATEGORY
        pair = self.bounds if isinstance(self.bounds, Sequence) else ()
        return Kind.DATE if any(isinstance(bound, date) for bound in pair) else Kind.NUMBER

    def _check_relevance(self) -> None:
        """Refuse what would be ignored."""
        given = {
            "bounds": self.bounds is not None,
            "categories": bool(self.categories),
            "ordered": self.ordered,
            "other": self.other is not None,
            "date_format": self.date_format is not None,
            "whole": self.whole,
            "weight": self.weight != 1,
            "when_missing": self.when_missing is not WhenMissing.REFUSE,
        }
        assert isinstance(self.kind, Kind)
        meant = {
            Kind.NUMBER: {"bounds", "weight", "when_missing", "whole"},
            Kind.CATEGORY: {"categories", "ordered", "other", "weight", "when_missing"},
            Kind.DATE: {"bounds", "weight", "when_missing", "date_format"},
            Kind.IGNORE: set(),
            Kind.LABEL: {"when_missing", "categories", "other"},
        }[self.kind]
        for name, present in given.items():
            if present and name not in meant:
                raise self._error(
                    f"{name} means nothing for kind {self.kind.value!r}; leave it out"
                )
        if self.kind is Kind.LABEL and self.encodes_missing:
            raise self._error("a missing label can be refused or dropped, not encoded")
        if self.kind is Kind.LABEL and self.other is not None and not self.categories:
            raise self._error("other needs categories, the list of the label's values")

    def _checked_bounds(self, pair: Any) -> tuple[Any, Any]:
        try:
            low, high = pair
        except (TypeError, ValueError):
            raise self._bounds_error("needs a pair (low, high)") from None
        if self.kind is Kind.DATE:
            if not all(type(bound) in (date, datetime) for bound in (low, high)):
                raise self._bounds_error("is a date, so it needs a pair of dates")
            low, high = (b.date() if isinstance(b, datetime) else b for b in (low, high))
            if not low < high:
                raise self._bounds_error("needs low < high")
            return low, high
        try:
            low, high = float(low), float(high)
        except (TypeError, ValueError, OverflowError):
            raise self._bounds_error("needs a pair of numbers (low, high)") from None
        # The width must be finite too: -1e308 to 1e308 would scale everything to 0.
        if not (low < high and math.isfinite(low) and math.isfinite(high - low)):
            raise self._bounds_error(f"needs finite low < high, got ({low:g}, {high:g})")
        return low, high

    def _bounds_error(self, text: str) -> InvalidParameterError:
        return InvalidParameterError(f"bounds: column {self.name!r} {text}")

    def _check_categories(self) -> None:
        values = (*self.categories, *(() if self.other is None else (self.other,)))
        if not self.categories:
            raise self._error("kind 'category' needs categories, the list of its values")
        if not any(
            all(fits(value) for value in values)
            for fits in (_is_text, _is_exact, lambda value: isinstance(value, bool))
        ):
            raise self._error(
                "categories (and other) must be all text, all truth values, or all numbers of at "
                "most 2**53 in size"
            )
        keys = [value.strip() if isinstance(value, str) else value for value in values]
        if "" in keys:
            raise self._error("empty text is no category: it always means a missing value")
        if any(isinstance(key, str) and spells_nan(key) for key in keys):
            raise self._error("'nan' is no category: libraries read it as a missing value")
        if len(set(keys)) < len(keys):
            raise self._error("categories (and other) must be distinct")
        self._set(categories=tuple(keys[: len(self.categories)]))
        if self.other is not None:
            self._set(other=keys[-1])
        if self.ordered and len(self.categories) < 2:
            raise self._error("ordered needs at least 2 categories")


def _as_number(bound: float | date) -> float:
    return float(bound.toordinal() - EPOCH if isinstance(bound, date) else bound)


def spells_nan(text: str) -> bool:
    """Return whether a library may hold this text as the number NaN: always a missing value."""
    return text.strip().lower().lstrip("+-") == "nan"


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_exact(value: Any) -> bool:
    """Return whether this is a number that is the same as a float."""
    return is_number(value) and abs(value) <= 2**53

"""The public description of one column."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any

from dpsumm.basics.checks import is_number, plain
from dpsumm.basics.visible import visible
from dpsumm.data.kinds import KINDS
from dpsumm.data.kinds.kind import Facts, How, Kind, Seen, WhenMissing
from dpsumm.errors import InvalidParameterError


@dataclass(frozen=True)
class Column(Facts):
    """Public description of one column, with its kind, and bounds or categories.

    Parameters
    ----------
    name
        Name of the column in the data.
    kind
        A `Kind` or its value. By default ``"category"`` if there are `categories`, ``"date"`` if
        the `bounds` are dates, and otherwise ``"number"``.
    bounds
        (low, high) with low < high, as finite numbers in the column's units or as dates. Values are
        clipped to them and scaled to [0, 1] for the kernel. Dates need bounds. A number without
        bounds is used as it is.
    categories
        Distinct values, all text, all numbers or all truth values. The kernel has a cell for each,
        so that two different ones are at distance `weight`. Text that is listed counts as it is.
        Other text, and numbers of a data frame, count by the number or truth value that they spell.
        If a category such as ``"02139"`` is not the usual spelling of a number, numbers are
        refused. ``1`` and ``True`` are one value, and so are ``0`` and ``False``. If both are
        listed, or one is a mark, they are two values as text, and truth values of a data frame are
        refused. For a label, the summary gives its values back as these categories. By default it
        gives the number or truth value that a label spells, or text.
    ordered
        The categories are in order, and the kernel sees their position, scaled to [0, 1].
    other
        Category for all values that are not in `categories`. It has a cell of its own, and the
        summary gives `other` back. By default such data are refused.
    missing
        Text or numbers that mean "no value", for example ``("-9",)``. Empty text, null and NaN
        always do. A mark that is one of the `categories` does not count. For dates, a mark such as
        ``"1900-01-01"`` means the day. Without marks, numbers of a data frame must not be text.
    when_missing
        With ``"refuse"`` the data are refused, with ``"drop"`` the row is left out. With
        ``"encode"`` a missing value is one more category, or the middle of the range with a cell
        that marks it. It is then at distance `weight` of every category, or as far from a uniform
        value of the range as two of these are from each other (root mean square).
    weight
        Scale of the column in the kernel's space, 1e-6 to 1e6. It is the distance between the two
        bounds, or between two categories.
    date_format
        Format of dates given as text, see `datetime.strptime`. By default it is ``YYYY-MM-DD``, and
        a time may follow, but no offset from UTC. Kernel and summary have the day only. Columns and
        Excel cells that are dates need no format.
    whole
        The column has whole numbers of at most 2**53 in size, and the summary gives them back so.
        Fractions are refused.

    Raises
    ------
    InvalidParameterError
        Naming the column and the way out.

    Privacy
    -------
    Public, since every party has it. Do not compute any of it from private data. Bounds and
    categories that were read from private data leak records.

    See Also
    --------
    dpsumm.Schema : All columns of a party.
    dpsumm.data.Kind : Kinds of columns.
    dpsumm.data.WhenMissing : Ways to treat a missing value.

    Examples
    --------
    >>> Column("age", bounds=(20, 90)).kind.value
    'number'
    >>> Column("pain", categories=("none", "some", "strong"), ordered=True).kind.value
    'category'
    """

    def __post_init__(self) -> None:
        """Check the parameters. Settle the kind."""
        if not isinstance(self.name, str) or not self.name.strip():
            raise InvalidParameterError("schema: a column's name must be text that is not empty")
        # It stands in plans and logs. NUL ends it in Arrow's C interface, where frames pass.
        if visible(self.name) != self.name:
            raise self._error("its name has control characters, which forge lines. Rename it")
        for name in ("categories", "missing"):
            given = getattr(self, name)
            if isinstance(given, str) or not isinstance(given, Iterable):
                raise self._error(f"{name} must be a sequence of values, such as ({given!r},)")
            self._set(**{name: tuple(map(plain, given))})
        for name in ("other", "weight", "ordered", "whole"):
            self._set(**{name: plain(getattr(self, name))})
        if isinstance(self.bounds, Iterable) and not isinstance(self.bounds, str):
            self._set(bounds=tuple(map(plain, self.bounds)))
        for name in ("ordered", "whole"):
            if not isinstance(getattr(self, name), bool):
                raise self._error(f"{name} must be True or False, got {getattr(self, name)!r}")
        likely = next(kind for kind, how in KINDS.items() if how.is_likely(self))
        self._set(kind=self._member(Kind, self.kind or likely, "kind"))
        self._set(when_missing=self._member(WhenMissing, self.when_missing, "when_missing"))
        self._check_relevance()
        self._set(**KINDS[Kind(self.kind)](self).settled())
        if not (is_number(self.weight) and 1e-6 <= self.weight <= 1e6):
            raise self._error(f"weight must be a number from 1e-6 to 1e6, got {self.weight!r}")
        for mark in self.missing:
            if not (isinstance(mark, str) or (is_number(mark) and abs(mark) <= sys.float_info.max)):
                raise self._error(f"missing must hold text or finite numbers, got {mark!r}")

    @cached_property
    def how(self) -> How:
        """What becomes of its values."""
        return KINDS[Kind(self.kind)](self)

    @cached_property
    def seen(self) -> Seen:
        """The same of a column that the kernel sees."""
        assert isinstance(self.how, Seen)
        return self.how

    @property
    def in_kernel(self) -> bool:
        """Whether the kernel sees the column."""
        return isinstance(self.how, Seen)

    @property
    def limits(self) -> tuple[float, float] | None:
        """The bounds as numbers, with dates as days since 1970-01-01."""
        return self.how.limits

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
        meant = KINDS[Kind(self.kind)].options
        for name, present in given.items():
            if present and name not in meant:
                raise self._error(
                    f"{name} means nothing for kind {Kind(self.kind).value!r}. Leave it out"
                )

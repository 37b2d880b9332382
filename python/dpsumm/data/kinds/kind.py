"""The interface of every kind of column, and the facts of a column."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from enum import Enum
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpsumm.basics.checks import largest
from dpsumm.data.file import MISSING
from dpsumm.data.frame import Cells
from dpsumm.data.kinds.items import WORDS, number_of, spells_nan
from dpsumm.errors import InvalidParameterError

Value: TypeAlias = str | float | bool
# Share of the draws of a column that are missing or `other`, each, if it has them.
ABSENT = 0.1


class Kind(str, Enum):
    """The kind of a column.

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
class Facts:
    """The public facts of a column, which `dpsumm.Column` checks."""

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

    @property
    def encodes_missing(self) -> bool:
        """Whether a missing value is a point of the kernel's space."""
        return self.when_missing is WhenMissing.ENCODE


class Read(NamedTuple):
    """A column that was read: see `How.read`."""

    values: NDArray[Any]
    n_unreadable: int = 0
    absent: NDArray[np.bool_] | None = None

    @classmethod
    def counted(cls, codes: NDArray[np.float64]) -> Read:
        """Return codes with NaN for -inf, which marks an unreadable value, and how many."""
        unreadable = codes == -np.inf
        count = int(np.count_nonzero(unreadable))
        return cls(np.where(unreadable, np.nan, codes) if count else codes, count)


class How(ABC):
    """How one column's values are read, with a class for each kind and an object for each column.

    Privacy: the code of a value is a function of that value and the column's public facts alone.
    A library chooses a column's type by all of its values, so all that may be the same value must
    become the same. Where that cannot be, the value is refused.
    """

    #: What a column of this kind may say, besides its name and its marks of missing values.
    options: ClassVar[frozenset[str]] = frozenset()
    #: Whether its numbers are days, for an axis.
    is_date: ClassVar[bool] = False

    def __init__(self, column: Facts) -> None:
        self.column = column

    @staticmethod
    def is_likely(facts: Facts) -> bool:
        """Return whether a column that does not say its kind is of this one."""
        return False

    def settled(self) -> dict[str, Any]:
        """Return options as they are kept. InvalidParameterError if this kind has others."""
        return {}

    @property
    def limits(self) -> tuple[float, float] | None:
        """The bounds as numbers."""
        return None

    @property
    def classes(self) -> tuple[Value | None, ...]:
        """All that a value can be, None for no value, or nothing if values lie on an axis."""
        return ()

    @property
    def cells(self) -> tuple[str, ...]:
        """Names of the column's coordinates in the kernel's space, empty for other columns."""
        return ()

    @abstractmethod
    def read(self, cells: Cells) -> Read:
        """Return a column of a frame as arrays, missing values marked, nothing judged.

        Returns
        -------
        values : (n,)
            Of what the kernel sees: numbers as `Schema.encode` takes them, NaN where missing. Not
            to be written to, it may be the column's memory. Labels, arbitrary where missing.
            Numbers, truth values, dates or texts of what travels along.
        n_unreadable
            Values that are neither of the kind nor a mark of a missing value. Their codes are NaN.
        absent
            Where a label is missing.
        """

    @abstractmethod
    def originals(self, values: NDArray[Any]) -> tuple[Any, Any]:
        """Return the values as users have them, and their narwhals type if it is not implied.

        An array, None, if no value is missing. Else a list with None where one is, and the items'
        type.
        """

    @cached_property
    def text_marks(self) -> frozenset[str]:
        """Trimmed texts that mean a missing value."""
        return frozenset(mark.strip() for mark in self.column.missing if isinstance(mark, str))

    @cached_property
    def numeric_marks(self) -> frozenset[float]:
        """Numbers that mean a missing value, infinite ones by ``inf``."""
        numbers = {number_of(mark) for mark in self.column.missing}
        return frozenset(number for number in numbers if number > -math.inf)

    @cached_property
    def truth_marks(self) -> dict[bool, bool | None]:
        """Whether a truth value means a missing value; None if only some words for it do."""
        marked = {truth: set(map(self.is_mark, words)) for truth, words in WORDS.items()}
        return {truth: found.pop() if len(found) == 1 else None for truth, found in marked.items()}

    def is_mark(self, text: str) -> bool:
        """Return whether a trimmed text means a missing value in a column that travels along."""
        numbers = self.numeric_marks
        return (
            not text
            or text in self.text_marks
            or spells_nan(text)
            or (bool(numbers) and number_of(text) in numbers)
        )

    def marked(self, numbers: NDArray[Any]) -> NDArray[np.bool_]:
        """Return which numbers mean a missing value. As text, all infinite ones are one."""
        marked = np.isin(numbers, list(self.numeric_marks))
        return marked | np.isinf(numbers) if math.inf in self.numeric_marks else marked

    def without_marks(self, numbers: NDArray[Any]) -> NDArray[Any]:
        """Return numbers with NaN for those that mean a missing value."""
        if not self.numeric_marks:
            return numbers
        return np.where(self.marked(numbers), numbers.dtype.type(np.nan), numbers)

    def error(self, text: str) -> InvalidParameterError:
        """Return the refusal of a column."""
        return InvalidParameterError(f"schema: column {self.column.name!r}: {text}")


class Seen(How):
    """What becomes of a column that the kernel sees: codes, and their part of its space.

    The part is a function of public facts alone. With w the column's weight:

    - a number or date with bounds is ``w * (x - low) / (high - low)``, clipped;
    - one of k categories is ``w / sqrt(2)`` in its own cell, so two different ones are at distance
      w;
    - an ordered category is ``w * position / (k - 1)``;
    - a missing value has a cell of its own, ``w / sqrt(2)`` next to categories. Next to a position
      it is ``w * s`` with the position in the middle, where s**2 is the variance of a uniform
      position. So its mean squared distance to a value, ``w**2 * 2 * s**2``, is that of two values.
      The same holds for `other` of ordered categories.
    """

    @abstractmethod
    def found(self, item: Any) -> float:
        """Return the code of an item that is there, texts trimmed; -inf if it cannot be read."""

    def position(self, item: Any) -> int | None:
        """Return the position of an item among categories, or None for another item."""
        return None

    @cached_property
    def absent_texts(self) -> frozenset[str]:
        """Trimmed texts that mean a missing value, unless they are categories."""
        return self.text_marks

    def code(self, item: Any) -> float:
        """Return the code of an item, NaN for a missing one, -inf for one that cannot be read."""
        if isinstance(item, str):
            item = item.strip()
            if not item or spells_nan(item):
                return math.nan
            is_mark = item in self.absent_texts
        else:
            is_mark = False
        number = number_of(item) if self.numeric_marks or not isinstance(item, str) else 0.0
        if math.isnan(number):
            return math.nan
        is_mark = is_mark or number in self.numeric_marks
        return math.nan if is_mark and self.position(item) is None else self.found(item)

    def codes(self, items: list[Any]) -> NDArray[np.float64]:
        """Return the code of each item. An item is None where a value is missing."""
        return np.array([math.nan if x is None else self.code(x) for x in items], np.float64)

    def read(self, cells: Cells) -> Read:
        if cells.n_absent == len(cells):  # its type says nothing of it
            return Read(np.full(len(cells), np.nan))
        return self.present(cells)

    @abstractmethod
    def present(self, cells: Cells) -> Read:
        """Return a column as `read` does that has values."""

    def coded(self, cells: Cells) -> Read:
        """Return the codes of a column that is not of numbers, worked out once for each value."""
        if cells.has_odd_categories:
            raise ValueError("categories that are not text")
        distinct = cells.distinct
        return Read.counted(distinct.laid(self.codes(distinct.items)))

    def read_numbers(self, values: NDArray[Any]) -> Read:
        """Return a column of an array as `read` does, or itself if nothing is to be changed."""
        return Read(self.without_marks(values))

    def faults(self, codes: NDArray[Any]) -> Iterator[str]:
        """Yield what the column does not allow among its codes, in the words of `table.WAY_OUT`.

        Missing values are named unless they are encoded. The caller decides whether they cost the
        data or the row.
        """
        # NaN is passed over; of nothing else there is no extreme.
        least, most = np.fmin.reduce(codes, initial=np.nan), np.fmax.reduce(codes, initial=np.nan)
        if max(-least, most) > largest(codes.dtype):
            yield "infinite"
        yield from self.wrong(codes, float(least), float(most))
        if not self.column.encodes_missing and np.isnan(codes).any():
            yield "missing"

    def wrong(self, codes: NDArray[Any], least: float, most: float) -> Iterator[str]:
        """Yield faults that the kind alone knows, of codes between two numbers."""
        return iter(())

    def n_clipped(self, codes: NDArray[Any]) -> int:
        """Return how many values are beyond the bounds."""
        return 0

    def n_unknown(self, codes: NDArray[Any]) -> int:
        """Return how many values are in no category."""
        return 0

    @property
    def variance(self) -> float:
        """Variance of a uniform position in [0, 1]."""
        return 1 / 12

    @property
    def extent(self) -> tuple[tuple[int, float], ...]:
        """Where the column's cells lie, as parts (cells, limit) in their order.

        The cells of a part are at least 0 and add up to at most its limit for every record, as a
        position does, or cells with at most one set. In `float32` they may be larger by its
        rounding. The column is bounded.
        """
        weight, beside = self.column.weight, len(self.cells) - 1
        return ((1, weight), *(((beside, weight * math.sqrt(self.variance)),) if beside else ()))

    @property
    def spread(self) -> float:
        """Mean squared distance of two uniform values, from bounds or categories."""
        return self.column.weight * self.column.weight * 2 * self.variance

    @abstractmethod
    def write(self, codes: NDArray[np.float64], out: NDArray[Any]) -> None:
        """Write codes (n,) into `out` (n, number of `cells`), which is zero."""

    @abstractmethod
    def draw(self, units: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return codes from uniform numbers in [0, 1): uniform values, some of them missing."""


def has_fractions(codes: NDArray[Any]) -> bool:
    """Return whether a value that is there is no whole number of at most 2**53 in size."""
    odd = (codes != np.floor(codes)) | (np.abs(codes) > 2**53)
    return bool((odd & ~np.isnan(codes)).any()) if odd.any() else False

"""Columns of categories: what text, number or truth value is which of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsumm.basics.checks import is_number
from dpsumm.data.frame import Cells
from dpsumm.data.kinds.items import NULLS, WORDS, number_of, spelling, spells_nan, truth_of
from dpsumm.data.kinds.kind import ABSENT, Facts, Read, Seen, has_fractions


class Category(Seen):
    """A column of categories. Also a label's list of them.

    Where a library's value may have been one of two categories as text (the number 2139, which may
    have been ``"02139"``), it is not one of the column, and the run is refused.
    """

    options = frozenset({"categories", "ordered", "other", "weight", "when_missing"})

    @staticmethod
    def is_likely(facts: Facts) -> bool:
        """Return whether there are categories."""
        return bool(facts.categories)

    def settled(self) -> dict[str, Any]:
        """Return distinct categories of one type, texts trimmed."""
        column = self.column
        if not column.categories:
            raise self.error("kind 'category' needs categories, the list of its values")
        types: tuple[Callable[[Any], bool], ...] = (
            lambda value: isinstance(value, str),
            lambda value: isinstance(value, bool),
            lambda value: is_number(value) and abs(value) <= 2**53,  # the same as a float
        )
        if not any(all(map(fits, self.values)) for fits in types):
            raise self.error(
                "categories (and other) must be all text, all truth values, or all numbers of at "
                "most 2**53 in size"
            )
        keys = [value.strip() if isinstance(value, str) else value for value in self.values]
        if "" in keys:
            raise self.error("empty text is no category: it always means a missing value")
        if any(isinstance(key, str) and spells_nan(key) for key in keys):
            raise self.error("'nan' is no category: libraries read it as a missing value")
        if len(set(keys)) < len(keys):
            raise self.error("categories (and other) must be distinct")
        if column.ordered and len(column.categories) < 2:
            raise self.error("ordered needs at least 2 categories")
        other = None if column.other is None else keys[-1]
        return {"categories": tuple(keys[: len(column.categories)]), "other": other}

    @cached_property
    def values(self) -> list[Any]:
        """The categories and `other`, which may be in the data itself, as in a summary."""
        other = self.column.other
        return [*self.column.categories, *(() if other is None else (other,))]

    @property
    def classes(self) -> tuple[Any, ...]:
        """The categories, then `other` and None for no value if it has them."""
        return (*self.values, *((None,) if self.column.encodes_missing else ()))

    @cached_property
    def _is_text(self) -> bool:
        return isinstance(self.column.categories[0], str)

    @cached_property
    def _known(self) -> dict[Any, int]:
        """Position of each category by what `_key` makes of it."""
        if not self._is_text:
            return {self._key(value): i for i, value in enumerate(self.values)}
        exact = {value: i for i, value in enumerate(self.values)}
        marked = {spelling(mark) for mark in self.column.missing}
        for truth, *_, digit in WORDS.values():
            # A library may take one for the other (pyarrow: 1 for true, beside a word).
            if (truth in exact) != (digit in exact) and not {truth, digit} & marked:
                exact[truth] = exact[digit] = exact.get(truth, exact.get(digit, 0))
        return exact

    def _key(self, item: Any) -> bool | float | None:
        """Return what is the same for all spellings of a number or truth value."""
        truth, number = truth_of(item), number_of(item)
        if isinstance(self.values[0], bool):
            return bool(number) if truth is None and number in (0, 1) else truth
        return number if truth is None else float(truth)

    def position(self, item: Any) -> int | None:
        if not self._is_text:
            return self._known.get(self._key(item))
        return self._known.get(item if item in self._known else spelling(item))

    @cached_property
    def _hidden(self) -> set[str]:
        """What text categories spell without being it, 2139 for "02139"."""
        texts = self.column.categories
        return {spelt for text in texts if (spelt := spelling(text))} - set(texts)

    @cached_property
    def _is_ambiguous(self) -> bool:
        """Whether a category such as "02139" would be another as a number."""
        return self._is_text and any(
            spelling(text) not in (None, text) for text in self.column.categories
        )

    @cached_property
    def _truths(self) -> dict[bool, set[str]]:
        """What a truth value counts as by each word that it may have been."""
        return {truth: {repr(self.code(w)) for w in words} for truth, words in WORDS.items()}

    def read(self, cells: Cells) -> Read:
        """See `How.read`. One past the last category for a value that is in none."""
        if cells.hides_texts and not NULLS.isdisjoint(self.column.categories):
            raise TypeError  # was it the category?
        return super().read(cells)

    def present(self, cells: Cells) -> Read:
        if not (cells.is_text or cells.is_number):
            raise TypeError
        return self.coded(cells)

    def read_numbers(self, values: NDArray[Any]) -> Read:
        """Return numbers of an array as the categories that they are."""
        found, places = np.unique(values, return_inverse=True)
        codes = self.codes([None if math.isnan(x) else x for x in found.tolist()])[places]
        return Read.counted(codes)

    @cached_property
    def absent_texts(self) -> frozenset[str]:
        return self.text_marks | NULLS

    def code(self, item: Any) -> float:
        """See `Seen.code`. A truth value next to texts is what all words for it are."""
        if not self._is_text or isinstance(item, str):
            return super().code(item)
        if isinstance(item, bool | np.bool_):
            possible = self._truths[bool(item)]
            return super().code(str(bool(item))) if len(possible) == 1 else -math.inf
        spelt = spelling(item)
        is_hidden = spelt is None or spelt in self._hidden
        if is_hidden and not math.isnan(number_of(item)):
            return -math.inf  # one of the categories, perhaps
        return super().code(item)

    def found(self, item: Any) -> float:
        if not isinstance(item, str):
            known = isinstance(item, bool | np.bool_ | Decimal) or is_number(item)
            if not known or (self._is_text and (self._is_ambiguous or spelling(item) is None)):
                return -math.inf
        place = self.position(item)
        return float(len(self.column.categories) if place is None else place)

    def wrong(self, codes: NDArray[Any], least: float, most: float) -> Iterator[str]:
        """Yield whether a code is that of no category."""
        last = len(self.column.categories) - (self.column.other is None)
        if least < 0 or most > last or has_fractions(codes):
            yield "in no category"

    def n_unknown(self, codes: NDArray[Any]) -> int:
        """Return how many values are in no category."""
        return int(np.count_nonzero(codes == len(self.column.categories)))

    @cached_property
    def cells(self) -> tuple[str, ...]:
        """Names of the column's coordinates."""
        name, other = self.column.name, self.column.other
        known = () if self.column.ordered else self.column.categories
        names = [f"{name}={value}" for value in known] if known else [name]
        if other is not None:
            names.append(f"{name}={other}")
        return (*names, f"{name} missing") if self.column.encodes_missing else tuple(names)

    @property
    def variance(self) -> float:
        """Variance of a uniform position on k equidistant places in [0, 1]."""
        k = len(self.column.categories)
        return (k + 1) / (12 * (k - 1))

    @property
    def extent(self) -> tuple[tuple[int, float], ...]:
        if self.column.ordered:
            return super().extent
        return ((len(self.cells), self.column.weight / math.sqrt(2)),)

    @property
    def spread(self) -> float:
        if self.column.ordered:
            return super().spread
        return self.column.weight * self.column.weight * (1 - 1 / len(self.column.categories))

    def write(self, codes: NDArray[np.float64], out: NDArray[Any]) -> None:
        weight, k, ordered = self.column.weight, len(self.column.categories), self.column.ordered
        absent = np.isnan(codes)
        if self.column.encodes_missing:
            out[absent, -1] = weight * math.sqrt(self.variance if ordered else 0.5)
        if not ordered:
            present = np.flatnonzero(~absent)
            out[present, codes[present].astype(np.int64)] = weight / math.sqrt(2)
            return
        other = absent | (codes == k)
        out[:, 0] = weight * np.where(other, 0.5, codes / (k - 1))
        if self.column.other is not None:
            out[codes == k, 1] = weight * math.sqrt(self.variance)

    def draw(self, units: NDArray[np.float64]) -> NDArray[np.float64]:
        """See `Seen.draw`. `other` and missing are drawn once in ten times each, or as a category.

        Data have few of them. As often as one of two categories, they would be in nearly all
        draws of ten such columns.
        """
        n_known = len(self.column.categories)
        more = (self.column.other is not None) + self.column.encodes_missing
        each = min(ABSENT, 1 / (n_known + more))
        rest = 1 - more * each
        codes = np.where(
            units < rest,
            np.minimum(np.floor(units / rest * n_known), n_known - 1),
            n_known + np.minimum(np.floor((units - rest) / each), more - 1),
        )
        return np.where(codes == len(self.values), np.nan, codes)

    def originals(self, values: NDArray[Any]) -> tuple[Any, Any]:
        """Return the categories, `other` for a value that was in none."""
        import narwhals as nw

        known: list[Any] = [*self.column.categories, self.column.other]
        dtype: Any = nw.String
        if not self._is_text:
            dtype = nw.Float64
            if all(isinstance(value, int) for value in self.values):
                dtype = nw.Boolean if isinstance(known[0], bool) else nw.Int64
        if dtype == nw.Float64:
            known = [None if value is None else float(value) for value in known]
        items = np.array([*known, None], dtype=object)
        at = np.where(np.isnan(values), len(known), values)
        return items[at.astype(np.int64)].tolist(), dtype

    @staticmethod
    def drafted(values: Sequence[str]) -> dict[str, Any]:
        """Return options for a column of few texts, and all other findings."""
        other = "other"
        while other in values:
            other += "_"
        return {"categories": tuple(values), "other": other}

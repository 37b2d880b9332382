"""Labels, each read by itself. No label depends on the others next to it.

A library holds a column of labels as numbers or as text depending on all of them, so 1, 1.0, True
and ``"1"`` are one label everywhere: a label that spells a number is that number. Text that begins
with a zero as codes do (``"02139"``) stays text. Where a schema's label lists `categories`, a label
is one of these, by the same rule as every category.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsumm.basics.checks import is_number
from dpsumm.data.frame import Cells, Distinct, once
from dpsumm.data.kinds.along import as_text, check_texts
from dpsumm.data.kinds.category import Category
from dpsumm.data.kinds.items import number_of, spells_nan, text_of
from dpsumm.data.kinds.kind import Facts, How, Kind, Read
from dpsumm.errors import InvalidDataError

# A number as people and programs write it. Not 1e3, which may be a code: they write 1e+03.
_NUMBER = re.compile(r"[+-]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-][0-9]{1,3})?")
_WHOLE = re.compile(r"[+-]?[0-9]{1,99}")
# Texts of which a library makes truth values, if all of a column are.
_TRUTH = {word: word.lower() == "true" for word in "True true TRUE False false FALSE".split()}
# A label of a sample with at most so many values lists them: an owner who spells one otherwise is
# then refused.
MOST_LABELS = 20


class Label(How):
    """A column of labels: numbers, truth values or text, or of its `categories`."""

    options = frozenset({"when_missing", "categories", "other"})

    def settled(self) -> dict[str, Any]:
        """Return categories as those of a category column, if there are any."""
        if self.column.encodes_missing:
            raise self.error("a missing label can be refused or dropped, not encoded")
        if self.column.categories:
            return self._listed.settled()
        if self.column.other is not None:
            raise self.error("other needs categories, the list of the label's values")
        return {}

    @cached_property
    def _listed(self) -> Category:
        return Category(self.column)

    def read(self, cells: Cells) -> Read:
        """See `How.read`; InvalidDataError if a label is infinite, in no category, or
        cannot travel.
        """
        what = f"label column {cells.name!r}"
        numbers: NDArray[Any] | None = cells.truths()
        if numbers is None:
            numbers = cells.integers()
        if numbers is None and cells.is_number and not cells.dtype.is_integer():
            numbers = cells.floats()
        if numbers is not None and not self.column.categories:
            return self._of_numbers(numbers, cells.absent, what)
        if cells.dtype.is_nested() or cells.has_odd_categories:
            raise InvalidDataError(
                f"{what} must hold numbers, booleans or text, got type {cells.type_name}. Encode "
                f"it first"
            )
        return self._of_items(cells.distinct, what)

    def read_array(self, labels: NDArray[Any], absent: NDArray[np.bool_]) -> Read:
        """Return labels of an array as `read` does. `absent` marks missing ones."""
        if labels.dtype.kind in "biuf" and not self.column.categories:
            return self._of_numbers(labels, absent, "labels")
        given = [None if x else item for item, x in zip(labels.tolist(), absent, strict=True)]
        return self._of_items(once(given), "labels")

    def _of_numbers(self, labels: NDArray[Any], absent: NDArray[np.bool_], what: str) -> Read:
        missing = absent | self._marked(labels, absent, what)
        if labels.dtype.kind == "f" and np.isinf(labels[~missing]).any():
            raise _infinite(what)
        # As `label_of`: whether a library holds the column as floats hangs on other labels.
        return Read(labels + 0.0 if labels.dtype.kind == "f" else labels, 0, missing)

    def _of_items(self, items: Distinct, what: str) -> Read:
        """Return labels by items, None where there is none."""
        read = self._of_list if self.column.categories else self._of_any
        labels, missing = read(items.items, what)
        return Read(items.laid(labels), 0, items.laid(missing))

    def _of_any(self, items: list[Any], what: str) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        if self.column.missing:  # as for every other column of a schema
            items = [item.strip() if isinstance(item, str) else item for item in items]
        truths = self.truth_marks
        if any(isinstance(x, bool | np.bool_) and truths[bool(x)] is None for x in items):
            raise _ambiguous(what)
        missing = np.array([self._is_missing(item) for item in items], bool)
        present = [item for item, gone in zip(items, missing, strict=True) if not gone]
        check_texts((item for item in present if isinstance(item, str)), what, "shorten them")
        # In place of a missing one any other, which changes no type.
        spare = present[0] if present else 0
        try:
            kept = [spare if g else x for x, g in zip(items, missing, strict=True)]
            labels = labels_of(kept, apart=True)
        except TypeError:
            raise InvalidDataError(
                f"{what} must hold numbers, booleans or text. Encode other values first"
            ) from None
        if labels.dtype.kind in "fUO" and any(
            number_of(x) == math.inf for x in set(labels[~missing].tolist())
        ):
            raise _infinite(what)
        return labels, missing

    def _of_list(self, items: list[Any], what: str) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """Return the categories that labels are."""
        given = [None if isinstance(x, float) and math.isnan(x) else x for x in items]
        codes, values = self._listed.codes(given), self._listed.values
        missing = np.isnan(codes)
        if not (missing | ((codes >= 0) & (codes < len(values)))).all():
            raise InvalidDataError(
                f"{what} has values that are in none of the schema's categories. Spell them as it "
                "does, add them if they are public, or say other in the schema"
            )
        return np.array(values)[np.where(missing, 0, codes).astype(np.int64)], missing

    def _is_missing(self, item: Any) -> bool:
        if item is None or (isinstance(item, float | np.floating) and math.isnan(item)):
            return True
        if isinstance(item, str):
            return spells_nan(item) or (bool(self.column.missing) and self.is_mark(item.strip()))
        if isinstance(item, bool | np.bool_):
            return bool(self.truth_marks[bool(item)])
        return bool(self.numeric_marks) and number_of(item) in self.numeric_marks

    def _marked(
        self, labels: NDArray[Any], absent: NDArray[np.bool_], what: str
    ) -> NDArray[np.bool_]:
        """Return which of an array's labels are NaN or a mark."""
        if labels.dtype.kind != "b":
            numbers = labels.astype(np.float64)
            return np.isnan(numbers) | self.marked(numbers)
        found = np.zeros(labels.shape, bool)
        for truth, marked in self.truth_marks.items():
            here = (labels == truth) & ~absent
            if marked is None and here.any():
                raise _ambiguous(what)
            found |= here & bool(marked)
        return found

    def originals(self, values: NDArray[Any]) -> tuple[Any, Any]:
        """Return labels for a column of a frame, which holds no numbers next to text."""
        return (as_text(values).astype(np.str_) if values.dtype.kind == "O" else values), None

    def drafted(self, items: Sequence[Any]) -> dict[str, Any]:
        """Return the values as categories, if they are few: all text, or all numbers."""
        if len({type(item) for item in items}) != 1 or not isinstance(items[0], str | int | float):
            return {}
        values: set[Any] = {item.strip() if isinstance(item, str) else item for item in items}
        listed = sorted(x for x in values if not (isinstance(x, str) and self.is_mark(x)))
        # 1.0 is 1 beside missing values; larger numbers are not exact.
        if any(not isinstance(item, str) and abs(item) > 2**53 for item in listed):
            return {}
        if listed and isinstance(listed[0], float):
            listed = [int(item) if item.is_integer() else item for item in listed]
        return {"categories": tuple(listed)} if len(listed) <= MOST_LABELS else {}


# Of a schema that has no label, as of arrays.
PLAIN = Label(Facts("label", Kind.LABEL, missing=()))


def _ambiguous(what: str) -> InvalidDataError:
    return InvalidDataError(
        f"{what} holds truth values, and missing has some of the words for one of them. Read it as "
        f"text, or change missing"
    )


def _infinite(what: str) -> InvalidDataError:
    return InvalidDataError(f"{what}: some labels are infinite. Correct them")


def label_of(item: Any) -> bool | int | float | str:
    """Return one label, a function of this item alone."""
    if isinstance(item, str):
        text = item.strip()
        if text in _TRUTH:
            return _TRUTH[text]
        if not _NUMBER.fullmatch(text):
            return str(item)
        return int(text) if _WHOLE.fullmatch(text) else float(text) + 0.0
    if isinstance(item, bool | np.bool_):
        return bool(item)
    if isinstance(item, Decimal):
        return float(item) + 0.0
    if isinstance(item, int | np.integer):
        return int(item)
    if is_number(item):
        return float(item) + 0.0
    if isinstance(item, date):
        return text_of(item)
    raise TypeError(type(item).__name__)


def labels_of(items: Sequence[Any], *, apart: bool = False) -> NDArray[Any]:
    """Return labels as an array that holds each as it is: of objects, if no other type does.

    Whole numbers next to fractions are floats, and truth values next to numbers are numbers: equal.

    Parameters
    ----------
    items
        Labels.
    apart
        Keep truth values next to numbers. Then the text of each depends on no other.
    """
    # Times of an hour that comes twice are equal, and are not the same.
    keys = [(type(item), item, getattr(item, "fold", 0)) for item in items]
    known = {key: label_of(key[1]) for key in keys}
    labels = [known[key] for key in keys]
    kinds = {type(label) for label in known.values()}
    sizes = [abs(label) for label in known.values() if type(label) is int]
    largest = max(sizes, default=0)
    dtype: Any = object
    if kinds <= {bool}:
        dtype = np.bool_
    elif apart and bool in kinds:
        dtype = object
    elif kinds <= {bool, int} and largest < 2**63:
        dtype = np.int64
    elif kinds <= {bool, int, float} and largest < 2**53:
        dtype = np.float64
    elif kinds == {str}:
        dtype = np.str_
    array = np.empty(len(labels), dtype=object)
    array[:] = labels
    return array.astype(dtype)


def places_of(labels: NDArray[Any], classes: Sequence[Any]) -> NDArray[np.int64]:
    """Return the position (n,) of each label among the classes, -1 for one that is not listed.

    Label by label, without a look at others: 1, 1.0 and "1" are one class.
    """
    known = {label_of(name): place for place, name in enumerate(classes)}

    def place(item: Any) -> int:
        try:
            return known.get(label_of(item), -1)
        except TypeError:
            return -1

    items = labels.tolist()
    if labels.dtype.kind == "O":  # 1 and True are equal, and so are their places; others may fail
        return np.array([place(item) for item in items], dtype=np.int64)
    places = {item: place(item) for item in set(items)}
    return np.fromiter(map(places.__getitem__, items), np.int64, len(items))


def are_distinct(classes: Sequence[Any]) -> bool:
    """Return whether a list of classes has none twice, as `places_of` reads them."""
    return len({label_of(name) for name in classes}) == len(classes)

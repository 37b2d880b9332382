"""Labels, each read by itself: what one is never depends on the others beside it.

A library holds a column of labels as numbers or as text depending on all of them, so 1, 1.0, True
and ``"1"`` are one label everywhere: a label that spells a number is that number. Text that begins
with a zero as codes do (``"02139"``) stays text. Where a schema's label lists `categories`, a label
is one of these, by the same rule as every category.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsumm.checks import is_number
from dpsumm.data.along import check_texts
from dpsumm.data.column import Column, Kind, spells_nan
from dpsumm.data.items import codes_of, is_mark, number_of, numeric_marks, text_of, truth_marks
from dpsumm.errors import InvalidDataError

# A number as people and programs write it. Not 1e3, which may be a code: they write 1e+03.
_NUMBER = re.compile(r"[+-]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-][0-9]{1,3})?")
_WHOLE = re.compile(r"[+-]?[0-9]{1,99}")
# Texts of which a library makes truth values, if all of a column are.
_TRUTH = {word: word.lower() == "true" for word in "True true TRUE False false FALSE".split()}
# Of a schema that has no label, as of arrays.
_PLAIN = Column("label", Kind.LABEL, missing=())


def label_of(item: Any) -> bool | int | float | str:
    """Return one label, a function of this item alone.

    Raises
    ------
    TypeError
        It is no number, truth value, text or date.
    """
    if isinstance(item, str):
        text = item.strip()
        if text in _TRUTH:
            return _TRUTH[text]
        if not _NUMBER.fullmatch(text):
            return str(item)
        return int(text) if _WHOLE.fullmatch(text) else float(text)
    if isinstance(item, bool | np.bool_):
        return bool(item)
    if isinstance(item, Decimal):
        return float(item)
    if isinstance(item, int | np.integer):
        return int(item)
    if is_number(item):
        return float(item)
    if isinstance(item, date):
        return text_of(item)
    raise TypeError(type(item).__name__)


def labels_of(items: Sequence[Any], *, apart: bool = False) -> NDArray[Any]:
    """Return labels as an array that holds each as it is: of objects, if no other type does.

    Whole numbers beside fractions are floats, and truth values beside numbers are numbers: equal.

    Parameters
    ----------
    items
        Labels.
    apart
        Keep truth values beside numbers: then the text of each hangs on no other.

    Raises
    ------
    TypeError
        As `label_of`.
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


def read_labels(
    items: NDArray[Any] | list[Any], absent: NDArray[np.bool_], column: Column | None, what: str
) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return labels (n,), arbitrary where missing, and where they are.

    Parameters
    ----------
    items
        An array of numbers or truth values; or anything, item by item.
    absent : (n,) bool
        Where there is none.
    column
        The schema's label; None without.
    what
        Name of the column, for messages.

    Raises
    ------
    InvalidDataError
        A label is infinite, in none of the categories, or cannot travel.
    """
    column = _PLAIN if column is None else column
    if column.categories:
        return _listed(items, absent, column, what)
    if isinstance(items, np.ndarray) and items.dtype.kind in "biuf":
        labels, missing = items, absent | _marked(items, absent, column, what)
    else:
        given = _given(items, absent)
        if column.missing:  # as for every other column of a schema
            given = [item.strip() if isinstance(item, str) else item for item in given]
        truths = truth_marks(column)
        if any(isinstance(x, bool | np.bool_) and truths[bool(x)] is None for x in given):
            raise _ambiguous(what)
        missing = np.array([_is_missing(item, column, truths) for item in given], bool)
        present = [item for item, gone in zip(given, missing, strict=True) if not gone]
        check_texts((item for item in present if isinstance(item, str)), what, "shorten them")
        # In place of a missing one any other, which changes no type.
        spare = present[0] if present else 0
        try:
            kept = [spare if g else x for x, g in zip(given, missing, strict=True)]
            labels = labels_of(kept, apart=True)
        except TypeError:
            raise InvalidDataError(
                f"{what} must hold numbers, booleans or text; encode other values first"
            ) from None
    if labels.dtype.kind in "fUO" and any(
        not math.isfinite(number_of(x)) and number_of(x) > 0 for x in set(labels[~missing].tolist())
    ):
        raise InvalidDataError(f"{what}: some labels are infinite; correct them")
    return labels, missing


def places_of(labels: NDArray[Any], classes: Sequence[Any]) -> NDArray[np.int64]:
    """Return the position (n,) of each label among the classes, -1 for one that is not listed.

    Label by label, whatever the others are: 1, 1.0 and "1" are one class.
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


def _given(items: NDArray[Any] | list[Any], absent: NDArray[np.bool_]) -> list[Any]:
    every = items.tolist() if isinstance(items, np.ndarray) else items
    return [None if gone else item for item, gone in zip(every, absent, strict=True)]


def _ambiguous(what: str) -> InvalidDataError:
    return InvalidDataError(
        f"{what} holds truth values, and missing has some of the words for one of them; read it as "
        f"text, or change missing"
    )


def _is_missing(item: Any, column: Column, truths: Mapping[bool, bool | None]) -> bool:
    if item is None or (isinstance(item, float | np.floating) and math.isnan(item)):
        return True
    if isinstance(item, str):
        return spells_nan(item) or (bool(column.missing) and is_mark(column, item.strip()))
    if isinstance(item, bool | np.bool_):
        return bool(truths[bool(item)])
    return number_of(item) in numeric_marks(column)


def _marked(
    labels: NDArray[Any], absent: NDArray[np.bool_], column: Column, what: str
) -> NDArray[np.bool_]:
    """Return which of an array's labels are NaN or a mark."""
    if labels.dtype.kind != "b":
        numbers = labels.astype(np.float64)
        return np.isnan(numbers) | np.isin(numbers, list(numeric_marks(column)))
    found = np.zeros(labels.shape, bool)
    for truth, marked in truth_marks(column).items():
        here = (labels == truth) & ~absent
        if marked is None and here.any():
            raise _ambiguous(what)
        found |= here & bool(marked)
    return found


def _listed(
    items: NDArray[Any] | list[Any], absent: NDArray[np.bool_], column: Column, what: str
) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return the categories that the labels are, and where there is none."""
    given = [None if isinstance(x, float) and math.isnan(x) else x for x in _given(items, absent)]
    values = [*column.categories, *(() if column.other is None else (column.other,))]
    codes = codes_of(given, replace(column, kind=Kind.CATEGORY))
    missing = np.isnan(codes)
    known = missing | ((codes >= 0) & (codes < len(values)))
    if not known.all():
        raise InvalidDataError(
            f"{what} has values that are in none of the schema's categories; spell them as it "
            "does, add them if they are public, or say other in the schema"
        )
    return np.array(values)[np.where(missing, 0, codes).astype(np.int64)], missing

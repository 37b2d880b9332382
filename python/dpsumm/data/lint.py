"""Hints on an owner's own data, at home and before a run.

They are private, for the owner alone. None contains a value of a record.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsumm.data.column import Column
from dpsumm.data.extract import Extract
from dpsumm.data.hashes import column_hashes
from dpsumm.data.kinds.kind import Kind
from dpsumm.data.kinds.label import labels_of, places_of
from dpsumm.data.twice import twice

# Rows below which nothing is said, as few may all differ by chance, and rows that are looked at,
# evenly spaced.
FEWEST_ROWS, MOST_ROWS = 20, 100_000
IDENTIFIER = re.compile(
    r"(^|[_\W])(id|ident|identifier|key|nr|no|number|uuid|row|index)$", re.IGNORECASE
)
# Columns that a hint names.
MOST_NAMED = 12
# Shares of a column's values: many that the schema cuts off, and so many that are one value.
MANY, NEARLY_ALL = 0.1, 0.9
# Rows of a mark of no value, at least and as a share at most, and different values next to it.
FEWEST_ALIKE, MOST_ALIKE, FEWEST_DIFFERENT = 3, 0.5, 10
# A mark lies outside the bounds by such a part of their width.
FAR = 0.5
# Different whole numbers that may be codes.
MOST_CODES = 6
# A column tells the label if it does so of so many records, ten and more of a second class, and has
# so many records for each of its values.
FEWEST_TOLD, FEWEST_OF_CLASS, FEWEST_PER_VALUE, MOST_CLASSES = 50, 10, 10, 50

RULES = {
    "identifier": "no two records have the same number. Leave it out, or ignore it.",
    "constant": "all records have the same value, so that it could be left out.",
    "mark": "several records have one value far from all others. If it means that there is no "
    "value, as -9999 does, list it in the column's missing.",
    "counts": "the values begin and end one below the bounds, as months from 0 do.",
    "clipped": "a tenth of the values or more lie outside the bounds. Look whether these are in "
    "the file's units.",
    "unknown": "a tenth of the values or more are in no category. Spell them as the schema does.",
    "common": "nine in ten records or more have the same value. Look whether a default was filled "
    "in.",
    "codes": "it has few different whole numbers. If they are codes, give them as categories.",
    "leak": "it alone tells the label of all records. If it is made from the label, or known only "
    "after it, leave the column out.",
    "copies": "some records equal another one in all columns, by more than chance. A person who is "
    "in the data k times is protected k times less.",
}


@dataclass(frozen=True)
class Hint:
    """A question about columns of somebody's own data.

    Attributes
    ----------
    rule
        A key of `RULES`.
    columns
        Their names, none if it is about all columns together.

    Examples
    --------
    >>> Hint("constant", ("ward", "unit")).rule in RULES
    True
    """

    rule: str
    columns: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return the sentence that a terminal shows."""
        more = f" and {len(self.columns) - MOST_NAMED} more" * (len(self.columns) > MOST_NAMED)
        named = ", ".join(self.columns[:MOST_NAMED]) + more
        return f"{named or 'all columns'}: {RULES[self.rule]}"


def hints(extract: Extract) -> list[Hint]:
    """Return what looks strange in a party's records, column by column."""
    if len(extract) < FEWEST_ROWS:
        return []
    some = _some(len(extract))
    values, columns = extract.values[some].astype(np.float64), extract.schema.kernel
    found = of_columns(columns, values)
    if extract.labels is not None:
        absent = extract.unlabelled
        labelled = np.ones(len(some), bool) if absent is None else ~absent[some]
        names = labels_of(extract.labels[some][labelled].tolist())
        classes = list(dict.fromkeys(names.tolist()))
        if 2 <= len(classes) <= MOST_CLASSES:
            told = telling(values[labelled], places_of(names, classes))
            found += [Hint("leak", tuple(columns[j].name for j in told))] * bool(told)
    own = twice(column_hashes(values[:0]), column_hashes(values), np.zeros(len(some), np.int64))
    return [*found, *[Hint("copies")] * bool(own["again"].any())]


def of_columns(columns: Sequence[Column], values: NDArray[Any]) -> list[Hint]:
    """Return the hints on single columns of values (n, c), NaN where one is missing."""
    values = values[_some(len(values))].astype(np.float64)
    found: dict[str, list[str]] = {}
    for column, own in zip(columns, values.T, strict=True):
        for rule in _of_column(column, own[~np.isnan(own)]):
            found.setdefault(rule, []).append(column.name)
    return [Hint(rule, tuple(names)) for rule, names in found.items()]


def _some(n: int) -> NDArray[np.int64]:
    return np.linspace(0, n - 1, min(n, MOST_ROWS)).astype(np.int64)


def _of_column(column: Column, values: NDArray[np.float64]) -> Iterator[str]:
    """Yield the rules that a column's values, none of them missing, do not pass."""
    if len(values) < FEWEST_ROWS:
        return
    different, counts = np.unique(values, return_counts=True)
    if len(different) == 1:
        yield "constant"
    elif not column.categories and counts.max() >= NEARLY_ALL * len(values):
        yield "common"
    if column.categories:
        unknown = column.other is not None and values == len(column.categories)
        if np.mean(unknown) >= MANY:
            yield "unknown"
        return
    low, high = column.limits or (-np.inf, np.inf)
    if mark_of(different, counts, low, high) is not None:
        yield "mark"
    elif (different[0], different[-1]) == (low - 1, high - 1) and not (different % 1).any():
        yield "counts"
    elif np.mean((values < low) | (values > high)) >= MANY:
        yield "clipped"
    if column.kind is not Kind.NUMBER or (different % 1).any():
        return
    if identifies(column.name, values.tolist()):
        yield "identifier"
    elif 2 <= len(different) <= MOST_CODES:
        yield "codes"


def mark_of(
    different: NDArray[np.float64],
    counts: NDArray[np.int64],
    low: float = -math.inf,
    high: float = math.inf,
) -> float | None:
    """Return the least or the largest value if it is far from all others, in several rows."""
    for at, others in ((0, different[1:]), (-1, different[:-1])):
        value, alike = different[at], FEWEST_ALIKE <= counts[at] <= MOST_ALIKE * counts.sum()
        if not alike or not len(others):
            continue
        outside = abs(value - min(max(value, low), high)) > FAR * (high - low)
        gap = np.abs(others - value).min()
        if outside or (len(others) >= FEWEST_DIFFERENT and gap > np.ptp(others)):
            return float(value)
    return None


def telling(values: NDArray[np.float64], labels: NDArray[np.int64]) -> list[int]:
    """Return the columns that tell the label, a place among classes, of every row.

    Few values have one label each, or each label is an interval of the values.
    """
    if len(labels) < FEWEST_TOLD or np.sort(np.bincount(labels, minlength=2))[-2] < FEWEST_OF_CLASS:
        return []
    some = slice(0, 4 * FEWEST_TOLD)  # rules out nearly every column
    return [
        j
        for j, own in enumerate(values.T)
        if _tells(own[some], labels[some], len(labels)) and _tells(own, labels, len(labels))
    ]


def _tells(values: NDArray[np.float64], labels: NDArray[np.int64], n: int) -> bool:
    order = np.lexsort((labels, values))
    values, labels = values[order], labels[order]
    same = (values[1:] == values[:-1]) | (np.isnan(values[1:]) & np.isnan(values[:-1]))
    other = labels[1:] != labels[:-1]
    if (same & other).any():
        return False
    different, intervals = 1 + np.count_nonzero(~same), 1 + np.count_nonzero(other)
    return bool(intervals <= labels.max() + 1 or different * FEWEST_PER_VALUE <= n)


def identifies(name: str, items: Sequence[Any], *, rising: bool = True) -> bool:
    """Return whether items are identifiers, by the column's name or by their order.

    They never repeat. If `rising`, it is enough that they only rise from row to row.
    """
    distinct = len(set(items)) == len(items) >= FEWEST_ROWS
    if not distinct or IDENTIFIER.search(name):
        return distinct
    return rising and all(a < b for a, b in pairwise(items))

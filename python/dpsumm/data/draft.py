"""A first schema from a public sample, for people to correct."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from itertools import pairwise
from typing import Any

import narwhals as nw
import numpy as np

from dpsumm.data.extract import as_frame
from dpsumm.data.files import FileFormat
from dpsumm.data.items import is_mark, iso_date
from dpsumm.data.schema import Column, Kind, Schema, WhenMissing
from dpsumm.data.table import Source, opened

WARNING = """\
The sample must be PUBLIC. Bounds and categories below were read from it: read from private data,
they would leak records to every party, and no epsilon counts that. Replace them by what is known
without looking at private data (medical ranges, code lists, the years of the study).
"""
HINTS = """\
A column may also say:
  missing = ["?", -9]               its marks of "no value", instead of the usual ones
  when_missing = "encode"           or "drop" the row, or "refuse" the data
  weight = 0.5                      what it counts in comparisons, else 1
  ordered = true                    of categories, which are listed in their order
  date_format = "%d.%m.%Y"          of dates, else year-month-day
  kind = "ignore"                   travels along, is not compared
Delete the lines of a column that nobody needs to see.
"""
HEADER = (
    "# The public schema of a dpsumm run: every party needs this file, unchanged. A DRAFT.\n"
    + "".join(f"# {line}\n" for line in [*WARNING.splitlines(), *HINTS.splitlines()])
)
# A whole-number column with at most so many values, or a text column, is taken for categories.
MOST_NUMBERS, MOST_TEXTS = 6, 60
# A label with at most so many values lists them: an owner who spells one otherwise is then refused.
MOST_LABELS = 20
# Whole numbers and texts that never repeat are taken for identifiers if the column's name says so;
# whole numbers if they only rise, too: so many rows are no chance.
FEWEST_ROWS = 20
IDENTIFIES = "no value comes twice, as in an identifier"
IDENTIFIER = re.compile(
    r"(^|[_\W])(id|ident|identifier|key|nr|no|number|uuid|row|index)$", re.IGNORECASE
)
# A text column with this part of numbers is one of numbers with typing errors.
MOSTLY = 0.9


def draft(
    sample: Source,
    *,
    label: str | None = None,
    ignore: Sequence[str] = (),
    file_format: FileFormat | None = None,
) -> tuple[Schema, dict[str, str]]:
    """Return a first schema for data like a *public* sample, and why it leaves columns out.

    Both are for people to correct. Numbers get bounds that are rounded outwards; whole numbers with
    at most 6 values, truth values, and texts with at most 60 values, each twice as a rule, become
    categories; dates get whole years. A label with at most 20 values lists them as its categories,
    without an `other`: owners who spell them otherwise are refused. What looks like an identifier
    is not in the schema, so no run reads it. Other columns are ignored by the kernel and travel
    along. Where the sample has missing values, they are encoded.

    Parameters
    ----------
    sample
        Data frame, or path of a CSV or Parquet file.
    label
        Name of the label's column.
    ignore
        Columns that travel along and are not used, such as identifiers.

    Returns
    -------
    Schema, and a reason for each column that it ignores or lacks though `ignore` does not name it.

    Raises
    ------
    InvalidDataError, InvalidParameterError, MissingExtraError
        As for the data of a party.

    Privacy
    -------
    None: what is in the sample is in the schema, and its cells are in the reasons. A sample of
    private data leaks.
    """
    frame = as_frame(opened(sample, "sample", None, file_format, typed=True), "'sample'")
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    found: dict[str, Column | str] = {
        name: Column(name, Kind.IGNORE)
        if name in ignore
        else _column(frame[name], is_label=name == label)
        for name in frame.columns
    }
    reasons = {name: one for name, one in found.items() if isinstance(one, str)}
    return Schema(
        Column(name, Kind.IGNORE) if isinstance(one, str) else one
        for name, one in found.items()
        if one != IDENTIFIES
    ), reasons


def _column(series: nw.Series[Any], *, is_label: bool) -> Column | str:
    """Return the column, or why it is left out."""
    name, dtype = series.name, series.dtype
    null = np.asarray(series.is_null().to_numpy(), bool)
    items = [
        item
        for item, gone in zip(series.to_list(), null, strict=True)
        if not (gone or item == "" or (isinstance(item, float) and math.isnan(item)))
    ]
    short = len(items) < len(series)
    if is_label:
        return _label(name, items, "drop" if short else "refuse")
    rule = WhenMissing.ENCODE if short else WhenMissing.REFUSE
    if not items:
        return "it is empty"
    if dtype == nw.Boolean:
        return Column(name, categories=(False, True), when_missing=rule)
    if dtype.is_numeric():
        whole = dtype.is_integer()
        if whole and identifies(name, items):
            return IDENTIFIES
        return _number(name, [float(item) for item in items], rule, whole)
    if dtype in (nw.Date, nw.Datetime):
        return _date(name, items, rule)
    if dtype not in (nw.String, nw.Categorical, nw.Enum):
        return f"it is of type {dtype}"
    return _texts(name, [str(item).strip() for item in items], rule)


def _label(name: str, items: Sequence[Any], rule: str) -> Column:
    """Return the label, with its values as categories if they are few: all text, or all numbers."""
    plain = Column(name, Kind.LABEL, when_missing=rule)
    if len({type(item) for item in items}) != 1 or not isinstance(items[0], str | int | float):
        return plain
    values: set[Any] = {item.strip() if isinstance(item, str) else item for item in items}
    listed = sorted(x for x in values if not (isinstance(x, str) and is_mark(plain, x)))
    # 1.0 is 1 beside missing values; larger numbers are not exact.
    if any(not isinstance(item, str) and abs(item) > 2**53 for item in listed):
        return plain
    if listed and isinstance(listed[0], float):
        listed = [int(item) if item.is_integer() else item for item in listed]
    return replace(plain, categories=tuple(listed)) if len(listed) <= MOST_LABELS else plain


def identifies(name: str, items: Sequence[Any], *, rising: bool = True) -> bool:
    """Return whether items are identifiers; `rising` if their order alone may say so."""
    distinct = len(set(items)) == len(items) >= FEWEST_ROWS
    if not distinct or IDENTIFIER.search(name):
        return distinct
    return rising and all(a < b for a, b in pairwise(items))


def _texts(name: str, texts: Sequence[str], rule: WhenMissing) -> Column | str:
    dates = [iso_date(text) for text in texts]
    known = [day for day in dates if day is not None]
    if len(known) == len(dates):
        return _date(name, known, rule)
    if identifies(name, texts, rising=False):
        return IDENTIFIES
    values = sorted(set(texts))
    if len(values) > min(MOST_TEXTS, len(texts) / 2):
        odd = [text for text in texts if not _is_number(text)]
        commas = sum("," in text and _is_number(text.replace(",", ".")) for text in odd)
        if commas > 0.5 * len(odd) and len(odd) - commas <= (1 - MOSTLY) * len(texts):
            return (
                f"it has {len(values):,} different texts, of which most are numbers with a decimal "
                "comma; read it with decimal=',' (--decimal ',')"
            )
        if len(odd) <= (1 - MOSTLY) * len(texts):
            verb = "is" if len(odd) == 1 else "are"
            return f"{len(odd):,} of {len(texts):,} cells {verb} not a number: {odd[0]!r}"
        return f"it has {len(values):,} different texts"
    other = "other"
    while other in values:
        other += "_"
    return Column(name, categories=tuple(values), other=other, when_missing=rule)


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _number(name: str, values: list[float], rule: WhenMissing, whole: bool) -> Column:
    distinct = sorted(set(values))
    if len(distinct) <= MOST_NUMBERS and all(value.is_integer() for value in distinct):
        return Column(name, categories=tuple(map(int, distinct)), when_missing=rule)
    finite = [value for value in distinct if math.isfinite(value)] or [0.0]
    low, high = finite[0], finite[-1]
    # Outwards to round numbers: 29..77 becomes 20..80.
    step = 10.0 ** math.floor(math.log10((high - low) / 2)) if high > low else max(1.0, abs(low))
    low, high = math.floor(low / step) * step, math.ceil(high / step) * step
    high = high if high > low else low + step
    return Column(name, bounds=(low, high), when_missing=rule, whole=whole)


def _date(name: str, days: list[Any], rule: WhenMissing) -> Column:
    years = [day.year for day in days]
    last = min(max(years) + 1, 9999)
    return Column(
        name, Kind.DATE, bounds=(date(min(years), 1, 1), date(last, 1, 1)), when_missing=rule
    )

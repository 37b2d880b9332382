"""Checks somebody's own data by a schema, and drafts a first schema from a public sample."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

import numpy as np

from dpsumm.basics.checks import largest
from dpsumm.data.column import Column
from dpsumm.data.extract import Extract, Source, Wanted, where_of
from dpsumm.data.frame import Cells, Frame, frame_of
from dpsumm.data.kinds.category import Category
from dpsumm.data.kinds.date import Date
from dpsumm.data.kinds.items import NULLS, iso_date, spells_nan
from dpsumm.data.kinds.kind import Kind, WhenMissing
from dpsumm.data.kinds.label import Label
from dpsumm.data.kinds.number import Number
from dpsumm.data.lint import FEWEST_ROWS, Hint, hints, identifies, mark_of
from dpsumm.data.schema import Schema
from dpsumm.data.table import usable_rows
from dpsumm.errors import InvalidDataError

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
# A text column with at most so many values is taken for categories.
MOST_TEXTS = 60
IDENTIFIES = "no value comes twice, as in an identifier"
CONSTANT = "it has one value in all rows"
# A text column with this part of numbers is one of numbers with typing errors.
MOSTLY = 0.9
# Values of a column, and how many rows have each.
Values = list[tuple[Any, int]]
# Sizes beyond which numbers are refused.
MOST_WHOLE, LARGEST = 2**53, largest(np.dtype(np.float64))


@dataclass(frozen=True)
class Found:
    """One column of somebody's data as a schema sees it. Private, for the holder of the data.

    Attributes
    ----------
    column
        The column.
    missing, clipped, unknown, unreadable
        Values that are missing, outside the bounds, in no category, or no value of the kind.
    refused
        Why a run would refuse the column, see `dpsumm.data.table.WAY_OUT`. Empty if it would not.
    """

    column: Column
    missing: int
    clipped: int = 0
    unknown: int = 0
    unreadable: int = 0
    refused: tuple[str, ...] = ()

    @property
    def would(self) -> str:
        """The action of a run on the column, in a few words."""
        if self.refused:
            return f"refuse: {', '.join(self.refused)}"
        if self.missing and self.column.kind is not Kind.IGNORE:
            drops = self.column.when_missing is WhenMissing.DROP
            return "drop rows" if drops else "encode missing"
        return "accept"

    def __str__(self) -> str:
        numbers = ("missing", "clipped", "unknown", "unreadable")
        counts = [f"{getattr(self, name):,} {name}" for name in numbers if getattr(self, name)]
        return f"{self.column.name}: {', '.join([self.would, *counts])}"


@dataclass(frozen=True)
class Checked:
    """The findings of `Schema.check`, which `print` shows. Private, for the holder of the data.

    Attributes
    ----------
    rows
        Of the data.
    columns
        What the schema meets in each column.
    hints
        Questions about columns that look like mistakes.
    refusal
        Why a run would refuse the data, though it takes each column. Empty if it would not.
    usable
        The rows that a run uses. None if it refuses the data.
    """

    rows: int
    columns: tuple[Found, ...]
    hints: tuple[Hint, ...]
    refusal: str = ""
    usable: Extract | None = field(default=None, repr=False, compare=False)

    @property
    def accepted(self) -> bool:
        """Whether a run takes the data."""
        return not self.refusal and not any(one.refused for one in self.columns)

    def __str__(self) -> str:
        first = f"{self.rows:,} rows. These counts are for you, not for other parties."
        refused = [f"A run would refuse the data: {self.refusal}"] * bool(self.refusal)
        hints = (f"Look at {x}" for x in self.hints)
        return "\n".join([first, *map(str, self.columns), *refused, *hints])


def check(source: Source, schema: Schema) -> Checked:
    """Return what the schema meets in somebody's data, and what looks strange. Nothing leaves."""
    extract = Wanted(schema=schema).extract(source, "data")
    codes = dict(zip(schema.names, extract.codes, strict=True))
    unreadable = dict(zip(schema.names, extract.n_unreadable or [0] * len(codes), strict=True))
    found = [
        _found(column, codes[column.name], unreadable[column.name])
        if column.in_kernel
        else _found_beside(column, extract)
        for column in schema.columns
    ]
    checked = Checked(len(extract), tuple(found), tuple(hints(extract)))
    if not checked.accepted:
        return checked
    try:
        return replace(checked, usable=usable_rows(extract, where_of(source, "data")))
    except InvalidDataError as error:
        return replace(checked, refusal=str(error))


def strangers(source: Source, schema: Schema) -> tuple[str, ...]:
    """Return the columns of a party's data that the schema does not name. Renamed ones, say.

    Empty if the data lack half of the schema's columns or more, because the header row may then be
    a record. Private like all findings here, and in no error's message, since messages may travel.
    Only for the holder of the data.
    """
    present = Wanted(schema=schema).frame(source, "data").names
    wanted = [column.name for column in schema.columns]
    if 2 * len(set(wanted) & set(present)) <= len(wanted):
        return ()
    return tuple(name for name in present if name not in wanted)


def _found(column: Column, codes: Any, unreadable: int) -> Found:
    codes = np.ascontiguousarray(codes)  # which are read more than once
    missing = int(np.isnan(codes).sum()) - unreadable
    refuses_missing = missing > 0 and column.when_missing is WhenMissing.REFUSE
    refused = (
        *[f"no {Kind(column.kind).value}"] * (unreadable > 0),
        *(f for f in column.seen.faults(codes) if f != "missing" or refuses_missing),
    )
    seen = column.seen
    return Found(column, missing, seen.n_clipped(codes), seen.n_unknown(codes), unreadable, refused)


def _found_beside(column: Column, extract: Extract) -> Found:
    if column is extract.schema.label:
        absent = extract.unlabelled
        missing = 0 if absent is None else int(absent.sum())
        refused = missing > 0 and column.when_missing is WhenMissing.REFUSE
        return Found(column, missing, refused=("missing labels",) if refused else ())
    values = extract.carried[extract.schema.carried.index(column)]
    gone = values != values if values.dtype.kind in "fM" else values == ""  # noqa: PLR0124
    return Found(column, int(np.sum(gone)) if values.dtype.kind in "fMO" else 0)


def draft(
    *samples: Source,
    label: str | None = None,
    ignore: Sequence[str] = (),
) -> tuple[Schema, dict[str, str]]:
    """Return a first schema for data like *public* samples, and why it leaves columns out.

    Of several samples, from different sites for example, all rows count together.

    Both are for people to correct. Numbers get bounds that are rounded outwards. Whole numbers with
    at most 6 values, truth values, and texts with at most 60 values, each twice as a rule, become
    categories. Values that the sample lacks count as `other`, which is the next higher number
    where categories are numbers. Dates get whole years. A label with at most 20 values lists them
    as its categories, without an `other`: owners who spell them otherwise are refused. What looks
    like an identifier is not in the schema, so no run reads it, and neither is a column of one
    value. Others are ignored by the kernel and travel along. Where the sample has missing values,
    they are encoded. A value far from all others that several rows have, such as -9999, becomes a
    mark of them.

    Returns
    -------
    Schema, and a reason for each column that it ignores or lacks though `ignore` does not name it.

    Raises
    ------
    InvalidDataError
        The samples have no rows, or cannot be read.

    Privacy
    -------
    None. Cells of the sample are in the schema and in the reasons. A sample of
    private data leaks.
    """
    frame = _together([Wanted().frame(sample, "sample", typed=True) for sample in samples])
    cells = frame.take(frame.names)
    if not any(map(len, cells.values())):
        raise InvalidDataError("sample has no rows. Give one of some hundred records")
    found = {
        name: Column(name, Kind.IGNORE) if name in ignore else _column(cells[name], name == label)
        for name in frame.names
    }
    reasons = {name: one for name, one in found.items() if isinstance(one, str)}
    return Schema(
        Column(name, Kind.IGNORE) if isinstance(one, str) else one
        for name, one in found.items()
        if one not in (IDENTIFIES, CONSTANT)
    ), reasons


def _together(frames: Sequence[Frame]) -> Frame:
    """Return the rows of all frames. A column that one lacks has no values there."""
    if len(frames) == 1:
        return frames[0]
    import polars

    parts = [
        polars.DataFrame(
            [
                polars.Series(name, cells.items, strict=False)
                for name, cells in frame.take(frame.names).items()
            ]
        )
        for frame in frames
    ]
    return frame_of(polars.concat(parts, how="diagonal_relaxed"), "samples")


def _column(cells: Cells, is_label: bool) -> Column | str:
    """Return the column, or why it is left out."""
    name, values = cells.name, _counted(cells)
    if is_label:
        label = Column(name, Kind.LABEL)
        assert isinstance(label.how, Label)
        how = label.how
        values = [
            one for one in values if not (isinstance(one[0], str) and how.is_mark(one[0].strip()))
        ]
        is_short = _rows(values) < len(cells)
        drafted = how.drafted([value for value, _ in values])
        return replace(label, when_missing="drop" if is_short else "refuse", **drafted)
    values = [one for one in values if not (isinstance(one[0], str) and _is_null(one[0]))]
    is_short = _rows(values) < len(cells)
    said = _options(cells, values) if values else "it is empty"
    if len(cells) >= FEWEST_ROWS and not is_short and all(x == values[0][0] for x, _ in values):
        said = CONSTANT
    if isinstance(said, str):
        return said
    is_short |= "missing" in said
    return Column(name, when_missing="encode" if is_short else "refuse", **said)


def _counted(cells: Cells) -> Values:
    """Return the values that are there, and how many rows have each.

    If no value comes twice, they are in the order of the rows, but for texts of a file.
    """
    items, places = cells.distinct
    rows = np.arange(len(items)) if places is None else places
    counts = np.bincount(rows, minlength=len(items)).tolist()
    return [one for one in zip(items, counts, strict=True) if one[0] not in (None, "")]


def _rows(values: Values) -> int:
    return sum(count for _, count in values)


def _options(cells: Cells, values: Values) -> dict[str, Any] | str:
    if cells.truths() is not None:
        return {"categories": (False, True)}
    items = [value for value, _ in values]
    if cells.is_number:
        is_whole = cells.dtype.is_integer()
        if is_whole and len(items) == _rows(values) and identifies(cells.name, items):
            return IDENTIFIES
        numbers, places = np.unique([float(item) for item in items], return_inverse=True)
        size = np.abs(numbers).max()
        if size > (MOST_WHOLE if is_whole else LARGEST):
            return (
                f"it has numbers of up to {size:.2g} in size, at most "
                f"{'2**53 if they are whole' if is_whole else f'{LARGEST:g}'} is exact; if they "
                "are identifiers or codes, leave it out"
            )
        counts = np.zeros(len(numbers), np.int64)
        np.add.at(counts, places, [count for _, count in values])
        mark = mark_of(numbers, counts)
        if mark is None:
            return Number.drafted(numbers.tolist(), is_whole)
        known = numbers[numbers != mark].tolist()
        exact = mark.is_integer() and abs(mark) <= 2**53  # a file has no larger whole numbers
        marks = (*Column.missing, int(mark) if exact else mark)
        return {**Number.drafted(known, is_whole), "missing": marks}
    if cells.is_time:
        return Date.drafted(items)
    if not cells.is_text or cells.type_name in ("Object", "Unknown"):
        return f"it is of type {cells.dtype}"
    texts: Counter[str] = Counter()
    for item, count in values:
        texts[str(item).strip()] += count
    days = [iso_date(text) for text in islice(texts, 1)]
    if None not in days and None not in (days := [iso_date(text) for text in texts]):
        return Date.drafted(days)
    if len(texts) == texts.total() and identifies(cells.name, list(texts), rising=False):
        return IDENTIFIES
    few = len(texts) <= min(MOST_TEXTS, texts.total() / 2)
    return Category.drafted(sorted(texts)) if few else _reason(texts)


def _is_null(text: str) -> bool:
    """Return whether a text always means a missing value, unless it is a category."""
    return spells_nan(text) or text.strip() in NULLS


def _reason(texts: Counter[str]) -> str:
    """Return why a column of many texts is left out."""
    many, rows = f"it has {len(texts):,} different texts", texts.total()
    odd = {text: count for text, count in texts.items() if not _is_number(text)}
    if not odd:
        return (
            f"{many} that all spell numbers, such as {next(iter(texts))!r}; if "
            "they are codes, list some as categories with an other, and if they are numbers, hold "
            "them as such"
        )
    n_odd = sum(odd.values())
    commas = sum(n for text, n in odd.items() if "," in text and _is_number(text.replace(",", ".")))
    if commas > 0.5 * n_odd and n_odd - commas <= (1 - MOSTLY) * rows:
        return f"{many}, of which most are numbers with a decimal comma; read it with `decimal=','`"
    if n_odd <= (1 - MOSTLY) * rows:
        verb = "is" if n_odd == 1 else "are"
        return f"{n_odd:,} of {rows:,} cells {verb} not a number: {next(iter(odd))!r}"
    return many


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False

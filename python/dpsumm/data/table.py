"""One party's data (an array, a data frame, a file) as the arrays the algorithms work on.

Everything that could make a point meaningless or leak a value is refused here, before anything is
sent, such as values outside the schema, missing and infinite ones. Messages name the source, the
column and the way out, never a value or a row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpsumm.basics.checks import all_usable
from dpsumm.data.extract import Extract, Source, Wanted, where_of
from dpsumm.data.frame import Backend
from dpsumm.data.kinds.kind import Kind, WhenMissing
from dpsumm.data.marks import CANDIDATES, Marks, Score, choose
from dpsumm.data.records import Records
from dpsumm.data.schema import Schema
from dpsumm.errors import InvalidDataError
from dpsumm.kernels import Draws

# Rows that are scored at once. Points are many times as wide as values and never lie in memory
# together.
BLOCK_ROWS = 65_536
# Makes a table of a block of raw rows.
Reader: TypeAlias = "Callable[[Any], Table]"

# What to do about missing values when there is no schema.
DROP = "impute them with public values, or say when_missing='drop' in a `schema`"
# What to do about values that a schema refuses, by what they are.
WAY_OUT = {
    "missing": (
        "impute them with public values, or say when_missing in the schema: 'drop' leaves such "
        "rows out, 'encode' keeps them, with 'missing' as a value of its own"
    ),
    "missing labels": (
        "fill them in, or say when_missing = 'drop' in the schema, which leaves such rows out"
    ),
    "no number": (
        "correct them (a decimal point, no unit, no separator of thousands), add their mark to "
        "missing, or change the kind in the schema"
    ),
    "no date": (
        "correct them (year-month-day), add their mark to missing, or give date_format in the "
        "schema, such as '%d.%m.%Y'; if only this one of the parties writes dates otherwise, "
        "convert its file, for date_format holds for all"
    ),
    "no category": (
        "correct them, add their mark to missing, or change the kind in the schema; if the "
        "categories are text such as '02139', read the column as text (pandas: dtype=str)"
    ),
    "infinite": ("replace them by the limit of the sensible range, or mark them as missing"),
    "in no category": (
        "add them to categories if they are public, or say other in the schema, the one value "
        "that they all count as"
    ),
    "not whole": "correct them, or leave out whole in the schema",
}
# What messages call them.
SAID = {
    "missing": "missing values",
    "infinite": "infinite values, or absurdly large ones",
    "in no category": "values that are in none of the schema's categories",
}


@dataclass(frozen=True, eq=False, kw_only=True)
class Table(Records):
    """The usable rows of one owner or of the target, besides what all `Records` have.

    Attributes
    ----------
    name, schema, backend, indexed, titles, n_dropped
        As of `Extract`. The last depends on the private data. Do not publish it.
    n_clipped, n_missing, n_unknown
        Values outside the bounds, missing ones that are encoded, and values in no category, per
        column. They depend on the private data. Do not publish them.
    """

    name: str
    schema: Schema = field(repr=False)
    backend: Backend | None = None
    indexed: bool = field(default=False, repr=False)
    titles: tuple[str, ...] = ()
    n_dropped: int = field(default=0, repr=False)
    n_clipped: tuple[int, ...] = field(default=(), repr=False)
    n_missing: tuple[int, ...] = field(default=(), repr=False)
    n_unknown: tuple[int, ...] = field(default=(), repr=False)

    @cached_property
    def scaled(self) -> NDArray[Any]:
        """What the kernel sees, (n, e), of the type of `values`. See `Schema.encode`.

        The same object as `values` when that is the same. Those are the array passed in itself when
        it already fits. Of many rows and categories it takes much more memory than `values`.
        """
        return self.schema.encode(self.values)

    @property
    def n_given(self) -> int:
        """Rows of the data as the owner gave them, those that were left out among them."""
        return len(self) + self.n_dropped

    # What a `StreamTable` has too.
    @property
    def head(self) -> Table:
        """The rows that are read before the run: all."""
        return self

    @property
    def in_memory(self) -> Table:
        """The table itself."""
        return self

    def points_at(self, index: NDArray[np.int64]) -> NDArray[Any]:
        """Return some of the rows as the kernel sees them. See `StreamTable.points_at`."""
        return self.schema.encode(self.values[index])

    def rows_at(self, index: NDArray[np.int64]) -> Table:
        """Return some of the rows, ascending positions. See `StreamTable.rows_at`."""
        return self.take(index)

    def sift(self, score: Score, draws: Draws, count: int) -> tuple[Table, Marks]:
        """Return the candidates and their marks. See `StreamTable.sift`."""
        marks = Marks(self.rows, np.empty(len(self)), np.empty(len(self)))
        for start in range(0, len(self), BLOCK_ROWS):
            at = slice(start, start + BLOCK_ROWS)
            rows, values = self.rows[at], self.values[at]
            units = draws.units(start, len(rows))
            made = Marks.of(rows, score(self.schema.encode(values)), units)
            marks.scores[at], marks.keys[at] = made.scores, made.keys
        kept = choose(marks, max(CANDIDATES, count))
        return (self if len(kept) == len(self) else self.take(kept)), marks[kept]

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the c columns; ``x0``, ``x1``, ... for arrays."""
        return self.schema.names

    @property
    def width(self) -> int:
        """Coordinates of the kernel's space, e."""
        return len(self.schema.cells)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Precision of the points."""
        return self.values.dtype

    def astype(self, dtype: np.dtype[Any]) -> Table:
        """Return the table with its values in another precision, or itself if they have it.

        Values are cast and then encoded, never the encoded points, because anyone who gets the
        values must find the same points.
        """
        if self.dtype == dtype:
            return self
        values = self.values.astype(dtype)
        return replace(self, values=values, **_counted(self.schema, values))


def read_table(source: Source, *, name: str, **wanted: Any) -> Table:
    """Return one party's data as arrays.

    Parameters
    ----------
    source
        (n, c) array. Pair of an (n, c) array and (n,) labels. Data frame of pandas, polars,
        pyarrow or another library that narwhals supports (lazy frames are collected). Or path of
        a file, or `File`. All become float64, but for arrays of float32 and files with
        ``FileFormat(single=True)``.
    **wanted
        See `Wanted`.
    """
    return encoded(usable(source, name, Wanted(**wanted)))


def usable(source: Source, name: str, wanted: Wanted, missing: str = WAY_OUT["missing"]) -> Extract:
    """Return the usable rows of a source; `missing` says what to do about values that lack."""
    extract, where = wanted.extract(source, name), where_of(source, name)
    if wanted.own_labels and extract.labels is not None and extract.unlabelled is not None:
        labels = extract.labels.astype(object)
        labels[extract.unlabelled] = None
        extract = replace(extract, labels=labels, unlabelled=None)
    return usable_rows(extract, where, DROP if wanted.schema is None else missing)


def usable_rows(extract: Extract, where: str, remedy: str = WAY_OUT["missing"]) -> Extract:
    """Return the extract's usable rows. Drop or refuse missing values, refuse senseless ones.

    `remedy` says what to do about missing values.
    """
    schema, titles = extract.schema, extract.titles
    missing = np.zeros(len(extract), bool)
    for column, title, count in zip(schema.kernel, titles, extract.n_unreadable, strict=False):
        if count:
            what = f"no {Kind(column.kind).value}"
            raise InvalidDataError(f"{where}: {title} has values that are {what}; {WAY_OUT[what]}")
    usable = all_usable(extract.values)
    for j, fault in schema.faults(extract.codes, usable):
        if fault == "missing" and schema.kernel[j].when_missing is WhenMissing.DROP:
            missing |= np.isnan(extract.codes[j])
        else:
            said = SAID.get(fault, f"values that are {fault}")
            way_out = remedy if fault == "missing" else WAY_OUT[fault]
            raise InvalidDataError(f"{where}: {titles[j]} has {said}; {way_out}")
    if extract.unlabelled is not None:
        rule = None if schema.label is None else schema.label.when_missing
        if extract.unlabelled.any() and rule is not WhenMissing.DROP:
            way_out = WAY_OUT["missing labels"] if remedy == WAY_OUT["missing"] else remedy
            raise InvalidDataError(f"{where}: some labels are missing; {way_out}")
        missing |= extract.unlabelled
    if missing.all():
        raise InvalidDataError(
            f"{where}: no row is complete. Leave columns with many missing values out"
        )
    n_dropped = int(np.count_nonzero(missing))
    kept = replace(extract, unlabelled=None, n_dropped=n_dropped)
    if n_dropped:
        kept = kept.take(np.flatnonzero(~missing))
    return kept


def encoded(extract: Extract) -> Table:
    """Return usable rows with their counts."""
    return Table(
        extract.rows,
        extract.values,
        extract.labels,
        extract.carried,
        name=extract.name,
        schema=extract.schema,
        backend=extract.backend,
        indexed=extract.indexed,
        titles=extract.titles,
        n_dropped=extract.n_dropped,
        **_counted(extract.schema, extract.values),
    )


def _counted(schema: Schema, values: NDArray[Any]) -> dict[str, Any]:
    """Return what a table counts, column by column."""
    clipped, missing, unknown = [], [], []
    for kind, column, codes in zip(schema.seen, schema.kernel, values.T, strict=True):
        x = np.ascontiguousarray(codes)  # which is read more than once
        clipped.append(kind.n_clipped(x))
        missing.append(int(np.count_nonzero(np.isnan(x))) if column.encodes_missing else 0)
        unknown.append(kind.n_unknown(x))
    return {
        "n_clipped": tuple(clipped),
        "n_missing": tuple(missing),
        "n_unknown": tuple(unknown),
    }

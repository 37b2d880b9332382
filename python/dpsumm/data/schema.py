"""The public schema of columns, and how they become points of the kernel's space."""

from __future__ import annotations

import hashlib
import math
import os
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpsumm.basics.atomic import write_text
from dpsumm.basics.checks import all_usable
from dpsumm.basics.documents import read_text
from dpsumm.data.column import Column
from dpsumm.data.kinds.kind import Kind, Seen, WhenMissing
from dpsumm.data.kinds.number import Positions
from dpsumm.data.schema_toml import from_toml, to_toml
from dpsumm.errors import InvalidParameterError

if TYPE_CHECKING:
    from dpsumm.data.check import Checked

__all__ = ["Column", "Kind", "Schema", "WhenMissing"]

# Column name to (low, high), in the column's units.

# What travels beside a point is bounded, as everything in a message.
MOST_CARRIED = 100
# Rows that are encoded all columns at once, which needs several times their memory; rows at a time
# else, which stay in cache.
FEW, ROWS = 1000, 4096


@dataclass(frozen=True, init=False)
class Schema:
    """The columns of every party's data, in the order in which the summary gives them back.

    Columns that the schema does not name are not read. If all parties have the same schema, a
    record is the same point at each of them, because the kernel's space depends on the schema only.

    Parameters
    ----------
    columns
        Columns with distinct names. The kernel sees at least one. At most one is a label,
        and at most 100 are ignored by the kernel.

    Raises
    ------
    InvalidParameterError
        Naming the column and the way out.

    Privacy
    -------
    Public, like every `Column` in it. Counts of values that are clipped, missing or in no category
    depend on private data. They are for curator and consumer, and are not sent to an owner.

    See Also
    --------
    dpsumm.Column : One column of it.

    Examples
    --------
    >>> schema = Schema([
    ...     Column("age", bounds=(20, 90)),
    ...     Column("sex", categories=("f", "m")),
    ...     Column("note", "ignore"),
    ... ])
    >>> schema.cells
    ('age', 'sex=f', 'sex=m')
    """

    columns: tuple[Column, ...]

    def __init__(self, columns: Iterable[Column]) -> None:
        """Check the columns together."""
        object.__setattr__(self, "columns", tuple(columns))
        names = [column.name for column in self.columns if isinstance(column, Column)]
        if len(names) < len(self.columns):
            raise InvalidParameterError("schema: columns must be a list of dpsumm.Column")
        if len(set(names)) < len(names):
            raise InvalidParameterError("schema: two columns have the same name. Rename one")
        if not self.kernel:
            raise InvalidParameterError(
                "schema: the kernel sees no column. Give one of kind number, category or date"
            )
        if sum(column.kind is Kind.LABEL for column in self.columns) > 1:
            raise InvalidParameterError(
                "schema: more than one column has kind 'label'. Give the others kind 'ignore'"
            )
        if len(self.carried) > MOST_CARRIED:
            raise InvalidParameterError(
                f"schema: at most {MOST_CARRIED} columns can have kind 'ignore', got "
                f"{len(self.carried)}. Leave some out, they are then not read"
            )

    @classmethod
    def numbers(cls, names: Sequence[str], *, label: str | None = None) -> Schema:
        """Return the schema of numbers, and a label, where only their names are known."""
        columns = [Column(name, Kind.NUMBER, missing=()) for name in names]
        if label is not None:
            columns.append(Column(label, Kind.LABEL, missing=()))
        return cls(columns)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Schema:
        """Return the schema in a TOML file.

        Raises
        ------
        InvalidParameterError
            No such file, no TOML, or not a schema. The message names the place.
        """
        if not Path(path).exists():
            raise InvalidParameterError(
                f"schema: there is no file {path}. Draft one with dpsumm schema init"
            )
        return cls.from_toml(read_text(Path(path), "schema"), str(path))

    @classmethod
    def from_toml(cls, text: str, where: str) -> Schema:
        """Return the schema that a TOML text holds. Errors as of `read`, naming `where`."""
        columns = from_toml(text, where)
        try:
            return cls(columns)
        except InvalidParameterError as error:
            raise InvalidParameterError(f"{where}: {error}") from None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the schema as TOML, whole or not at all; `read` gives an equal one back."""
        write_text(path, to_toml(self.columns))

    @cached_property
    def kernel(self) -> tuple[Column, ...]:
        """The columns that the kernel sees, c of them."""
        return tuple(column for column in self.columns if column.in_kernel)

    @cached_property
    def carried(self) -> tuple[Column, ...]:
        """The columns that travel with the points besides the label."""
        return tuple(column for column in self.columns if column.kind is Kind.IGNORE)

    @cached_property
    def label(self) -> Column | None:
        """The column of the label."""
        return next((column for column in self.columns if column.kind is Kind.LABEL), None)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the columns that the kernel sees."""
        return tuple(column.name for column in self.kernel)

    @cached_property
    def cells(self) -> tuple[str, ...]:
        """Names of the coordinates of the kernel's space."""
        return tuple(cell for column in self.kernel for cell in column.how.cells)

    @property
    def fingerprint(self) -> str:
        """Twelve hexadecimal digits that differ for different schemas, for parties to compare."""
        return hashlib.sha256(to_toml(self.columns, "").encode()).hexdigest()[:12]

    @property
    def bounded(self) -> bool:
        """Whether the kernel's space is bounded, so that a bandwidth follows from the schema."""
        return all(column.bounds or column.categories for column in self.kernel)

    @property
    def worth(self) -> float:
        """How many number columns of weight 1 the kernel's space is worth. A public fact.

        Six times the mean squared distance of two records with independent values, uniform over the
        bounds or over the categories without `other`. A category of weight 1 is worth 3 columns if
        it has 2 values, 6 at most. A missing value is as far from the others on average, so it
        does not enter. The default bandwidth is ``gamma = 6 / worth``, see `RBF.for_schema`.

        Raises
        ------
        InvalidParameterError
            Not every column has bounds or categories, or all have a single category.
        """
        if not self.bounded:
            raise InvalidParameterError("schema: not every column has bounds or categories")
        worth = sum(6 * kind.spread for kind in self.seen)
        if not worth > 0:
            raise InvalidParameterError("schema: every column has one category only. Add a column")
        return worth

    @property
    def region(self) -> tuple[tuple[int, float], ...]:
        """Where all points lie, as `dpsumm.kernels.LandmarkFeatures` takes it. A public fact.

        Raises
        ------
        InvalidParameterError
            Not every column has bounds or categories.
        """
        if not self.bounded:
            raise InvalidParameterError("schema: not every column has bounds or categories")
        return tuple(part for kind in self.seen for part in kind.extent)

    @property
    def radius(self) -> float:
        """Bound of the L2 norm of any point. A public fact. Errors are those of `region`."""
        return math.hypot(*(limit for _, limit in self.region))

    def for_target(self, *, label: bool = False) -> Schema:
        """Return the schema that the target needs, of the columns that the kernel sees.

        With the `label`, if it has one.
        """
        more = (self.label,) if label and self.label is not None else ()
        return Schema((*self.kernel, *more))

    def encode(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return points in the kernel's space, those outside the bounds at the nearer one.

        Parameters
        ----------
        values : (n, c) float32 or float64
            One column for each of `kernel`: numbers in their units, dates as days since
            1970-01-01, categories as their position in `Column.categories` (one past the last for
            `Column.other`), NaN where missing. Not changed.

        Returns
        -------
        (n, number of `cells`), type of `values`, C-contiguous
            `values` itself if it is plain.
        """
        if self._is_plain:
            return values
        scaled = np.zeros((len(values), len(self.cells)), values.dtype)
        # A message of few rows: what Python does for each column would be most of the time.
        together = self._positions if len(values) <= FEW else None
        if together is not None:
            together.write(values, scaled)
        for start in range(0, len(values), ROWS):
            rows = slice(start, start + ROWS)
            for j, (kind, (first, last)) in enumerate(zip(self.seen, self._places, strict=True)):
                if together is None or j not in together.columns:
                    kind.write(values[rows, j].astype(np.float64), scaled[rows, first:last])
        return scaled

    def check(self, data: Any) -> Checked:
        """Check somebody's own data before a run. Nothing leaves.

        Parameters
        ----------
        data
            As an owner's for `dpsumm.summarize`: a data frame, an array, or the path of a file.

        Returns
        -------
        Checked
            ``print`` shows the action of a run on each column, and questions about likely mistakes.
            `accepted` is whether a run takes the data. The counts are exact, so keep them to the
            holder of the data.

        Raises
        ------
        InvalidDataError
            The data lack a column, or cannot be read.

        Examples
        --------
        >>> import polars as pl
        >>> from dpsumm import Column, Schema
        >>> schema = Schema([Column("age", bounds=(18, 90)), Column("sex", categories=("f", "m"))])
        >>> found = schema.check(pl.DataFrame({"age": [30, 200], "sex": ["f", "x"]}))
        >>> print(found)
        2 rows. These counts are for you, not for other parties.
        age: accept, 1 clipped
        sex: refuse: in no category, 1 unknown
        >>> found.accepted
        False
        """
        from dpsumm.data.check import check

        return check(data, self)

    @cached_property
    def seen(self) -> tuple[Seen, ...]:
        """What becomes of each column that the kernel sees."""
        return tuple(column.seen for column in self.kernel)

    @cached_property
    def _is_plain(self) -> bool:
        """Whether the kernel sees the values as they are."""
        return all(
            not column.categories and column.bounds is None and column.weight == 1
            for column in self.kernel
        )

    @cached_property
    def _places(self) -> tuple[tuple[int, int], ...]:
        """Where each column's cells begin and end."""
        ends = np.cumsum([len(kind.cells) for kind in self.seen]).tolist()
        return tuple(zip([0, *ends], ends, strict=False))

    @cached_property
    def _positions(self) -> Positions:
        return Positions.of(self.seen, [start for start, _ in self._places])

    def fits(self, values: NDArray[Any]) -> bool:
        """Return whether `encode` takes values (n, c), which are finite or missing where that is
        encoded, and of categories that exist.
        """
        # One pass decides the usual case.
        return next(self.faults(tuple(values.T), all_usable(values)), None) is None

    def faults(
        self, codes: Sequence[NDArray[Any]], usable: bool = False
    ) -> Iterator[tuple[int, str]]:
        """Yield the faults among codes, column by column, as (column, fault). `usable` if it is
        known that all are finite.
        """
        for j, (kind, column) in enumerate(zip(self.seen, codes, strict=True)):
            is_particular = kind.column.whole or kind.column.categories
            if is_particular or not (usable or all_usable(column)):
                for fault in kind.faults(np.ascontiguousarray(column)):
                    yield j, fault


def uniform_points(schema: Schema, count: int, seed: int) -> NDArray[np.float64]:
    """Return points of independent, uniform values, in the kernel's space.

    Numbers and dates are uniform in their bounds. Categories have equal chances. One draw of ten is
    missing, and one of ten is `other`, if the column has these, or as often as a category if that
    is less.

    Returns
    -------
    (count, number of cells) float64
        The same bits on every machine: Python promises the numbers of a seed, and encoding is
        basic arithmetic.
    """
    draws = random.Random(seed)  # public points: nothing rests on the generator
    units = np.array([draws.random() for _ in range(count * len(schema.kernel))])
    units = units.reshape(count, len(schema.kernel))
    codes = np.column_stack([kind.draw(units[:, j]) for j, kind in enumerate(schema.seen)])
    return np.asarray(schema.encode(codes), dtype=np.float64)

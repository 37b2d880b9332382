"""Columns of the target and of each owner, in their own units, as notes look at them.

They are private, for curator and consumer alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dpsumm.data.kinds.label import labels_of
from dpsumm.data.kinds.number import NO_LIMITS
from dpsumm.data.schema import Schema
from dpsumm.report.thinned import thinned
from dpsumm.summary.notes.limits import MOST_CLASSES
from dpsumm.summary.protocols import Selection, Setting

# Points read of an owner below which nothing is said of it; and, as of records of the target, below
# which nothing is said of where a column lies.
FEWEST, FEW = 5, 20
# Values that are looked at, of all parties; rows of one.
MOST_VALUES, MOST_ROWS = 4_000_000, 2000

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Parties:
    """Columns of some rows of the target and of each owner, in their own units.

    Attributes
    ----------
    names
        Of the kernel's columns and, where it is a measured number, the label.
    limits : (2, c)
        Their bounds, infinite without.
    numbers : (c,)
        Which are numbers.
    target : (m, c)
        NaN where a value is missing, and in the label's column.
    owners
        The rows read of each owner, (n, c), by its place in the run's names. Owners with fewer
        than `FEWEST` records are left out.
    """

    names: list[str]
    limits: Array
    numbers: NDArray[np.bool_]
    target: Array
    owners: dict[int, Array] = field(repr=False)

    @property
    def judged(self) -> dict[int, Array]:
        """Owners of `FEW` rows and more."""
        return {i: rows for i, rows in self.owners.items() if len(rows) >= FEW}

    @classmethod
    def of(cls, selection: Selection, setting: Setting, schema: Schema) -> Self:
        """Return those of a run."""
        pool, width = selection.pool, len(schema.kernel) + 1
        label = np.full((len(pool.owner), 1), np.nan)
        if pool.records.labels is not None:
            known = labels_of(pool.records.labels.tolist())
            if known.dtype.kind in "iuf" and len(np.unique(known)) > MOST_CLASSES:
                label[:, 0] = known
        most = max(MOST_VALUES // (width * (len(setting.names) + 1)), 2 * FEW)
        parts = {}
        for i in np.flatnonzero(np.bincount(pool.owner) >= FEWEST).tolist():
            rows = thinned(np.flatnonzero(pool.owner == i), min(most, MOST_ROWS))
            parts[i] = np.hstack([pool.records.values[rows], label[rows]]).astype(np.float64)
        limits = [*((column.limits or NO_LIMITS) for column in schema.kernel), NO_LIMITS]
        numbers = [*(not column.categories for column in schema.kernel), True]
        names = [*(column.name for column in schema.kernel), "the label"]
        goal = thinned(setting.target, min(most, MOST_ROWS))
        return cls(names, np.array(limits).T, np.array(numbers), _decoded(goal, schema), parts)


def _decoded(points: NDArray[Any], schema: Schema) -> Array:
    """Return the numbers of points of the kernel's space in their own units, with NaN elsewhere."""
    found = np.full((len(points), len(schema.kernel) + 1), np.nan)
    start = 0
    for j, column in enumerate(schema.kernel):
        stop = start + len(column.how.cells)
        if not column.categories:
            low, high = column.limits or (0.0, 1.0)
            found[:, j] = low + (high - low) * points[:, start] / column.weight
            found[(points[:, start + 1 : stop] > 0).any(axis=1), j] = np.nan
        start = stop
    return found

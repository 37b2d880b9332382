"""The number columns of points, in their own units, of which notes tell."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpsumm.data.coordinates import cell_names
from dpsumm.data.schema import Schema
from dpsumm.summary.protocols import Selection

# So much at either end of a column's values is left out: marks of no value, and slips of the pen.
ENDS = 1 / 50
# Fewer values say nothing of where a column lies; nor do fewer points of one owner.
FEWEST_VALUES, FEWEST_POINTS = 20, 16

Array = NDArray[np.float64]


def fits(schema: Schema, selection: Selection) -> bool:
    """Return whether points have the columns of a schema, not coordinates of another space."""
    width: int = selection.pool.scaled.shape[1]
    return len(schema.cells) == width


def numbers_of(schema: Schema, points: NDArray[np.floating]) -> Array:
    """Return the number columns of points in the kernel's space, (n, number of them), as written.

    In their own units; NaN where a value is missing. Columns in the order of `number_columns`.
    """
    if len(schema.cells) == len(schema.kernel) and not any(c.categories for c in schema.kernel):
        low, high = np.array([column.limits or (0.0, 1.0) for column in schema.kernel]).T
        weights = np.array([column.weight for column in schema.kernel])
        plain: Array = low + (high - low) * (points / weights)
        return plain
    found, start = [], 0
    for column in schema.kernel:
        stop = start + len(cell_names(column))
        if not column.categories:
            low, high = column.limits or (0.0, 1.0)
            values = low + (high - low) * (points[:, start] / column.weight)
            values[(points[:, start + 1 : stop] > 0).any(axis=1)] = np.nan
            found.append(values)
        start = stop
    return np.column_stack(found) if found else np.empty((len(points), 0))


def quantiles(values: Array, at: tuple[float, ...]) -> Array:
    """Return quantiles of each column, (len(at), number of columns); NaN where no value is."""
    found = np.full((len(at), values.shape[1]), np.nan)
    columns = np.array(values.T, order="C")
    columns.sort()  # missing ones are at the end
    count = values.shape[0] - np.count_nonzero(np.isnan(values), axis=0)
    few = FEWEST_POINTS if (count < len(values)).any() else 1
    columns, count, there = columns[count >= few], count[count >= few], count >= few
    for row, share in zip(found, at, strict=True):
        place = share * (count - 1)
        before = np.floor(place).astype(np.int64)
        each = np.arange(len(count))
        low, high = columns[each, before], columns[each, np.minimum(before + 1, count - 1)]
        row[there] = low + (high - low) * (place - before)
    return found

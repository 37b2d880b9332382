"""Points drawn from a schema alone: public, and the same for all who have the schema."""

from __future__ import annotations

import random

import numpy as np
from numpy.typing import NDArray

from dpsumm.data.column import Column
from dpsumm.data.schema import Schema

# Share of a number column's draws that are missing, if that is encoded.
ABSENT = 0.1


def uniform_points(schema: Schema, count: int, seed: int) -> NDArray[np.float64]:
    """Return points of independent, uniform values, in the kernel's space.

    Numbers and dates are uniform in their bounds, and missing in one draw of ten if that is
    encoded; categories, `other` and missing among them, have equal chances.

    Parameters
    ----------
    schema
        All columns that the kernel sees have bounds or categories.
    count, seed
        How many; the seed is public. More of the same seed begin with the same points.

    Returns
    -------
    (count, number of cells) float64
        The same bits on every machine: Python promises the numbers of a seed, and encoding is
        basic arithmetic.
    """
    draws = random.Random(seed)  # public points: nothing rests on the generator
    units = np.array([draws.random() for _ in range(count * len(schema.kernel))])
    units = units.reshape(count, len(schema.kernel))
    codes = np.column_stack([_codes(c, units[:, j]) for j, c in enumerate(schema.kernel)])
    return np.asarray(schema.encode(codes)[0], dtype=np.float64)


def _codes(column: Column, units: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return values as `Schema.encode` takes them, from uniform numbers in [0, 1)."""
    if column.categories:
        known = len(column.categories) + (column.other is not None)
        codes = np.floor(units * (known + column.encodes_missing))
        return np.where(codes == known, np.nan, codes)
    assert column.limits is not None
    low, high = column.limits
    if not column.encodes_missing:
        return low + units * (high - low)
    # One number for both: which side of ABSENT it is on, and where it is beyond.
    place = (units - ABSENT) / (1 - ABSENT)
    return np.where(units < ABSENT, np.nan, low + place * (high - low))

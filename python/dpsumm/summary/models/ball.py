"""Records as vectors of norm at most 1, each by itself and by public facts."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpsumm.data.column import Column
from dpsumm.data.schema import Schema
from dpsumm.errors import InvalidParameterError

# What three rounded operations and a square root could add to a norm, and far more.
_MARGIN = 1 - 2.0**-40


@dataclass(frozen=True, eq=False)
class Ball:
    """The map from points of the kernel's space into the unit ball: ``(z, 1) / sqrt(2)``.

    z is the point less the centre, divided by `norm` and shortened to length 1 if it is longer. The
    last coordinate is the model's constant.

    Claim
        Every image has norm at most 1, and depends on its own record and public facts alone: to the
        last bit, on every processor.
    Argument
        Columns are taken one after another: each operation is one of IEEE 754's rounded ones, and
        no row meets another. The squares' rounding, relative ``(c + 3) 2**-53``, is below the
        margin of ``2**-40`` for up to 4,000 coordinates (more are refused).
    Tested by
        tests/summary/test_model_parts.py

    Attributes
    ----------
    centre : (e,) float64
        The middle of the bounds, or 0 without bounds.
    norm
        Public length, above 0.
    """

    centre: NDArray[np.float64]
    norm: float

    @classmethod
    def of(cls, schema: Schema, norm: float | None) -> Ball:
        """Return the map for a schema. Without `norm` no value in the bounds is shortened.

        Raises
        ------
        InvalidParameterError
            No `norm`, and a column has neither bounds nor categories. Or too many coordinates.
        """
        if len(schema.cells) > 4000:
            raise InvalidParameterError(
                f"schema: a private model takes at most 4000 coordinates, got {len(schema.cells)}"
            )
        if norm is None and not schema.bounded:
            raise InvalidParameterError(
                "norm must be given, a public number to which points are shortened: not every "
                "column has bounds or categories"
            )
        centre, squared = [], 0.0
        for column in schema.kernel:
            middle, most = _extent(column)
            centre += [middle, *[0.0] * (_width(schema, column) - 1)]
            squared += most
        return cls(np.array(centre), math.sqrt(squared) if norm is None else float(norm))

    def __call__(self, points: NDArray[np.floating]) -> NDArray[np.float64]:
        """Return (n, e + 1) float64 vectors of norm at most 1 for (n, e) points."""
        z = (points.astype(np.float64) - self.centre) / self.norm
        squared = np.zeros(len(z))
        for column in z.T:
            squared += column * column
        z /= np.maximum(np.sqrt(squared), 1.0)[:, None]
        with_constant = np.column_stack([z, np.ones(len(z))])
        return np.ascontiguousarray(with_constant * (_MARGIN * math.sqrt(0.5)))


def _extent(column: Column) -> tuple[float, float]:
    """Return the first cell's middle, and the most a value adds to the squared norm about it."""
    w = column.weight
    if column.categories and not column.ordered:
        return 0.0, w * w / 2
    if column.categories or column.bounds is not None:
        return w / 2, w * w / 4
    return 0.0, 0.0


def _width(schema: Schema, column: Column) -> int:
    return len(Schema([column]).cells)

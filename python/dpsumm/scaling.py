"""Public bounds: the only scaling that costs no privacy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpsumm.errors import InvalidParameterError

# Column name to (low, high), in the column's units.
Bounds: TypeAlias = Mapping[str, tuple[float, float]]


def check_bounds(bounds: Bounds, columns: Sequence[str], where: str) -> None:
    """Refuse bounds of unknown columns, and bounds that are not finite with ``low < high``.

    Raises
    ------
    InvalidParameterError
        Naming the column and the bounds, which are public.
    """
    for column, pair in bounds.items():
        if column not in columns:
            raise InvalidParameterError(
                f"bounds: {where} has no column {column!r}; the columns are {listed(columns)}"
            )
        try:
            low, high = (float(bound) for bound in pair)
        except (TypeError, ValueError):
            raise InvalidParameterError(
                f"bounds: column {column!r} needs a pair of numbers (low, high)"
            ) from None
        # The width must be finite too: -1e308 to 1e308 would scale everything to 0.
        if not (low < high and np.isfinite(low) and np.isfinite(high - low)):
            raise InvalidParameterError(
                f"bounds: column {column!r} needs finite low < high, got ({low:g}, {high:g})"
            )


def to_unit_box(
    values: NDArray[Any], columns: Sequence[str], bounds: Bounds
) -> tuple[NDArray[Any], tuple[int, ...]]:
    """Return the points with bounded columns clipped and scaled to [0, 1], and what was clipped.

    Parameters
    ----------
    values : (n, c) float32 or float64
        Not changed.
    columns
        Names of the c columns.
    bounds
        Checked by `check_bounds`; other columns are copied as they are.

    Returns
    -------
    scaled : (n, c), type of `values`, C-contiguous
    n_clipped
        Values outside the bounds, for each of the c columns.
    """
    scaled = np.array(values, order="C")
    n_clipped = [0] * len(columns)
    for column, (low, high) in bounds.items():
        j = list(columns).index(column)
        exact = values[:, j].astype(np.float64)
        n_clipped[j] = int(np.count_nonzero((exact < low) | (exact > high)))
        scaled[:, j] = (np.clip(exact, low, high) - low) / (high - low)
    return scaled, tuple(n_clipped)


def listed(names: Sequence[str], at_most: int = 12) -> str:
    """Return names for a message, the first few of many."""
    shown = ", ".join(repr(name) for name in names[:at_most])
    return shown if len(names) <= at_most else f"{shown} and {len(names) - at_most} more"

"""Data of the benches: made from seeds, the same for every contender."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

COLUMNS = 64


def normals(n: int, columns: int = COLUMNS, shift: float = 0.0, seed: int = 0) -> NDArray[Any]:
    """Return (n, columns) float64 normal points around `shift`."""
    return np.random.default_rng([seed, n, columns]).normal(shift, 1.0, (n, columns))


def gamma(columns: int = COLUMNS) -> float:
    """Return the bandwidth for :func:`normals`: 1 / the mean squared distance of two points."""
    return 1.0 / (2 * columns)

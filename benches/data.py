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


def shape(kind: str, n: int, m: int, columns: int, shift: float, width: float) -> tuple[Any, ...]:
    """Return n points, m of a target, and gamma: `width` is the kernel's in median distances."""
    rng = np.random.default_rng([n, m, columns])
    if kind == "uniform":
        points, target = rng.uniform(-1, 1, (n, columns)), rng.uniform(-1, 1, (m, columns))
    elif kind == "heavy tails":
        points, target = rng.standard_t(3, (n, columns)), rng.standard_t(3, (m, columns))
    elif kind == "clusters":
        centres = rng.normal(0, 3, (20, columns))
        points = centres[rng.integers(20, size=n)] + rng.normal(size=(n, columns))
        target = centres[rng.integers(5, size=m)] + rng.normal(size=(m, columns))
    else:
        points, target = rng.normal(size=(n, columns)), rng.normal(size=(m, columns))
    if kind == "copies":
        points = points[rng.integers(n // 20, size=n)]
    squares = ((points[:200, None] - points[None, 200:400]) ** 2).sum(axis=2)
    return points, target + shift, 1 / float(np.median(squares)) / width**2

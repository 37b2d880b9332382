"""Whitened functions of the points: columns, waves and a neighbour graph, in one basis.

Made of public points alone, so that it may be sent to everybody. It is a choice of features: what
it does at a point, it does alike at parties, on public points and in predictions.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsumm.ensemble.students.bases import Array, Features, Linear, Neighbours, Random
from dpsumm.exchange.fields import is_array, is_number, is_whole
from dpsumm.kernels import nearest

# Of the graph: neighbours of a point. Public points that the basis is made of, at most.
_NEIGHBOURS, MOST_POINTS = 10, 5000
# Standardised values are cut here: beyond, squares would overflow.
_FAR = 1e6
# Columns are in different units where their widths differ by more than this.
_UNEVEN = 10.0
# Directions below this part of the largest are numerical noise.
_RANK = 1e-6


@dataclass(frozen=True, eq=False)
class Whitened(Features):
    """The map from a point x, (d,), to a(x), (m,), of mean 0 and covariance 1 on public points.

    A point whose ``spread``-weighted length is above sqrt(m) is pulled in to that. One with a
    missing value is NaN throughout.

    Attributes
    ----------
    mean, width : (d,)
        Columns enter as ``(x - mean) / width``.
    blocks, sizes
        Functions of these, side by side. Each block is divided by its size.
    centre : (f,), whiten : (f, m)
        ``(blocks - centre) @ whiten`` is a(x) before it is pulled in.
    spread : (m,)
        Standard deviations of the directions before whitening, descending.
    """

    mean: Array = field(repr=False)
    width: Array = field(repr=False)
    blocks: tuple[Features, ...]
    sizes: tuple[float, ...]
    centre: Array = field(repr=False)
    whiten: Array = field(repr=False)
    spread: Array = field(repr=False)

    def of(self, points: Array) -> Array:
        """See `Features.of`."""
        scaled, missing = standardised(points, self.mean, self.width)
        raw = [b.of(scaled) / size for b, size in zip(self.blocks, self.sizes, strict=True)]
        a = (np.hstack(raw) - self.centre) @ self.whiten
        length = np.linalg.norm(a * np.sqrt(self.spread / self.spread.mean()), axis=1)
        a *= np.minimum(1.0, np.sqrt(a.shape[1]) / (length + 1e-300))[:, None]
        a[missing] = np.nan
        return np.asarray(a)


def whitened(
    points: Array, *, dimensions: int, waves: int = 0, eigenvectors: int = 0, leading: int = 1
) -> Whitened:
    """Return the leading directions of functions of (N, d) public points.

    Parameters
    ----------
    dimensions
        m, at most. Fewer where the points have fewer.
    waves
        Paired random frequencies (`Random`), as wide as the points' median distance.
    eigenvectors
        Smoothest functions on the points' neighbour graph.
    leading
        L: the j-th smoothest, from 0, weighs ``1 / (1 + j / L)``. Classes follow the smoothest, and
        directions of little weight take little of a noisy message.
    """
    points = sample(points, MOST_POINTS)
    mean, width = points.mean(0), _widths(points)
    scaled, _ = standardised(points, mean, width)
    blocks: list[Features] = [Linear()]
    if waves:
        half = min(500, len(scaled) // 2)
        one, two = scaled[:half], scaled[half : 2 * half]
        squared = (one**2).sum(1)[:, None] - 2 * one @ two.T + (two**2).sum(1)
        gamma = 0.5 / max(float(np.median(squared)), 1e-12)
        blocks.append(Random(gamma, points.shape[1], 2 * waves))
    if eigenvectors:
        graph = _smoothest(scaled, min(eigenvectors, len(points) // 4))
        weight = 1 / (1 + np.arange(graph.vectors.shape[1]) / leading)
        blocks.append(replace(graph, vectors=graph.vectors * weight))
    values = [block.of(scaled) for block in blocks]
    sizes = tuple(float(np.sqrt(v.var(0).sum())) or 1.0 for v in values)
    raw = np.hstack([v / size for v, size in zip(values, sizes, strict=True)])
    centre = raw.mean(0)
    spread, directions = np.linalg.svd(raw - centre, full_matrices=False)[1:]
    m = max(1, min(dimensions, int((spread > _RANK * spread[0]).sum())))
    spread = np.maximum(spread[:m] / np.sqrt(len(points)), 1e-12)
    return Whitened(mean, width, tuple(blocks), sizes, centre, directions[:m].T / spread, spread)


def sample(points: Array, most: int) -> Array:
    """Return at most so many public points, always the same ones, in no order of theirs."""
    return points[np.random.default_rng(0).permutation(len(points))[:most]]


def standardised(points: Array, mean: Array, width: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Return columns less mean over width, cut where they are far off, and which rows lack one."""
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = np.clip((points - mean) / width, -_FAR, _FAR)
    missing = np.asarray(np.isnan(scaled).any(axis=1))
    scaled[missing] = 0.0
    return scaled, missing


def _widths(points: Array) -> Array:
    """Return what columns are divided by: 1, or where units differ the range of most values."""
    low, first, last, high = np.quantile(points, [0.0, 0.01, 0.99, 1.0], axis=0)
    width = np.where(last > first, last - first, high - low)
    known = width[width > 0]
    if not len(known):
        return np.ones(points.shape[1])
    few, many = np.quantile(known, [0.1, 0.9])
    if max(many / few, known.max() / np.median(known)) <= _UNEVEN:
        return np.ones(points.shape[1])
    return np.where(width > 0, width, 1.0)


def _smoothest(points: Array, count: int) -> Neighbours:
    """Return the smoothest functions on the neighbour graph: eigenvectors, the constant aside.

    At other points they are means over the ten neighbours.
    """
    from scipy import sparse
    from scipy.sparse.linalg import ArpackNoConvergence, eigsh

    n = len(points)
    near = min(_NEIGHBOURS, n - 1)
    place, squared = nearest(points, points, near + 1)
    # Not itself, wherever among duplicates it came.
    itself = place == np.arange(n)[:, None]
    itself[~itself.any(1), -1] = True
    place, squared = place[~itself].reshape(n, near), squared[~itself].reshape(n, near)
    width = float(np.median(squared)) + 1e-12
    weight = np.exp(-squared / width) + 1e-9
    rows = np.repeat(np.arange(n), near)
    graph = sparse.csr_matrix((weight.ravel(), (rows, place.ravel())), (n, n))
    graph = graph.maximum(graph.T)
    root = sparse.diags(np.asarray(graph.sum(1)).ravel() ** -0.5)
    start = np.random.default_rng(0).normal(size=n)
    try:
        values, vectors = eigsh(
            root @ graph @ root, k=count + 1, which="LA", v0=start, maxiter=2000, tol=1e-3
        )
    except ArpackNoConvergence as stopped:
        values, vectors = np.real(stopped.eigenvalues), np.real(stopped.eigenvectors)
    vectors = vectors[:, np.argsort(-values)][:, 1:] * np.sqrt(n)
    return Neighbours(points, np.ascontiguousarray(vectors), width)


def is_whitened(value: Any) -> bool:
    """Return whether a value from a message is a basis whose parts fit each other."""
    if not isinstance(value, Whitened):
        return False
    rows = (value.mean, value.width, value.centre, value.spread)
    if not all(is_array(one, 1, "f8") and np.isfinite(one).all() for one in rows):
        return False
    d, m = len(value.mean), len(value.spread)
    counts = [_count(block, d) for block in value.blocks]
    return (
        min(d, m, *counts) >= 1
        and len(value.width) == d
        and bool((value.width > 0).all() and (value.spread > 0).all())
        and len(value.sizes) == len(counts)
        and all(map(is_number, value.sizes))
        and is_array(value.whiten, 2, "f8")
        and value.whiten.shape == (sum(counts), m)
        and len(value.centre) == sum(counts)
        and bool(np.isfinite(value.whiten).all())
    )


def _count(block: object, d: int) -> int:
    """Return how many functions a block from a message has at points of d columns; 0 if none."""
    match block:
        case Linear():
            return d
        case Random(gamma, n_columns, n_features):
            fits = is_number(gamma) and is_whole(n_features, 2**14) and n_columns == d
            return n_features if fits else 0
        case Neighbours(points, vectors, width):
            both = is_array(points, 2, "f8") and is_array(vectors, 2, "f8") and is_number(width)
            fits = both and len(points) > 0 and points.shape == (len(vectors), d)
            finite = fits and np.isfinite(points).all() and np.isfinite(vectors).all()
            return int(vectors.shape[1]) if finite else 0
    return 0

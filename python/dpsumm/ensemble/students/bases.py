"""Bases of functions on public points, in which noisy votes are smoothed.

Only public points enter, at the consumer alone. So the last bits of NumPy and SciPy reach no
release.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dpsumm import kernels

Array = NDArray[np.float64]

# The bias is a constant feature inside the norm bound: appended after clipping it would break the
# sensitivity.
CONSTANT = 0.3
# Eigenvalues below this part of the largest are numerical noise.
_RANK = 1e-7
# Paired frequencies of a random-features basis; its bandwidths in units of the points' own.
_FREQUENCIES = 300
BANDWIDTHS = (1.0, 3.0)
RIDGES = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)
# Of the graph: neighbours, eigenvectors, and cut-offs that are tried.
_NEIGHBOURS, _LEADING = 10, 100
CUTS = (10, 20, 30, 50, 99)
# Above these the eigen-solver stalls, or distances take minutes: there is no graph then.
_MOST_COMPONENTS, _MOST_ITERATIONS, MOST_GRAPH_POINTS = 20, 20, 20_000


def inside(points: Array, radius: float) -> Array:
    """Return points as features of norm at most 1, with the constant among them, (n, d + 1)."""
    scaled = points / radius
    scaled = scaled / np.maximum(1.0, np.linalg.norm(scaled, axis=1, keepdims=True))
    constant = np.full((len(points), 1), CONSTANT)
    return np.hstack([math.sqrt(1 - CONSTANT**2) * scaled, constant])


class Features(ABC):
    """Functions that new points are sent through, whose span has the basis."""

    @abstractmethod
    def of(self, points: Array) -> Array:
        """Return (n, f) values at (n, d) points."""


@dataclass(frozen=True, eq=False)
class Basis:
    """An orthonormal basis on the public points, with candidates for smoothing in it.

    Attributes
    ----------
    vectors : (N, r + 1)
        Orthonormal columns. The first is constant.
    extension : (f + 1, r + 1)
        ``[1, features.of(x)] @ extension`` are the basis functions at x.
    """

    name: str
    vectors: Array
    filters: dict[str, Array]
    extension: Array
    features: Features

    def at(self, points: Array) -> Array:
        """Return the basis functions at new points, (n, r + 1)."""
        values = self.features.of(points)
        return np.asarray(self.extension[0] + values @ self.extension[1:])


@dataclass(frozen=True)
class Linear(Features):
    """The coordinates themselves."""

    def of(self, points: Array) -> Array:
        """See `Features.of`."""
        return points


@dataclass(frozen=True)
class Random(Features):
    """Random features of a Gaussian kernel (`dpsumm.kernels.RandomFeatures`)."""

    gamma: float
    n_columns: int
    n_features: int = 2 * _FREQUENCIES

    @cached_property
    def _map(self) -> kernels.RandomFeatures:
        return kernels.RandomFeatures(self.n_columns, self.n_features, gamma=self.gamma, seed=1)

    def of(self, points: Array) -> Array:
        """See `Features.of`."""
        return self._map.transform(points).astype(np.float64, copy=False)


@dataclass(frozen=True, eq=False)
class Neighbours(Features):
    """Eigenvectors of the nearest-neighbour graph, averaged over the neighbours (Nystroem).

    Attributes
    ----------
    points : (N, d)
        The public points.
    vectors : (N, m)
        On these.
    """

    points: Array = field(repr=False)
    vectors: Array = field(repr=False)
    width: float

    def of(self, points: Array) -> Array:
        """See `Features.of`."""
        place, squared = kernels.nearest(points, self.points, min(_NEIGHBOURS, len(self.points)))
        weight = np.exp(-(squared - squared.min(1, keepdims=True)) / self.width)
        weight /= weight.sum(1, keepdims=True)
        return np.asarray(np.einsum("nk,nkm->nm", weight, self.vectors[place]))


def squared_scale(points: Array) -> float:
    """Return the median squared distance of points, from at most 500 pairs of halves; 1 for 0."""
    half = min(500, len(points) // 2)
    first, second = points[:half], points[half : 2 * half]
    squared = (
        ((first[:, None] - second[None]) ** 2).sum(2) if half <= 100 else _squared(first, second)
    )
    return float(np.median(squared)) or 1.0


def feature_basis(name: str, features: Features, points: Array) -> Basis:
    """Return the eigenvectors of features' covariance on the points, with ridge filters."""
    values = features.of(points)
    mean = values.mean(0)
    values = values - mean
    spectrum, vectors = np.linalg.eigh(values.T @ values)
    order = np.argsort(-spectrum)
    order = order[spectrum[order] > max(_RANK * spectrum.max(), 0.0)]
    spectrum, vectors = spectrum[order], vectors[:, order] / np.sqrt(spectrum[order])
    constant = 1 / math.sqrt(len(points))
    shares = spectrum / spectrum[0] if len(spectrum) else spectrum
    extension = np.zeros((values.shape[1] + 1, len(spectrum) + 1))
    extension[0, 0] = constant
    extension[0, 1:] = -mean @ vectors
    extension[1:, 1:] = vectors
    return Basis(
        name,
        np.hstack([np.full((len(points), 1), constant), values @ vectors]),
        {f"ridge {ridge:g}": np.r_[1.0, shares / (shares + ridge)] for ridge in RIDGES},
        extension,
        features,
    )


def graph_basis(points: Array) -> Basis | None:
    """Return leading eigenvectors of the points' nearest-neighbour graph, with cut-offs.

    None where such a graph says little or costs too much, because it falls into many pieces, as
    tables of categories do, the eigen-solver does not converge, or there are too many points.
    """
    from scipy import sparse
    from scipy.sparse.csgraph import connected_components
    from scipy.sparse.linalg import ArpackNoConvergence, eigsh

    n = len(points)
    if not 2 * _LEADING < n <= MOST_GRAPH_POINTS:
        return None
    place, squared = kernels.nearest(points, points, _NEIGHBOURS + 1)
    # Not itself, wherever among duplicates it came.
    itself = place == np.arange(n)[:, None]
    itself[~itself.any(1), -1] = True
    place = place[~itself].reshape(n, _NEIGHBOURS)
    squared = squared[~itself].reshape(n, _NEIGHBOURS)
    width = float(np.median(squared))
    if width == 0:
        return None
    rows = np.repeat(np.arange(n), _NEIGHBOURS)
    weight = sparse.csr_matrix((np.exp(-squared / width).ravel(), (rows, place.ravel())), (n, n))
    weight = weight.maximum(weight.T)
    if connected_components(weight, directed=False)[0] > _MOST_COMPONENTS:
        return None
    degree = np.asarray(weight.sum(1)).ravel()
    scaled = sparse.diags(1 / np.sqrt(degree))
    try:
        values, vectors = eigsh(
            scaled @ weight @ scaled,
            k=_LEADING,
            which="LA",
            v0=np.ones(n),
            maxiter=_MOST_ITERATIONS,
            tol=1e-4,
        )
    except ArpackNoConvergence:
        return None
    order = np.argsort(-values)
    # Those of no positive value do not extend to new points.
    order = order[values[order] > 1e-6]
    vectors, values = vectors[:, order] / np.sqrt(degree)[:, None], values[order]
    table = np.hstack([np.ones((n, 1)), vectors])
    # The constant is among the vectors of the largest value: one of these says nothing new.
    new = np.abs(np.diag(np.linalg.qr(table, mode="r"))) > 1e-6 * np.linalg.norm(table, axis=0)
    basis, triangle = np.linalg.qr(table[:, new])
    vectors, values = vectors[:, new[1:]], values[new[1:]]
    # A new point's eigenvector is its neighbours' mean over the eigenvalue.
    extension = np.linalg.inv(triangle)
    extension[1:] /= values[:, None]
    count = len(values)
    return Basis(
        "graph",
        basis,
        {f"first {m}": np.r_[1.0, np.arange(count) < m] for m in CUTS if m <= count},
        extension,
        Neighbours(points, vectors, width),
    )


def _squared(points: Array, others: Array) -> Array:
    away = (points**2).sum(1)[:, None] - 2 * points @ others.T + (others**2).sum(1)
    return np.asarray(np.maximum(away, 0.0))

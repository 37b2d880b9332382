"""Classifiers as plain numbers, which may leave a party if the points may not come to it.

No code travels and nothing is unpickled. A declared classifier of any numbers votes within the
bounds of any other, because reading checks shapes, ranges and that trees end.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsumm.ensemble.rows import grid_votes, hard_votes
from dpsumm.ensemble.terms import Terms
from dpsumm.exchange.fields import is_array

Array = NDArray[np.float64]
MOST_BYTES = 2**24
# Levels of all trees of one classifier: the steps that it takes to vote on a point. And these times
# points, of all classifiers of a party: some minutes.
MOST_STEPS, MOST_WORK = 2**14, 2**34
# Points that are voted on at once.
_ROWS = 2**16


@dataclass(frozen=True, eq=False)
class Declared(ABC):
    """Classifiers of one kind, one for each of J shards, as arrays.

    Attributes
    ----------
    known : (J, K) bool
        Which classes each can vote for. One that knows none abstains.
    """

    known: NDArray[np.bool_] = field(repr=False)

    @property
    def probabilities(self) -> bool:
        """Whether `log_chances` are of probabilities. Only these can fill a grid above 1."""
        return True

    @abstractmethod
    def log_chances(self, points: Array, shard: int) -> Array:
        """Return scores of the classes at (N, d) points, (N, K). The largest known one wins."""

    @abstractmethod
    def fits(self, n_columns: int) -> bool:
        """Return whether every array has its type, shape and range. Fields can hold anything."""

    def steps(self, shard: int) -> int:
        """Return how often a shard's classifier looks at a point."""
        return 1

    def votes(self, points: Array, terms: Terms) -> NDArray[np.int64]:
        """Return the votes of all shards together, (N, K).

        One that takes too many steps for so many points abstains, since that may depend on one
        record.
        """
        most = MOST_WORK // (terms.shards * terms.n_points)
        quick = [shard for shard in range(terms.shards) if self.steps(shard) <= most]
        starts = range(0, terms.n_points, _ROWS)
        return np.concatenate([self._votes(points[i : i + _ROWS], terms, quick) for i in starts])

    def _votes(self, points: Array, terms: Terms, shards: list[int]) -> NDArray[np.int64]:
        total = np.zeros((len(points), terms.n_classes), dtype=np.int64)
        for shard in shards:
            known = self.known[shard]
            if not known.any():
                continue
            with np.errstate(all="ignore"):
                scores = np.where(known, self.log_chances(points, shard), -np.inf)
                scores = np.where(np.isnan(scores), -np.inf, scores)
                if terms.grid == 1:
                    # All weight on a class that is not listed: it abstains.
                    some = np.isfinite(scores.max(1))
                    total += hard_votes(np.where(some, scores.argmax(1), -1), terms)
                else:
                    total += grid_votes(np.exp(scores - scores.max(1, keepdims=True)), terms)
        return total

    @property
    def shards(self) -> int:
        """J."""
        return len(self.known)

    @property
    def n_bytes(self) -> int:
        """Size of the arrays."""
        return sum(value.nbytes for value in vars(self).values() if isinstance(value, np.ndarray))


@dataclass(frozen=True, eq=False)
class Linear(Declared):
    """Scores ``x @ weights + bias``: linear classifiers, multinomial and Bernoulli naive Bayes.

    Attributes
    ----------
    weights : (J K, d)
    bias : (J, K)
    """

    weights: Array = field(repr=False)
    bias: Array = field(repr=False)
    above: float | None
    softmax: bool

    @property
    def probabilities(self) -> bool:
        """See `Declared.probabilities`."""
        return self.softmax

    def log_chances(self, points: Array, shard: int) -> Array:
        """See `Declared.log_chances`."""
        k = self.bias.shape[1]
        if self.above is not None:
            points = (points > self.above).astype(np.float64)
        return np.asarray(points @ self.weights[shard * k : (shard + 1) * k].T + self.bias[shard])

    def fits(self, n_columns: int) -> bool:
        """See `Declared.fits`."""
        return (
            _is_finite(self.weights, (self.known.size, n_columns))
            and _is_finite(self.bias, self.known.shape)
            and (self.above is None or (type(self.above) is float and np.isfinite(self.above)))
            and type(self.softmax) is bool
        )


@dataclass(frozen=True, eq=False)
class GaussianBayes(Declared):
    """Gaussian naive Bayes.

    Attributes
    ----------
    mean, variance : (J K, d)
    log_prior : (J, K)
    """

    mean: Array = field(repr=False)
    variance: Array = field(repr=False)
    log_prior: Array = field(repr=False)

    def log_chances(self, points: Array, shard: int) -> Array:
        """See `Declared.log_chances`."""
        k = self.log_prior.shape[1]
        scores = np.empty((len(points), k))
        for place in range(k):
            mean, variance = self.mean[shard * k + place], self.variance[shard * k + place]
            scores[:, place] = -0.5 * (np.log(2 * np.pi * variance)).sum()
            scores[:, place] -= 0.5 * ((points - mean) ** 2 / variance).sum(1)
        return np.asarray(scores + self.log_prior[shard])

    def fits(self, n_columns: int) -> bool:
        """See `Declared.fits`."""
        rows = (self.known.size, n_columns)
        return (
            _is_finite(self.mean, rows)
            and _is_finite(self.variance, rows)
            and bool((self.variance > 0).all())
            and _is_finite(self.log_prior, self.known.shape)
        )


@dataclass(frozen=True, eq=False)
class Forest(Declared):
    """Trees and forests vote by the mean of the leaves' shares.

    Attributes
    ----------
    tree_shard : (t,) int32
        Shard of each tree, ascending.
    roots : (t,) int32
        First node of each tree, ascending.
    left, right : (n,) int32
        Children: later nodes. -1 for a leaf.
    feature : (n,) int32
        Column that is compared.
    threshold : (n,) float64
        At most this, in single precision, goes to the left.
    values : (n, K) float64
        Shares of the classes.
    """

    tree_shard: NDArray[np.int32] = field(repr=False)
    roots: NDArray[np.int32] = field(repr=False)
    left: NDArray[np.int32] = field(repr=False)
    right: NDArray[np.int32] = field(repr=False)
    feature: NDArray[np.int32] = field(repr=False)
    threshold: Array = field(repr=False)
    values: Array = field(repr=False)

    def log_chances(self, points: Array, shard: int) -> Array:
        """See `Declared.log_chances`."""
        with np.errstate(over="ignore"):
            single = points.astype(np.float32)
        total = np.zeros((len(points), self.values.shape[1]))
        for root in self.roots[self.tree_shard == shard]:
            node = np.full(len(points), root)
            inside = np.flatnonzero(self.left[node] >= 0)
            while len(inside):
                at = node[inside]
                goes_left = single[inside, self.feature[at]] <= self.threshold[at]
                node[inside] = np.where(goes_left, self.left[at], self.right[at])
                inside = inside[self.left[node[inside]] >= 0]
            total += self.values[node]
        return np.asarray(np.log(total))

    def fits(self, n_columns: int) -> bool:
        """See `Declared.fits`."""
        n, t = len(self.left), len(self.roots)
        own = np.arange(n)
        leaf = self.left == -1
        return (
            all(is_array(x, 1, "i4") and len(x) == n for x in (self.left, self.right, self.feature))
            and all(is_array(x, 1, "i4") and len(x) == t for x in (self.tree_shard, self.roots))
            and bool((np.diff(self.tree_shard) >= 0).all() and (np.diff(self.roots) > 0).all())
            and _is_finite(self.threshold, (n,))
            and _is_finite(self.values, (n, self.known.shape[1]))
            and bool((self.values >= 0).all())
            and bool(((self.roots >= 0) & (self.roots < n)).all())
            # Children come later, and before the next tree: every way down ends.
            and bool(((self.left > own) & (self.left < self._ends(n)) | leaf).all())
            and bool(((self.right > own) & (self.right < self._ends(n)) | leaf).all())
            and bool(((self.feature >= 0) & (self.feature < n_columns) | leaf).all())
            and self._are_trees()
            and self._levels(self.roots) <= MOST_STEPS * self.shards
            and bool(((self.tree_shard >= 0) & (self.tree_shard < self.shards)).all())
        )

    def _ends(self, n: int) -> NDArray[np.int64]:
        """Return for each of n nodes where the next tree begins, (n,)."""
        after = np.searchsorted(self.roots, np.arange(n), side="right")
        return np.append(self.roots, n).astype(np.int64)[after]

    def _are_trees(self) -> bool:
        """Return whether no node is a child twice."""
        children = np.concatenate([side[side >= 0] for side in (self.left, self.right)])
        return len(np.unique(children)) == len(children)

    def steps(self, shard: int) -> int:
        """See `Declared.steps`: the levels of its trees."""
        return self._levels(self.roots[self.tree_shard == shard])

    def _levels(self, level: NDArray[np.int32]) -> int:
        """Return the levels of the trees of some roots, counted as far as is needed."""
        steps = 0
        while len(level) and steps <= MOST_STEPS * self.shards:
            steps += len(np.unique(np.searchsorted(self.roots, level, side="right")))
            inside = level[self.left[level] >= 0]
            level = np.concatenate([self.left[inside], self.right[inside]])
        return steps


def is_declared(value: Any, n_columns: int) -> bool:
    """Return whether a value from a message is such classifiers, of so many columns."""
    return (
        isinstance(value, Declared)
        and is_array(value.known, 2, "?")
        and value.fits(n_columns)
        and value.n_bytes <= MOST_BYTES
    )


def _is_finite(value: Any, shape: tuple[int, ...]) -> bool:
    return (
        is_array(value, len(shape), "f8")
        and value.shape == shape
        and bool(np.isfinite(value).all())
    )

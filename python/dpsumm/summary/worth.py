"""What each owner's points are worth to a summary: a value that does not depend on their order.

The owners with points in the summary play a game: a coalition T has ``v(T) = J(S_T)``, where S_T
are its points of the summary, and ``v`` of no owner is 0. The Shapley value of an owner is its
addition to v on average over all orders in which owners may join, so equal owners get equal values
and all values together are ``J(summary)``. For curator and consumer: a function of raw data.

Only the core's kernel sums and sums, products and quotients one by one enter. So values are the
same on every processor.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsumm import kernels

# So many owners have 4,096 coalitions; more are valued by samples of orders.
MOST_EXACT = 12
# Pairs of an order and its reverse, fewer for very many owners.
MOST_PAIRS, LEAST_PAIRS = 128, 16
EFFORT = 10_000_000
# Parts of points and target that are left out in turn to see how much a value would move.
PARTS = 10

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Worth:
    """Values of owners (K,), and how far each may be off.

    Attributes
    ----------
    errors
        Standard errors. They are how much the value moves with other points and target records of
        the same kind (jackknife over tenths), and with the orders that were sampled.
    """

    values: Array
    errors: Array


@dataclass(frozen=True)
class Game:
    """Sums over owners' points, from which v of every coalition follows.

    Attributes
    ----------
    count : (n,)
        Points of each player.
    near : (n,)
        Sum of their mean kernels with the target.
    own : (n, n)
        Sums of the kernel over pairs of points, of one player and another.
    """

    count: Array
    near: Array
    own: Array

    def values(self, most_pairs: int = MOST_PAIRS) -> tuple[Array, Array]:
        """Return the players' Shapley values, and standard errors of sampling them."""
        n = len(self.count)
        if n <= MOST_EXACT:
            return self._exact(), np.zeros(n)
        return self._sampled(min(most_pairs, max(LEAST_PAIRS, EFFORT // (n * n))))

    def _exact(self) -> Array:
        n = len(self.count)
        count = near = quad = np.zeros(1)
        # Coalitions by the bits of their number: those with player i follow those without.
        for i in range(n):
            cross = np.zeros(1)
            for j in range(i):
                cross = np.concatenate([cross, cross + self.own[i, j]])
            count = np.concatenate([count, count + self.count[i]])
            near = np.concatenate([near, near + self.near[i]])
            quad = np.concatenate([quad, quad + self.own[i, i] + 2.0 * cross])
        value = _objective(count, near, quad)
        numbers = np.arange(2**n)
        sizes = np.array([number.bit_count() for number in range(2**n)])
        weight = np.array([1.0 / (n * math.comb(n - 1, size)) for size in range(n)])
        found = []
        for i in range(n):
            without = numbers[(numbers >> i) & 1 == 0]
            gains = weight[sizes[without]] * (value[without + (1 << i)] - value[without])
            found.append(math.fsum(gains))
        return np.array(found)

    def _sampled(self, pairs: int) -> tuple[Array, Array]:
        n = len(self.count)
        rng = np.random.default_rng(0)  # public: the orders are the same for every summary
        means = np.empty((pairs, n))
        for pair in range(pairs):
            order = rng.permutation(n)
            means[pair] = (self._gains(order) + self._gains(order[::-1])) / 2
        values = np.cumsum(means, axis=0)[-1] / pairs
        return values, means.std(axis=0, ddof=1) / math.sqrt(pairs)

    def _gains(self, order: NDArray[np.int64]) -> Array:
        """Return what each player adds to v when they join in this order."""
        ordered = self.own[np.ix_(order, order)]
        # Pairs with those who came before, counted twice, and with itself once.
        before = np.cumsum(ordered, axis=1).diagonal()
        quad = np.cumsum(2.0 * before - ordered.diagonal())
        value = _objective(np.cumsum(self.count[order]), np.cumsum(self.near[order]), quad)
        gains = np.empty(len(order))
        gains[order] = np.diff(value, prepend=0.0)
        return gains


def _objective(count: Array, near: Array, quad: Array) -> Array:
    """Return J of coalitions, 0 for one without points."""
    some = np.maximum(count, 1.0)
    value: Array = 2.0 * near / some - quad / (some * some)
    return value


def worth_of(
    points: NDArray[Any], owner: NDArray[np.int64], target: NDArray[Any], gamma: float, n: int
) -> Worth:
    """Return what the points of each of n owners are worth, in the kernel's space."""
    values, errors = np.zeros(n), np.zeros(n)
    players, who = np.unique(owner, return_inverse=True)
    whole, parts = _games(points, who.astype(np.int64), target, gamma, len(players))
    values[players], sampling = whole.values()
    # The same few orders in all of them, so that these do not add to the differences.
    moved = np.array([part.values(LEAST_PAIRS)[0] for part in parts])
    spread = np.square(moved - moved.mean(axis=0)).sum(axis=0)
    jackknife = (len(parts) - 1) / len(parts) * spread
    errors[players] = np.sqrt(jackknife + np.square(sampling))
    return Worth(values, errors)


def _games(
    points: NDArray[Any], who: NDArray[np.int64], target: NDArray[Any], gamma: float, n: int
) -> tuple[Game, list[Game]]:
    """Return the game, and those without each part of points and target in turn."""
    points, target = (np.ascontiguousarray(x, np.float64) for x in (points, target))
    rank = np.empty(len(who), np.int64)
    rank[np.argsort(who, kind="stable")] = np.arange(len(who))
    n_parts = min(PARTS, len(target))
    part_of, target_part = rank % n_parts, np.arange(len(target)) % n_parts

    def per_owner(weights: Array, rows: NDArray[np.int64]) -> Array:
        return np.bincount(who[rows], weights=weights[rows], minlength=n).astype(np.float64)

    every = np.arange(len(who))
    inside = [np.flatnonzero(part_of == part) for part in range(n_parts)]
    near = np.empty((n_parts, len(points)))
    for part in range(n_parts):
        some = np.ascontiguousarray(target[target_part == part])
        near[part] = len(some) * kernels.kernel_means(points, some, gamma)
    near_all = np.cumsum(near, axis=0)[-1]
    own, one, both = np.empty((n, n)), np.empty((n_parts, n, n)), np.zeros((n_parts, n, n))
    for j in range(n):
        mine = who == j
        towards = mine.sum() * kernels.kernel_means(points, points[mine], gamma)
        own[:, j] = per_owner(towards, every)
        for part, rows in enumerate(inside):
            one[part, :, j] = per_owner(towards, rows)
            few = rows[who[rows] == j]
            if len(few):
                towards_few = len(few) * kernels.kernel_means(points, points[few], gamma)
                both[part, :, j] = per_owner(towards_few, rows)
    ones = np.ones(len(who))
    count = per_owner(ones, every)
    games = []
    for part in range(n_parts):
        kept = np.flatnonzero(part_of != part)
        fewer = len(target) - np.count_nonzero(target_part == part)
        games.append(
            Game(
                per_owner(ones, kept),
                per_owner(near_all - near[part], kept) / fewer,
                own - one[part] - one[part].T + both[part],
            )
        )
    return Game(count, per_owner(near_all, every) / len(target), own), games

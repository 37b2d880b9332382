"""The NumPy that people would really write: vectorised, in blocks where memory asks for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Column = Callable[[int], Array]
BLOCK = 2048


def kernel(a: Array, b: Array, gamma: float) -> Array:
    """Gaussian kernel of all rows of a with all rows of b, by one product of matrices."""
    squared = (a * a).sum(axis=1)[:, None] + (b * b).sum(axis=1) - 2 * (a @ b.T)
    return np.exp(-gamma * squared)


def kernel_means(points: Array, others: Array, gamma: float) -> Array:
    blocks = range(0, len(points), BLOCK)
    return np.concatenate([kernel(points[i : i + BLOCK], others, gamma).mean(1) for i in blocks])


def mmd2(a: Array, b: Array, gamma: float) -> float:
    def mean(x: Array, y: Array) -> float:
        starts = range(0, len(x), BLOCK)
        total = sum(
            kernel(x[i : i + BLOCK], y[j : j + BLOCK], gamma).sum()
            for i in starts
            for j in range(0, len(y), BLOCK)
        )
        return float(total) / len(x) / len(y)

    return mean(a, a) - 2 * mean(a, b) + mean(b, b)


def kernel_values(points: Array, landmarks: Array, gamma: float) -> float:
    """Products and exponentials of kernel values with landmarks, in cache: a limit."""
    rows = 512  # 128 to 2,048 are alike
    scaled = np.ascontiguousarray(2 * gamma * landmarks.T, points.dtype)
    out, last = np.empty((rows, len(landmarks)), points.dtype), 0.0
    for i in range(0, len(points), rows):
        block = points[i : i + rows]
        made = np.matmul(block, scaled, out=out[: len(block)])
        last = float(np.exp(made, out=made)[-1, -1])
    return last


def products(a: Array, b: Array) -> float:
    """The matrix products that an exact MMD^2 rests on, in blocks of rows: a limit."""
    rows = 1000  # of 120, 240, 480 and 1,000 the fastest
    out = np.empty((rows, max(len(a), len(b))))
    last = 0.0
    for x, y, within in ((a, b, False), (a, a, True), (b, b, True)):
        for i in range(0, len(x), rows):
            left, right = x[i : i + rows], y[i:] if within else y
            made = np.matmul(left, right.T, out=out[: len(left), : len(right)])
            last = float(made[-1, -1])
    return last


def _greedy(points: Array, target: Array, gamma: float, size: int, column: Column) -> Array:
    """Rows picked one by one, each the best for the objective; `column(row)`: a kernel column."""
    attraction = kernel_means(points, target, gamma)
    sums = np.zeros(len(points))
    chosen: list[int] = []
    for t in range(size):
        score = attraction - sums / (t + 1)
        score[chosen] = -np.inf
        best = int(np.argmax(score))
        chosen.append(best)
        sums += column(best)
    return np.array(chosen)


def greedy(points: Array, target: Array, gamma: float, size: int) -> Array:
    """As it is written at first: differences, squared and added."""

    def column(row: int) -> Array:
        return np.exp(-gamma * ((points - points[row]) ** 2).sum(axis=1))

    return _greedy(points, target, gamma, size, column)


def greedy_by_products(points: Array, target: Array, gamma: float, size: int) -> Array:
    """As it is written by those who know that a product is faster and rounds more."""
    squared = (points * points).sum(axis=1)

    def column(row: int) -> Array:
        return np.exp(-gamma * (squared + squared[row] - 2 * (points @ points[row])))

    return _greedy(points, target, gamma, size, column)


def greedy_in_single(points: Array, target: Array, gamma: float, size: int) -> Array:
    """The attraction included, all in f32 from the points' mean: fast, and not always the best."""
    mean, gamma32 = points.mean(axis=0), np.float32(gamma)
    points, target = (np.asarray(x - mean, dtype=np.float32) for x in (points, target))
    squared, others = ((x * x).sum(axis=1) for x in (points, target))
    attraction = np.empty(len(points), dtype=np.float32)
    for i in range(0, len(points), 2048):
        part = slice(i, i + 2048)
        squares = squared[part, None] + others - 2 * (points[part] @ target.T)
        attraction[part] = np.exp(-gamma32 * np.maximum(squares, 0)).mean(axis=1)
    sums = np.zeros(len(points), dtype=np.float32)
    chosen: list[int] = []
    for t in range(size):
        score = attraction - sums / np.float32(t + 1)
        score[chosen] = -np.inf
        best = int(np.argmax(score))
        chosen.append(best)
        squares = squared + squared[best] - 2 * (points @ points[best])
        sums += np.exp(-gamma32 * np.maximum(squares, 0))
    return np.array(chosen)


def one_product_a_pick(points: Array, size: int) -> float:
    """The product of all points in f32 with one vector, for each pick: what reading them costs."""
    points = points.astype(np.float32)
    return float(sum((points @ points[t])[0] for t in range(size)))


def in_doubt(points: Array, target: Array, gamma: float, rows: Array) -> float:
    """Share of the points that the greedy needs more than one bound for.

    By convexity a row's kernel values with the picks so far are on average at least that of its
    mean squared distance from them. Of the rows counted, this bound on the score reached the best
    row's at some pick.
    """
    attraction = kernel_means(points, target, gamma)
    picks = points[rows]
    near = np.tril(kernel(picks, picks, gamma), -1).sum(axis=1)
    points, norms = points.astype(np.float32), (points * points).sum(axis=1)
    doubt = np.zeros(len(points), bool)
    for t in range(1, len(rows)):
        mean = picks[:t].mean(axis=0)
        squares = norms + (picks[:t] ** 2).sum() / t - 2 * (points @ mean.astype(np.float32))
        bound = attraction - t / (t + 1) * np.exp(-gamma * squares)
        doubt |= bound >= attraction[rows[t]] - near[t] / (t + 1)
    return float(doubt.mean())


def features(points: Array, omega: Array) -> Array:
    """Paired random Fourier features."""
    angles = points @ omega.T
    return np.sqrt(1 / len(omega)) * np.concatenate([np.cos(angles), np.sin(angles)], axis=1)


def best_bid(features: Array, direction: Array) -> int:
    """Row of the best bid; features as float64, which people keep."""
    return int(np.argmax(features @ direction))

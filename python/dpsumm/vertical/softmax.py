"""Multinomial logistic regression on codes, by moments instead of records; L-BFGS in NumPy."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

_STEPS, _MEMORY = 60, 12


def logits(codes: Sequence[Codes], weights: Sequence[Floats], start: Floats) -> Floats:
    """Return (n, K): `start` and, of each block, the weights (size, K) of a record's code."""
    total = np.tile(start, (len(codes[0]), 1)) if codes else start[None]
    for code, weight in zip(codes, weights, strict=True):
        total += weight[code]
    return total


def softmax(of: Floats) -> Floats:
    """Return shares along the last axis."""
    shares = np.exp(of - of.max(axis=-1, keepdims=True))
    result: Floats = shares / shares.sum(axis=-1, keepdims=True)
    return result


def fit_moments(
    codes: Sequence[Codes], moments: Sequence[Floats], ridges: Sequence[Floats], start: Floats
) -> list[Floats]:
    """Return weights whose expected shares of (code, class) over the records are the moments.

    They minimise ``mean logsumexp - <W, moments> + sum ridge W^2 / 2``.

    Parameters
    ----------
    codes : (n,) int64 each
        One block each: a column's code of each record.
    moments, ridges : (size, K) each
    start : (K,)
        Log-odds of a record without any block.
    """
    n, sizes = len(codes[0]), [len(moment) for moment in moments]
    ends, target, ridge = np.cumsum(sizes)[:-1], np.vstack(moments), np.vstack(ridges)
    share = np.concatenate(
        [np.bincount(c, minlength=size) / n for c, size in zip(codes, sizes, strict=True)]
    )
    # Coordinates in which the curvature is about 1.
    scale = 1 / np.sqrt(np.outer(share, softmax(start)) + ridge + 1e-7)

    def value(flat: Floats) -> tuple[float, Floats]:
        weights = flat.reshape(target.shape) * scale
        of = logits(codes, np.split(weights, ends), start)
        most = of.max(axis=1, keepdims=True)
        odds = np.exp(of - most)
        total = odds.sum(axis=1, keepdims=True)
        loss = float((np.log(total) + most).mean())
        loss += float((0.5 * ridge * weights**2 - weights * target).sum())
        shares = odds / total
        found = np.vstack(
            [
                np.stack([np.bincount(c, y, size) for y in shares.T], axis=1) / n
                for c, size in zip(codes, sizes, strict=True)
            ]
        )
        slope = (found - target + ridge * weights) * scale
        return loss, slope.ravel()

    flat = minimised(value, np.zeros(target.size))
    return np.split(flat.reshape(target.shape) * scale, ends)


def minimised(value: Callable[[Floats], tuple[float, Floats]], at: Floats) -> Floats:
    """Return where a smooth convex function is least: L-BFGS (Nocedal & Wright, 7.2)."""
    loss, slope = value(at)
    pairs: deque[tuple[Floats, Floats, float]] = deque(maxlen=_MEMORY)
    for _ in range(_STEPS):
        way, taken = slope.copy(), []
        for moved, turned, over in reversed(pairs):
            part = over * (moved @ way)
            taken.append(part)
            way -= part * turned
        if pairs:
            moved, turned, _over = pairs[-1]
            way *= (moved @ turned) / (turned @ turned)
        for (moved, turned, over), part in zip(pairs, reversed(taken), strict=True):
            way += (part - over * (turned @ way)) * moved
        step, falls = 1.0, float(slope @ way)
        if falls <= 1e-12:
            break
        while True:
            new = at - step * way
            loss_new, slope_new = value(new)
            if loss_new <= loss - 1e-4 * step * falls or step < 1e-6:
                break
            step /= 2
        moved, turned = new - at, slope_new - slope
        if (curved := float(moved @ turned)) > 1e-14:
            pairs.append((moved, turned, 1 / curved))
        done = abs(loss - loss_new) < 1e-10
        at, loss, slope = new, loss_new, slope_new
        if done:
            break
    return at

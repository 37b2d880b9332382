"""What several releases cost together, where no closed form says: two curves, each an upper bound.

`tight` takes every pure release as randomized response, which dominates it, and all Gaussian ones
as a single Gaussian. The delta at an epsilon is then a sum over the losses of the responses, and
needs no Fourier transform. `by_zcdp` adds up concentrated privacy, and is the smaller one where an
exponential mechanism's bounded range counts. The lemmas are in ``docs/privacy/accounting.md``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

# Losses kept apart. Where there are more they are rounded up to a grid of so many.
_LOSSES = 2**14
# Above this many at one epsilon, the law of the losses takes seconds.
_MOST_RELEASES = 10**7
# Share of delta that a law's tails may hold. They are left out, and count as failure.
_TAILS = 1e-10
# What float arithmetic may take from delta: relative, and in all.
_RELATIVE, _ABSOLUTE = 1e-9, 1e-15
# Relative width at which a bisection ends.
_CLOSE = 1e-11

Law = tuple[NDArray[np.float64], NDArray[np.float64]]


def tight(pure: Mapping[float, int], mu: float, delta: float, most: float) -> float:
    """Return an epsilon of pure releases and one Gaussian, each planned beforehand.

    Parameters
    ----------
    pure
        How many releases there are at each epsilon (nats).
    mu
        Sensitivity over noise of the Gaussian, 0 for none.
    delta
        In (0, 1).
    most
        An epsilon (nats) that is known to hold, above 0.

    Returns
    -------
    float
        Nats, not above `most`, which is returned if delta is too small for float arithmetic, or
        a count above 10**7.
    """
    cut = _TAILS * delta / len(pure)
    left = delta * (1 - _RELATIVE - _TAILS) - _ABSOLUTE
    if left < 0.9 * delta or max(pure.values()) > _MOST_RELEASES:
        return most
    losses, chances = _sum([_responses(each, count, cut) for each, count in pure.items()])

    def holds(epsilon: float) -> bool:
        return float(chances @ _gaussian_delta(epsilon - losses, mu)) <= left

    if holds(0.0):
        return 0.0
    low, high = 0.0, most
    while high - low > _CLOSE * high:
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _responses(each: float, count: int, cut: float) -> Law:
    """Return the losses of `count` randomized responses at an epsilon, and their chances.

    Without the tails, which hold less than `cut` by Hoeffding's inequality.
    """
    most_likely = math.floor((count + 1) / (1 + math.exp(-each)))
    reach = math.sqrt(count * math.log(2 / cut) / 2) + 1
    low, high = max(0, math.floor(most_likely - reach)), min(count, math.ceil(most_likely + reach))
    yes = np.arange(low, high + 1, dtype=np.float64)
    # The logarithm of a chance over the one before it.
    steps = np.log((count - yes[:-1]) / (yes[:-1] + 1)) + each
    shape = np.concatenate([[0.0], np.cumsum(steps)])
    chances = np.exp(shape - shape.max())
    return each * (2 * yes - count), chances / chances.sum()


def _sum(laws: list[Law]) -> Law:
    """Return the law of the sum of independent losses, each rounded up to a grid if it is long."""
    if math.prod(len(losses) for losses, _ in laws) <= _LOSSES:
        total, shares = np.zeros(1), np.ones(1)
        for losses, p in laws:
            total, shares = np.add.outer(total, losses).ravel(), np.outer(shares, p).ravel()
        return total, shares
    grid = sum(float(losses[-1] - losses[0]) for losses, _ in laws) / _LOSSES
    start, chances = 0.0, np.ones(1)
    for losses, p in laws:
        places = np.ceil((losses - losses[0]) / grid).astype(np.int64)
        start, chances = start + losses[0], np.convolve(chances, np.bincount(places, p))
    total = np.asarray(start + grid * np.arange(len(chances)), np.float64)
    return total, chances


def _gaussian_delta(epsilon: NDArray[np.float64], mu: float) -> NDArray[np.float64]:
    """Return a Gaussian's delta (Balle & Wang 2018) at each epsilon, below 0 as well.

    Without its second term, so above the truth, where that term is out of a float's range.
    """
    if mu == 0:
        pure: NDArray[np.float64] = np.maximum(0.0, -np.expm1(np.minimum(epsilon, 0.0)))
        return pure
    side = math.sqrt(0.5)
    above = [math.erfc(side * (e / mu - mu / 2)) for e in epsilon.tolist()]
    below = [
        math.exp(e) * math.erfc(side * (e / mu + mu / 2)) if e < 700 else 0.0
        for e in epsilon.tolist()
    ]
    delta: NDArray[np.float64] = np.maximum(0.0, np.array(above) - np.array(below)) / 2
    return delta


def by_zcdp(rho: float, delta: float) -> float:
    """Return an epsilon of ``rho``-zCDP, nats (Canonne, Kamath & Steinke 2020, Proposition 12).

    Every order above 1 is valid, so a poor search would give a larger figure, never a wrong one.
    """
    if rho == math.inf:
        return math.inf
    rho = max(rho, 1e-300)  # squares below it were rounded to 0

    def figure(log_order: float) -> float:
        above = math.exp(log_order)  # the order less 1
        cost = math.log(delta) + math.log1p(above)
        return rho * (1 + above) - cost / above - math.log1p(1 / above)

    # By thirds; the best order is near 1 + sqrt(ln(1 / delta) / rho).
    guess = 0.5 * (math.log(max(-math.log(delta), 1e-300)) - math.log(rho))
    low, high = guess - 12.0, guess + 12.0
    while high - low > 1e-7:
        third = (high - low) / 3
        if figure(low + third) < figure(high - third):
            high -= third
        else:
            low += third
    return max(0.0, figure(low))

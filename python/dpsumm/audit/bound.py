"""A lower confidence bound on epsilon from samples of two neighbouring worlds."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpsumm.errors import InvalidParameterError

# Chance that a bound is above the true epsilon.
FALSE_ALARM = 1e-6
# Thresholds tried on the first half of the samples.
_THRESHOLDS = 400


@dataclass(frozen=True)
class Measured:
    """A measured bound.

    Attributes
    ----------
    epsilon
        Lower confidence bound, in nats; 0 if nothing was seen.
    delta
        At which it holds.
    trials
        Samples of each world.

    See Also
    --------
    dpsumm.audit.lower_bound : Makes one.

    Examples
    --------
    >>> from dpsumm.audit import Measured
    >>> Measured(epsilon=0.7, delta=1e-5, trials=10_000).epsilon
    0.7
    """

    epsilon: float
    delta: float
    trials: int


def lower_bound(
    first: NDArray[np.floating], second: NDArray[np.floating], delta: float
) -> Measured:
    """Return an epsilon that the mechanism exceeds with confidence ``1 - FALSE_ALARM``.

    An event whose probability is at least p in one world and at most q in the other shows that
    ``epsilon >= ln((p - delta) / q)``. The event, a score above or below a threshold in either
    order of worlds, is chosen on the first half of the samples. p and q are Clopper-Pearson bounds
    from the second half, so the choice costs no confidence.

    Parameters
    ----------
    first, second : (n,), n even and at least 4
        Any score of the output, independent draws. The nearer to the likelihood ratio, the
        tighter.
    delta
        In [0, 1).

    Privacy
    -------
    None, for audits on made-up data.

    See Also
    --------
    dpsumm.audit.Measured : The result.
    dpsumm.audit.run_audits : All audits of this package.

    Examples
    --------
    Laplace noise of scale 1 on counts that differ by 1 has epsilon 1. No measurement exceeds that,
    and half the noise is caught:

    >>> import numpy as np
    >>> from dpsumm.audit import lower_bound
    >>> rng = np.random.default_rng(0)
    >>> one, other = rng.laplace(0, 1, 20_000), rng.laplace(1, 1, 20_000)
    >>> bool(0.8 < lower_bound(one, other, 0.0).epsilon <= 1)
    True
    >>> one, other = rng.laplace(0, 0.5, 20_000), rng.laplace(1, 0.5, 20_000)
    >>> bool(lower_bound(one, other, 0.0).epsilon > 1)
    True
    """
    n = len(first)
    if np.isnan(first).any() or np.isnan(second).any():
        raise InvalidParameterError("first, second: some scores are not a number")
    if n != len(second) or n < 4 or n % 2:
        raise InvalidParameterError("first, second: need the same even number of scores, 4 or more")
    half = n // 2
    scores = np.concatenate([first[:half], second[:half]])
    thresholds = np.unique(np.quantile(scores, np.linspace(0, 1, _THRESHOLDS), method="nearest"))
    best, event = 0.0, None
    for below in (False, True):
        a = _hits(first[:half], thresholds, below)
        b = _hits(second[:half], thresholds, below)
        for swapped, (hits, misses) in enumerate(((a, b), (b, a))):
            epsilons = _epsilon(hits, misses, half, delta)
            i = int(np.argmax(epsilons))
            if epsilons[i] > best:
                best, event = float(epsilons[i]), (below, bool(swapped), thresholds[i : i + 1])
    if event is None:
        return Measured(0.0, delta, n)
    below, swap, threshold = event
    p, q = (second, first) if swap else (first, second)
    epsilon = _epsilon(
        _hits(p[half:], threshold, below), _hits(q[half:], threshold, below), half, delta
    )
    return Measured(max(0.0, float(epsilon[0])), delta, n)


def ceiling(trials: int, delta: float) -> float:
    """Return the most that `lower_bound` can measure, if two worlds are always told apart."""
    return lower_bound(np.zeros(trials), np.ones(trials), delta).epsilon


def _hits(
    scores: NDArray[np.floating], thresholds: NDArray[np.floating], below: bool
) -> NDArray[np.int64]:
    """Return how many scores are at or beyond each threshold."""
    ordered = np.sort(scores)
    if below:
        return np.searchsorted(ordered, thresholds, side="right")
    return len(ordered) - np.searchsorted(ordered, thresholds, side="left")


def _epsilon(
    hits: NDArray[np.int64], others: NDArray[np.int64], n: int, delta: float
) -> NDArray[np.float64]:
    """Return ``ln((p - delta) / q)`` at the Clopper-Pearson bounds, -inf if p does not reach."""
    from scipy.stats import beta

    alpha = FALSE_ALARM / 2  # half for each of p and q
    low = np.where(hits > 0, beta.ppf(alpha, np.maximum(hits, 1), n - hits + 1), 0.0)
    high = np.where(others < n, beta.isf(alpha, others + 1, np.maximum(n - others, 1)), 1.0)
    above = low - delta
    return np.where(above > 0, np.log(np.maximum(above, 1e-300) / high), -math.inf)

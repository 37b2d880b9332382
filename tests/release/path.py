"""A way by which a number that depends on records leaves a party, and what it must be charged.

Expected noise is computed here, by mpmath and from the records' worst neighbours, and not by the
package.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from mpmath import mp

LEVELS = 2**20
DELTA = 1e-5


@dataclass(frozen=True)
class Left:
    """What one run released.

    Attributes
    ----------
    residuals : (numbers,) int64
        Released minus exact.
    stds : (numbers,)
        Of the noise that the budget asks for.
    charges
        By each ledger that was charged.
    mu
        What each of these must have been charged for at least: of independent releases, the root
        of the sum of (moved / noise)**2.
    """

    residuals: np.ndarray
    stds: np.ndarray
    charges: dict[str, tuple]
    mu: dict[str, float]


@dataclass(frozen=True)
class Path:
    """A release path.

    Attributes
    ----------
    name
        Observer included.
    run
        Maps a generator, epsilon and a number of records to `Left`.
    charged
        How the texts of its charges begin.
    epsilon
        What the run is made with: noise is then wide, so that equal numbers are no chance.
    records
        Numbers of records to try.
    of_records
        That what left is a sum over records; else it is noise alone.
    """

    name: str
    run: Callable[[np.random.Generator, float, int], Left]
    charged: tuple[str, ...]
    epsilon: float = 1.0
    records: tuple[int, ...] = (10, 60, 400)
    of_records: bool = True


def delta_of(mu, epsilon):
    """Balle & Wang 2018, Theorem 8."""
    a, b = mu / 2 - epsilon / mu, -mu / 2 - epsilon / mu
    return mp.ncdf(a) - mp.exp(epsilon) * mp.ncdf(b)


@cache
def multiplier(epsilon, delta=DELTA):
    """The least noise over sensitivity at (epsilon, delta), by bisection."""
    with mp.workdps(40):
        low, high = mp.mpf(10) ** -6, mp.mpf(10) ** 6
        while high / low > 1 + mp.mpf(10) ** -9:
            middle = mp.sqrt(low * high)
            enough = delta_of(1 / middle, epsilon) <= delta
            low, high = (low, middle) if enough else (middle, high)
        return float(high)


def alone(features, records):
    """The slow twin of a sum of features: each record by itself, in Python's integers."""
    total = [0] * features.n_features
    for record in records:
        for j, step in enumerate(features.sum_on_grid(record[None], LEVELS).tolist()):
            total[j] += step
    return np.array(total, np.int64)

"""Functions whose results have the same bits on every processor.

The exponential and the normal law of NumPy, SciPy and the C library differ in their last bits
between instruction sets. A noise multiplier or a request probability made with them would give
another release on another machine. So all numbers that decide a release are computed here, by
mpmath, whose numbers are Python integers, or by additions and multiplications of floats, which IEEE
754 fixes.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import cache, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Bits of precision. What cancels in the Gaussian's delta at epsilon 1e-9 is below 70 of them.
_BITS = 200
# Significant digits of a noise multiplier.
_DIGITS = 6
# Beyond these places the normal distribution function is 0 or 1 up to 2**-62.
_FURTHEST = 9.0
# Terms of the series about each of its nodes, which are a half apart: the rest is below 2**-70.
_TERMS = 24

_LOCK = threading.Lock()


@cache
def _context() -> Any:
    # Its own: the precision of mpmath's shared context is anybody's.
    import mpmath

    context = mpmath.MPContext()
    context.prec = _BITS
    return context


@contextmanager
def _exactly() -> Iterator[Any]:
    """Lend the context to one thread: its functions raise the precision while they work."""
    with _LOCK:
        yield _context()


@lru_cache(maxsize=1024)
def exp(x: float) -> float:
    """Return ``e**x``, rounded to nearest, or infinity beyond the largest float."""
    with _exactly() as mp:
        return float(mp.exp(x))


def expm1(x: float) -> float:
    """Return ``e**x - 1``, rounded to nearest."""
    with _exactly() as mp:
        return float(mp.expm1(x))


def log(x: float) -> float:
    """Return the natural logarithm of a number above 0, rounded to nearest."""
    with _exactly() as mp:
        return float(mp.log(x))


def normal_quantile(chance: float) -> float:
    """Return the quantile of a standard normal number at that chance, in (0, 1/2]."""
    with _exactly() as mp:
        return float(mp.sqrt(2) * mp.erfinv(2 * mp.mpf(chance) - 1))


def normal_cdf(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the standard normal distribution function of (n,) numbers, within 2**-52.

    Taylor series about nodes a half apart, evaluated with basic operations in a fixed order.
    """
    x = np.clip(x, -_FURTHEST, _FURTHEST)
    node = np.rint(2 * x)
    step = x - node / 2
    series = _series()[node.astype(np.int64) + int(2 * _FURTHEST)]
    total = np.zeros_like(x)
    for k in reversed(range(_TERMS)):
        total = total * step + series[:, k]
    return np.clip(total, 0.0, 1.0)


@cache
def _series() -> NDArray[np.float64]:
    """Taylor coefficients of the normal distribution function, (nodes, terms)."""
    with _exactly() as mp:
        rows = []
        for half in range(-int(2 * _FURTHEST), int(2 * _FURTHEST) + 1):
            node = mp.mpf(half) / 2
            # The k-th derivative of the density, by the recurrence of Hermite's polynomials.
            before, now = mp.mpf(0), mp.exp(-(node**2) / 2) / mp.sqrt(2 * mp.pi)
            row = [mp.erfc(-node / mp.sqrt(2)) / 2]
            for k in range(_TERMS - 1):
                row.append(now / mp.factorial(k + 1))
                before, now = now, -node * now - k * before
            rows.append([float(coefficient) for coefficient in row])
    return np.array(rows)


def round_up(number: float) -> float:
    """Return the least float with six significant digits that is not below a number above 0."""
    down = Context(prec=_DIGITS, rounding=ROUND_FLOOR).create_decimal_from_float(number)
    # The float of a decimal may lie on either side of it: both candidates are compared as floats.
    step = Decimal(1).scaleb(down.adjusted() - _DIGITS + 1)
    return next(float(d) for d in (down, down + step, down + 2 * step) if float(d) >= number)


def _log_delta(mp: Any, mu: Any, epsilon: Any) -> tuple[Any, Any]:
    """Return the logarithm of the Gaussian's delta (Balle & Wang 2018), and its slope."""

    def cdf(x: Any) -> Any:
        return mp.erfc(-x / mp.sqrt(2)) / 2

    rest = mp.exp(epsilon) * cdf(-mu / 2 - epsilon / mu)
    delta = cdf(mu / 2 - epsilon / mu) - rest
    return mp.log(delta), -rest / delta


@lru_cache(maxsize=1024)
def gaussian_epsilon(precision: Fraction, delta: float) -> float:
    """Return the epsilon of Gaussian mechanisms whose ``1 / noise_multiplier**2`` add up to this.

    Newton's method on the logarithm of delta as a function of epsilon, from the bound by zCDP down.
    That function is concave (a convolution of an exponential with the tail of a normal law, both
    log-concave), so every step stays above the answer.
    """
    with _exactly() as mp:
        mu = mp.sqrt(mp.mpf(precision.numerator) / precision.denominator)
        target = mp.log(mp.mpf(delta))
        epsilon = mu**2 / 2 + mu * mp.sqrt(-2 * target)
        if 1e-20 < mu < 1e4:  # elsewhere the bound is as good as the answer
            while True:
                value, slope = _log_delta(mp, mu, epsilon)
                step = (target - value) / slope
                epsilon += step
                if epsilon <= 0:
                    return 0.0
                if -step < 1e-15 * epsilon:
                    break
        return math.nextafter(float(epsilon), math.inf)


@lru_cache(maxsize=1024)
def gaussian_multiplier(epsilon: float, delta: float) -> float:
    """Return the least noise_std / sensitivity of six digits for one release at (epsilon, delta).

    By bisection among the decimals themselves, so that no rounding decides.
    """
    fewest = 10 ** (_DIGITS - 1)
    per_decade = 9 * fewest

    def decimal(place: int) -> Decimal:
        decade, step = divmod(place, per_decade)
        return Decimal(fewest + step).scaleb(decade)

    with _exactly() as mp:
        target = mp.log(mp.mpf(delta))
        # From 1e-6, too little for the largest epsilon, to 1e24, enough for any.
        low, high = -11 * per_decade, 19 * per_decade
        while high - low > 1:
            middle = (low + high) // 2
            mu = 1 / mp.mpf(float(decimal(middle)))
            if _log_delta(mp, mu, mp.mpf(epsilon))[0] <= target:
                high = middle
            else:
                low = middle
        return float(decimal(high))

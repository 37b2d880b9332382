"""Fixed point with 32 fraction bits on the words of a 64-bit ring, as the paper's parties compute.

In two's complement. Sums and products wrap. Algorithms 2 and 3 of the paper are here as they must
be; ``tests/reference/printed.py`` has them as printed.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

BITS = np.int64(32)
ONE = np.int64(1 << 32)
UNIT = 2.0**32
# Newton steps after which 1 / b is exact to the word for b from exp(-20).
STEPS = 40
_ROOT_STEPS = 24
_HALF = np.int64(1)
_LOW = np.int64(0xFFFFFFFF)

Fixed: TypeAlias = NDArray[np.int64]


def to_fixed(values: ArrayLike) -> Fixed:
    """Return the largest fixed-point numbers that are not above `values`, below 2**31."""
    return np.floor(np.asarray(values, np.float64) * 2.0**32).astype(np.int64)


def to_float(values: ArrayLike) -> NDArray[np.float64]:
    """Return fixed-point numbers as floats."""
    return _words(values).astype(np.float64) / 2.0**32


def multiply(a: ArrayLike, b: ArrayLike) -> Fixed:
    """Return ``floor(a b)``: from four halves, whose low product is unsigned."""
    x, y = _words(a), _words(b)
    with np.errstate(over="ignore"):
        low = (x & _LOW).astype(np.uint64) * (y & _LOW).astype(np.uint64)
        middle = (x >> BITS) * (y & _LOW) + (x & _LOW) * (y >> BITS)
        top = ((x >> BITS) * (y >> BITS)) << BITS
        product: Fixed = top + middle + (low >> np.uint64(BITS)).astype(np.int64)
        return product


def reciprocal(b: ArrayLike, steps: int = STEPS) -> Fixed:
    """Return 1 / b for b in (0, 1] by Newton's method, from ``3 exp(1 - 2b) + 0.003``.

    How many steps it takes depends on b, and all b take as many: 10 are exact from exp(-5), 40 from
    exp(-20).
    """
    q = to_fixed(3 * np.exp(1 - 2 * to_float(b)) + 0.003)
    with np.errstate(over="ignore"):
        for _ in range(steps):
            q = 2 * q - multiply(q, multiply(q, b))
    return q


def _words(values: ArrayLike) -> Fixed:
    return np.asarray(values, np.int64)


def inverse_root(b: ArrayLike, shift: int = 4) -> Fixed:
    """Return ``b ** -0.5`` for b from 2**-10 to the public bound ``4 ** shift``.

    Newton's method on b scaled into (0, 1), from 1.5. Beyond the bound it returns nonsense, and a
    clip by it would be void.
    """
    scaled = _words(b) >> np.int64(2 * shift)
    three = np.int64(3 << 32)
    y = np.full_like(scaled, 3 << 31)
    for _ in range(_ROOT_STEPS):
        y = multiply(y, three - multiply(scaled, multiply(y, y))) >> _HALF
    root: Fixed = y >> np.int64(shift)
    return root

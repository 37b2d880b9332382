"""Algorithms 2 and 3 of the paper on vertical data as printed: both are wrong."""

import numpy as np

from dpsumm.papers.dpvi.fixed import multiply, to_fixed, to_float

BITS, LOW = np.int64(32), np.int64(0xFFFFFFFF)


def multiply_printed(a, b):
    """Algorithm 2. WRONG where the fractions' product is 1/2 or more: 0.9 * 0.9 < 0.

    The product of two fractions of 32 bits needs 64 unsigned bits; the ring's words are signed.
    """
    a, b = np.asarray(a, np.int64), np.asarray(b, np.int64)
    x, y = np.abs(a), np.abs(b)
    with np.errstate(over="ignore"):
        fractions = ((x & LOW) * (y & LOW)) >> BITS
        whole = ((x >> BITS) * (y >> BITS)) << BITS
        mixed = (x >> BITS) * (y & LOW) + (x & LOW) * (y >> BITS)
        return np.sign(a) * np.sign(b) * (whole + mixed + fractions)


def reciprocal_printed(b, steps=10):
    """Algorithm 3: adds where it must subtract from twice q. Diverges."""
    q = to_fixed(3 * np.exp(1 - 2 * to_float(b)) + 0.003)
    with np.errstate(over="ignore"):
        for _ in range(steps):
            q = multiply(q, multiply(q, b)) + q
    return q

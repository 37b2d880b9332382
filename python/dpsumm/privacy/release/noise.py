"""PaidNoise for sums that were paid for: exact, drawn anew for each sum, used once.

The sampler is Rust (``rust/dpsumm-core/src/noise``): a normal of the operating system's randomness,
rounded to integers, exact by rejection (Karney 2016). ``docs/privacy/samplers.md`` has the proof,
``tests/kernels/test_noise_laws.py`` and ``tests/release`` reject wrong laws.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from dpsumm.kernels.noise import rounded_normal
from dpsumm.privacy.release.query import Query

# Integers up to this, plus noise (below 2**45), stay within 64 bits.
_LARGEST = 2**62

Integers = TypeVar("Integers", bound="NDArray[np.integer[Any]]")


class PaidNoise:
    """The noise of some queries, in their order.

    Parameters
    ----------
    queries
        The charged queries.
    """

    def __init__(self, queries: Sequence[Query]) -> None:
        self._left = self._draws(queries)

    @staticmethod
    def _draws(queries: Sequence[Query]) -> Iterator[Query]:
        for query in queries:
            for _ in range(query.times):
                yield query

    def on(self, exact: Integers) -> Integers:
        """Return the next sum with its noise.

        Parameters
        ----------
        exact : integers of any shape
            int64, at most 2**62. Or uint32 or uint64, words of a ring, then modulo its size.

        Raises
        ------
        RuntimeError
            More sums than were paid for, or one that is not of integers: a bug. Nothing left.
        """
        query = next(self._left, None)
        if query is None:
            raise RuntimeError("a sum was to leave that nobody has paid for")
        if exact.dtype not in (np.int64, np.uint32, np.uint64):
            raise RuntimeError("only sums of integers get exact noise")
        if exact.dtype == np.int64 and ((exact > _LARGEST) | (exact < -_LARGEST)).any():
            raise RuntimeError("a sum is too large for 64 bits")
        drawn = rounded_normal(query.noise_std, exact.size, query.seed)
        return cast(Integers, exact + drawn.astype(exact.dtype).reshape(exact.shape))

    def check_used(self) -> None:
        """Refuse to go on unless every sum that was charged has its noise."""
        if next(self._left, None) is not None:
            raise RuntimeError("a sum was charged and not released")

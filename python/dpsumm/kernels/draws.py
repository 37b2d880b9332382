"""Draws that protect no record, and that repeat on any machine."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dpsumm.kernels import _core, inputs


@dataclass(frozen=True)
class Draws:
    """Random numbers that follow from a key alone, with any machine and any version of NumPy.

    They are words of ChaCha20, each found by its place. Rows that are read in pieces, in any order,
    so get the numbers that they have when they are read together.

    Parameters
    ----------
    key : 32 bytes

    Raises
    ------
    InvalidParameterError
        A key of another length, or a number out of range.

    Privacy
    -------
    None. The key tells all numbers.

    See Also
    --------
    dpsumm.kernels.arrivals : Draws rows with such numbers.

    Examples
    --------
    >>> from dpsumm.kernels import Draws
    >>> draws = Draws(b"a question of thirty-two letters")
    >>> draws.units(0, 3).tolist()[1:] == draws.units(1, 2).tolist()
    True
    >>> len(draws.subset(1_000_000, 5))
    5
    """

    key: bytes = field(repr=False)

    def __post_init__(self) -> None:
        inputs.key(self.key)

    def units(self, first: int, count: int) -> NDArray[np.float64]:
        """Return numbers `first` to ``first + count - 1``, uniform in [0, 1), as (count,)."""
        first = inputs.whole(first, "first", at_most=2**62)
        return _core.units(self.key, first, inputs.whole(count, "count"))

    def subset(self, total: int, count: int) -> NDArray[np.int64]:
        """Return `count` different whole numbers below `total`, ascending, as (count,).

        All such sets are equally likely.
        """
        total = inputs.whole(total, "total")
        count = inputs.whole(count, "count", at_most=total)
        return _core.subset(self.key, total, count).astype(np.int64)

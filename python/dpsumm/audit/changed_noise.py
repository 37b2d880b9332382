"""BROKEN ON PURPOSE: noise that is paid for and then changed, for twins that audits must catch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsumm.privacy.release.noise import Integers, PaidNoise


class ChangedNoise(PaidNoise):
    """BROKEN: adds something else than what was drawn.

    Parameters
    ----------
    paid
        The honest noise.
    change
        What becomes of the draws for one sum.
    """

    def __init__(
        self, paid: PaidNoise, change: Callable[[NDArray[np.int64]], NDArray[np.floating[Any]]]
    ) -> None:
        self._paid, self._change = paid, change

    def on(self, exact: Integers) -> Integers:
        """Return the sum with changed noise."""
        drawn = self._paid.on(np.zeros(exact.shape, np.int64))
        noisy: Integers = exact + np.rint(self._change(drawn)).astype(np.int64).astype(exact.dtype)
        return noisy


def share_of(paid: PaidNoise, share: float) -> ChangedNoise:
    """Return a share of the noise that was paid for."""
    return ChangedNoise(paid, lambda drawn: share * drawn)

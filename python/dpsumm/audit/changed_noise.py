"""BROKEN ON PURPOSE: noise that is paid for and then changed, for twins that audits must catch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsumm.privacy.release import noise
from dpsumm.privacy.release.noise import Integers, PaidNoise


class ChangedNoise(PaidNoise):
    """BROKEN: adds other noise than the drawn one.

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


@contextmanager
def half_the_noise() -> Iterator[None]:
    """Let normal noise have half of the width that is charged (BROKEN)."""
    honest = vars(noise)["rounded_normal"]

    def half(std: float, *given: Any) -> NDArray[np.int64]:
        drawn: NDArray[np.int64] = honest(std / 2, *given)
        return drawn

    vars(noise)["rounded_normal"] = half
    try:
        yield
    finally:
        vars(noise)["rounded_normal"] = honest

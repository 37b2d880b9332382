"""BROKEN ON PURPOSE: owners of columns with one mistake each, charged as the honest one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpsumm.vertical.owner import Owner, Products


class NoNoise(Owner):
    """BROKEN: leaves the noise of a table of two owners to the other one."""

    def _cross_noise(self, product: Products, k: int) -> NDArray[np.int64]:
        return np.zeros_like(super()._cross_noise(product, k))


class HalfNoise(Owner):
    """BROKEN: draws half the noise that is charged."""

    def _noise(self, std: float, size: int, use: str) -> NDArray[np.int64]:
        return super()._noise(std / 2, size, use)

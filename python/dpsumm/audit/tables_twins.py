"""BROKEN ON PURPOSE: owners of columns with one mistake each, charged as the honest one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpsumm.audit.changed_noise import share_of
from dpsumm.kernels.inputs import Words
from dpsumm.privacy.release import PaidNoise
from dpsumm.vertical.owner import Owner
from dpsumm.vertical.secret_products import Products


class NoNoise(Owner):
    """BROKEN: leaves the noise of a table of two owners to the other one."""

    def _with_noise(self, product: Products, k: int, exact: Words, noise: PaidNoise) -> Words:
        super()._with_noise(product, k, exact, noise)
        return exact


class HalfNoise(Owner):
    """BROKEN: draws half the noise that is charged."""

    def _with_noise(self, product: Products, k: int, exact: Words, noise: PaidNoise) -> Words:
        return super()._with_noise(product, k, exact, share_of(noise, 0.5))

    def _within(self, product: Products, noise: PaidNoise) -> NDArray[np.int64]:
        return super()._within(product, share_of(noise, 0.5))

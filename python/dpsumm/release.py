"""Releases (h2 of the paper): the noisy mean embeddings that may leave the curator."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpsumm import _core
from dpsumm.kernel import FloatArray
from dpsumm.privacy import accounting, events
from dpsumm.privacy.events import Charge, Protected
from dpsumm.privacy.ledger import Ledger


@dataclass(frozen=True)
class Release:
    """A released mean embedding: integers, and what one step of them is worth.

    Attributes
    ----------
    steps : (d,) int64
        Noisy sum of features on the grid.
    step : float
        Real value of one integer step: ``steps * step`` is the noisy mean of the features.
    """

    steps: NDArray[np.int64]
    step: float

    @property
    def mean(self) -> NDArray[np.float64]:
        """The noisy mean embedding, (d,) float64. Post-processing: no further cost."""
        return self.steps * self.step


@dataclass(frozen=True)
class Gaussian:
    """Release the mean embedding once with Gaussian noise, rounded to integers exactly.

    Parameters
    ----------
    levels
        Grid steps per unit of a feature, a power of two in 2**8 .. 2**24.

    Privacy
    -------
    Claim: (epsilon, delta)-DP for replacing one record, size public; the noise multiplier is the
    analytic Gaussian mechanism's (Balle & Wang 2018), the mechanism's rounding is post-processing.
    Assumes: paired features. Argument: each record is an integer vector whose squared norm is clamped
    to ``levels**2``, so replacing one moves the sum by at most ``2 * levels`` in L2. Numerics: the
    clamp, the sum and the noise are exact integers; nothing rests on the accuracy of cosines.
    Tested by: tests/privacy/test_target_release.py.
    """

    levels: int = 2**20

    def release(
        self,
        features: _core.RandomFeatures,
        target: FloatArray,
        *,
        epsilon: float,
        delta: float,
        ledger: Ledger,
        seed: int | None,
    ) -> Release:
        """Charge and release the target's mean embedding; a resumed run gets the same one again.

        Parameters
        ----------
        features
            The public feature map, paired.
        target : (m, n) float32 or float64
        epsilon, delta
            Budget of this release, for one record replaced.
        ledger
            Charged before anything is returned.
        seed
            Tests and experiments only: the charge is then infinite.
        """
        multiplier = accounting.gaussian_noise_multiplier(epsilon, delta)
        sensitivity = 2 * self.levels
        event = (
            events.Gaussian(multiplier) if seed is None else events.NonPrivate("a seed was given")
        )
        charge = Charge(Protected.TARGET, "target's noisy mean embedding", event)

        def draw() -> bytes:
            total = features.sum_on_grid(target, self.levels)
            noise = _core.rounded_normal(multiplier * sensitivity, len(total), seed)
            return (total + noise).astype("<i8").tobytes()

        released = ledger.release("target", charge, draw)
        steps = np.frombuffer(released, dtype="<i8").astype(np.int64)
        return Release(steps, 1.0 / (self.levels * len(target)))

"""How far the noisy votes stand out of their noise, by the noisy votes themselves."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpsumm.ensemble.messages import NoisyVotes
from dpsumm.ensemble.plan import DIRECTIONS
from dpsumm.ensemble.students.bases import Random, feature_basis, squared_scale
from dpsumm.ensemble.students.student import Array

# Points at equal steps stand for more.
_MOST_POINTS = 20_000
# Noise of so many signals leaves half of a model's certainty.
_CLEAR = 3.0


@dataclass(frozen=True)
class Strength:
    """Squared shares of the votes in the public points' leading directions, and their noise.

    Post-processing of the noisy votes, at no cost. It reveals no more of a party than they do.

    Attributes
    ----------
    energies : (m,)
        Squared length of the noisy shares along each direction.
    noise
        Expected of each, if there were only noise.
    error
        Standard deviation of `noise` summed over the directions.
    """

    energies: NDArray[np.float64]
    noise: float
    error: float

    @property
    def signal(self) -> float:
        """Estimate of the sum of `energies` without noise, by chance below 0."""
        return float(self.energies.sum()) - self.noise * len(self.energies)

    @property
    def chance(self) -> float:
        """That noise alone shows as much, 0 to 1."""
        from scipy.stats import chi2

        # Noise alone: a multiple of chi-square, of these degrees by its mean and deviation.
        noise = self.noise * len(self.energies)
        degrees = 2 * (noise / self.error) ** 2
        return float(chi2.sf(float(self.energies.sum()) * degrees / noise, degrees))

    @property
    def ratio(self) -> float:
        """Noise over signal in these directions, infinite without signal."""
        return self.noise * len(self.energies) / self.signal if self.signal > 0 else math.inf

    @property
    def certainty(self) -> float:
        """Part of a fit's certainty that the votes' noise leaves it, 0 to 1.

        Half of it where the noise is three times the signal, chosen on public data.
        """
        clear = _CLEAR * max(self.signal, 0.0) / (self.noise * len(self.energies))
        return clear**2 / (1 + clear**2)


def strength_of(points: Array, votes: NoisyVotes) -> Strength:
    """Return how far votes on (N, d) points stand out of their noise.

    Directions are those of a Gaussian kernel's random features in which the points vary most, as
    many as `dpsumm.plan_learning` counts with.
    """
    every = -(-len(points) // _MOST_POINTS)
    shown, shares = points[::every], votes.shares[::every]
    features = Random(1 / squared_scale(shown), shown.shape[1])
    two = votes.terms.columns == 1
    vectors = feature_basis("features", features, shown).vectors[:, 1 : 1 + DIRECTIONS[two]]
    degrees = 1 if two else votes.terms.columns - 1
    energies = ((vectors.T @ shares) ** 2).sum(1)
    noise = degrees * votes.share_noise**2
    error = votes.share_noise**2 * math.sqrt(2 * degrees * max(len(energies), 1))
    return Strength(energies, noise, error)

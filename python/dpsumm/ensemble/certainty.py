"""How sure a model of votes may be, given their noise."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpsumm.ensemble.messages import NoisyVotes
from dpsumm.ensemble.students.student import simplex

Array = NDArray[np.float64]

# By how much the likeliest class stays ahead, as a part of the distance.
_AHEAD = 1e-3


@dataclass(frozen=True)
class Certainty:
    """Moves probabilities towards the classes' shares, and never past the likeliest class.

    Smoothed noise looks like a clear class, and a sharpened fit is surer than the votes. So
    probabilities keep a part of their distance from the shares. Predictions stay the same.

    Attributes
    ----------
    factor
        From 0, hardly more than the shares, to 1, probabilities as they are.
    shares
        Of the K classes, of sum 1. None are needed for a factor of 1.

    Examples
    --------
    >>> import numpy as np
    >>> Certainty(0.5, (0.4, 0.6)).of(np.array([[0.0, 1.0]])).round(3).tolist()
    [[0.2, 0.8]]
    """

    factor: float
    shares: tuple[float, ...]

    def of(self, chances: Array) -> Array:
        """Return (n, K) probabilities that are no surer than this."""
        if self.factor >= 1:
            return chances
        shares, top = np.array(self.shares), chances.argmax(1)
        lead = chances.max(1, keepdims=True) - chances
        ahead = np.maximum(shares - shares[top][:, None], 0.0)
        # Where a class of a larger share would overtake the likeliest one, it comes close to it.
        least = np.divide(ahead, ahead + lead, out=np.zeros_like(ahead), where=ahead > 0).max(1)
        factor = np.clip(self.factor, np.minimum(least + _AHEAD, 1.0), 1.0)[:, None]
        # A tie stays one: no rounding.
        return np.where(factor < 1, shares + factor * (chances - shares), chances)


FULL = Certainty(1.0, ())


def certainty_of(votes: NoisyVotes, chances: Array, clear: float) -> Certainty:
    """Return how sure a fit may be, by the noisy votes themselves, which costs no privacy.

    The votes' mean over the points is shrunk towards even shares by its noise (James and Stein).
    From there the fit keeps a part of its distance, the product of `clear` and the root of its
    regression on the votes. Unrooted, its probabilities would be the parties' votes. Classes that
    most of them see are more often right than that where each errs by itself, and less often where
    all err alike. The root lies between, and was chosen on made-up and public data.

    Parameters
    ----------
    chances : (N, K)
        Of the fit, at the points voted on.
    clear
        How far the votes stand out of their noise (`Strength.certainty`).
    """
    shares, k = votes.shares, chances.shape[1]
    if k == 2:
        shares = np.hstack([1 - shares, shares])
    even = np.full(k, 1 / k)
    mean = shares.mean(0)
    energy = float(((mean - even) ** 2).sum())
    # Both shares of two classes have the noise of one number.
    noise = (2 if k == 2 else k - 1) * votes.share_noise**2 / len(shares)
    known = max(1 - noise / energy, 0.0) if energy > 0 else 0.0
    middle = np.clip(even + known * (simplex(mean[None])[0] - even), 0.0, 1.0)
    apart = chances - middle
    squares = float((apart**2).sum())
    agreement = float(((shares - middle) * apart).sum()) / squares if squares > 0 else 0.0
    return Certainty(clear * math.sqrt(min(max(agreement, 0.0), 1.0)), tuple(middle.tolist()))

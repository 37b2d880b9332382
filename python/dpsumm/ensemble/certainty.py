"""How sure a model of votes may be, given their noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# By how much the likeliest class stays ahead, as a part of the distance.
_AHEAD = 1e-3


@dataclass(frozen=True)
class Certainty:
    """Moves probabilities towards the classes' shares, and never past the likeliest class.

    Smoothed noise looks like a clear class. So probabilities keep the part of their distance from
    the shares that `Strength.certainty` has. Predictions stay the same.

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

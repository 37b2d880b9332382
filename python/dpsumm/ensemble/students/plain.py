"""A student that has learnt, as plain numbers, which a file of a model holds."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from dpsumm.ensemble.students.bases import Features
from dpsumm.ensemble.students.student import Array, Fitted


@dataclass(frozen=True, eq=False)
class Plain(Fitted):
    """Shares ``[1, features(x)] @ weights``, or the softmax of these.

    Attributes
    ----------
    weights : (f + 1, columns)
    """

    features: Features
    weights: Array = field(repr=False)
    softmax: bool

    def shares(self, points: Array) -> Array:
        """See `Fitted.shares`."""
        scores = np.asarray(self.weights[0] + self.features.of(points) @ self.weights[1:])
        return softmax_of(scores) if self.softmax else scores

    def plain(self) -> Plain:
        """Return itself."""
        return self


def softmax_of(scores: Array) -> Array:
    """Return the probabilities that scores stand for, of one column those of the second class."""
    if scores.shape[1] == 1:
        return np.exp(-np.logaddexp(0, -scores))
    powers = np.exp(scores - scores.max(1, keepdims=True))
    return np.asarray(powers / powers.sum(1, keepdims=True))

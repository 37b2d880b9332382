"""The gain of each feature in a message, which lets most of the expected signal through the noise.

Public numbers alone.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpsumm.ensemble.terms import Terms
from dpsumm.ensemble.updates.recipe import Recipe, expected_signal

# Prior variance of the class shares, times the number of classes.
_SHARES = 0.05
# Squared gain of a feature, at least, as a part of the largest.
_LEAST = 1e-4

Array = NDArray[np.float64]


def expected_rows(spread: Array, classes: int) -> Array:
    """Return the expected squared length of each row of the moments, (m + 1,): constant first.

    Rows of features go by the root of their spread, because classes differ along wide directions.
    """
    root = np.sqrt(spread)
    rows = root / root.sum() * expected_signal(len(spread), classes)
    return np.concatenate([[_SHARES / classes], rows])


def gains_of(expected: Array, terms: Terms, recipe: Recipe) -> Array:
    """Return the factors of a vector's rows, (m + 1,), of mean square 1 without the constant.

    Water-filling: with cost c_j the expected squared length of row j in a sender's vector, and
    noise n in each row of a vector of length 1, ``g_j**2 = max(0, level / sqrt(c_j) - n / e_j)``
    at ``sum g_j**2 c_j = 1``. Much noise, few rows.
    """
    from scipy.optimize import brentq

    noise = (terms.n_classes - 1) * recipe.noise(terms) ** 2 / expected
    cost = (expected if recipe.whole else 0.0) + np.full(len(expected), recipe.sampling(terms))

    def filled(level: float) -> Array:
        return np.maximum(0.0, level / np.sqrt(cost) - noise)

    high = float(np.sqrt(cost).max() * (1 / cost + noise).max())
    level = brentq(lambda level: float((filled(level) * cost).sum()) - 1, 0.0, high)
    squared = np.maximum(filled(level), _LEAST * filled(level).max())
    if squared[1:].mean() <= 0:  # pragma: no cover  the least keeps them above 0
        squared = np.ones(len(expected))
    return np.asarray(np.sqrt(squared / squared[1:].mean()))

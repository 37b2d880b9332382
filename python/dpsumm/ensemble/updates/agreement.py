"""Whether the rounds agree, as they do where the public points are like the parties' records."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# By how much the second round may differ from the first, and all rounds from those before on
# average, as a part of the expected signal. Records half a deviation away differ by more. Alike
# ones differ by two thirds at most, even where labels are sure.
_SECOND, _ALL = 1.0, 0.5
# Standard deviations of noise that they must differ by, too.
_SEEN = 6.0


class Agreement:
    """Adds up by how much each round differs from those before.

    All rounds tell the moments of the parties' records, by way of the public points: the records'
    residuals, added to the moments of the model on the points.

    Parameters
    ----------
    expected : (m + 1,)
        Expected squared length of each row of the moments.
    """

    def __init__(self, expected: Array) -> None:
        self._expected = expected
        self._beyond, self._doubt, self._signal = 0.0, 0.0, 0.0

    def broken(self, number: int, apart: Array, noise: Array, degrees: int) -> bool:
        """Return whether the rounds so far differ by more than noise.

        Parameters
        ----------
        number
            Of the round, from 0.
        apart, noise : (m + 1,)
            Squared distance of a round's rows from those before, and what noise makes of it.
        degrees
            Numbers that are free in a row.
        """
        # A row whose noise is more than the signal of all tells nothing, and would hide the others.
        whole = float(self._expected.sum())
        weight = (whole / (whole + noise)) ** 4
        self._beyond += float(weight @ (apart - noise))
        self._doubt += 2 * float(((weight * noise) ** 2).sum()) / degrees
        self._signal += float(weight @ self._expected)
        part = _SECOND if number == 1 else _ALL
        return self._beyond > max(part * self._signal, _SEEN * math.sqrt(self._doubt))

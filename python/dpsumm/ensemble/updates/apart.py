"""Where the parties' records are, if the public points are unlike them, by two rounds.

A round's vector is the mean of ``a (y - p)`` over records. Two models that say the same of every
record, one that all classes are as likely and one that only the first is, differ in it by the mean
of ``a`` itself. So the middle of the records is known from messages that all rounds have, and
costs no more than they do.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dpsumm.ensemble.students.whitened import Whitened, whitened
from dpsumm.ensemble.updates.messages import Step

Array = NDArray[np.float64]

# Rounds that must be left to learn from.
LEAST_ROUNDS = 3
# Variance of the noise in a middle, in units of the points' own, above which it tells too little.
_LOUD = 0.3
# Length of a middle, in the same units, beyond which the records are too far to tell of the points.
_FAR = 4.0
# Log-odds that leave nothing to the other classes.
_SURE = 60.0
# Directions are whitened down to this part of the largest, since records may vary more in them.
_FLOOR = 0.6
# Clip of the two rounds, in lengths of the gains. It must cut few vectors, of means or of records.
_WHOLE, _RECORD = 0.5, 1.0


class Apart:
    """Asks for the middle of the records in two rounds.

    Parameters
    ----------
    shares : (K,)
        Of the classes, as the rounds before tell.
    shape
        Of the moments, (m + 1, K).
    whole
        Whether all records of a party are the unit.

    Attributes
    ----------
    middle : (m + 1,)
        Mean of the records' features as far as the noise tells it; 1 for the constant.
    moments : (m + 1, K)
        Mean of ``a (y - 1 / K)`` with features about the middle.
    """

    def __init__(self, shares: Array, shape: tuple[int, int], whole: bool) -> None:
        self._room = _WHOLE if whole else _RECORD
        self._shares, self._shape = shares, shape
        self._even: Array | None = None
        self.middle, self.moments = np.zeros(shape[0]), np.zeros(shape)
        self.known, self._gone = False, np.zeros(shape)

    def step(self, number: int, radius: float) -> Step:
        """Return what the next of the two rounds starts from."""
        weights = np.zeros(self._shape)
        if self._even is not None:
            weights[0, 0] = _SURE
        return Step(number, self.clip(radius), self._shares, weights)

    def clip(self, radius: float) -> float:
        """Return the clip of the two rounds for gains of such a length."""
        return self._room * radius

    @property
    def near(self) -> bool:
        """Whether the middle is known, and near enough to the points."""
        told = self.known and self._even is not None
        return told and float(np.linalg.norm(self.middle[1:])) <= _FAR

    def pays(self, left: int, sd: float) -> bool:
        """Return whether enough rounds are left, and the noise of an entry tells enough."""
        return left >= LEAST_ROUNDS + 2 and self._noise * sd**2 <= _LOUD

    def skip(self) -> None:
        """Do without the two rounds: the records' middle is taken to be that of the points."""
        self.known = True

    @property
    def _noise(self) -> float:
        """Variance of an entry of the middle, in that of an entry of a round."""
        return 2 / (1 - 1 / self._shape[1])

    def take(self, seen: Array, variance: Array) -> None:
        """Learn from a round's moments, whose noise has variances (m + 1,)."""
        if self._even is None:
            self._even = seen
            return
        k = self._shape[1]
        between = np.eye(k)[0] - 1 / k
        middle = (self._even - seen) @ between / (between @ between)
        noise = self._noise * variance
        # What is more than noise, as if all features had as much of it.
        signal = max(float(np.average(middle**2 - noise, weights=noise**-2)), 0.0)
        self.middle = middle * signal / (signal + noise)
        self.middle[0] = 1.0
        own = self._even - np.outer(self.middle, self._even[0])
        own[0] = self._even[0]
        self.moments, self.known = own, True

    def go(self, start: Array, end: Array, before: Array, last: bool) -> tuple[Array, Array]:
        """Return where a step ends, and what the next round starts from, each (m + 1, K).

        Steps are too long where records vary more than the points, and too short where they vary
        less. So half of a function's step is taken if it turns back. If it goes on, the next one
        starts further along. After Rprop (Riedmiller & Braun 1993).

        Parameters
        ----------
        start, end
            Weights that the round was for, and the weights fitted to it.
        before
            End of the last step.
        last
            Whether no round follows.
        """
        along = ((end - start) * self._gone).sum(1, keepdims=True)
        end = np.where(along < 0, (start + end) / 2, end)
        self._gone = end - start
        # One that shrinks is not made to turn around.
        grows = ((end - before) * end).sum(1, keepdims=True) > 0
        return end, end if last else end + ((along > 0) & grows) * (end - before)


def linear(points: Array, like: Whitened) -> Whitened:
    """Return a basis of columns alone, with as many functions as another one. The rest are 0."""
    m = len(like.spread)
    made = whitened(points, dimensions=min(m, points.shape[1]))
    spread = np.maximum(made.spread, _FLOOR * made.spread[0])
    return padded(replace(made, whiten=made.whiten * (made.spread / spread), spread=spread), m)


def padded(basis: Whitened, m: int) -> Whitened:
    """Return a basis with m functions. The new ones are 0."""
    nothing = m - len(basis.spread)
    return replace(
        basis,
        whiten=np.pad(basis.whiten, ((0, 0), (0, nothing))),
        spread=np.pad(basis.spread, (0, nothing), constant_values=1e-12),
    )


def widened(a: Array) -> Array:
    """Return features (n, m + 1) with variance 1 at least where they have any.

    Records may vary in what hardly varies among the points. Steps of a fit to these would be too
    long for those.
    """
    variance = a.var(0)
    missing = np.sqrt(np.maximum(1 - variance, 0.0)) * (variance > 1e-12)
    return np.asarray(a + missing * np.random.default_rng(0).normal(size=a.shape))


def around(basis: Whitened, middle: Array) -> Whitened:
    """Return a basis with another centre, (m,) of its own functions."""
    moved = (basis.whiten * basis.spread) @ (basis.spread * middle)
    return replace(basis, centre=basis.centre + moved)

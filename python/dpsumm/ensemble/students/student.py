"""Students learn from noisy votes on public points, at no further charge."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dpsumm.ensemble.messages import NoisyVotes

Array = NDArray[np.float64]


# Rows whose features are held at once.
_ROWS = 2**14


class Fitted(ABC):
    """A student that has learnt."""

    @abstractmethod
    def shares(self, points: Array) -> Array:
        """Return estimated shares of votes, (n, columns) as `NoisyVotes.shares`. Not clipped."""

    def chances(self, points: Array) -> Array:
        """Return probabilities of all classes, (n, K), from the features of some rows at a time."""
        starts = range(0, max(len(points), 1), _ROWS)
        return np.concatenate([chances_of(self.shares(points[i : i + _ROWS])) for i in starts])

    def plain(self) -> Fitted | None:
        """Return the same as plain numbers (`Plain`), or None for one that is code."""
        return None


@dataclass(frozen=True, eq=False)
class Candidate:
    """One way to fit the votes.

    Attributes
    ----------
    name
        In words.
    fitted
        The learnt model.
    sure
        Stein's estimate of how well it fits the votes *without* their noise, from the noisy ones:
        the larger the better, comparable among candidates of one student; None if it has none.
    preferred
        Whether the student would take this one, where no validation set chooses. None is: the one
        of the largest estimate.
    """

    name: str
    fitted: Fitted = field(repr=False)
    sure: float | None = None
    preferred: bool = False


class Student(ABC):
    """A way to learn from noisy votes. Derive from it for one of your own.

    All use of the noisy votes and public data is post-processing. It must not see
    anything else of the parties.

    See Also
    --------
    dpsumm.ensemble.Spectral : The default.
    dpsumm.ensemble.Argmax : Estimators of scikit-learn.

    Examples
    --------
    >>> import numpy as np, dpsumm
    >>> from dpsumm.ensemble import Spectral, Student
    >>> class Simple(Student):
    ...     def candidates(self, points, votes):
    ...         return Spectral(("linear",)).candidates(points, votes)[:1]
    >>> rng = np.random.default_rng(0)
    >>> def people(n):
    ...     x = rng.normal(0, 1, (n, 2))
    ...     return x, (x[:, 0] > 0).astype(int)
    >>> parties, (x, _) = [people(10) for _ in range(60)], people(1000)
    >>> protocol = dpsumm.Voting(student=Simple())
    >>> dpsumm.learn(parties, x, classes=[0, 1], protocol=protocol).predict(x[:5]).shape
    (5,)
    """

    @abstractmethod
    def candidates(self, points: Array, votes: NoisyVotes) -> Sequence[Candidate]:
        """Return what could be used, at least one.

        Parameters
        ----------
        points : (N, d)
            The public points.
        votes
            On these.
        """

    def check(self) -> None:  # noqa: B027  most have nothing to refuse
        """Refuse parameters, before anything is spent.

        Raises
        ------
        InvalidParameterError, MissingExtraError
            With the way out.
        """


def simplex(shares: Array) -> Array:
    """Return the nearest point of the probability simplex to each row, (n, K)."""
    ordered = -np.sort(-shares, axis=1)
    above = np.cumsum(ordered, axis=1) - 1
    count = np.arange(1, shares.shape[1] + 1)
    last = (ordered - above / count > 0).sum(1) - 1
    shift = above[np.arange(len(shares)), last] / (last + 1)
    return np.asarray(np.maximum(shares - shift[:, None], 0.0))


def chances_of(shares: Array) -> Array:
    """Return shares as probabilities of all classes, (n, K). See `NoisyVotes.shares`."""
    if shares.shape[1] == 1:
        second = np.clip(shares, 0.0, 1.0)
        return np.hstack([1 - second, second])
    return simplex(shares)

"""The kernel and where its bandwidth comes from: never silently from private data."""

from __future__ import annotations

import math
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpsumm.checks import is_number
from dpsumm.errors import InvalidParameterError
from dpsumm.privacy.events import BoundedRange, Protected
from dpsumm.privacy.ledger import Ledger
from dpsumm.privacy.release import annex

if TYPE_CHECKING:
    from dpsumm.data.schema import Schema

FloatArray = NDArray[np.float32] | NDArray[np.float64]


@dataclass(frozen=True)
class RBF:
    """Gaussian kernel ``k(x, y) = exp(-gamma * ||x - y||**2)`` with a public bandwidth.

    Parameters
    ----------
    gamma
        Between 1e-30 and 1e30, in units of 1 / squared distance, after scaling by public bounds if
        any.

    Privacy
    -------
    `gamma` is sent to every owner. It must not have been computed from private data.

    See Also
    --------
    dpsumm.PrivateMedian : A bandwidth bought from epsilon.

    Examples
    --------
    >>> import dpsumm
    >>> dpsumm.RBF(0.25)
    RBF(gamma=0.25)
    """

    gamma: float

    def __post_init__(self) -> None:
        if not (is_number(self.gamma) and 1e-30 <= self.gamma <= 1e30):
            raise InvalidParameterError(
                f"gamma must be a number between 1e-30 and 1e30, got {self.gamma!r}"
            )

    @classmethod
    def for_unit_box(cls, n_columns: int) -> RBF:
        """Return the kernel for data scaled to [0, 1] by public bounds: ``gamma = 6 / n_columns``.

        The reciprocal of the mean squared distance of two uniform points of the box, a public fact.
        """
        if n_columns < 1:
            raise InvalidParameterError(f"n_columns must be at least 1, got {n_columns!r}")
        return cls(6.0 / n_columns)

    @classmethod
    def for_schema(cls, schema: Schema) -> RBF:
        """Return the kernel for the space of a schema in which all columns have a range.

        ``gamma = 6 / schema.worth``, the reciprocal of the mean squared distance of two records
        with uniform values: for columns of numbers what `for_unit_box` gives. A public fact.

        Raises
        ------
        InvalidParameterError
            A column has neither bounds nor categories.
        """
        return cls(6.0 / schema.worth)

    @classmethod
    def from_public(cls, points: FloatArray) -> RBF:
        """Return the kernel with gamma = 1 / median squared distance of a *public* sample.

        Parameters
        ----------
        points : (n, c) array, n >= 2
            Public data in the kernel's space; at most the first 1000 rows are used. Private data
            leak through a bandwidth made from them: use `PrivateMedian` for those.
        """
        return cls(1.0 / median_squared_distance(points, "points"))


def median_squared_distance(points: FloatArray, name: str) -> float:
    """Return the median squared distance of the first 1000 rows. Not private."""
    points = np.asarray(points, dtype=np.float64)[:1000]
    if points.ndim != 2 or len(points) < 2 or not np.isfinite(points).all():
        raise InvalidParameterError(
            f"{name} must be a finite (n, columns) array with at least 2 rows"
        )
    points = np.asfortranarray(points)
    pairs = []
    for i in range(0, len(points), 64):  # what fits a cache
        squared = _squared_distances(points[i : i + 64, None], points[None, i:])
        pairs.append(squared[np.triu_indices_from(squared, 1)])
    median = float(np.median(np.concatenate(pairs)))
    if not median > 0:
        raise InvalidParameterError(
            f"{name}: the median distance is 0 (most rows are equal); give RBF(gamma) instead"
        )
    return median


def _squared_distances(left: FloatArray, right: FloatArray) -> NDArray[np.float64]:
    """Return the squared distances of (.., c) rows that broadcast, the same on every processor.

    Column after column: a matrix product adds in an order, and fuses, as the processor does best.
    """
    total = np.zeros(np.broadcast_shapes(left.shape, right.shape)[:-1])
    for j in range(left.shape[-1]):
        step = left[..., j].astype(np.float64) - right[..., j]
        total += step * step
    return total


# Octaves (2**(e-1), 2**e] in which the median squared distance may lie: a public list.
_EXPONENTS = range(-20, 31)


@dataclass(frozen=True)
class PrivateMedian:
    """A bandwidth from the target itself, chosen privately and charged to the ledger.

    The bandwidth is the distance at which two records count as alike. The exponential mechanism
    picks the octave that holds the median squared distance of disjoint pairs of target records;
    gamma is 1 / the geometric middle of that octave.

    Parameters
    ----------
    share
        Part of the run's epsilon that pays for it, in (0, 1).

    Privacy
    -------
    Claim: ``share * epsilon``-DP, and ``(share * epsilon)**2 / 8``-zCDP, for replacing one target
    record. Assumes: sizes public. Argument: one record lies in one pair, so each count of pairs
    with distance at most ``c`` moves by at most 1 (pairs are drawn at random, so the order of the
    records does not matter). An octave's score is minus twice the number of pairs
    that would have to move for it to hold the median, so it moves by at most 2; weights are
    ``exp(share * epsilon / 4 * score)``. Numerics: integer scores and weights
    (``kernels.exponential_choice``). Tested by: tests/summary/test_bandwidth.py.

    See Also
    --------
    dpsumm.RBF : A public bandwidth, which costs nothing.

    Examples
    --------
    >>> import numpy as np, dpsumm
    >>> rng = np.random.default_rng(0)
    >>> owners = [rng.uniform(0, 1, (200, 2)) for _ in range(3)]
    >>> target = rng.uniform(0.4, 1, (1000, 2))
    >>> kernel = dpsumm.PrivateMedian(share=0.3)
    >>> summary = dpsumm.summarize(owners, target, size=12, kernel=kernel)
    >>> summary.gamma > 0, summary.privacy.epsilon(1e-5) <= 1  # the bandwidth is paid from epsilon
    (True, True)
    """

    share: float = 0.2

    def __post_init__(self) -> None:
        if not 0 < self.share < 1:
            raise InvalidParameterError(
                f"share must lie strictly between 0 and 1, got {self.share!r}"
            )

    def check(self, n_target: int, epsilon: float) -> None:
        """Refuse, from public numbers only, a target too small for a useful answer.

        The chance of an octave beyond the quartiles is at most
        ``octaves * exp(-share * epsilon * pairs / 8)``; above 1 % is refused.
        """
        pairs = n_target // 2
        spent = self.share * epsilon
        needed = math.ceil(8 * math.log(100 * len(_EXPONENTS)) / spent)
        if pairs < needed:
            raise InvalidParameterError(
                f"kernel: a private bandwidth at epsilon {spent:g} needs a target of {2 * needed} "
                f"records, this one has {n_target}. Give kernel=RBF(gamma) or "
                "kernel=RBF.from_public(sample) (--gamma), bounds for every column (then gamma = "
                "6 / columns), or a larger epsilon"
            )

    def choose(
        self, target: FloatArray, epsilon: float, ledger: Ledger, seed: int | None
    ) -> tuple[RBF, float]:
        """Return the kernel and what is left of epsilon. Charged before it is returned."""
        self.check(len(target), epsilon)
        spent = self.share * epsilon
        charge = annex.charge_of(
            Protected.TARGET,
            "bandwidth (private median)",
            BoundedRange(spent),
            seeded=seed is not None,
        )
        released = annex.release(
            "private median",
            ledger,
            "bandwidth",
            [charge],
            lambda: bytes([self._draw(target, spent, seed)]),
        )
        return RBF(math.ldexp(math.sqrt(2.0), -_EXPONENTS[released[0]])), epsilon - spent

    @staticmethod
    def _draw(target: FloatArray, epsilon: float, seed: int | None) -> int:
        pairs = len(target) // 2
        # In random pairs: in a sorted table, replacing one record would move all pairs.
        order = np.random.default_rng(secrets.randbits(128) if seed is None else seed)
        shuffled = target[order.permutation(len(target))]
        left, right = shuffled[: 2 * pairs : 2], shuffled[1 : 2 * pairs : 2]
        squared = _squared_distances(left, right)
        edges = np.array([2.0**e for e in _EXPONENTS])
        up_to = np.count_nonzero(squared[:, None] <= edges, axis=0)
        below = np.concatenate([[0], up_to[:-1]])
        missing = np.maximum(0, np.maximum(2 * below - pairs, pairs - 2 * up_to))
        scores = -missing.astype(np.int64)
        return annex.exponential_choice(scores, epsilon / 4, seed)


Kernel = RBF | PrivateMedian

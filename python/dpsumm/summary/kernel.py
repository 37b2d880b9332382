"""The kernel and where its bandwidth comes from: public facts, never private data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpsumm.basics.checks import is_number
from dpsumm.errors import InvalidParameterError

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
    dpsumm.summarize : Takes one where columns have no bounds.

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
        with uniform values. For columns of numbers it is that of `for_unit_box`. A public fact.

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
            Public data in the kernel's space. At most the first 1000 rows are used. Private data
            leak through a bandwidth made from them.
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
            f"{name}: the median distance is 0 (most rows are equal). Give RBF(gamma) instead"
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

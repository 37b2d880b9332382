"""Landmark features of the Gaussian kernel have less noise for the same privacy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpsumm.errors import InvalidParameterError
from dpsumm.kernels import _core, inputs
from dpsumm.kernels.feature_map import FeatureMap
from dpsumm.kernels.features import RandomFeatures


class LandmarkFeatures(FeatureMap):
    """Landmark features ``h(x) = A k_Z(x)``: about the kernel between x and public points Z.

    k_Z(x) are the kernel values ``exp(-gamma ||x - z||^2)`` of x with the landmarks, and A is the
    inverse of the Cholesky factor of their own kernel matrix plus 0.001 on its diagonal (Nystroem's
    method; Williams & Seeger 2001). ``h(x) @ h(y)`` is near the kernel where the landmarks are
    near, and ``h(x) @ h(x)``, at most 1, tells how near. All methods take points as
    (n, n_columns), float32 or float64, compute in float64, and give the same bits on every machine
    and with any number of threads.

    Parameters
    ----------
    landmarks : (L, n_columns)
        1 to 8192 points; **public**: drawn from a schema, or a public sample. Not changed.
    gamma
        Positive, in units of 1 / squared distance.
    region
        Where the points lie, a public fact: parts (cells, limit), each for so many of the columns,
        which are at least 0 and add up to the limit at most. A number in [0, 1] is
        ``(1, 1.0)``. A category in k cells, one of them 0.7 and the others 0, is
        ``(k, 0.7)``. Points elsewhere are moved into it. None if points may lie anywhere. A schema
        with bounds or categories for all columns has one, `Schema.region`.

    Raises
    ------
    InvalidParameterError
        A parameter out of range. Points of another width. Landmarks so far apart under `gamma` that
        rounding cannot be bounded.
    InvalidDataError
        NaN or infinite values. No message tells a value.
    MemoryError
        A result that does not fit.

    Privacy
    -------
    Features are the points in another form, and sums of them are exact, so neither is private. The
    map is public only if landmarks, gamma and region are. For the effect of one point see
    `sum_on_grid`.

    See Also
    --------
    dpsumm.kernels.RandomFeatures : Needs no landmarks.

    Examples
    --------
    >>> import numpy as np
    >>> from dpsumm.kernels import LandmarkFeatures
    >>> landmarks = np.random.default_rng(0).uniform(size=(64, 2))  # public
    >>> features = LandmarkFeatures(landmarks, gamma=3.0, region=[(1, 1.0), (1, 1.0)])
    >>> h = features.transform([[0.2, 0.3], [0.8, 0.5]])
    >>> h.shape
    (2, 64)
    >>> bool(abs(h[0] @ h[1] - np.exp(-3 * 0.4)) < 0.01)
    True
    """

    __slots__ = ("_landmarks", "gamma", "region")

    _map: _core.LandmarkFeatures
    gamma: float
    region: tuple[tuple[int, float], ...] | None

    def __init__(
        self,
        landmarks: ArrayLike,
        *,
        gamma: float,
        region: Sequence[tuple[int, float]] | None = None,
    ) -> None:
        table = inputs.points(landmarks, "landmarks").astype(np.float64)
        self._landmarks = table
        self.gamma = inputs.number(gamma, "gamma")
        self.region = None if region is None else _parts(region)
        parts = None if self.region is None else list(self.region)
        self._map = _core.LandmarkFeatures(table, self.gamma, parts)

    def __reduce__(self) -> tuple[Any, ...]:
        return _built, (self._landmarks, self.gamma, self.region)

    @property
    def landmarks(self) -> NDArray[np.float64]:
        """The landmarks, (L, n_columns). A copy."""
        return self._landmarks.copy()

    @property
    def max_norm(self) -> float:
        """An upper bound of the L2 norm of a feature row: 1, and what the arithmetic may add."""
        return self.grid_norm(2**22) / 2**22

    def to_bytes(self) -> bytes:
        """Return the recipe of the map as bytes, equal for equal maps."""
        region = np.array([] if self.region is None else self.region, dtype="<f8")
        scale = np.array([self.gamma, len(region)], dtype="<f8")
        return self._landmarks.astype("<f8").tobytes() + scale.tobytes() + region.tobytes()

    def grid_norm(self, levels: int) -> float:
        """Return the largest L2 norm of a row's integers on a grid of `levels` steps per unit.

        A whole number, about ``levels``. Enforced on the integers of every row.
        """
        return self._map.grid_norm(inputs.whole(levels, "levels", 1, 2**22))

    def grid_difference(self, levels: int) -> float:
        """Return the largest L2 distance of two rows' integers, for any two points.

        About ``levels * sqrt(2 * (1 - exp(-gamma * D2)))`` with D2 the squared diameter of the
        region, and ``levels * sqrt(2)`` without one: less than the ``2 * levels`` of random
        features. Errors of the arithmetic and rounding to the grid are in it.

        Examples
        --------
        >>> features = LandmarkFeatures([[0.0], [1.0]], gamma=1.0, region=[(1, 1.0)])
        >>> round(features.grid_difference(2**20) / 2**20, 3)
        1.124
        """
        return self._map.grid_difference(inputs.whole(levels, "levels", 1, 2**22))

    def sum_on_grid(self, points: ArrayLike, levels: int) -> NDArray[np.int64]:
        """Return the sum of the rows' features, rounded to a fine grid: exact integers.

        Parameters
        ----------
        points : (n, n_columns)
        levels
            Grid steps per unit, from 1 to 2**22.

        Returns
        -------
        (d,) int64
            In grid steps: ``levels * sum of h(x)``, up to one rounding for each row.

        Privacy
        -------
        Not private. The sum moves by at most ``grid_difference(levels)`` in L2 when a row is
        replaced, and by ``grid_norm(levels)`` when one is added or removed, for any rows.
        The latter is enforced on the integers. The former is a theorem about the kernel, with a
        proved bound of the arithmetic (``docs/privacy/target-release.md``). It assumes that
        landmarks, gamma and region are public.

        Examples
        --------
        >>> features = LandmarkFeatures([[0.0]], gamma=1.0)
        >>> features.sum_on_grid([[0.0], [1.0]], 1000).tolist()
        [1368]
        """
        levels = inputs.whole(levels, "levels", 1, 2**22)
        return self._map.sum_on_grid(inputs.points(points, "points"), levels)


# Either map: both say by how much their sums move.
Features = RandomFeatures | LandmarkFeatures


def _parts(region: object) -> tuple[tuple[int, float], ...]:
    try:
        pairs = [(cells, limit) for cells, limit in region]  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        raise InvalidParameterError("region must hold pairs (cells, limit)") from None
    return tuple(
        (inputs.whole(cells, "region", 1, 2**20), inputs.number(limit, "region"))
        for cells, limit in pairs
    )


def _built(
    landmarks: NDArray[np.float64], gamma: float, region: Sequence[tuple[int, float]] | None
) -> LandmarkFeatures:
    return LandmarkFeatures(landmarks, gamma=gamma, region=region)

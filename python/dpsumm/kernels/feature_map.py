"""What all maps from points to features do."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpsumm.kernels import _core, inputs
from dpsumm.kernels.inputs import FloatArray


class FeatureMap:
    """A map h from points to d features, computed by the core."""

    __slots__ = ("_map",)

    _map: _core.RandomFeatures | _core.LandmarkFeatures

    @property
    def n_features(self) -> int:
        """Return d, the length of h(x)."""
        return self._map.n_features

    def transform(self, points: ArrayLike) -> FloatArray:
        """Return h(x) of every row: (n, d), float32 of float32 points, else float64."""
        return self._map.transform(inputs.points(points, "points"))

    def scores(self, points: ArrayLike, direction: ArrayLike) -> NDArray[np.float64]:
        """Return ``h(x) @ direction`` of every row, without storing features.

        Parameters
        ----------
        points : (n, n_columns)
        direction : (d,) or (r, d)
            Finite, for example a released mean of features. Scores are then estimates of each
            point's mean kernel value with the data behind the release. Several directions, one a
            row, share the time that the features take.

        Returns
        -------
        (n,) or (n, r) float64
            Random features have the precision of the points, and their products are added up in
            float64. With landmarks a row costs one kernel value for each, as `direction` is taken
            to the landmarks once.

        Examples
        --------
        >>> import numpy as np
        >>> from dpsumm.kernels import LandmarkFeatures, RandomFeatures
        >>> features = RandomFeatures.from_parts("paired", [[1.0]], [])
        >>> features.scores([[0.0], [np.pi]], [3.0, 0.0]).tolist()
        [3.0, -3.0]
        >>> features = LandmarkFeatures([[0.0]], gamma=1.0)
        >>> features.scores([[0.0], [1.0]], [1.0]).round(3).tolist()
        [1.0, 0.368]
        """
        given, several = inputs.directions(direction, "direction")
        scores = self._map.scores(inputs.points(points, "points"), given)
        return scores if several else scores[:, 0]

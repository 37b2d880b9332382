"""Random Fourier features of the Gaussian kernel, and their sums on integer grids."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpsumm.basics.checks import MAX_FEATURES
from dpsumm.kernels import _core, inputs
from dpsumm.kernels.feature_map import FeatureMap

FeatureKind = Literal["paired", "phase"]


class RandomFeatures(FeatureMap):
    """Random Fourier features h(x): ``h(x) @ h(y)`` approximates ``exp(-gamma ||x - y||^2)``.

    Rahimi & Recht 2008. Orthogonal frequencies: Yu et al. 2016. The error of one kernel value is
    about ``1 / sqrt(n_features)``. All methods take points as (n, n_columns), float32 or float64,
    compute in that precision, and give the same bits on every machine and with any number of
    threads. Other real numbers become float64.

    Parameters
    ----------
    n_columns
        Columns of a point.
    n_features
        d, the length of h(x): at most 2**18, and even if paired.
    gamma
        Positive, in units of 1 / squared distance.
    seed
        From 0 to 2**64 - 1: the same seed gives the same features to all who agree on it. Public.
    kind
        "paired": ``sqrt(2/d) [cos(w x), sin(w x)]`` of d/2 frequencies, norm 1. "phase":
        ``sqrt(2/d) cos(w x + b)`` of d frequencies, norm at most ``sqrt(2)``.
    orthogonal
        Whether frequencies are orthogonal in blocks of `n_columns`: a smaller error at no cost.

    Raises
    ------
    InvalidParameterError
        A parameter out of range. Points of another width, or so large that angles overflow.
    InvalidDataError
        NaN or infinite values. No message tells a value.
    MemoryError
        A result that does not fit.

    Privacy
    -------
    Features are the points in another form, and sums of them are exact: neither is private. Noise
    for the sensitivity that each method states makes a release of them.

    See Also
    --------
    dpsumm.kernels.LandmarkFeatures : Features by public points.
    dpsumm.kernels.Bidder : Finds the best of rows of features on a grid.

    Examples
    --------
    >>> import numpy as np
    >>> from dpsumm.kernels import RandomFeatures
    >>> points = np.array([[0.0, 0.0], [1.0, 0.0]])
    >>> features = RandomFeatures(2, 4096, gamma=0.5, seed=1)
    >>> h = features.transform(points)
    >>> h.shape
    (2, 4096)
    >>> bool(abs(h[0] @ h[1] - np.exp(-0.5)) < 0.05)
    True

    In a pipeline of scikit-learn: ``FunctionTransformer(features.transform)``.
    """

    __slots__ = ("kind",)

    _map: _core.RandomFeatures
    kind: FeatureKind

    def __init__(
        self,
        n_columns: int,
        n_features: int,
        *,
        gamma: float,
        seed: int,
        kind: FeatureKind = "paired",
        orthogonal: bool = True,
    ) -> None:
        self.kind = kind
        self._map = _core.RandomFeatures(
            str(kind),
            bool(orthogonal),
            inputs.number(gamma, "gamma"),
            inputs.whole(n_columns, "n_columns", 1),
            inputs.whole(n_features, "n_features", 1, MAX_FEATURES),
            inputs.whole(seed, "seed", 0, 2**64 - 1),
        )

    @classmethod
    def from_parts(cls, kind: FeatureKind, omega: ArrayLike, phase: ArrayLike) -> RandomFeatures:
        """Return the features of given frequencies.

        Parameters
        ----------
        kind
            "paired" or "phase".
        omega : (d/2, n_columns) if paired, else (d, n_columns)
        phase : (0,) if paired, else (d,)

        Examples
        --------
        >>> features = RandomFeatures.from_parts("paired", [[1.0, 2.0]], [])
        >>> features.transform([[0.0, 0.0]]).tolist()
        [[1.0, 0.0]]
        """
        made = object.__new__(cls)
        made.kind = kind
        table = inputs.points(omega, "omega").astype(np.float64, copy=False)
        made._map = _core.RandomFeatures.from_parts(str(kind), table, inputs.vector(phase, "phase"))
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return RandomFeatures.from_parts, (self.kind, self.omega, self.phase)

    @property
    def omega(self) -> NDArray[np.float64]:
        """Frequencies: (d/2, n_columns) if paired, else (d, n_columns). A copy."""
        return self._map.omega

    @property
    def phase(self) -> NDArray[np.float64]:
        """Phases: (0,) if paired, else (d,). A copy."""
        return self._map.phase

    @property
    def max_norm(self) -> float:
        """Largest L2 norm of a feature row: 1 if paired, else ``sqrt(2)``."""
        return self._map.max_norm

    def grid_norm(self, levels: int) -> float:
        """Return the largest L2 norm of a row's integers on a grid of `levels` steps per unit."""
        return inputs.whole(levels, "levels", 1, 2**22) * self.max_norm

    def grid_difference(self, levels: int) -> float:
        """Return the largest L2 distance of two rows' integers, which antipodal features reach."""
        return 2 * self.grid_norm(levels)

    def to_bytes(self) -> bytes:
        """Return the recipe of the map as bytes, equal for equal maps."""
        return self.omega.tobytes() + self.phase.tobytes()

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
        Not private. The integers of any row have an L2 norm of at most ``grid_norm(levels)``, so
        the sum moves by at most that in L2 when a row is added or removed, and by
        ``grid_difference(levels)``, twice that, when one is replaced. The norm is clamped on the
        integers, so nothing rests on the accuracy of a cosine.

        Examples
        --------
        >>> features = RandomFeatures.from_parts("paired", [[1.0]], [])
        >>> features.sum_on_grid([[0.0], [0.0], [np.pi / 2]], 1000).tolist()
        [2000, 1000]
        """
        levels = inputs.whole(levels, "levels", 1, 2**22)
        return self._map.sum_on_grid(inputs.points(points, "points"), levels)

    def quantized_sum(
        self, points: ArrayLike, steps: int, seed: int | None = None
    ) -> NDArray[np.int64]:
        """Return the sum of scaled features, rounded at random without bias: what `mwem` takes.

        A feature times ``sqrt(d/2)`` is in [-1, 1] and goes to one of its two neighbours on the
        grid ``{-1, -1 + 2/steps, .., 1}``, with the chances that keep its mean.

        Parameters
        ----------
        points : (n, n_columns)
        steps
            Steps from -1 to 1, from 1 to 2**20.
        seed
            None for coins of the operating system.

        Returns
        -------
        (d,) int64
            In units of ``1 / steps``.

        Privacy
        -------
        Not private. Each coordinate moves by at most `steps` when a row is added or removed, and by
        twice that when one is replaced. The coins protect no record, so seeded ones have no cost.

        Examples
        --------
        >>> features = RandomFeatures.from_parts("paired", [[1.0]], [])
        >>> features.quantized_sum(np.zeros((5, 1)), 20).tolist()
        [100, 0]
        """
        steps = inputs.whole(steps, "steps", 1, 2**20)
        return self._map.quantized_sum(inputs.points(points, "points"), steps, inputs.seed(seed))

    def on_grid(self, points: ArrayLike) -> NDArray[np.int16]:
        """Return every row's features on a grid of 16 bits: what `Bidder` takes.

        The grid has the largest power of two of steps on which each feature fits. A row depends on
        that point alone, so all who hold the point get the same integers.

        Returns
        -------
        (n, d) int16

        Examples
        --------
        >>> features = RandomFeatures.from_parts("paired", [[1.0]], [])
        >>> features.on_grid([[0.0], [np.pi]]).tolist()
        [[16384, 0], [-16384, 0]]
        """
        return self._map.on_grid(inputs.points(points, "points"))

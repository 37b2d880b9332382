"""The feature map of a run: which it is, and how every party builds it from a public recipe."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from dpsumm import kernels
from dpsumm.basics.checks import MAX_LANDMARKS, check_even_features, check_whole
from dpsumm.data.schema import Schema, uniform_points
from dpsumm.errors import InvalidParameterError, ProtocolError
from dpsumm.kernels import inputs
from dpsumm.kernels.landmarks import Features
from dpsumm.summary.protocols.messages import FeatureMap, LandmarkMap
from dpsumm.summary.release import LEVELS, Mechanism

FeatureChoice = Literal["auto", "landmarks", "random"]
# Features of a run, unless another number is asked for.
LANDMARKS, RANDOM = 1024, 2048
# Noise relative to random features', over the share of a record that the landmarks keep, from
# which on they are worth it.
WORTH = 0.8
# Where a point's angles have at most this standard deviation, features in single precision are off
# by some 1e-5, a thousandth of their own error.
MOST_ANGLE = 100.0
# Points that the share is measured on, and the most numbers that landmarks are drawn with.
_PROBES, _MOST_NUMBERS = 256, 2**24


@dataclass(frozen=True, eq=False)
class MapChoice:
    """Which features a target is released in, by public facts alone. See `Offers`."""

    features: FeatureChoice = "auto"
    n_features: int | None = None
    sample: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        if self.features not in get_args(FeatureChoice):
            known = ", ".join(map(repr, get_args(FeatureChoice)))
            raise InvalidParameterError(f"features must be {known}, got {self.features!r}")
        if self.n_features is not None:
            if self.asks_for_landmarks:
                check_whole(self.n_features, "n_features", 1, MAX_LANDMARKS)
            else:
                check_even_features(self.n_features)
        if self.sample is not None:
            object.__setattr__(self, "sample", self._checked(self.sample))

    def _checked(self, sample: Any) -> NDArray[np.float64]:
        if self.features == "random":
            raise InvalidParameterError(
                'sample: `features="random"` take none. Leave out one of the two'
            )
        points = inputs.points(sample, "sample")[: self.n_features].astype(np.float64)
        if not (1 <= len(points) <= MAX_LANDMARKS and np.isfinite(points).all()):
            raise InvalidParameterError(
                f"sample must have 1 to {MAX_LANDMARKS} rows of finite numbers. Give fewer, or "
                "n_features to use the first ones"
            )
        if self.n_features is not None and len(points) < self.n_features:
            raise InvalidParameterError(
                f"n_features ({self.n_features}) must not be above the sample's rows, {len(points)}"
            )
        return points

    @property
    def asks_for_landmarks(self) -> bool:
        """Whether the features are landmarks for every schema."""
        return self.features == "landmarks" or self.sample is not None

    @property
    def n_random(self) -> int:
        """How many random features there are, if they are random."""
        return RANDOM if self.n_features is None else self.n_features

    def check_release(self, release: Mechanism) -> None:
        """Refuse landmarks for a mechanism that has no bound for them."""
        if self.asks_for_landmarks and not release.takes_landmarks:
            raise InvalidParameterError(
                f"release: {type(release).__name__} takes no landmark features. Use "
                'Gaussian(), or features="random" without a sample'
            )

    def check_columns(self, schema: Schema | None, n_columns: int) -> None:
        """Refuse landmarks that cannot be drawn, and a sample of another width."""
        if self.sample is not None and self.sample.shape[1] != n_columns:
            raise InvalidParameterError(
                f"sample must have {n_columns} columns, those of the kernel's space, got "
                f"{self.sample.shape[1]}"
            )
        bounded = schema is not None and schema.bounded
        if self.features == "landmarks" and self.sample is None and not bounded:
            raise InvalidParameterError(
                'features: "landmarks" need bounds or categories for every column, or a public '
                'sample. Use "auto"'
            )

    def recipe(
        self, schema: Schema | None, gamma: float, n_columns: int, seed: int, release: Mechanism
    ) -> FeatureMap | LandmarkMap:
        """Return the public recipe for data of a schema, or of none (under an `Embedding`)."""
        count = LANDMARKS if self.n_features is None else self.n_features
        if schema is not None and (
            self.asks_for_landmarks
            or (
                self.features == "auto"
                and release.takes_landmarks
                and are_worth_it(schema, gamma, count)
            )
        ):
            return LandmarkMap(
                gamma=gamma,
                n_columns=n_columns,
                n_features=count if self.sample is None else len(self.sample),
                seed=seed,
                schema=schema.fingerprint,
                sample=self.sample,
            )
        return FeatureMap(gamma=gamma, n_columns=n_columns, n_features=self.n_random, seed=seed)


def features_of(feature_map: FeatureMap | LandmarkMap, schema: Schema | None = None) -> Features:
    """Return the features of a public recipe. They are the same for all and cannot be changed."""
    if isinstance(feature_map, FeatureMap):
        return random_features(feature_map)
    if schema is None or schema.fingerprint != feature_map.schema:
        found = "none" if schema is None else schema.fingerprint
        raise ProtocolError(
            f"the curator's landmarks are for the schema with fingerprint {feature_map.schema}, "
            f"this party has {found}. Compare the schemas"
        )
    if feature_map.sample is None and not schema.bounded:
        raise ProtocolError(
            "landmarks are drawn from schemas with bounds or categories for every column only"
        )
    sample = None if feature_map.sample is None else feature_map.sample.tobytes()
    return _landmarks(schema, feature_map.gamma, feature_map.n_features, feature_map.seed, sample)


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores of points in some directions. Small, so that it can be sent to shards."""

    feature_map: FeatureMap | LandmarkMap
    schema: Schema
    directions: NDArray[np.float64]

    @cached_property
    def _features(self) -> Features:
        return features_of(self.feature_map, self.schema)

    @cached_property
    def _dtype(self) -> type[np.float32 | np.float64]:
        """Precision of random features: single where no angle can be so large that it shows."""
        gamma = self.feature_map.gamma
        small = self.schema.bounded and 2 * gamma * self.schema.radius**2 <= MOST_ANGLE**2
        return np.float32 if small else np.float64

    def __call__(self, points: NDArray[Any]) -> NDArray[np.float64]:
        """Return (b, r) scores of (b, c) points in r directions.

        They rank an owner's records among themselves, and each depends on that record alone.
        """
        if isinstance(self.feature_map, FeatureMap):
            points = points.astype(self._dtype, copy=False)
        return self._features.scores(points, self.directions)

    def __reduce__(self) -> tuple[Any, ...]:
        """Leave the features out: anyone who receives this builds them."""
        return Scores, (self.feature_map, self.schema, self.directions)


@lru_cache(maxsize=2)  # many owners in one process: the map is built once
def random_features(feature_map: FeatureMap) -> kernels.RandomFeatures:
    """Return the random features of a public recipe."""
    return kernels.RandomFeatures(
        feature_map.n_columns,
        feature_map.n_features,
        gamma=feature_map.gamma,
        seed=feature_map.seed,
        kind=feature_map.kind,
        orthogonal=feature_map.orthogonal,
    )


@lru_cache(maxsize=4)
def _landmarks(
    schema: Schema, gamma: float, count: int, seed: int, sample: bytes | None
) -> kernels.LandmarkFeatures:
    region = schema.region if schema.bounded else None
    if sample is None:
        points = uniform_points(schema, count, seed)
    else:
        points = np.frombuffer(sample).reshape(count, -1)
    return kernels.LandmarkFeatures(points, gamma=gamma, region=region)


@lru_cache(maxsize=16)
def are_worth_it(schema: Schema, gamma: float, count: int) -> bool:
    """Return whether landmarks drawn from a schema beat random features, from public facts alone.

    They need less noise, and keep only the part of a record near them. This share is measured on
    other points drawn from the schema. It is high for tables of some dozens of columns, and low for
    images.
    """
    if not schema.bounded or count > MAX_LANDMARKS or len(schema.cells) * count > _MOST_NUMBERS:
        return False
    try:
        features = _landmarks(schema, gamma, count, 0, None)
    except InvalidParameterError:
        return False  # no bandwidth for these bounds
    kept = features.transform(uniform_points(schema, _PROBES, 1)).astype(np.float64)
    share = float((kept * kept).sum()) / _PROBES
    return features.grid_difference(LEVELS) <= WORTH * share * 2 * LEVELS

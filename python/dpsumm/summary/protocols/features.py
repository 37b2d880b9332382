"""Random features as every party of a run builds them."""

from __future__ import annotations

from functools import lru_cache

from dpsumm import _core
from dpsumm.summary.protocols.messages import FeatureMap


@lru_cache(maxsize=2)  # many owners in one process: the map is built once
def features_of(feature_map: FeatureMap) -> _core.RandomFeatures:
    """Return the features of a public recipe: the same for all, and nobody can change them."""
    return _core.RandomFeatures(
        feature_map.kind,
        feature_map.orthogonal,
        feature_map.gamma,
        feature_map.n_columns,
        feature_map.n_features,
        feature_map.seed,
    )

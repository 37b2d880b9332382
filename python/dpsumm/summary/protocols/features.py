"""Random features as every party of a run builds them."""

from __future__ import annotations

from functools import lru_cache

from dpsumm import kernels
from dpsumm.summary.protocols.messages import FeatureMap


@lru_cache(maxsize=2)  # many owners in one process: the map is built once
def features_of(feature_map: FeatureMap) -> kernels.RandomFeatures:
    """Return the features of a public recipe: the same for all, and nobody can change them."""
    return kernels.RandomFeatures(
        feature_map.n_columns,
        feature_map.n_features,
        gamma=feature_map.gamma,
        seed=feature_map.seed,
        kind=feature_map.kind,
        orthogonal=feature_map.orthogonal,
    )

"""What curator and owners say to each other. Frozen values, no behaviour but their own checks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpsumm import _core
from dpsumm.errors import ProtocolError
from dpsumm.release import Release


@dataclass(frozen=True)
class FeatureMap:
    """Public recipe of the random features; every party builds the same map from it."""

    gamma: float
    n_columns: int
    n_features: int
    seed: int
    orthogonal: bool = True

    def build(self) -> _core.RandomFeatures:
        """Return the map (paired features)."""
        return _core.RandomFeatures(
            "paired", self.orthogonal, self.gamma, self.n_columns, self.n_features, self.seed
        )


@dataclass(frozen=True)
class OfferRequest:
    """Curator to every owner, once: pick offers for this noisy target.

    Attributes
    ----------
    feature_map, release
        Where the target lies, noisily. The only part that depends on private data.
    mass
        Mass one offer carries, weight / size.
    at_least, at_most
        Public floor and cap of the number of offers (or all an owner has, if fewer).
    """

    feature_map: FeatureMap
    release: Release
    mass: float
    at_least: int
    at_most: int


@dataclass(frozen=True)
class DrawRequest:
    """Curator to one owner: send `count` records drawn at random. Depends on public numbers only."""

    count: int


Request = OfferRequest | DrawRequest


@dataclass(frozen=True)
class Points:
    """Owner to curator: records as they are. Seen by curator and consumer, by no other owner.

    Attributes
    ----------
    rows : (q,) int64
        Their rows in the owner's data, ascending.
    values : (q, c) float32 or float64
        In original units.
    labels : (q,) or None
    """

    rows: NDArray[np.int64]
    values: NDArray[np.floating]
    labels: NDArray[np.generic] | None

    def check(self, n_columns: int, at_least: int, at_most: int, labelled: bool) -> None:
        """Raise `ProtocolError` unless this answer fits the request. Tells no value."""
        count = len(self.rows)
        if self.values.ndim != 2 or self.values.shape != (count, n_columns):
            raise ProtocolError(f"values must have shape ({count}, {n_columns})")
        if not at_least <= count <= at_most:
            raise ProtocolError(f"{count} points sent, {at_least} to {at_most} were asked for")
        if not np.isfinite(self.values).all():
            raise ProtocolError("values hold NaN or infinity")
        if count and (self.rows[0] < 0 or (np.diff(self.rows) <= 0).any()):
            raise ProtocolError("rows must be ascending, distinct and >= 0")
        if labelled != (self.labels is not None) or (
            self.labels is not None and self.labels.shape != (count,)
        ):
            raise ProtocolError("labels must be sent by all owners or by none, one a point")

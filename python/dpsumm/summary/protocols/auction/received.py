"""Points that the curator of the Auction has of one owner."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpsumm import kernels
from dpsumm.summary.protocols.auction.ranks import Place
from dpsumm.summary.protocols.messages import BidRequest, Points


class Received:
    """Points of one owner, and which of them can still be picked.

    Attributes
    ----------
    rows
        Of all points, in the order they came.
    scaled
        The points in the kernel's space, likewise.
    parts
        The owner's answers.
    """

    def __init__(self, owner: int, n_features: int) -> None:
        self.owner = owner
        self._bidder = kernels.Bidder(np.empty((0, n_features), dtype=np.int16))
        self.rows: list[int] = []
        self.scaled: list[NDArray[np.floating]] = []
        self.parts: list[Points] = []

    def add(
        self, points: Points, scaled: NDArray[np.floating], features: NDArray[np.int16]
    ) -> None:
        """Keep points, with their features on the grid."""
        # Ties go to the lower row, not to the earlier one.
        self._bidder.append(features, points.rows)
        self.rows += [int(row) for row in points.rows]
        self.scaled += list(scaled)
        self.parts.append(points)

    def score(self, request: BidRequest) -> None:
        """Score all points by a round's releases, as the owner does; again after `add`."""
        self._bidder.set_target(request.target)
        self._bidder.set_summary(request.summary)

    def best(self, request: BidRequest, count: int) -> list[Place]:
        """Return the best places of points not in the summary, best first, by the last `score`."""
        found = self._bidder.best(request.target_factor, request.summary_factor, count)
        return [(s, -self.owner, -self.rows[p]) for p, s in zip(*found, strict=True)]

    def take(self, row: int) -> int:
        """Put a point into the summary; return its position among all received."""
        position = self.rows.index(row)
        self._bidder.remove(position)
        return position

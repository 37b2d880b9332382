"""Points that the curator of the Auction has of one owner."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpsumm import kernels
from dpsumm.papers.auction.ranks import Place
from dpsumm.summary.protocols.messages import BidRequest, Points


@dataclass(frozen=True, eq=False)
class Sent:
    """One answer of an owner, checked.

    Attributes
    ----------
    scaled
        Its points in the kernel's space.
    features : (k, d) int16
        On the grid of bids.
    """

    points: Points
    scaled: NDArray[np.floating]
    features: NDArray[np.int16]


class Received:
    """Points of one owner, and which of them can still be picked.

    Attributes
    ----------
    scaled
        The same points in the kernel's space.
    """

    def __init__(self, owner: int, n_features: int) -> None:
        self.owner = owner
        self._bidder = kernels.Bidder(np.empty((0, n_features), dtype=np.int16))
        self.rows: list[int] = []
        self.scaled: list[NDArray[np.floating]] = []
        self.parts: list[Points] = []

    def add(self, sent: Sent) -> None:
        """Keep points."""
        # Ties go to the lower row, not to the earlier one.
        self._bidder.append(sent.features, sent.points.rows)
        self.rows += [int(row) for row in sent.points.rows]
        self.scaled += list(sent.scaled)
        self.parts.append(sent.points)

    def best(self, request: BidRequest, count: int) -> list[Place]:
        """Return the best places of points not in the summary, best first, as the owner would."""
        if not self.rows:
            return []
        found = self._bidder.best(
            request.target_factor,
            request.summary_factor,
            count,
            target=request.target,
            summary=request.summary,
        )
        return [(s, -self.owner, -self.rows[p]) for p, s in zip(*found, strict=True)]

    def take(self, row: int) -> int:
        """Put a point into the summary. Return its position among all received."""
        position = self.rows.index(row)
        self._bidder.remove(position)
        return position

"""Ranks of the owners' bids in a round of the Auction.

Claim
    One record of another owner moves a rank by at most one (``docs/privacy/auction.md``, Lemma 2).
Argument
    The others' side counts points not in the summary, sent or unsent (virtual bids), so coins of
    earlier rounds do not enter it. An owner's own side is its unsent points only: its own received
    points must not enter.
Tested by
    tests/summary/test_auction_stability.py
"""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from dpsumm.summary.protocols.messages import Bids

# A place in the one total order of points: greater is better.
Place = tuple[int, int, int]  # score, -owner, -row


def places_of(owner: int, bids: Bids) -> list[Place]:
    """Return the places of an owner's bids."""
    return [(s, -owner, -row) for s, row in zip(bids.scores, bids.rows, strict=True)]


def best_of(places: Iterable[Sequence[Place]], count: int) -> list[Place]:
    """Return the best places of all owners together, best first."""
    return sorted(itertools.chain.from_iterable(places), reverse=True)[:count]


def ranks_of(
    bids: Sequence[Sequence[Place]], left: Sequence[Sequence[Place]], batch: int
) -> NDArray[np.int64]:
    """Return the rank of each bid against what all other owners have left.

    Returns
    -------
    (owners, batch) int64
        From 1. A missing bid ranks behind everything.
    """
    everything = sorted(itertools.chain.from_iterable(left))
    ranks = np.empty((len(bids), batch), dtype=np.int64)
    for k, own in enumerate(map(sorted, left)):
        for b in range(batch):
            if b < len(bids[k]):
                others = _greater(everything, bids[k][b]) - _greater(own, bids[k][b])
            else:
                others = len(everything) - len(own)
            ranks[k, b] = 1 + b + others
    return ranks


def _greater(ascending: Sequence[Place], place: Place) -> int:
    return len(ascending) - bisect.bisect_right(ascending, place)

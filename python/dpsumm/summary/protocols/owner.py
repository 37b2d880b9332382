"""The owner's role: answers a request from its own data and the message alone."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsumm import kernels
from dpsumm.data.large.stream_table import StreamTable
from dpsumm.data.table import Table
from dpsumm.errors import ProtocolError
from dpsumm.exchange.messages import Answer, Describe, Description, Request
from dpsumm.exchange.roles import Party
from dpsumm.summary.protocols.features import features_of
from dpsumm.summary.protocols.messages import (
    BidRequest,
    Bids,
    DrawRequest,
    FeatureMap,
    OfferRequest,
    Points,
    SendRequest,
)
from dpsumm.summary.protocols.wire import CODEC

# Points herded with the mass of a summary point, at most: in units of the summary's size, and in
# units of the offers that an owner may make, of which there are few when there are many owners.
FINE_MOST, FINE_PER_OFFER = 1.5, 8


class Owner(Party):
    """One owner of a run.

    Parameters
    ----------
    table
        The owner's data; streamed ones for Offers only.
    seed
        For random draws in tests and experiments; the operating system's randomness by default.
    """

    codec = CODEC

    def __init__(self, table: Table | StreamTable, seed: int | None = None) -> None:
        self.table = table
        self._rng = np.random.default_rng(seed)
        self._bidder: tuple[FeatureMap, kernels.Bidder] | None = None
        self._bids: NDArray[np.int64] = np.empty(0, dtype=np.int64)

    def answer(self, request: Request) -> Answer:
        """Return what is asked for. An answer is for the curator only, never for another owner.

        Raises
        ------
        ProtocolError
            The request does not fit this owner's data or the state of the run.
        InvalidDataError, ShardLostError
            Streamed data only, see `StreamTable.sift`.
        """
        match request:
            case Describe():
                return Description(len(self.table), self.table.schema.fingerprint)
            case OfferRequest():
                return self._offers(request)
            case DrawRequest():
                return self._draw(request)
            case BidRequest():
                return self._bid(request)
            case SendRequest():
                return self._send(request)
        raise ProtocolError(f"an owner has no answer to a {type(request).__name__}")

    def _draw(self, request: DrawRequest) -> Points:
        table = self._in_memory()
        picked = self._rng.choice(len(table), min(request.count, len(table)), replace=False)
        return points_of(table, picked.astype(np.int64))

    def _in_memory(self) -> Table:
        table = self.table.in_memory
        if table is None:
            raise ProtocolError("streamed owners answer the requests of Offers only")
        return table

    def _check_width(self, feature_map: FeatureMap) -> None:
        if feature_map.n_columns != self.table.width:
            raise ProtocolError(
                f"the curator's features are for {feature_map.n_columns} columns, this owner's "
                f"data have {self.table.width}; compare the schemas"
            )

    def _offers(self, request: OfferRequest) -> Points:
        """Pick offers towards the released mean (protocol Offers, step 2)."""
        self._check_width(request.feature_map)
        attract = Attraction(request.feature_map, request.target.mean)
        table, attraction = self.table.sift(attract, self._rng)
        return points_of(table, offers(table.scaled, attraction, request, self._draws(request)))

    def _draws(self, request: OfferRequest) -> np.random.Generator:
        """Return the generator of an answer's draws: the same when asked again the same.

        So an owner that is asked again in a resumed run, with the same release, offers the same
        points, wherever it runs. By its name, since owners with like data should offer different
        points. The draws protect nobody.
        """
        digest = hashlib.sha256(request.target.to_bytes() + self.table.name.encode()).digest()
        return np.random.default_rng(np.frombuffer(digest, dtype="<u4"))

    def _bid(self, request: BidRequest) -> Bids:
        """Bid the best unsent points (Algorithm 3, step 6, with the gain's signs corrected)."""
        if self._bidder is None or self._bidder[0] != request.feature_map:
            self._check_width(request.feature_map)
            grid = features_of(request.feature_map).on_grid(self._in_memory().scaled)
            self._bidder = request.feature_map, kernels.Bidder(grid)
        bidder = self._bidder[1]
        bidder.set_target(request.target)
        bidder.set_summary(request.summary)
        rows, scores = bidder.best(request.target_factor, request.summary_factor, request.count)
        self._bids = np.array(rows, dtype=np.int64)
        named = self._in_memory().rows[self._bids]
        return Bids(tuple(scores), tuple(int(row) for row in named))

    def _send(self, request: SendRequest) -> Points:
        """Send the bids that are wanted; they are never offered again (Algorithm 3, step 16)."""
        if self._bidder is None or len(self._bids) > len(request.wanted):
            raise ProtocolError("points were requested that this owner did not bid")
        wanted = self._bids[np.array(request.wanted[: len(self._bids)], dtype=bool)]
        for row in wanted:
            self._bidder[1].remove(int(row))
        self._bids = self._bids[:0]
        return points_of(self._in_memory(), wanted)


def offers(
    scaled: NDArray[Any],
    attraction: NDArray[np.float64],
    request: OfferRequest,
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Return the rows to offer: some herded with the request's mass, others drawn.

    Their number is that of the points herded with the mass of one summary point, within the
    request's bounds: what the target has room for in this owner's data. The herded part takes what
    matters most; the rest is drawn from the fine herding, uniformly.

    Parameters
    ----------
    scaled : (n, c)
        The owner's points, at least 1, in the kernel's space.
    attraction : (n,)
        Their scores under the released mean.
    request
        Masses, spread and bounds.
    rng
        For the draws.
    """
    gamma = request.feature_map.gamma
    at_least, at_most = (min(n, len(scaled)) for n in (request.at_least, request.at_most))
    # An embedding of total mass 1 has 1 / fine_mass such points; a noisy target may ask for more.
    room = min(FINE_MOST / request.fine_mass, FINE_PER_OFFER * request.at_most)
    room = math.ceil(min(room, len(scaled)))
    if request.spread == 0:
        return kernels.herd(scaled, attraction, gamma, request.mass, at_least, at_most).rows
    fine = kernels.herd(
        scaled, attraction, gamma, request.fine_mass, at_least, max(at_most, room)
    ).rows
    count = min(len(fine), at_most)
    n_herded = count - round(request.spread * count)
    if n_herded == 0:
        return rng.choice(fine, count, replace=False)
    least = min(at_least, n_herded)
    herded = kernels.herd(scaled, attraction, gamma, request.mass, least, n_herded).rows
    others = np.setdiff1d(fine, herded)
    return np.concatenate([herded, rng.choice(others, count - len(herded), replace=False)])


@dataclass(frozen=True, eq=False)
class Attraction:
    """Scores of points towards the released mean; small, so that it can be sent to shards."""

    feature_map: FeatureMap
    goal: NDArray[np.float64]

    @cached_property
    def _features(self) -> kernels.RandomFeatures:
        return features_of(self.feature_map)

    def __call__(self, points: NDArray[Any]) -> NDArray[np.float64]:
        """Return (b,) scores of (b, c) points."""
        return self._features.scores(points, self.goal)

    def __reduce__(self) -> tuple[Any, ...]:
        """Leave the features out: whoever receives this builds them."""
        return Attraction, (self.feature_map, self.goal)


def points_of(table: Table, picked: NDArray[np.int64]) -> Points:
    """Return rows of a table as an answer, in their order in the data."""
    found = table.take(np.sort(picked))
    along = (x.astype(np.str_) if x.dtype == object else x for x in found.carried)
    return Points(found.rows, found.values, found.labels, tuple(along))

"""The owner's role answers a request from its own data and the message alone."""

from __future__ import annotations

import hashlib
import secrets
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsumm import kernels
from dpsumm.data.kinds.along import as_text
from dpsumm.data.marks import Marks, least
from dpsumm.data.stream import StreamTable
from dpsumm.data.table import Table
from dpsumm.errors import InvalidDataError, InvalidParameterError, ProtocolError
from dpsumm.exchange.messages import Answer, Describe, Description, Request
from dpsumm.exchange.roles import Party
from dpsumm.summary.protocols.features import Scores, features_of, random_features
from dpsumm.summary.protocols.messages import (
    BidRequest,
    Bids,
    DrawRequest,
    FeatureMap,
    LandmarkMap,
    OfferRequest,
    Points,
    SendRequest,
)
from dpsumm.summary.protocols.wire import CODEC

# Rows that the tilt is fitted on, and the least share of them that its ratios may come down to.
SAMPLE, EFFECTIVE = 512, 0.05


class Owner(Party):
    """One owner of a run.

    Parameters
    ----------
    table
        The owner's data. Streamed ones for Offers only.
    seed
        For random draws in tests and experiments. The operating system's randomness by default.
    """

    codec = CODEC

    def __init__(self, table: Table | StreamTable, seed: int | None = None) -> None:
        self.table = table
        self._seed = seed
        self._bidder: tuple[FeatureMap, kernels.Bidder] | None = None
        self._bids: NDArray[np.int64] = np.empty(0, dtype=np.int64)

    @property
    def n_records(self) -> int:
        """Rows that it takes part with."""
        return len(self.table)

    def answer(self, request: Request) -> Answer:
        """Return the answer, which is for the curator only, never for another owner.

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
        table, key = self._in_memory(), secrets.token_bytes(32)
        if self._seed is not None:
            key = hashlib.sha256(str(self._seed).encode()).digest()
        picked = kernels.Draws(key).subset(len(table), min(request.count, len(table)))
        return points_of(table, picked)

    def _in_memory(self) -> Table:
        table = self.table.in_memory
        if table is None:
            raise ProtocolError("streamed owners answer the requests of Offers only")
        return table

    def _check_width(self, feature_map: FeatureMap | LandmarkMap) -> None:
        if feature_map.n_columns != self.table.width:
            raise ProtocolError(
                f"the curator's features are for {feature_map.n_columns} columns, this owner's "
                f"data have {self.table.width}. Compare the schemas"
            )

    def _offers(self, request: OfferRequest) -> Points:
        """Choose offers for the released mean (docs/privacy/offers.md)."""
        self._check_width(request.feature_map)
        draws, total = self._draws(request), len(self.table)
        goal = request.target.mean
        try:
            features = features_of(request.feature_map, self.table.schema)
        except (InvalidParameterError, InvalidDataError) as error:
            raise ProtocolError(f"the curator's recipe makes no features: {error}") from None
        sample = draws.subset(total, min(SAMPLE, total))
        tilt = kernels.tilt(
            features, self.table.points_at(sample), goal, noise=request.noise, least=EFFECTIVE
        )
        count = min(request.count, total)
        score = Scores(request.feature_map, self.table.schema, np.stack([goal, tilt]))
        table, marks = self.table.sift(score, draws, count)
        return points_of(table, offers(table.scaled, marks, request, count))

    def _draws(self, request: OfferRequest) -> kernels.Draws:
        """Return an answer's draws: the same when asked again the same.

        So an owner that is asked again in a resumed run, with the same release, offers the same
        points, wherever it runs. By its name, since owners with like data should offer different
        points. The draws protect nobody.
        """
        asked = request.target.to_bytes() + self.table.name.encode()
        return kernels.Draws(hashlib.sha256(asked).digest())

    def _bid(self, request: BidRequest) -> Bids:
        """Bid the best unsent points (Algorithm 3, step 6, with the gain's signs corrected)."""
        if self._bidder is None or self._bidder[0] != request.feature_map:
            self._check_width(request.feature_map)
            grid = random_features(request.feature_map).on_grid(self._in_memory().scaled)
            self._bidder = request.feature_map, kernels.Bidder(grid)
        rows, scores = self._bidder[1].best(
            request.target_factor,
            request.summary_factor,
            request.count,
            target=request.target,
            summary=request.summary,
        )
        self._bids = np.array(rows, dtype=np.int64)
        named = self._in_memory().rows[self._bids]
        return Bids(tuple(scores), tuple(int(row) for row in named))

    def _send(self, request: SendRequest) -> Points:
        """Send the bids that are wanted. They are never offered again (Algorithm 3, step 16)."""
        if self._bidder is None or len(self._bids) > len(request.wanted):
            raise ProtocolError("points were requested that this owner did not bid")
        wanted = self._bids[np.array(request.wanted[: len(self._bids)], dtype=bool)]
        for row in wanted:
            self._bidder[1].remove(int(row))
        self._bids = self._bids[:0]
        return points_of(self._in_memory(), wanted)


def offers(
    scaled: NDArray[Any], marks: Marks, request: OfferRequest, count: int
) -> NDArray[np.int64]:
    """Return the rows to offer. The greedy picks some, then come the first arrivals of the others.

    Parameters
    ----------
    scaled : (n, c)
        The owner's candidates, at least `count`, in the kernel's space.
    """
    n_picked = count - int(request.spread * count)
    picked = np.empty(0, np.int64)
    if n_picked:
        gamma = request.feature_map.gamma
        picked = kernels.greedy(scaled, marks.scores, gamma, n_picked).rows
    # At most the picked ones of them are left out.
    others = least(marks.keys, marks.rows, count)
    others = others[~np.isin(others, picked)]
    return np.concatenate([picked, others[: count - n_picked]])


def points_of(table: Table, picked: NDArray[np.int64]) -> Points:
    """Return rows of a table as an answer, in their order in the data.

    Labels and carried columns go as text, as wide as the longest that is sent. The type and the
    width of the whole table's columns would depend on the records that stay.
    """
    found = table.take(np.sort(picked))
    labels = None if found.labels is None else _texts(found.labels)
    return Points(found.rows, found.values, labels, tuple(map(_texts, found.carried)))


def _texts(column: NDArray[Any]) -> NDArray[Any]:
    return np.array(as_text(column).tolist(), dtype=np.str_)

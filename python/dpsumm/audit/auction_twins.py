"""BROKEN ON PURPOSE: curators of the Auction with one mistake each, which audits must catch.

No protocol can reach them. Each mistake was made in the literature, or nearly in this package.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpsumm.audit.auction_worlds import SteeredCurator
from dpsumm.exchange.messages import Answer
from dpsumm.summary.protocols.auction.curator import Place, _places
from dpsumm.summary.protocols.messages import Bids


class OwnPointsRanked(SteeredCurator):
    """BROKEN: an owner is ranked by its best points not in the summary, those it sent included."""

    def _ranks(self) -> NDArray[np.int64]:
        super()._ranks()
        left = {name: self._left(name) for name in self._active}
        everything = sorted((p for places in left.values() for p in places), reverse=True)
        ranks = np.full((len(self._active), self._plan.batch), len(everything))
        for k, name in enumerate(self._active):
            for b, place in enumerate(left[name]):
                ranks[k, b] = 1 + everything.index(place)
        return ranks

    def _left(self, name: str) -> list[Place]:
        mine = _places(self.names.index(name), self._bids[name]) + self._in_hand(name)
        return sorted(mine, reverse=True)[: self._plan.batch]


class UnsentPointsRanked(SteeredCurator):
    """BROKEN: owners are ranked among bids for unsent points only, as the paper has it."""

    def _ranks(self) -> NDArray[np.int64]:
        super()._ranks()
        bids = {name: _places(self.names.index(name), self._bids[name]) for name in self._active}
        everything = sorted((p for places in bids.values() for p in places), reverse=True)
        ranks = np.full((len(self._active), self._plan.batch), max(1, len(everything)))
        for k, name in enumerate(self._active):
            for b, place in enumerate(bids[name]):
                ranks[k, b] = 1 + everything.index(place)
        return ranks


class CoinTies(SteeredCurator):
    """BROKEN: equal scores are settled by fresh coins instead of owner and row."""

    def _finish_round(self) -> None:
        self._take_in()
        coin = np.random.default_rng()
        best = [place for name in self._active for place in self._all_in_hand(name)]
        coin.shuffle(best)
        best.sort(key=lambda place: place[0], reverse=True)  # stable: ties stay shuffled
        self._pick(best[: min(self._plan.batch, self.setting.size - len(self._picks))])

    def _all_in_hand(self, name: str) -> list[Place]:
        received = self._received[name]
        positions, scores = received.bidder.best(
            self._bid.target_factor, self._bid.summary_factor, max(1, len(received.rows))
        )
        i = self.names.index(name)
        return [(s, -i, -received.rows[p]) for p, s in zip(positions, scores, strict=True)]

    def _pick(self, places: list[Place]) -> None:
        for _, minus_owner, minus_row in places:
            received = self._received[self.names[-minus_owner]]
            position = received.rows.index(-minus_row)
            received.bidder.remove(position)
            self._chosen[len(self._picks)] = received.scaled[position]
            self._picks.append((-minus_owner, position))
        self._round += 1
        self._bids = {}


class FloatBids(CoinTies):
    """BROKEN: the curator scores points in its own floating point, a last bit off the owners'."""

    def _finish_round(self) -> None:
        self._take_in()
        off = np.random.default_rng()
        scored = [
            (score * (1.0 + 1e-9 * off.standard_normal()), place)
            for name in self._active
            for place in self._all_in_hand(name)
            for score in [place[0]]
        ]
        scored.sort(reverse=True)
        count = min(self._plan.batch, self.setting.size - len(self._picks))
        self._pick([place for _, place in scored[:count]])


class NextBestInHand(CoinTies):
    """BROKEN: when points come late the best in hand is taken, and the late ones wait a round."""

    def _finish_round(self) -> None:
        coin = np.random.default_rng()
        late = {name: points for name, points in self._new.items() if coin.random() < 0.5}
        self._new = {name: points for name, points in self._new.items() if name not in late}
        self._take_in()
        best = sorted((p for n in self._active for p in self._all_in_hand(n)), reverse=True)
        self._pick(best[: min(self._plan.batch, self.setting.size - len(self._picks))])
        self._new = late
        self._take_in()


class ForgetsOnDrop(SteeredCurator):
    """BROKEN: points that came in before an owner was dropped are thrown away."""

    def drop(self, *names: str) -> None:
        """Forget this round's points, then drop."""
        self._new = {}
        super().drop(*names)

    def _check_bids(self, name: str, answer: Answer, count: int) -> Bids:
        return answer if isinstance(answer, Bids) else super()._check_bids(name, answer, count)

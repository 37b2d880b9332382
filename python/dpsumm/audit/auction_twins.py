"""BROKEN ON PURPOSE: curators of the Auction with one mistake each, which audits must catch.

No protocol can reach them. Each mistake was made in the literature, or nearly in this package.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dpsumm.audit.auction_worlds import SteeredCurator
from dpsumm.exchange.messages import Answer
from dpsumm.papers.auction.curator import Round
from dpsumm.papers.auction.plan import Plan
from dpsumm.papers.auction.ranks import Place, best_of
from dpsumm.summary.protocols.curator import Setting
from dpsumm.summary.protocols.messages import Bids


class OwnPointsRanked(SteeredCurator):
    """BROKEN: an owner is ranked by its best points not in the summary, those it sent included."""

    def _ranks(self, round_: Round) -> NDArray[np.int64]:
        return _ranked(round_.left, self._plan.batch, missing=0)


class UnsentPointsRanked(SteeredCurator):
    """BROKEN: owners are ranked among bids for unsent points only, as the paper has it."""

    def _ranks(self, round_: Round) -> NDArray[np.int64]:
        bids = [self._places(round_, name) for name in self._active]
        return _ranked(bids, self._plan.batch, missing=1)


def _ranked(places: Sequence[list[Place]], batch: int, missing: int) -> NDArray[np.int64]:
    everything = best_of(places, sum(map(len, places)))
    ranks = np.full((len(places), batch), max(missing, len(everything)))
    for k, own in enumerate(places):
        for b, place in enumerate(own):
            ranks[k, b] = 1 + everything.index(place)
    return ranks


class SecondPlaceCounted(SteeredCurator):
    """BROKEN: step 14 asks at once for a point that is second among all owners' bids."""

    def _due(self, round_: Round) -> NDArray[np.bool_]:
        self.due = super()._due(round_) | (self._ranks(round_) == 2)
        return self.due


class OnceTooLate(SteeredCurator):
    """BROKEN: step 14 asks for a point when it was its owner's best once more than tau times."""

    def __init__(self, plan: Plan, setting: Setting) -> None:
        super().__init__(replace(plan, tau=None if plan.tau is None else plan.tau + 1), setting)


class CoinTies(SteeredCurator):
    """BROKEN: equal scores are settled by fresh coins instead of owner and row."""

    def _winners(self, round_: Round, count: int) -> list[Place]:
        best = self._everything_in_hand(round_)
        np.random.default_rng().shuffle(best)
        best.sort(key=lambda place: place[0], reverse=True)  # stable: ties stay shuffled
        return best[:count]

    def _everything_in_hand(self, round_: Round) -> list[Place]:
        received = 1 + sum(len(received.rows) for received in self._received.values())
        return best_of(self._in_hand(round_, received), received)


class FloatBids(CoinTies):
    """BROKEN: the curator scores points in its own floating point, a last bit off the owners'."""

    def _winners(self, round_: Round, count: int) -> list[Place]:
        off = np.random.default_rng()
        scored = [
            (place[0] * (1.0 + 1e-9 * off.standard_normal()), place)
            for place in self._everything_in_hand(round_)
        ]
        return [place for _, place in sorted(scored, reverse=True)[:count]]


class NextBestInHand(CoinTies):
    """BROKEN: when points come late the best in hand is taken, and the late ones wait a round."""

    def _finish_round(self, round_: Round) -> None:
        coin = np.random.default_rng()
        late = {name: points for name, points in round_.sent.items() if coin.random() < 0.5}
        round_.sent = {name: p for name, p in round_.sent.items() if name not in late}
        super()._finish_round(round_)
        round_.sent = late
        self._take_in(round_)

    def _winners(self, round_: Round, count: int) -> list[Place]:
        return self._everything_in_hand(round_)[:count]


class ForgetsOnDrop(SteeredCurator):
    """BROKEN: points that came in before an owner was dropped are thrown away."""

    def drop(self, *names: str) -> None:
        """Forget this round's points, then drop."""
        if self._round:
            self._round.sent = {}
        super().drop(*names)

    def _check_bids(self, name: str, answer: Answer, count: int) -> Bids:
        return answer if isinstance(answer, Bids) else super()._check_bids(name, answer, count)

"""BROKEN ON PURPOSE: mechanisms and curators with one mistake each, which audits must catch.

No protocol can reach them. See also ``auction_twins.py``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dpsumm.audit.runs import steepest
from dpsumm.exchange.messages import Request
from dpsumm.papers import Mwem
from dpsumm.papers.auction.plan import Plan
from dpsumm.papers.auction.requests import Profile
from dpsumm.summary.protocols.messages import OfferRequest
from dpsumm.summary.protocols.offers import OffersCurator
from dpsumm.summary.release import Draw, Release


@dataclass(frozen=True)
class EagerMwem(Mwem):
    """BROKEN: measures with half the noise that it is charged for."""

    def draw(self, given: Draw) -> Release:
        """Return a release whose measurements are twice as exact."""
        eager = Mwem(self.iterations, self.epsilon_select, 2 * self.epsilon_measure, self.steps)
        return eager.draw(given)


def sharp_requests(plan: Plan) -> Plan:
    """BROKEN: owners are asked up to a fixed rank, where a noisy threshold is charged."""
    asked = np.arange(len(plan.profile.probability)) <= steepest(plan.profile)
    return replace(plan, profile=Profile(asked.astype(np.float64)))


class AsksAgain(OffersCurator):
    """BROKEN: asks everybody again when what the owners sent lies far from the target."""

    asked = False

    def send(self) -> dict[str, Request]:
        """Return a second request if the pool does not fit."""
        first = super().send()
        if first or self.asked or _distance(self) < 10:
            return first
        self.asked, self._received = True, {}
        return dict(self._sent)


class TellsHowFar(OffersCurator):
    """BROKEN: thanks every owner with a message that depends on what all have sent."""

    told = False

    def send(self) -> dict[str, Request]:
        """Return the request again, with how far the pool is from the target as its noise."""
        first = super().send()
        if first or self.told:
            return first
        distance = _distance(self)
        self.told, self._received = True, {}
        request = self._sent[self.names[0]]
        assert isinstance(request, OfferRequest)
        return dict.fromkeys(self.names, replace(request, noise=distance))


def _distance(curator: OffersCurator) -> float:
    """Return how far the mean of all that was sent is from the target's."""
    sent = np.concatenate([points.values for points in curator._received.values()])
    return float(np.abs(sent.mean(axis=0) - curator.setting.target.mean(axis=0)).max())

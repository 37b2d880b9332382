"""BROKEN ON PURPOSE: mechanisms and curators with one mistake each, which audits must catch.

No protocol can reach them. See also ``auction_twins.py``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dpsumm.audit.changed_noise import share_of
from dpsumm.audit.runs import steepest
from dpsumm.exchange.messages import Request
from dpsumm.privacy.release import PaidNoise
from dpsumm.summary.mechanisms import Gaussian, Mwem
from dpsumm.summary.protocols.auction.plan import Plan
from dpsumm.summary.protocols.auction.requests import Profile
from dpsumm.summary.protocols.curator import frequency_seed
from dpsumm.summary.protocols.messages import OfferRequest
from dpsumm.summary.protocols.offers import OffersCurator
from dpsumm.summary.release import LEVELS, TARGET, Draw, Release


@dataclass(frozen=True)
class LessNoise(Gaussian):
    """BROKEN: draws a share of the noise that it is charged for."""

    share: float = 0.5

    def draw(self, given: Draw) -> Release:
        """Return a release with less noise."""
        paid = given.noise or PaidNoise(self.queries(given))
        return super().draw(replace(given, noise=share_of(paid, self.share)))


@dataclass(frozen=True)
class OneSubstitution(Gaussian):
    """BROKEN: counts one replaced point in a summary, where Lemma 1 allows two."""

    def draw(self, given: Draw) -> Release:
        """Return a release with the noise of a target's."""
        paid = given.noise or PaidNoise(self.queries(given))
        share = TARGET.steps(given.features) / given.sensitivity.steps(given.features)
        return super().draw(replace(given, noise=share_of(paid, share)))


@dataclass(frozen=True)
class Unclipped(Gaussian):
    """BROKEN: releases the mean of the records themselves, with the noise for unit vectors."""

    def draw(self, given: Draw) -> Release:
        """Return a noisy sum of raw values, repeated to the length of a release."""
        made = super().draw(given)
        honest = given.features.sum_on_grid(given.points, LEVELS)
        total = np.full(len(honest), np.rint(given.points.sum() * LEVELS), dtype=np.int64)
        return replace(made, steps=made.steps - honest + total)


@dataclass(frozen=True)
class EagerMwem(Mwem):
    """BROKEN: measures with half the noise that it is charged for."""

    def draw(self, given: Draw) -> Release:
        """Return a release whose measurements are twice as exact."""
        eager = Mwem(self.iterations, self.epsilon_select, 2 * self.epsilon_measure, self.steps)
        return eager.draw(given)


def half_summary_noise(plan: Plan) -> Plan:
    """BROKEN: the summary is released with half the noise that is charged."""
    assert isinstance(plan.summary, Gaussian)
    return replace(plan, summary=LessNoise(plan.summary.noise_multiplier, share=0.5))


def sharp_requests(plan: Plan) -> Plan:
    """BROKEN: owners are asked up to a fixed rank, where a noisy threshold is charged."""
    asked = np.arange(len(plan.profile.probability)) <= steepest(plan.profile)
    return replace(plan, profile=Profile(asked.astype(np.float64)))


class RetriesAfresh(OffersCurator):
    """BROKEN: repeats a broadcast that was not answered in time, with fresh noise."""

    retries = 60

    def send(self) -> dict[str, Request]:
        """Return a new release each time, until the retries are used up."""
        first = super().send()
        if first or self.retries == 0:
            return first
        self.retries -= 1
        request = self._sent[self.names[0]]
        assert isinstance(request, OfferRequest)
        mechanism = self._protocol.release.calibrated(self.setting.epsilon, self.setting.delta)
        fresh = mechanism.draw(
            Draw(self._features, self.setting.target, TARGET, request.target.count)
        )
        return dict.fromkeys(self.names, replace(request, target=fresh))


class PublicNoise(OffersCurator):
    """BROKEN: draws the target's noise from the run's public seed, which every owner has."""

    def requests(self) -> dict[str, Request]:
        """Return the broadcast with seeded noise."""
        honest = super().requests()
        request = honest[self.names[0]]
        assert isinstance(request, OfferRequest)
        mechanism = self._protocol.release.calibrated(self.setting.epsilon, self.setting.delta)
        seed = frequency_seed(self.setting) >> 1
        drawn = mechanism.draw(
            Draw(self._features, self.setting.target, TARGET, request.target.count, seed)
        )
        return dict.fromkeys(self.names, replace(request, target=drawn))


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

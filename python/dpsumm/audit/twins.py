"""BROKEN ON PURPOSE: mechanisms and curators with one mistake each, which audits must catch.

No protocol can reach them. See also ``auction_twins.py``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dpsumm import _core
from dpsumm.exchange.messages import Request
from dpsumm.summary.kernel import FloatArray
from dpsumm.summary.protocols.messages import OfferRequest
from dpsumm.summary.protocols.offers import OffersCurator
from dpsumm.summary.release import LEVELS, TARGET, Gaussian, Mwem, Release, Sensitivity


@dataclass(frozen=True)
class HalfNoise(Gaussian):
    """BROKEN: draws half the noise that it is charged for."""

    def draw(
        self,
        features: _core.RandomFeatures,
        points: FloatArray,
        sensitivity: Sensitivity,
        seed: int | None,
        previous: Release | None,
        count: int,
    ) -> Release:
        """Return a release with half the noise."""
        assert self.noise_multiplier is not None
        honest = Gaussian(self.noise_multiplier / 2)
        return honest.draw(features, points, sensitivity, seed, previous, count)


@dataclass(frozen=True)
class OneSubstitution(Gaussian):
    """BROKEN: counts one replaced point in a summary, where Lemma 1 allows two."""

    def draw(
        self,
        features: _core.RandomFeatures,
        points: FloatArray,
        sensitivity: Sensitivity,
        seed: int | None,
        previous: Release | None,
        count: int,
    ) -> Release:
        """Return a release with the noise of a target's."""
        return super().draw(features, points, TARGET, seed, previous, count)


@dataclass(frozen=True)
class Unclipped(Gaussian):
    """BROKEN: releases the mean of the records themselves, with the noise for unit vectors."""

    def draw(
        self,
        features: _core.RandomFeatures,
        points: FloatArray,
        sensitivity: Sensitivity,
        seed: int | None,
        previous: Release | None,
        count: int,
    ) -> Release:
        """Return a noisy sum of raw values, repeated to the length of a release."""
        made = super().draw(features, points, sensitivity, seed, previous, count)
        total = np.full(features.n_features, np.rint(points.sum() * LEVELS), dtype=np.int64)
        return replace(made, steps=made.steps - features.sum_on_grid(points, LEVELS) + total)


@dataclass(frozen=True)
class EagerMwem(Mwem):
    """BROKEN: measures with half the noise that it is charged for."""

    def draw(
        self,
        features: _core.RandomFeatures,
        points: FloatArray,
        sensitivity: Sensitivity,
        seed: int | None,
        previous: Release | None,
        count: int,
    ) -> Release:
        """Return a release whose measurements are twice as exact."""
        eager = Mwem(self.iterations, self.epsilon_select, 2 * self.epsilon_measure, self.steps)
        return eager.draw(features, points, sensitivity, seed, previous, count)


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
            self._features, self.setting.target, TARGET, None, None, request.target.count
        )
        return dict.fromkeys(self.names, replace(request, target=fresh))


class AsksAgain(OffersCurator):
    """BROKEN: asks everybody for more when an owner offered little."""

    asked = False

    def send(self) -> dict[str, Request]:
        """Return a second request if the pool is smaller than the summary."""
        first = super().send()
        pool = sum(len(points.rows) for points in self._received.values())
        if first or self.asked or pool >= self.setting.size:
            return first
        self.asked, self._received = True, {}
        return dict(self._sent)

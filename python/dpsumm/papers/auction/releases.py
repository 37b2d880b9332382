"""The sums that a run of the Auction releases: the target's once, the summary's every round."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dpsumm import kernels
from dpsumm.errors import ProtocolError
from dpsumm.papers.auction.plan import Plan
from dpsumm.privacy.events import Protected
from dpsumm.summary.protocols.curator import Curator
from dpsumm.summary.protocols.features import random_features
from dpsumm.summary.protocols.messages import BidRequest, FeatureMap
from dpsumm.summary.release import SUMMARY, Draw, Release, release


class Releases:
    """What owners bid on. Nothing is charged before the first request is made."""

    def __init__(self, plan: Plan, curator: Curator) -> None:
        self._plan = plan
        self._curator = curator
        self._last: Release | None = None

    def request(self, finished: int, chosen: NDArray[np.float64]) -> BidRequest:
        """Return what owners bid on after `finished` rounds, which chose these points."""
        target = self._target
        summary = self._summary(finished, chosen)
        n_chosen = 0 if summary is None else summary.count
        return BidRequest(
            feature_map=self._feature_map,
            target=target.steps,
            summary=np.zeros_like(target.steps) if summary is None else summary.steps,
            target_factor=n_chosen + 1,
            summary_factor=target.count,
            count=self._plan.batch,
        )

    @cached_property
    def _feature_map(self) -> FeatureMap:
        return self._curator.feature_map(self._plan.n_features, self._plan.feature_kind)

    @cached_property
    def features(self) -> kernels.RandomFeatures:
        """The run's random features."""
        return random_features(self._feature_map)

    @cached_property
    def _target(self) -> Release:
        """The target's release: charged, like a private bandwidth, when the first round begins."""
        ledger = self._curator.setting.ledger
        if ledger.has("drop-1"):
            raise ProtocolError(
                f"run {ledger.run!r} had dropped an owner, so it cannot be resumed. "
                "Begin a run of another name"
            )
        return self._curator.release_target(self._plan.target, self._feature_map)

    def _summary(self, finished: int, points: NDArray[np.float64]) -> Release | None:
        """Release the noisy sum over the summary so far. The public seed points alone are free."""
        setting, n_picked = self._curator.setting, len(points)
        if self._plan.seed_points is not None:
            seeds = self._plan.seed_points.astype(points.dtype)
            points = np.concatenate([self._curator.scaled(seeds), points])
        if len(points) == 0:
            return None
        if not n_picked:
            given = Draw(self.features, points, SUMMARY, len(points), setting.seed)
            # Public points: recorded, so that a resumed run has the same, and not charged.
            drawn = setting.ledger.record(
                "seed-points", lambda: self._plan.seed_release.draw(given).to_bytes()
            )
            self._last = Release.from_bytes(drawn, self._plan.n_features, len(points))
            return self._last
        self._last = release(
            self._plan.summary.in_round(finished + 1),
            self.features,
            points,
            key=f"summary-{finished}",
            message="noisy mean embedding of the summary so far",
            protected=Protected.OWNERS,
            sensitivity=SUMMARY,
            ledger=setting.ledger,
            seed=setting.seed,
            previous=self._last,
        )
        return self._last

"""The cost of requests in a run of the Auction, and the budget that they leave.

Claim, argument and numerics: ``docs/privacy/auction.md`` (Lemma 3, request rules).
Tested by: tests/papers/test_requests.py.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpsumm.papers.auction.requests import (
    Profile,
    PublishedRequests,
    Requests,
    gaussian_threshold,
    one_round_profile,
    published_profile,
    unguarded,
    winner_profile,
)
from dpsumm.privacy import accounting, portable
from dpsumm.privacy.events import Approximate, Event, NonPrivate
from dpsumm.privacy.events import Gaussian as GaussianEvent


@dataclass(frozen=True)
class RequestPlan:
    """A request rule with its price, and the budget that it leaves for the summary releases.

    `epsilon_left` at the run's delta less `delta` is theirs; `gaussian` is the part of it, as a
    squared Gaussian parameter, that the requests use up themselves.
    """

    profile: Profile
    events: list[tuple[Event, int]]
    epsilon_left: float
    delta: float = 0.0
    gaussian: float = 0.0


@dataclass(frozen=True)
class Asking:
    """The questions of a run to its owners, in public numbers.

    Attributes
    ----------
    rounds, releases
        Rounds that bits are charged for, spare ones included, and releases of the summary.
    epsilon, delta
        Budget of the owners' records, for bits and releases.
    """

    rule: Requests | PublishedRequests
    owners: int
    batch: int
    rounds: int
    releases: int
    epsilon: float
    delta: float
    share: float
    coalition: int

    @property
    def _n_ranks(self) -> int:
        return self.batch * self.owners + 1

    def planned(self) -> RequestPlan:
        """Return the rule's profile and price."""
        if self.rule is Requests.PRIVATE:
            return self._private()
        reason = unguarded(self.rule)
        if not reason:
            return self._everybody()
        if isinstance(self.rule, PublishedRequests):
            profile = published_profile(self.rule.epsilon_auction, self._n_ranks)
        else:
            profile = winner_profile(self._n_ranks, self.batch)
        return RequestPlan(profile, [(NonPrivate(reason), 1)], self.epsilon)

    def _everybody(self) -> RequestPlan:
        return RequestPlan(Profile(np.ones(self._n_ranks)), [], self.epsilon)

    def _private(self) -> RequestPlan:
        """Return the cheapest of: a Gaussian threshold, a profile per bit, asking everybody."""
        n_bits = self.rounds * self.batch * self.coalition
        share = self.share if self.releases else 1.0
        slack = 0.1 * self.delta
        total = 1 / accounting.gaussian_noise_multiplier(self.epsilon, self.delta - slack)
        multiplier = portable.round_up(1 / (math.sqrt(share) * total))
        # A tenth of the slack is kept for the rounding of the normal distribution function.
        threshold = gaussian_threshold(
            multiplier * math.sqrt(n_bits), 0.9 * slack / n_bits, self._n_ranks, self.batch
        )
        # A little less than its share: sums of charges are rounded up by a relative 1e-9.
        per_bit = Approximate(
            (1 - 1e-8) * share * self.epsilon / n_bits, share * 0.5 * self.delta / n_bits
        )
        # A tenth of its delta is kept for the rounding of the probabilities.
        profile = one_round_profile(per_bit.epsilon, 0.9 * per_bit.delta, self._n_ranks, self.batch)
        if min(threshold.expected, profile.expected) >= 0.99 * self._n_ranks:
            return self._everybody()
        if threshold.expected <= profile.expected:
            events: list[tuple[Event, int]] = [
                (GaussianEvent(multiplier), 1),
                (Approximate(0.0, slack), 1),
            ]
            squared = 1 / (multiplier * multiplier)
            return RequestPlan(threshold, events, self.epsilon, slack, squared)
        spent = n_bits * per_bit.delta
        return RequestPlan(profile, [(per_bit, n_bits)], (1 - share) * self.epsilon, spent)

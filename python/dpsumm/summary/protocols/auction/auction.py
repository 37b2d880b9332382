"""Auction: the protocol of the paper (Algorithm 3), corrected, with request rules that can be
proved.

Each round the curator releases the noisy mean of the summary so far, every owner bids its best
unsent points, some owners are asked for theirs, and the curator adds the best of everything not yet
in the summary, received or not.

Claim
    For one owner that sees all messages: the target has the guarantee of its release; another
    owner's record that of all summary releases (``SUMMARY`` sensitivity: Lemma 1) and of the
    request bits (Lemma 2), as charged.
Assumes
    Public: sizes, parameters, seed points, owners. One total order for ties; bids are exact
    integers that the curator reproduces; coins are fresh for each owner, bid and round; an owner's
    own received points do not enter its ranks; the number of rounds is fixed; after a failure the
    run stops or the owner is dropped for good and the round repeated as a new charged one.
Argument
    ``docs/privacy/auction.md``.
Numerics
    Scores are integers without rounding; request probabilities are multiples of 2**-53.
Tested by
    tests/summary/test_auction_stability.py, tests/summary/test_requests.py
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dpsumm.checks import check_even_features, check_whole
from dpsumm.errors import InvalidParameterError
from dpsumm.kernels.features import FeatureKind
from dpsumm.privacy import accounting, portable
from dpsumm.privacy.events import Approximate, Charge, Event, NonPrivate, Protected
from dpsumm.privacy.events import Gaussian as GaussianEvent
from dpsumm.summary.mechanisms import Exact, Gaussian, Mwem
from dpsumm.summary.protocols.auction.curator import AuctionCurator
from dpsumm.summary.protocols.auction.plan import Plan
from dpsumm.summary.protocols.auction.published import published_epsilon
from dpsumm.summary.protocols.auction.requests import (
    Profile,
    Requests,
    forced_delta,
    gaussian_threshold,
    one_round_profile,
    published_profile,
    winner_profile,
)
from dpsumm.summary.protocols.curator import Curator, Setting
from dpsumm.summary.protocols.protocol import Protocol
from dpsumm.summary.release import SUMMARY, TARGET, Mechanism, Sensitivity


@dataclass(frozen=True)
class Auction(Protocol):
    """The paper's protocol.

    Parameters
    ----------
    batch
        Points bid and added per round; ``ceil(size / batch)`` rounds in all. By default a tenth of
        the size, so ten rounds: every round costs a release, and many noisy ones choose badly. 1
        with the published rule.
    requests
        Who is asked for points: a `Requests` or its value.
    epsilon_owners
        Budget of an owner's records towards one other owner, at the run's delta: all summary
        releases and request bits of the run. Used by `Gaussian` releases without a noise multiplier
        and by private requests.
    request_share
        Part of that budget (of its squared Gaussian parameter) that pays for private requests.
    epsilon_auction
        Of the published request rule.
    target_release
        Mechanism of the target's release.
    summary_release
        Mechanism of the summary's release in each round.
    n_features
        Number of random features, even.
    feature_kind
        ``"paired"`` or, as published, ``"phase"``.
    seed_points : (s, c) array, original units (see `Schema.encode`), or None
        Public points that the summary starts from and that are not part of the result. They hurt:
        the greedy compensates for points that are then thrown away. Default: none.
    seed_release
        How the seed points enter the first release; public, so it costs nothing.
    reselect
        At the end choose the summary by the exact greedy on all received points. False, as
        published: take the rounds' winners, which noisy releases chose. Nothing is sent for it, so
        it costs no privacy.
    coalition
        Number of owners that may pool what they see; request bits are charged for all of them.
    spare_rounds
        Rounds that may be repeated after an owner was dropped for a failure; charged beforehand.
        With 0 a failure ends the run.
    """

    batch: int | None = None
    requests: Requests | Literal["all", "private", "winner", "published"] = Requests.ALL
    epsilon_owners: float = 1.0
    request_share: float = 0.5
    epsilon_auction: float = 1.0
    target_release: Mechanism = field(default_factory=Gaussian)
    summary_release: Mechanism = field(default_factory=Gaussian)
    n_features: int = 140
    feature_kind: FeatureKind = "paired"
    seed_points: NDArray[np.floating] | None = None
    seed_release: Mechanism = field(default_factory=Exact)
    reselect: bool = True
    coalition: int = 1
    spare_rounds: int = 0

    name = "Auction"
    silos = needs_all = True
    owners_argument = (
        "An owner receives the noisy means of the target and of the summary so far, and one bit "
        "for each of its bids; the charges above cover all of them."
    )

    def __post_init__(self) -> None:
        for name, least in (("batch", 1), ("coalition", 1), ("spare_rounds", 0)):
            if name != "batch" or self.batch is not None:
                check_whole(getattr(self, name), name, least)
        check_even_features(self.n_features)
        try:
            object.__setattr__(self, "requests", Requests(self.requests))
        except ValueError:
            raise InvalidParameterError(
                f"requests must be 'all', 'private', 'winner' or 'published', got {self.requests!r}"
            ) from None
        if self.requests is Requests.PUBLISHED and self.batch not in (None, 1):
            raise InvalidParameterError(
                "batch must be 1 with the published request rule, which is certain of rank 1 only"
            )
        if not 0 < self.request_share < 1:
            raise InvalidParameterError(
                f"request_share must lie strictly between 0 and 1, got {self.request_share!r}"
            )
        accounting.check_epsilon(self.epsilon_owners, "epsilon_owners")
        accounting.check_epsilon(self.epsilon_auction, "epsilon_auction")

    @classmethod
    def published(cls, size: int, *, epsilon_auction: float = 1.0) -> Auction:
        """Return the protocol with the parameters of section 4 of the paper (use gamma 0.1 with
        it).

        d = 140, T_init = 1656 = d^1.5 at 0.01 for the target; T_sub = 5 at ``0.01 / sqrt(5 p)`` for
        the summary, after a first epoch at 0.05 on public seed points, if there are any; phase
        features. `epsilon_auction` is not stated there.
        """
        if size < 1:
            raise InvalidParameterError(f"size must be at least 1, got {size!r}")
        return cls(
            batch=1,
            requests=Requests.PUBLISHED,
            epsilon_auction=epsilon_auction,
            target_release=Mwem.published(0.01, 1656),
            summary_release=Mwem.published(0.01 / math.sqrt(5 * size), 5),
            seed_release=Mwem.published(0.05, 1656),
            n_features=140,
            feature_kind="phase",
            reselect=False,
        )

    @classmethod
    def exact(cls) -> Auction:
        """Return the non-private greedy of section 4: exact averages out, the best point in."""
        return cls(
            batch=1,
            requests=Requests.WINNER,
            target_release=Exact(),
            summary_release=Exact(),
            n_features=512,
            reselect=False,
        )

    def check_embedded(self) -> None:
        """Refuse seed points: see `Protocol.check_embedded`."""
        if self.seed_points is not None:
            raise InvalidParameterError(
                "seed_points must be None with an embedding: a curator that knows records under "
                "the secret map can find the map (docs/privacy/less-trusted-curator.md)"
            )

    def published_figures(self, size: int) -> tuple[str, ...]:
        """Return the paper's privacy figures beside the sound ones, for its choice of mechanisms.

        Sentences; none unless a release is `Mwem.published`. Both at the paper's deltas, 0.01
        for the target and 1e-4 for the summary.
        """
        return tuple(
            _published_figure(what, mechanism, count, sensitivity, delta)
            for what, mechanism, count, sensitivity, delta in (
                ("the target's release", self.target_release, 1, TARGET, 1e-2),
                ("all summary releases", self.summary_release, size, SUMMARY, 1e-4),
            )
            if isinstance(mechanism, Mwem) and mechanism.epsilon_select == mechanism.epsilon_measure
        )

    def curator(self, setting: Setting) -> Curator:
        """Return the curator of a run."""
        return AuctionCurator(self._plan(setting), setting)

    def _plan(self, setting: Setting) -> Plan:
        """Settle noise and request rule from public numbers, before anything is sent."""
        batch = self._batch(setting.size)
        rounds = math.ceil(setting.size / batch)
        charged = rounds + self.spare_rounds
        # Before the first pick there is nothing of the owners to release, and a repeated
        # round sends its release again.
        releases = rounds - 1
        requests = self._requests(setting, charged, releases)
        summary = self.summary_release
        if isinstance(summary, Gaussian) and summary.noise_multiplier is None and releases:
            total = 1 / accounting.gaussian_noise_multiplier(
                requests.epsilon_left, setting.delta - requests.delta
            )
            share = requests.gaussian / (total * total)
            summary = Gaussian(portable.round_up(math.sqrt(releases / (1 - share)) / total))
        return Plan(
            rounds=rounds,
            spare_rounds=self.spare_rounds,
            batch=batch,
            profile=requests.profile,
            # As published, a bid is ranked against bids alone.
            virtual_bids=self.requests is not Requests.PUBLISHED,
            request_charges=tuple(
                Charge(
                    Protected.OWNERS,
                    "request bits of the whole run",
                    event,
                    count,
                    unit=setting.unit,
                )
                for event, count in requests.events
            ),
            target=self.target_release,
            summary=summary,
            n_features=self.n_features,
            feature_kind=self.feature_kind,
            seed_points=self.seed_points,
            seed_release=self.seed_release,
            reselect=self.reselect,
        )

    def _batch(self, size: int) -> int:
        if self.batch is not None:
            return self.batch
        return 1 if self.requests is Requests.PUBLISHED else math.ceil(size / 10)

    def _requests(self, setting: Setting, rounds: int, releases: int) -> _RequestPlan:
        certain = self._batch(setting.size)
        n_ranks = certain * len(setting.names) + 1
        if self.requests is Requests.PRIVATE:
            return self._private_requests(setting, rounds, releases, n_ranks)
        if self.requests is Requests.ALL:
            return _RequestPlan(Profile(np.ones(n_ranks)), [], self.epsilon_owners)
        if self.requests is Requests.WINNER:
            profile, reason = winner_profile(n_ranks, certain), "only the winner sent its point"
        else:
            profile = published_profile(self.epsilon_auction, n_ranks)
            reason = (
                "the published request rule forces delta >= "
                f"{forced_delta(self.epsilon_auction):.3g} in a single round, whatever epsilon"
            )
        return _RequestPlan(profile, [(NonPrivate(reason), 1)], self.epsilon_owners)

    def _private_requests(
        self, setting: Setting, rounds: int, releases: int, n_ranks: int
    ) -> _RequestPlan:
        """Return the cheapest of: a Gaussian threshold, a profile per bit, asking everybody."""
        batch = self._batch(setting.size)
        n_bits = rounds * batch * self.coalition
        share = self.request_share if releases else 1.0
        slack = 0.1 * setting.delta
        total = 1 / accounting.gaussian_noise_multiplier(self.epsilon_owners, setting.delta - slack)
        multiplier = portable.round_up(1 / (math.sqrt(share) * total))
        # A tenth of the slack is kept for the rounding of the normal distribution function.
        threshold = gaussian_threshold(
            multiplier * math.sqrt(n_bits), 0.9 * slack / n_bits, n_ranks, batch
        )
        # A little less than its share: sums of charges are rounded up by a relative 1e-9.
        per_bit = Approximate(
            (1 - 1e-8) * share * self.epsilon_owners / n_bits, share * 0.5 * setting.delta / n_bits
        )
        # A tenth of its delta is kept for the rounding of the probabilities.
        profile = one_round_profile(per_bit.epsilon, 0.9 * per_bit.delta, n_ranks, batch)
        if min(threshold.expected, profile.expected) >= 0.99 * n_ranks:
            return _RequestPlan(Profile(np.ones(n_ranks)), [], self.epsilon_owners)
        if threshold.expected <= profile.expected:
            events: list[tuple[Event, int]] = [
                (GaussianEvent(multiplier), 1),
                (Approximate(0.0, slack), 1),
            ]
            squared = 1 / (multiplier * multiplier)
            return _RequestPlan(threshold, events, self.epsilon_owners, slack, squared)
        spent = n_bits * per_bit.delta
        left = (1 - share) * self.epsilon_owners
        return _RequestPlan(profile, [(per_bit, n_bits)], left, spent)


def _published_figure(
    what: str, mechanism: Mwem, count: int, sensitivity: Sensitivity, delta: float
) -> str:
    iterations = count * mechanism.iterations
    stated = published_epsilon(mechanism.epsilon_select, iterations, delta)
    cost = [(event, n * count) for event, n in mechanism.cost(sensitivity)]
    sound = accounting.compose(cost, delta)
    return (
        f"For {what} the paper states epsilon = {stated:.4f} at delta = {delta:g}; a sound figure "
        f"is {sound:.4f} ({sensitivity.unit.value}), requests not counted."
    )


@dataclass(frozen=True)
class _RequestPlan:
    """A request rule with its price, and what it leaves for the summary releases.

    `epsilon_left` at the run's delta less `delta` is theirs; `gaussian` is the part of it, as a
    squared Gaussian parameter, that the requests use up themselves.
    """

    profile: Profile
    events: list[tuple[Event, int]]
    epsilon_left: float
    delta: float = 0.0
    gaussian: float = 0.0

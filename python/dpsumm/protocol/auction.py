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
    tests/privacy/test_auction_stability.py, tests/privacy/test_requests.py
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dpsumm.errors import InvalidParameterError
from dpsumm.privacy import accounting
from dpsumm.privacy.events import Approximate, Charge, Event, NonPrivate, Protected
from dpsumm.privacy.events import Gaussian as GaussianEvent
from dpsumm.protocol.auction_curator import AuctionCurator, Plan
from dpsumm.protocol.curator import Curator, Setting
from dpsumm.protocol.requests import (
    Profile,
    Requests,
    cheapest_for_run,
    forced_delta,
    published_profile,
    winner_profile,
)
from dpsumm.release import Exact, Gaussian, Mechanism, Mwem


@dataclass(frozen=True)
class Auction:
    """The paper's protocol.

    Parameters
    ----------
    batch
        Points bid and added per round; ``ceil(size / batch)`` rounds in all.
    requests
        Who is asked for points, see `Requests`.
    epsilon_owners, delta_owners
        Budget of an owner's records towards one other owner: all summary releases and request bits
        of the run. Needed by `Gaussian` releases without a noise multiplier and by private
        requests.
    request_share
        Part of that budget (of its squared Gaussian parameter) that pays for private requests.
    epsilon_auction
        Of the published request rule.
    target_release, summary_release
        Mechanisms of the two kinds of release.
    n_features, feature_kind
        Random features: even number; ``"paired"`` or, as published, ``"phase"``.
    seed_points : (s, c) array, original units, or None
        Public points that the summary starts from and that are not part of the result. They hurt:
        the greedy compensates for points that are then thrown away. Default: none.
    seed_release
        How the seed points enter the first release; public, so it costs nothing.
    reselect
        At the end choose the summary by the exact greedy on all received points, instead of taking
        the rounds' winners. Nothing is sent for it, so it costs no privacy.
    coalition
        Number of owners that may pool what they see; request bits are charged for all of them.
    spare_rounds
        Rounds that may be repeated after an owner was dropped for a failure; charged beforehand.
        With 0 a failure ends the run.
    """

    batch: int = 1
    requests: Requests = Requests.ALL
    epsilon_owners: float = 1.0
    delta_owners: float = 1e-5
    request_share: float = 0.5
    epsilon_auction: float = 1.0
    target_release: Mechanism = field(default_factory=Gaussian)
    summary_release: Mechanism = field(default_factory=Gaussian)
    n_features: int = 140
    feature_kind: str = "paired"
    seed_points: NDArray[np.floating] | None = None
    seed_release: Mechanism = field(default_factory=Exact)
    reselect: bool = False
    coalition: int = 1
    spare_rounds: int = 0

    name = "Auction"
    owners_argument = (
        "An owner receives the noisy means of the target and of the summary so far, and one bit "
        "for each of its bids; the charges above cover all of them."
    )

    def __post_init__(self) -> None:
        for name in ("batch", "coalition"):
            if getattr(self, name) < 1:
                raise InvalidParameterError(
                    f"{name} must be at least 1, got {getattr(self, name)!r}"
                )
        if self.spare_rounds < 0:
            raise InvalidParameterError(f"spare_rounds must be >= 0, got {self.spare_rounds!r}")
        if self.n_features < 2 or self.n_features % 2:
            raise InvalidParameterError(
                f"n_features must be an even number of at least 2, got {self.n_features!r}"
            )
        if self.requests is Requests.PUBLISHED and self.batch != 1:
            raise InvalidParameterError(
                "batch must be 1 with the published request rule, which is certain of rank 1 only"
            )
        if not 0 < self.request_share < 1:
            raise InvalidParameterError(
                f"request_share must lie strictly between 0 and 1, got {self.request_share!r}"
            )
        accounting.check_epsilon(self.epsilon_owners, "epsilon_owners")
        accounting.check_delta(self.delta_owners, "delta_owners")
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
            requests=Requests.PUBLISHED,
            epsilon_auction=epsilon_auction,
            target_release=Mwem.published(0.01, 1656),
            summary_release=Mwem.published(0.01 / math.sqrt(5 * size), 5),
            seed_release=Mwem.published(0.05, 1656),
            n_features=140,
            feature_kind="phase",
        )

    def curator(self, setting: Setting) -> Curator:
        """Return the curator of a run."""
        return AuctionCurator(self._plan(setting), setting)

    def _plan(self, setting: Setting) -> Plan:
        """Settle noise and request rule from public numbers, before anything is sent."""
        rounds = math.ceil(setting.size / self.batch)
        charged = rounds + self.spare_rounds
        releases = charged - 1  # before the first pick there is nothing of the owners to release
        n_bids = charged * self.batch * self.coalition
        n_ranks = self.batch * len(setting.n_records) + 1
        rule = self.requests
        # All Gaussian parts together: one Gaussian with this parameter (sensitivity / std).
        total = 1 / accounting.gaussian_noise_multiplier(
            self.epsilon_owners, self.delta_owners * (0.9 if rule is Requests.PRIVATE else 1.0)
        )
        share = self.request_share if rule is Requests.PRIVATE else 0.0
        profile, request_events = self._requests(rule, n_ranks, n_bids, total * math.sqrt(share))
        if rule is Requests.PRIVATE and not request_events:
            share = 0.0  # asking everybody is free, so the releases get all
            total = 1 / accounting.gaussian_noise_multiplier(self.epsilon_owners, self.delta_owners)
        summary = self.summary_release
        if isinstance(summary, Gaussian) and summary.noise_multiplier is None and releases:
            summary = Gaussian(math.sqrt(releases / (1 - share)) / total)
        return Plan(
            rounds=rounds,
            spare_rounds=self.spare_rounds,
            batch=self.batch,
            profile=profile,
            request_charges=tuple(
                Charge(Protected.OWNERS, "request bits of the whole run", event, count)
                for event, count in request_events
            ),
            target=self.target_release,
            summary=summary,
            n_features=self.n_features,
            feature_kind=self.feature_kind,
            seed_points=self.seed_points,
            seed_release=self.seed_release,
            reselect=self.reselect,
        )

    def _requests(
        self, rule: Requests, n_ranks: int, n_bids: int, gaussian: float
    ) -> tuple[Profile, list[tuple[Event, int]]]:
        certain = self.batch
        if rule is Requests.ALL:
            return Profile(np.ones(n_ranks)), []
        if rule is Requests.WINNER:
            reason = "only the winner was asked for its point"
            return winner_profile(n_ranks, certain), [(NonPrivate(reason), 1)]
        if rule is Requests.PUBLISHED:
            delta = forced_delta(self.epsilon_auction)
            reason = (
                f"the published request rule forces delta >= {delta:.3g} in a single round, "
                "whatever epsilon"
            )
            return published_profile(self.epsilon_auction, n_ranks), [(NonPrivate(reason), 1)]
        noise_std = math.sqrt(n_bids) / gaussian
        shortfall = 0.1 * self.delta_owners / (n_bids * (1 + math.exp(self.epsilon_owners)))
        profile = cheapest_for_run(noise_std, shortfall, n_ranks, certain)
        if profile.probability.min() == 1.0:
            return profile, []
        return profile, [
            (GaussianEvent(1 / gaussian), 1),
            (Approximate(0.0, 0.1 * self.delta_owners), 1),
        ]

"""Auction is the paper's protocol (Algorithm 3), corrected, with request rules that can be
proved.

Each round the curator releases the noisy mean of the summary so far, every owner bids its best
unsent points, some owners are asked for theirs, and the curator adds the best of everything not yet
in the summary, received or not.

Claim
    For one owner that sees all messages: the target has the guarantee of its release. Another
    owner's record that of all summary releases (``SUMMARY`` sensitivity: Lemma 1) and of the
    request bits (Lemma 2), as charged.
Assumes
    Public: sizes, parameters, seed points, owners. One total order for ties. Bids are exact
    integers that the curator reproduces. Coins are fresh for each owner, bid and round. An owner's
    own received points do not enter its ranks. The number of rounds is fixed. After a failure the
    run stops or the owner is dropped for good and the round repeated as a new charged one.
Argument
    ``docs/privacy/auction.md``.
Numerics
    Scores are integers without rounding. Request probabilities are multiples of 2**-53.
Tested by
    tests/summary/test_auction_stability.py, tests/papers/test_requests.py
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dpsumm.basics.checks import check_even_features, check_whole, settle
from dpsumm.errors import InvalidParameterError
from dpsumm.kernels.features import FeatureKind
from dpsumm.papers.auction.asking import Asking
from dpsumm.papers.auction.curator import AuctionCurator
from dpsumm.papers.auction.mwem import Mwem
from dpsumm.papers.auction.plan import Plan
from dpsumm.papers.auction.published import published_figure
from dpsumm.papers.auction.requests import (
    PublishedRequests,
    Requests,
    rule_of,
    unguarded,
)
from dpsumm.papers.auction.theorem2 import RoundMwem, Theorem2
from dpsumm.privacy import accounting, portable
from dpsumm.privacy.events import Protected
from dpsumm.privacy.release import annex
from dpsumm.summary.mechanisms import Exact, Gaussian
from dpsumm.summary.protocols.curator import Curator, Setting
from dpsumm.summary.protocols.protocol import Protocol
from dpsumm.summary.release import SUMMARY, TARGET, Mechanism
from dpsumm.summary.stability import Stability


@dataclass(frozen=True)
class Auction(Protocol):
    """The protocol of the paper, in which owners bid for rounds and the curator asks for points.

    Parameters
    ----------
    batch
        Points that are bid and added per round, in ``ceil(size / batch)`` rounds. By default a
        tenth of the size, for ten rounds. Every round costs a release, and many noisy releases
        choose badly. With the published rule it is 1.
    requests
        The rule that chooses the owners to ask for points. It is a `Requests`, its value, or the
        paper's rule with parameters, `Requests.published`.
    epsilon_owners
        Budget of an owner's records towards one other owner, at the run's delta, for all summary
        releases and request bits of the run. `Gaussian` releases without a noise multiplier and
        private requests use it.
    request_share
        Part of that budget (of its squared Gaussian parameter) that pays for private requests.
    target_release
        Mechanism of the target's release.
    summary_release
        Mechanism of the summary's release in each round.
    n_features
        Number of random features, even.
    feature_kind
        ``"paired"`` or, as published, ``"phase"``.
    seed_points : (s, c) array, original units (see `Schema.encode`), or None
        Public points from which the summary starts, and which are not part of the result (none by
        default). They do harm, because the greedy compensates for points that are then thrown away.
    seed_release
        Mechanism by which the seed points enter the first release. They are public, so it costs no
        privacy.
    reselect
        At the end choose the summary by the exact greedy on all received points. If False, as
        published, take the rounds' winners, which noisy releases chose. Nothing is sent for it, so
        it costs no privacy.
    coalition
        Number of owners that may pool their messages. Request bits are charged for all of them.
    spare_rounds
        Rounds that may be repeated after an owner was dropped for a failure, charged beforehand.
        With 0 a failure ends the run.
    theorem
        The arguments of `theorem2`, for the report, if it made the parameters.

    See Also
    --------
    dpsumm.Offers : One broadcast instead of rounds.
    dpsumm.papers.Requests : Rules of requests.

    Examples
    --------
    >>> import numpy as np, dpsumm
    >>> rng = np.random.default_rng(0)
    >>> owners = [rng.uniform(0, 1, (200, 2)) for _ in range(3)]
    >>> target = rng.uniform(0.4, 1, (300, 2))
    >>> summary = dpsumm.summarize(
    ...     owners, target, size=12, kernel=dpsumm.RBF(4), protocol=dpsumm.papers.Auction(batch=4)
    ... )
    >>> len(summary), summary.privacy.epsilon(1e-5) <= 1
    (12, True)
    """

    batch: int | None = None
    requests: Requests | PublishedRequests | Literal["all", "private", "winner", "published"] = (
        Requests.ALL
    )
    epsilon_owners: float = 1.0
    request_share: float = 0.5
    target_release: Mechanism = field(default_factory=Gaussian)
    summary_release: Mechanism = field(default_factory=Gaussian)
    n_features: int = 140
    feature_kind: FeatureKind = "paired"
    seed_points: NDArray[np.floating] | None = None
    seed_release: Mechanism = field(default_factory=Exact)
    reselect: bool = True
    coalition: int = 1
    spare_rounds: int = 0
    theorem: Theorem2 | None = None

    name = "Auction"
    silos = needs_all = True
    owners_argument = (
        "An owner receives the noisy means of the target and of the summary so far, and one bit "
        "for each of its bids; the charges above cover all of them."
    )

    def __post_init__(self) -> None:
        settle(self)
        for name, least in (("batch", 1), ("coalition", 1), ("spare_rounds", 0)):
            if name != "batch" or self.batch is not None:
                check_whole(getattr(self, name), name, least)
        check_even_features(self.n_features)
        object.__setattr__(self, "requests", rule_of(self.requests))
        if self._as_published and self.batch not in (None, 1):
            raise InvalidParameterError(
                "batch must be 1 with the published request rule, which is certain of rank 1 only"
            )
        if not 0 < self.request_share < 1:
            raise InvalidParameterError(
                f"request_share must lie strictly between 0 and 1, got {self.request_share!r}"
            )
        accounting.check_epsilon(self.epsilon_owners, "epsilon_owners")

    @property
    def unprotected(self) -> str:  # type: ignore[override]  # a constant where it is no parameter
        """Why requests have no guarantee between owners, with the way out. Empty if they do."""
        reason = unguarded(self._rule)
        name = "published" if isinstance(self._rule, PublishedRequests) else self._rule.value
        return reason and (
            f"`requests={name!r}` protect owners' records from no other owner, "
            f"since {reason} ('all' and 'private' have a guarantee)"
        )

    @property
    def _rule(self) -> Requests | PublishedRequests:
        return rule_of(self.requests)

    @property
    def _as_published(self) -> PublishedRequests | None:
        return self._rule if isinstance(self._rule, PublishedRequests) else None

    @classmethod
    def published(
        cls, size: int, *, epsilon_auction: float = 1.0, tau: int | None = None
    ) -> Auction:
        """Return the protocol with the parameters of section 4 of the paper (use gamma 0.1 with
        it).

        d = 140, T_init = 1656 = d^1.5 at 0.01 for the target; T_sub = 5 at ``0.01 / sqrt(5 p)`` for
        the summary, after a first epoch at 0.05 on public seed points, if there are any. Phase
        features. `epsilon_auction` and `tau` are not stated there: see `Requests.published`.
        """
        if size < 1:
            raise InvalidParameterError(f"size must be at least 1, got {size!r}")
        return cls(
            batch=1,
            requests=Requests.published(epsilon_auction, tau),
            target_release=Mwem.published(0.01, 1656),
            summary_release=Mwem.published(0.01 / math.sqrt(5 * size), 5),
            seed_release=Mwem.published(0.05, 1656),
            n_features=140,
            feature_kind="phase",
            reselect=False,
        )

    @classmethod
    def theorem2(
        cls,
        epsilon: float,
        delta: float,
        size: int,
        n_points: int,
        a: float,
        dimension: int | None = None,
        *,
        seed_points: NDArray[np.floating] | None = None,
    ) -> Auction:
        """Return the protocol with the parameters of the paper's Theorem 2, exactly as printed.

        ``d >= 16 log(2 N) log^2 p / a^2``, ``eta = 1/d``, ``T = d^2``, ``eps_v = eps / (16 T)`` for
        the target and ``eps_{l,T} = eps / sqrt(16 T l log(1/delta) log p)`` in the l-th round. A
        run's report (`PrivacyReport.published`) has the theorem's conditions that the data at hand
        fail, its claim, the certain part of our reading, and the sound figures.

        Parameters
        ----------
        epsilon
            The theorem's, in [1e-9, 1e6] nats.
        delta
            The theorem's, below 1/e.
        size
            Points of the summary (p), at least 2. The run must ask for as many.
        n_points
            Public bound on all owners' records together (N), at least `size`.
        a
            Part of the loss that is allowed for, strictly between 0 and 1.
        dimension
            Number of features (d), even. By default the least that the theorem asks for, which only
            tiny sizes can be run with. A smaller one runs, and the report says that it fails.
        seed_points
            As in `Auction`. The theorem asks for very many.

        Raises
        ------
        InvalidParameterError
            A parameter is out of range, or d is beyond what MWEM can be run with.

        Privacy
        -------
        The charge is that of the mechanisms, and an infinite epsilon for the published
        request rule. The theorem's (epsilon, delta) is reported as its claim only.

        Examples
        --------
        >>> import numpy as np, dpsumm
        >>> rng = np.random.default_rng(0)
        >>> owners = [rng.normal(shift, 1, (20, 2)) for shift in (-1, 1)]
        >>> protocol = dpsumm.papers.Auction.theorem2(1.0, 0.01, 3, 40, a=0.9, dimension=8)
        >>> summary = dpsumm.summarize(
        ...     owners, rng.normal(1, 1, (30, 2)), size=3, kernel=dpsumm.RBF(0.1),
        ...     protocol=protocol, allow_weak_privacy=True,
        ... )
        >>> print(summary.privacy.published[0])  # doctest: +NORMALIZE_WHITESPACE
        Theorem 2 asks for at least 104.5 features (8: fails), at least 4.523e+05 target records
        (30: fails), at least 1.974e+06 seed points (0: fails) and at most 40 records of all owners
        (40: holds); eta = 1/d and T = d^2 = 64 are as printed.
        """
        theorem = Theorem2.of(epsilon, delta, size, n_points, a, dimension)
        return cls(
            batch=1,
            requests=Requests.published(),
            target_release=theorem.target_release,
            summary_release=RoundMwem(theorem),
            seed_points=seed_points,
            seed_release=RoundMwem(theorem),
            n_features=theorem.dimension,
            feature_kind="phase",
            reselect=False,
            theorem=theorem,
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
                "the secret map can find the map (docs/privacy/offers.md)"
            )

    def published_figures(self, setting: Setting) -> tuple[str, ...]:
        """Return the paper's privacy figures next to the sound ones, for its choice of mechanisms.

        Sentences. None unless a release is `Mwem.published`. Both at the paper's deltas, 0.01
        for the target and 1e-4 for the summary. For Theorem 2 its conditions and claims.
        """
        if self.theorem is not None:
            return self.theorem.report(
                setting, 0 if self.seed_points is None else len(self.seed_points)
            )
        return tuple(
            published_figure(what, mechanism, count, sensitivity, delta)
            for what, mechanism, count, sensitivity, delta in (
                ("the target's release", self.target_release, 1, TARGET, 1e-2),
                ("all summary releases", self.summary_release, setting.size, SUMMARY, 1e-4),
            )
            if isinstance(mechanism, Mwem) and mechanism.epsilon_select == mechanism.epsilon_measure
        )

    def stability(self, setting: Setting) -> Stability:
        """Return two points: see `Protocol.stability`."""
        if self.reselect:
            return Stability(
                None,
                "at the end the Auction chose again from all received points by the greedy, so one "
                "record may change every point of the summary",
            )
        return Stability(
            SUMMARY.vectors // 2,
            "given the releases, one record changes at most so many points "
            "(docs/privacy/auction.md, Lemma 1)",
        )

    def curator(self, setting: Setting) -> Curator:
        """Return the curator of a run."""
        return AuctionCurator(self._plan(setting), setting)

    def _plan(self, setting: Setting) -> Plan:
        """Settle noise and request rule from public numbers, before anything is sent."""
        if self.theorem is not None:
            self.theorem.check(setting)
        batch = self._batch(setting.size)
        rounds = math.ceil(setting.size / batch)
        charged = rounds + self.spare_rounds
        # Before the first pick there is nothing of the owners to release, and a repeated
        # round sends its release again.
        releases = rounds - 1
        requests = Asking(
            rule=self._rule,
            owners=len(setting.names),
            batch=batch,
            rounds=charged,
            releases=releases,
            epsilon=self.epsilon_owners,
            delta=setting.delta,
            share=self.request_share,
            coalition=self.coalition,
        ).planned()
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
            virtual_bids=self._as_published is None or self._as_published.asks_everybody,
            tau=None if self._as_published is None else self._as_published.tau,
            request_charges=tuple(
                annex.charge_of(Protected.OWNERS, "request bits of the whole run", event, count)
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
        return 1 if self._as_published else math.ceil(size / 10)

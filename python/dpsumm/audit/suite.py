"""The list of audits: claims that must hold, each with broken twins that must be caught."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np

from dpsumm.audit import alone_twins, auction_twins, twins
from dpsumm.audit.alone import FeaturesAlone, ReadAlone
from dpsumm.audit.bound import ceiling, lower_bound
from dpsumm.audit.runs import AuctionRun, OffersRun
from dpsumm.audit.samples import (
    DELTA,
    EPSILON,
    Bandwidth,
    Released,
    RequestBits,
    Scores,
    mwem_release,
    summary_release,
    target_release,
)
from dpsumm.audit.witness import Lemmas, OffersSilence, Search
from dpsumm.errors import InvalidParameterError
from dpsumm.privacy.accounting import gaussian_noise_multiplier
from dpsumm.summary.mechanisms import Gaussian
from dpsumm.summary.release import SUMMARY, TARGET

# For pure guarantees: small against every event that is seen.
_PURE_DELTA = 1e-6
# A Gaussian charge claims an epsilon at every delta. Two normals that overlap differ most, as far
# as samples can tell, in events of large probability, so this is where few trials see much.
_SEEN_DELTA = 0.2
# An audit that could not measure this many times its claim proves too little by holding.
LEAST_CEILING = 1.5


class Sampled(Protocol):
    """A claim that is audited by samples."""

    def scores(self, world: int, trials: int) -> Scores:
        """Return scores of independent outputs in one world."""

    def claimed(self, delta: float) -> float:
        """Return epsilon as it is charged."""


@dataclass(frozen=True)
class Twin:
    """A copy with one known mistake, charged as the honest one.

    Attributes
    ----------
    name
        The mistake, in words.
    subject
        What is run, of the kind of its audit's.
    trials
        In both modes: what few trials catch, more do. The quick trials of its audit at the most,
        and by default.
    """

    name: str
    subject: Sampled | Search
    trials: int | None = None


@dataclass(frozen=True)
class Audit:
    """One claim.

    Attributes
    ----------
    name
        In words.
    subject
        What is run: sampled, or searched for a witness.
    twins
        At least one.
    trials, quick_trials
        Samples of each world, or pairs of worlds.
    delta
        At which epsilon is claimed; of no meaning to a search.
    """

    name: str
    subject: Sampled | Search
    twins: tuple[Twin, ...]
    trials: int
    quick_trials: int
    delta: float = _SEEN_DELTA


@dataclass(frozen=True)
class Found:
    """What samples or a search showed.

    Attributes
    ----------
    epsilon
        Lower confidence bound; None for a search.
    witness
        What a search found, if anything.
    trials
        Samples of each world, or pairs of worlds.
    refuted
        Whether the claim cannot be true.
    """

    epsilon: float | None
    witness: str | None
    trials: int
    refuted: bool


@dataclass(frozen=True)
class Outcome:
    """What came of an audit.

    Attributes
    ----------
    audit
        Which one.
    claimed
        Epsilon as charged; None for a search.
    ceiling
        The most that could have been measured; None for a search, where one witness is enough.
    found
        Of the claim.
    twins
        Of the twins, in their order.
    """

    audit: Audit
    claimed: float | None
    ceiling: float | None
    found: Found
    twins: tuple[Found, ...]

    @property
    def caught(self) -> int:
        """How many twins were refuted."""
        return sum(twin.refuted for twin in self.twins)

    @property
    def passed(self) -> bool:
        """Whether it came out as it should: the claim holds, all twins are caught."""
        return not self.found.refuted and self.caught == len(self.twins)


def audits() -> list[Audit]:
    """Return the suite."""
    released = partial(Released, sensitivity=TARGET)
    return [
        Audit(
            "target release, Gaussian",
            target_release(),
            (
                Twin("half the noise", released(_gaussian(twins.HalfNoise))),
                Twin("mean without clipping", released(_gaussian(twins.Unclipped))),
            ),
            *(200_000, 10_000),
        ),
        Audit(
            "summary release, two points replaced",
            summary_release(),
            (
                Twin(
                    "one substitution where two are possible",
                    Released(_gaussian(twins.OneSubstitution), SUMMARY, n_changed=2),
                ),
            ),
            *(200_000, 10_000),
        ),
        Audit(
            "target release, MWEM",
            mwem_release(),
            (Twin("MWEM with half the noise", released(twins.EagerMwem(1, 0.02, 0.5))),),
            *(200_000, 20_000, _PURE_DELTA),
        ),
        Audit(
            "bandwidth, private median",
            Bandwidth(),
            (
                Twin("half the noise in the median", Bandwidth(twins.HalfNoiseMedian)),
                Twin("the median itself", Bandwidth(twins.PlainMedian)),
            ),
            *(100_000, 20_000, _PURE_DELTA),
        ),
        Audit(
            "request bits of 30 rounds",
            RequestBits(),
            (Twin("requests with half the noise", RequestBits(noise_factor=0.5)),),
            *(2_000_000, 100_000, DELTA),
        ),
        Audit(
            "Offers: an owner's whole transcript",
            OffersRun(),
            (
                Twin("a broadcast with half the noise", OffersRun(release=_half_noise())),
                Twin("a retry that draws a new release", OffersRun(twins.RetriesAfresh), 300),
                Twin("noise from the public seed", OffersRun(twins.PublicNoise), 300),
            ),
            *(15_000, 3_000),
        ),
        Audit(
            "Auction: an owner's transcript",
            AuctionRun(),
            (
                Twin("half the summary's noise", AuctionRun(twins.half_summary_noise)),
                Twin("requests up to a fixed rank", AuctionRun(twins.sharp_requests), 400),
            ),
            *(6_000, 1_600, 0.45),
        ),
        Audit(
            "reading CSV: every record alone",
            ReadAlone(),
            (Twin("a column's type from all records", ReadAlone(alone_twins.read_by_column)),),
            *(1_000, 120),
        ),
        *(
            Audit(
                f"features, {dtype.__name__}: every record alone",
                FeaturesAlone(dtype),
                (
                    Twin(
                        f"a path by a block's largest angle, {dtype.__name__}",
                        FeaturesAlone(dtype, alone_twins.PanelFeatures),
                    ),
                ),
                *(1_000, 80),
            )
            for dtype in (np.float32, np.float64)
        ),
        Audit(
            "Offers: silence, whatever others hold",
            OffersSilence(),
            (
                Twin("a second request under Offers", OffersSilence(twins.AsksAgain)),
                Twin("thanks that tell the pool's size", OffersSilence(twins.TellsHowMany)),
            ),
            *(500, 40),
        ),
        Audit(
            "Auction: Lemmas 1 and 2",
            Lemmas(),
            (
                Twin("own received points in the rank", Lemmas(auction_twins.OwnPointsRanked)),
                Twin("ranks among unsent points only", Lemmas(auction_twins.UnsentPointsRanked)),
                Twin("ties settled by coins", Lemmas(auction_twins.CoinTies)),
                Twin("bids recomputed in floating point", Lemmas(auction_twins.FloatBids)),
                Twin("next best in hand after a failure", Lemmas(auction_twins.NextBestInHand)),
            ),
            *(1_000, 200),
        ),
        Audit(
            "Auction: the same, an owner dropped",
            Lemmas(dropping=True),
            (
                Twin(
                    "points forgotten on a drop",
                    Lemmas(auction_twins.ForgetsOnDrop, dropping=True),
                ),
            ),
            *(1_000, 200),
        ),
    ]


def _gaussian(twin: Callable[[float], Gaussian]) -> Gaussian:
    return twin(gaussian_noise_multiplier(EPSILON, DELTA))


def _half_noise() -> Gaussian:
    return _gaussian(twins.HalfNoise)


def run_audits(
    *,
    quick: bool = False,
    seed: int | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> list[Outcome]:
    """Run the suite and return what came of it.

    Parameters
    ----------
    quick
        A fraction of the trials for the claims: about a minute instead of some minutes. Twins are
        caught all the same; claims are held to weaker bounds.
    seed
        Of the made-up data. Noise and coins always come from the operating system: they are what
        is audited.
    progress
        Called with (stage, done, total).

    Raises
    ------
    InvalidParameterError
        An audit could not fail, or has no twin; before anything is run.
    """
    rng = np.random.default_rng(seed)
    suite = audits()
    limits = [limits_of(audit, quick=quick) for audit in suite]
    outcomes = []
    for i, (audit, (claimed, most)) in enumerate(zip(suite, limits, strict=True)):
        found = _find(audit, audit.subject, claimed, trials_of(audit, quick=quick), rng)
        caught = tuple(
            _find(audit, twin.subject, claimed, twin.trials or audit.quick_trials, rng)
            for twin in audit.twins
        )
        outcomes.append(Outcome(audit, claimed, most, found, caught))
        if progress is not None:
            progress("audits", i + 1, len(suite))
    return outcomes


def trials_of(audit: Audit, *, quick: bool) -> int:
    """Return the trials of an audit's claim."""
    return audit.quick_trials if quick else audit.trials


def limits_of(audit: Audit, *, quick: bool) -> tuple[float | None, float | None]:
    """Return an audit's claim and ceiling, None of a search.

    Raises
    ------
    InvalidParameterError
        The audit could not fail: it has no twin, a twin gets more trials than the claim, or the
        ceiling is below `LEAST_CEILING` times the claim, in quick mode even.
    """
    most = max((twin.trials or audit.quick_trials for twin in audit.twins), default=math.inf)
    if not most <= audit.quick_trials <= audit.trials:
        raise InvalidParameterError(
            f"audit {audit.name!r}: needs a twin, and at least as many trials as each twin has"
        )
    if isinstance(audit.subject, Search):
        return None, None
    claimed = audit.subject.claimed(audit.delta)
    least = ceiling(audit.quick_trials, audit.delta)
    if not 0 < claimed * LEAST_CEILING <= least:
        raise InvalidParameterError(
            f"audit {audit.name!r}: {audit.quick_trials} trials measure at most {least:.3f}, too "
            f"little for a claim of {claimed:.3f}; raise quick_trials or claim less"
        )
    return claimed, ceiling(trials_of(audit, quick=quick), audit.delta)


def _find(
    audit: Audit,
    subject: Sampled | Search,
    claimed: float | None,
    trials: int,
    rng: np.random.Generator,
) -> Found:
    if isinstance(subject, Search):
        witness = subject.find(rng, trials)
        return Found(None, witness, trials, witness is not None)
    assert claimed is not None
    first, second = (subject.scores(world, trials) for world in (0, 1))
    measured = lower_bound(first, second, audit.delta).epsilon
    return Found(measured, None, trials, measured > claimed)

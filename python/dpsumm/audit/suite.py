"""The list of audits: claims that must hold, twins that must be caught."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dpsumm.audit import auction_twins, twins
from dpsumm.audit.bound import lower_bound
from dpsumm.audit.runs import AuctionRun, OffersRun
from dpsumm.audit.samples import (
    DELTA,
    Bandwidth,
    Released,
    RequestBits,
    Scores,
    mwem_release,
    summary_release,
    target_release,
)
from dpsumm.audit.witness import Lemmas, OffersSilence
from dpsumm.privacy.accounting import gaussian_noise_multiplier
from dpsumm.summary.release import SUMMARY, TARGET, Gaussian

# For pure guarantees: small against every event that is seen.
_PURE_DELTA = 1e-6


class Sampled(Protocol):
    """A claim that is audited by samples."""

    def scores(self, world: int, trials: int) -> Scores:
        """Return scores of independent outputs in one world."""

    def claimed(self, delta: float) -> float:
        """Return epsilon as it is charged."""


@dataclass(frozen=True)
class Audit:
    """One line of the suite.

    Attributes
    ----------
    name
        In words.
    subject
        What is run: sampled, or searched for a witness.
    broken
        Whether it is a twin, to be caught.
    trials, quick_trials
        Samples of each world, or pairs of worlds.
    delta
        At which epsilon is claimed; of no meaning to a search.
    """

    name: str
    subject: Sampled | Lemmas | OffersSilence
    broken: bool
    trials: int
    quick_trials: int
    delta: float = DELTA


@dataclass(frozen=True)
class Outcome:
    """What came of an audit.

    Attributes
    ----------
    audit
        Which one.
    claimed, measured
        Epsilon as charged and its lower confidence bound; None for a search.
    witness
        What a search found.
    trials
        Samples of each world, or pairs of worlds.
    """

    audit: Audit
    claimed: float | None
    measured: float | None
    witness: str | None
    trials: int

    @property
    def broken(self) -> bool:
        """Whether the claim was refuted."""
        if self.measured is not None and self.claimed is not None:
            return self.measured > self.claimed
        return self.witness is not None

    @property
    def passed(self) -> bool:
        """Whether it came out as it should: claims hold, twins are caught."""
        return self.broken == self.audit.broken


def _gaussian(twin: Callable[[float], Gaussian]) -> Gaussian:
    return twin(gaussian_noise_multiplier(1.0, DELTA))


def audits() -> list[Audit]:
    """Return the suite."""
    return [*_claims(), *_broken()]


def _claims() -> list[Audit]:
    return [
        Audit("target release, Gaussian", target_release(), False, 200_000, 10_000),
        Audit("summary release, two points replaced", summary_release(), False, 200_000, 10_000),
        Audit("target release, MWEM", mwem_release(), False, 200_000, 10_000, _PURE_DELTA),
        Audit("bandwidth, private median", Bandwidth(), False, 50_000, 4_000, _PURE_DELTA),
        Audit("request bits of 30 rounds", RequestBits(), False, 2_000_000, 100_000),
        Audit("Offers: an owner's whole transcript", OffersRun(), False, 15_000, 1_000),
        Audit("Auction: an owner's whole transcript", AuctionRun(), False, 3_000, 60),
        Audit("Offers: silence, whatever others hold", OffersSilence(), False, 500, 20),
        Audit("Auction: Lemmas 1 and 2", Lemmas(), False, 1_000, 60),
        Audit("Auction: the same, an owner dropped", Lemmas(dropping=True), False, 1_000, 60),
    ]


def _broken() -> list[Audit]:
    """Return the twins; few trials are enough to catch them, in full and in quick runs."""
    half = Released(_gaussian(twins.HalfNoise), TARGET)
    one = Released(_gaussian(twins.OneSubstitution), SUMMARY, n_changed=2)
    mwem = Released(twins.EagerMwem(1, 0.02, 0.5), TARGET)
    unclipped = Released(_gaussian(twins.Unclipped), TARGET)
    retries = OffersRun(curator=twins.RetriesAfresh)
    lemmas = (
        ("own received points in the rank", Lemmas(auction_twins.OwnPointsRanked)),
        ("ranks among unsent points only", Lemmas(auction_twins.UnsentPointsRanked)),
        ("ties settled by coins", Lemmas(auction_twins.CoinTies)),
        ("bids recomputed in floating point", Lemmas(auction_twins.FloatBids)),
        ("next best in hand after a failure", Lemmas(auction_twins.NextBestInHand)),
        ("points forgotten on a drop", Lemmas(auction_twins.ForgetsOnDrop, dropping=True)),
    )
    return [
        Audit("half the noise", half, True, 50_000, 24_000),
        Audit("one substitution where two are possible", one, True, 50_000, 24_000),
        Audit("MWEM with half the noise", mwem, True, 50_000, 12_000, _PURE_DELTA),
        Audit("mean without clipping", unclipped, True, 10_000, 2_000),
        Audit("requests with half the noise", RequestBits(noise_factor=0.5), True, 10**6, 100_000),
        Audit("a retry that draws a new release", retries, True, 1_000, 400),
        Audit("a second request under Offers", OffersSilence(twins.AsksAgain), True, 500, 100),
        *(Audit(name, subject, True, 2_000, 1_000) for name, subject in lemmas),
    ]


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
        A fraction of the trials: under a minute instead of some minutes. Twins are caught all the
        same; claims are held to weaker bounds.
    seed
        Of the made-up data. Noise and coins always come from the operating system: they are what
        is audited.
    progress
        Called with (stage, done, total).
    """
    rng = np.random.default_rng(seed)
    suite = audits()
    outcomes = []
    for i, audit in enumerate(suite):
        outcomes.append(_run(audit, audit.quick_trials if quick else audit.trials, rng))
        if progress is not None:
            progress("audits", i + 1, len(suite))
    return outcomes


def _run(audit: Audit, trials: int, rng: np.random.Generator) -> Outcome:
    subject = audit.subject
    if isinstance(subject, Lemmas | OffersSilence):
        return Outcome(audit, None, None, subject.find(rng, trials), trials)
    first, second = (subject.scores(world, trials) for world in (0, 1))
    measured = lower_bound(first, second, audit.delta)
    return Outcome(audit, subject.claimed(audit.delta), measured.epsilon, None, trials)

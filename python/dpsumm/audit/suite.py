"""The list of audits: claims that must hold, each with broken twins that must be caught."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from dpsumm.audit import (
    auction_twins,
    every_record_twins,
    landmark_twins,
    model_twins,
    tables_twins,
    twins,
    update_twins,
    vote_twins,
)
from dpsumm.audit.audit import Audit, Twin
from dpsumm.audit.every_record import FeaturesAlone, ReadAlone
from dpsumm.audit.exports import ExportRun
from dpsumm.audit.landmarks import LandmarkRelease
from dpsumm.audit.models import ModelLaw, ModelSampled, SgdSampled, StableRuns
from dpsumm.audit.runs import AuctionRun, OffersRun
from dpsumm.audit.samples import (
    Released,
    RequestBits,
    mwem_release,
    summary_release,
    target_release,
)
from dpsumm.audit.settings import DELTA, EPSILON
from dpsumm.audit.tables import TablesRun
from dpsumm.audit.updates import UpdatesRun, UpdatesSilence
from dpsumm.audit.vote_worlds import AfterRelease, OneParty
from dpsumm.audit.votes import PublishedRun, VoteRun, VoteSilence, VotesOnce
from dpsumm.audit.witness import Lemmas, OffersSilence
from dpsumm.privacy.accounting import gaussian_noise_multiplier
from dpsumm.privacy.events import Unit
from dpsumm.summary.mechanisms import Gaussian
from dpsumm.summary.release import SUMMARY, TARGET

# For pure guarantees: small against every event that is seen.
_PURE_DELTA = 1e-6


def audits() -> list[Audit]:
    """Return the suite."""
    released, less = partial(Released, sensitivity=TARGET), _gaussian(twins.LessNoise)
    return [
        Audit(
            "target release, Gaussian",
            target_release(),
            (
                Twin("half the noise", released(less)),
                Twin("mean without clipping", released(_gaussian(twins.Unclipped)), 400),
            ),
            *(200_000, 4_000),
        ),
        Audit(
            "target release, landmark features",
            LandmarkRelease(),
            (
                Twin(
                    "a matrix that is no contraction",
                    LandmarkRelease(landmark_twins.no_contraction),
                ),
                Twin(
                    "k_min of one column for that of all",
                    LandmarkRelease(landmark_twins.one_column),
                ),
                Twin(
                    "landmarks from private records",
                    LandmarkRelease(landmark_twins.private_landmarks),
                    300,
                ),
            ),
            *(20_000, 5_000),
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
            *(200_000, 5_000),
        ),
        Audit(
            "target release, MWEM",
            mwem_release(),
            (Twin("MWEM with half the noise", released(twins.EagerMwem(1, 0.02, 0.5))),),
            *(200_000, 12_000, _PURE_DELTA),
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
                Twin("a broadcast with half the noise", OffersRun(release=less)),
                Twin("a retry that draws a new release", OffersRun(twins.RetriesAfresh), 300),
                Twin("noise from the public seed", OffersRun(twins.PublicNoise), 300),
            ),
            *(15_000, 5_000),
        ),
        Audit(
            "Auction: an owner's transcript",
            AuctionRun(),
            (
                Twin("half the summary's noise", AuctionRun(twins.half_summary_noise)),
                Twin("requests up to a fixed rank", AuctionRun(twins.sharp_requests), 400),
            ),
            *(6_000, 2_000, 0.45),
        ),
        Audit(
            "model: its law, two points changed",
            ModelLaw(),
            (Twin("one point counted where two change", ModelLaw(counted=1)),),
            *(1_600, 225),
        ),
        Audit(
            "model: its weights, two points changed",
            ModelSampled(),
            (
                Twin("a summary by Offers accepted", ModelSampled(changed=100), 300),
                Twin("a tenth of the noise", ModelSampled(noise_factor=0.1)),
            ),
            *(10_000, 300),
        ),
        Audit(
            "models by DP-SGD: all steps' sums",
            SgdSampled(),
            (Twin("one point counted where two change", SgdSampled(counted=1)),),
            *(20_000, 4_000),
        ),
        Audit(
            "model: what one record changes",
            StableRuns(),
            (
                Twin("Offers accepted", StableRuns((model_twins.OffersAccepted(n_features=32),))),
                Twin("chosen again at the end", StableRuns((model_twins.ChosenAgain(batch=4),))),
                Twin("a choice from a pool accepted", StableRuns((model_twins.PoolAccepted(),))),
            ),
            *(400, 100),
        ),
        *(
            Audit(
                f"synthesize: a column of the {which} owner, towards the other",
                TablesRun(place=place),
                (
                    Twin("half an owner's noise", TablesRun(tables_twins.HalfNoise, place)),
                    Twin(
                        "noise left to the other owner",
                        TablesRun(tables_twins.NoNoise, place),
                        720,
                    ),
                ),
                *(16_000, 4_000),
            )
            for place, which in enumerate(("first", "second"))
        ),
        Audit(
            "reading CSV: every record alone",
            ReadAlone(),
            (
                Twin(
                    "a column's type from all records", ReadAlone(every_record_twins.read_by_column)
                ),
                Twin(
                    "the labels' type from all records",
                    ReadAlone(every_record_twins.labels_by_column),
                ),
            ),
            *(1_000, 120),
        ),
        *(
            Audit(
                f"features, {dtype.__name__}: every record alone",
                FeaturesAlone(dtype),
                (
                    Twin(
                        f"a path by a block's largest angle, {dtype.__name__}",
                        FeaturesAlone(dtype, every_record_twins.PanelFeatures),
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
                Twin("thanks that tell how far the pool is", OffersSilence(twins.TellsHowFar)),
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
            "Auction: the same, with tau",
            Lemmas(tau=2),
            (
                Twin("second places count", Lemmas(auction_twins.SecondPlaceCounted, tau=2)),
                Twin("asked once too late", Lemmas(auction_twins.OnceTooLate, tau=2)),
            ),
            *(1_000, 100),
        ),
        Audit(
            "Auction: the same, an owner dropped",
            Lemmas(dropping=True),
            (
                Twin(
                    "points forgotten on a drop", Lemmas(auction_twins.ForgetsOnDrop, dropping=True)
                ),
            ),
            *(1_000, 200),
        ),
        Audit(
            "noisy votes, four classes",
            VoteRun(),
            (
                Twin("1/M applied twice", VoteRun(vote_twins.DividedTwice), 400),
                Twin("several classes with unit 1", VoteRun(vote_twins.UnitOne)),
                Twin("rows with two ones", VoteRun(vote_twins.AnyRow, two_ones=True)),
                Twin("the mean of those that came", VoteRun(vote_twins.ThoseThatCame, absent=2)),
                Twin("majority labels, noise for shares", VoteRun(vote_twins.MajorityOnly), 400),
                Twin("noise anew on a retry", VoteRun(vote_twins.FreshNoise), 6_500),
                Twin("noise for one point", VoteRun(vote_twins.EachPointAlone), 400),
            ),
            *(100_000, 13_000),
        ),
        Audit(
            "noisy votes, two classes",
            VoteRun(n_classes=2),
            (Twin("the bound of other points", VoteRun(vote_twins.OthersBound, n_classes=2)),),
            *(100_000, 5_000),
        ),
        Audit(
            "the paper's student, exact sensitivity",
            PublishedRun(),
            (
                Twin("a solver that stops early", PublishedRun(stop=0.05)),
                Twin("a constant appended after clipping", PublishedRun(norm=2**0.5)),
            ),
            *(1_000_000, 100_000),
        ),
        Audit(
            "exported model: sums over the consumer's points",
            ExportRun(),
            (
                Twin("noise for a record taken out", ExportRun(noise_factor=0.5)),
                Twin(
                    "noise of the points' own shape",
                    ExportRun(sums=vote_twins.sums_with_shaped_noise, sums_alone=True),
                    1_000,
                ),
            ),
            *(20_000, 5_000),
        ),
        Audit(
            "noisy votes: what parties are sent",
            VoteSilence(),
            (
                Twin("a second task when few came", VoteSilence(vote_twins.AsksAgain)),
                Twin("thanks that tell the turnout", VoteSilence(vote_twins.TellsTurnout)),
            ),
            *(500, 40),
        ),
        Audit(
            "noisy votes: a party votes once",
            VotesOnce(),
            (Twin("votes on a second set of points", VotesOnce(vote_twins.Forgets)),),
            *(500, 20),
        ),
        Audit(
            "noisy votes: what one party moves",
            OneParty(),
            (
                Twin(
                    "closed when a class has enough votes", OneParty(curator=vote_twins.ClosesEarly)
                ),
                Twin(
                    "a party that has seen the noisy votes",
                    OneParty(curator=vote_twins.TakesLateVotes),
                ),
                Twin("a scaler of all parties' records", OneParty(vote_twins.pooled_scaling)),
                Twin("a summary as points", OneParty(vote_twins.summary_as_points)),
            ),
            *(500, 40),
        ),
        Audit(
            "noisy votes: what is learnt from them",
            AfterRelease(),
            (
                Twin(
                    "Stein's estimate of noise-free votes",
                    AfterRelease(vote_twins.chooses_without_noise),
                ),
                Twin("agreement in a warning", AfterRelease(vote_twins.tells_agreement)),
            ),
            *(100, 20),
        ),
        Audit(
            "noisy moments: all rounds, a party's records replaced",
            UpdatesRun(),
            (
                Twin("a quarter of the noise", UpdatesRun(update_twins.quarter_of_the_noise), 400),
                Twin("noise of one round in each", UpdatesRun(update_twins.as_if_one_round)),
                Twin("the same noise in all rounds", UpdatesRun(update_twins.noise_kept), 400),
                Twin("a round drawn anew on a retry", UpdatesRun(update_twins.drawn_anew)),
                Twin("a party's vector not cut", UpdatesRun(owner=update_twins.unclipped), 400),
            ),
            *(30_000, 1_500),
        ),
        Audit(
            "noisy moments: all rounds, one record replaced",
            UpdatesRun(unit=Unit.REPLACE_RECORD),
            (
                Twin(
                    "a record not cut",
                    UpdatesRun(records=update_twins.unclipped, unit=Unit.REPLACE_RECORD),
                    400,
                ),
            ),
            *(30_000, 1_500),
        ),
        Audit(
            "noisy moments: what parties are sent",
            UpdatesSilence(),
            (
                Twin("a clip that tells the turnout", UpdatesSilence(update_twins.TellsWhoCame)),
                Twin("a model of the exact sum", UpdatesSilence(update_twins.LearnsWithoutNoise)),
            ),
            *(200, 15),
        ),
    ]


def _gaussian(twin: Callable[[float], Gaussian]) -> Gaussian:
    return twin(gaussian_noise_multiplier(EPSILON, DELTA))

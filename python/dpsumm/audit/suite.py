"""The list of audits, whose claims must hold and whose broken twins must be caught."""

from __future__ import annotations

import numpy as np

from dpsumm.audit import (
    auction_twins,
    every_record_twins,
    model_twins,
    twins,
    update_twins,
    vote_twins,
)
from dpsumm.audit.audit import Audit, Sampled, Twin
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
from dpsumm.audit.settings import DELTA
from dpsumm.audit.tables import TablesRun
from dpsumm.audit.updates import UpdatesRun, UpdatesSilence
from dpsumm.audit.vote_worlds import AfterRelease, OneParty
from dpsumm.audit.votes import PublishedRun, VoteRun, VoteSilence, VotesOnce
from dpsumm.audit.witness import Lemmas, OffersSilence
from dpsumm.privacy.events import Unit
from dpsumm.summary.release import TARGET

# For pure guarantees: small against every event that is seen.
_PURE_DELTA = 1e-6


def audits() -> list[Audit]:
    """Return the suite."""
    mwem = Released(twins.EagerMwem(1, 0.02, 0.5), TARGET)
    return [
        _noise("target release, Gaussian", target_release(), 200_000, 4_000),
        _noise("target release, landmark features", LandmarkRelease(), 20_000, 5_000),
        _noise("summary release, two points replaced", summary_release(), 200_000, 5_000),
        Audit(
            "target release, MWEM",
            mwem_release(),
            (Twin("MWEM with half the noise", mwem),),
            *(200_000, 12_000, _PURE_DELTA),
        ),
        Audit(
            "request bits of 30 rounds",
            RequestBits(),
            (Twin("requests with half the noise", RequestBits(noise_factor=0.5)),),
            *(2_000_000, 100_000, DELTA),
        ),
        _noise("Offers: an owner's whole transcript", OffersRun(), 15_000, 5_000),
        Audit(
            "Auction: an owner's transcript",
            AuctionRun(),
            (
                Twin.half(AuctionRun()),
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
        _noise("models by DP-SGD: all steps' sums", SgdSampled(), 20_000, 4_000),
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
            _noise(
                f"synthesize: a column of the {which} owner, towards the other",
                TablesRun(place),
                *(16_000, 2_400),
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
        _noise("noisy votes, four classes", VoteRun(), 100_000, 5_000),
        _noise("noisy votes, two classes", VoteRun(n_classes=2), 100_000, 5_000),
        Audit(
            "the paper's student, exact sensitivity",
            PublishedRun(),
            (
                Twin("a solver that stops early", PublishedRun(stop=0.05)),
                Twin("a constant appended after clipping", PublishedRun(norm=2**0.5)),
            ),
            *(1_000_000, 100_000),
        ),
        _noise("exported model: sums over the consumer's points", ExportRun(), 20_000, 5_000),
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
        _noise(
            "noisy moments: all rounds, a party's records replaced", UpdatesRun(), 30_000, 4_000
        ),
        _noise(
            "noisy moments: all rounds, one record replaced",
            UpdatesRun(Unit.REPLACE_RECORD),
            *(30_000, 4_000),
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


def _noise(name: str, subject: Sampled, trials: int, quick_trials: int) -> Audit:
    """Return the audit of a claim of normal noise."""
    return Audit(name, subject, (Twin.half(subject),), trials, quick_trials)

"""Points in a dossier, with their charges and the conditions that people must keep."""

from __future__ import annotations

from dpsumm.privacy.claims import Claim
from dpsumm.privacy.events import Protected
from dpsumm.report.about import About
from dpsumm.summary.protocols import Greedy, Offers, Pool, Uniform
from dpsumm.summary.protocols.wire import CODEC

_EXACT = "integers; noise drawn exactly, from the operating system's randomness"

CLAIMS = (
    Claim(
        "target's noisy mean embedding",
        "every owner",
        "An owner, or all of them together, learns of a record of the target what the charge "
        "allows, whatever else they know.",
        _EXACT,
        "privacy/target-release.md#claim",
        (
            "target release, Gaussian",
            "target release, landmark features",
            "target release, MWEM",
            "Offers: an owner's whole transcript",
            "features, float32: every record alone",
            "features, float64: every record alone",
        ),
    ),
    Claim(
        "noisy mean embedding of the summary so far",
        "every owner, in each round",
        "An owner learns of a record of another owner what the charges allow: one record changes "
        "two points of the summary at the most.",
        _EXACT,
        "privacy/auction.md#lemma-1-stability",
        (
            "summary release, two points replaced",
            "Auction: an owner's transcript",
            "Auction: Lemmas 1 and 2",
            "Auction: the same, an owner dropped",
        ),
    ),
    Claim(
        "request bits of the whole run",
        "each owner, the bits of its own bids",
        "An owner learns of a record of another owner what the charge allows: one record moves a "
        "rank by one at the most.",
        "coins of 53 bits; probabilities are rounded up, their error is covered by a reserve of "
        "delta",
        "privacy/auction.md#lemma-3-bits",
        ("request bits of 30 rounds", "Auction: Lemmas 1 and 2", "Auction: the same, with tau"),
    ),
    Claim(
        "weights of a model of",
        "everyone to whom the model is shown",
        "Everyone, owners with all their messages included, learns of a record of an owner what "
        "the run's charges allow together.",
        "floats whose error is bounded and charged; noise from the operating system's randomness",
        "privacy/private-models.md#claim",
        (
            "model: its law, two points changed",
            "model: its weights, two points changed",
            "model: what one record changes",
            "models by DP-SGD: all steps' sums",
        ),
        condition="That a model was wanted, its classes and its parameters were chosen without "
        "looking at the summary.",
    ),
)

# Its class is among the papers, which no product imports.
_AUCTION = "Auction"
_READING = "reading CSV: every record alone"
_READ = "The curator reads only records that owners sent, and no owner sees another's records."

ABOUT = About(
    name="Points: a summary of the owners' records",
    codecs=(CODEC,),
    # By the names that runs are recorded under, so that none can differ from its class's.
    protocols={
        Offers.name: (
            "The target, the parameters, the list of owners and the time of the broadcast were "
            "fixed without looking at any owner's records. The curator sends owners nothing after "
            "the broadcast: no thanks, count, payment or second request.",
        ),
        _AUCTION: (
            "No more owners pool what they see than the settings' coalition says. Owners outside "
            "it follow the protocol. Failures, and their times, do not depend on records.",
        ),
        Pool.name: (),
        Uniform.name: (),
        Greedy.name: ("Every record of every owner is read by the curator.",),
    },
    protects=(Protected.TARGET, Protected.OWNERS),
    claims=CLAIMS,
    audits={
        Offers.name: ("Offers: silence, whatever others hold", _READING),
        **dict.fromkeys((_AUCTION, Pool.name, Uniform.name, Greedy.name), (_READING,)),
    },
    conditions=(
        "The curator is trusted, and so is the consumer: both see, as they are, the records that "
        "owners send. Neither works together with an owner.",
        "Owners never see the summary, its report, or any number shown with it: distance, points "
        "read, worth of owners, warnings, logs.",
        "Columns, bounds, categories, scaling, bandwidth, sample and all other parameters are "
        "public: nobody chose them by looking at private records or at earlier summaries.",
        "A unit is a record. A person with several records, or at several owners, is several "
        "units; epsilon grows with their number.",
    ),
    trust="Central, towards owners: a trusted curator collects and releases; owners are curious, "
    "each an adversary of the others and of the target.",
    exposure="The curator and the consumer see the records that owners send, as they are, and the "
    f"curator the target. {_READ} None of this is differential privacy.",
    access="The summary, its report, the journal (answers of owners, until the summary is "
    "written) and logs: curator and consumer alone. The ledger and its mark: the target's holder; "
    "a copy of both that is put back forgets what was spent. Secret keys of machines: their "
    "owners.",
    afterwards="The summary consists of real records: it, and a model trained on it, may not be "
    "published, unless Summary.private_model made the model. The same records in another "
    "release, or a person's records at several owners, add up outside this page.",
    beside={},
)

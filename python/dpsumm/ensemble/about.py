"""Votes in a dossier, with their charges and the conditions that people must keep."""

from __future__ import annotations

from dpsumm.ensemble import messages, saved
from dpsumm.ensemble.updates import messages as updates
from dpsumm.privacy.claims import Claim
from dpsumm.privacy.events import Protected
from dpsumm.report.about import About

VOTES, HIDDEN = "Noisy votes", "Noisy votes on points of the consumer"
_EXACT = "integers; noise drawn exactly, from the operating system's randomness"

CLAIMS = (
    Claim(
        "noisy votes",
        "the consumer, and whoever sees the votes, the model or its predictions",
        "Whoever sees them learns of all records of a party (or of one record, by the unit) what "
        "the charge allows, for every set of public points.",
        _EXACT,
        "privacy/votes.md#theorem",
        (
            "noisy votes, four classes",
            "noisy votes, two classes",
            "noisy votes: what parties are sent",
            "noisy votes: a party votes once",
        ),
    ),
    Claim(
        "noisy moments",
        "the consumer, and whoever sees the sums, a round's model, the model or its predictions",
        "Whoever sees them learns of all records of a party (or of one record, by the unit) what "
        "the charges of all rounds allow, for every set of public points.",
        _EXACT,
        "privacy/updates.md#theorem",
        (
            "noisy moments: all rounds, a party's records replaced",
            "noisy moments: all rounds, one record replaced",
            "noisy moments: what parties are sent",
        ),
    ),
    Claim(
        "sums and products of",
        "everyone to whom the exported model is shown",
        "Whoever sees the exported model learns of one point what the charge allows.",
        _EXACT,
        "privacy/votes.md#a-model-that-may-leave",
        ("exported model: sums over the consumer's points",),
    ),
)

ABOUT = About(
    name="Votes: a classifier from the parties' classifiers",
    codecs=(messages.CODEC, updates.CODEC, saved.CODEC),
    protocols={
        VOTES: ("The points are public: parties see them. They are nobody's private records.",),
        updates.PROTOCOL: (
            "The points are public. They are nobody's private records. Numbers of records are "
            "declared, where a whole owner is the unit.",
        ),
        HIDDEN: (
            "The points are the consumer's: model and predictions stay with the "
            "consumer, unless Model.export protects the points. An exported model is charged "
            "to the points, in a run of its own and in the consumer's ledger.",
        ),
    },
    protects=(Protected.OWNERS,),
    claims=CLAIMS,
    audits={},
    conditions=(
        "The curator is trusted with the parties' votes (or classifiers): it shows them to "
        "nobody, and works together with nobody who sees the model.",
        "Points, classes, terms and the list of parties were fixed before anybody voted.",
        "No party's classifier, scaling or parameters were fitted on another party's records, or "
        "chosen by looking at private data.",
        "A party's records are not sold or shared otherwise; what else is made of them adds up "
        "outside this page.",
    ),
    trust="Central, towards the consumer and everyone: a trusted curator adds up votes and "
    "releases the sum with noise; parties see public facts alone.",
    exposure="Records stay with the parties. The curator sees votes, or classifiers that may "
    "remember records: that is not differential privacy.",
    access="Votes and the journal (until the release is in the ledger): the curator alone. The "
    "ledger and its mark: the parties' curator; a copy of both that is put back forgets what was "
    "spent.",
    afterwards="The noisy votes, models of public points and their predictions may be shown to "
    "everyone, at no further cost. Another run on the same parties' records adds up in the ledger.",
    beside={},
)

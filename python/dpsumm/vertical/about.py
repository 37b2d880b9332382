"""Rows in a dossier, with their charges and the conditions that people must keep."""

from __future__ import annotations

from dpsumm.exchange.disclosure import Disclosure
from dpsumm.exchange.messages import Describe, Description
from dpsumm.privacy.claims import Claim
from dpsumm.privacy.events import Protected
from dpsumm.report.about import About
from dpsumm.vertical.way import Way
from dpsumm.vertical.wire import CODEC

_EXACT = "integers; noise drawn exactly, from the operating system's randomness"
_AUDITS = (
    "synthesize: a column of the first owner, towards the other",
    "synthesize: a column of the second owner, towards the other",
)

CLAIMS = (
    Claim(
        "one-way tables",
        "the coordinator and everybody else",
        "Another owner learns of a record's columns at this owner what the charge allows; who "
        "sees the rows alone learns no more.",
        _EXACT,
        "privacy/rows.md#claims",
        _AUDITS,
    ),
    Claim(
        "two-way tables",
        "the coordinator and everybody else",
        "Another owner, who knows its own noise in a table with this owner, learns of a record's "
        "columns at this owner what the charge allows.",
        _EXACT,
        "privacy/rows.md#claims",
        _AUDITS,
    ),
)

_IN_ONE_PROCESS = (
    "Records in one process",
    Disclosure(
        "each owner",
        "the process that runs all roles",
        "the records' codes, which are counted",
        "the owner's records",
        "The process holds all records, and so sees them. It lets out tables with the "
        "owners' noise alone.",
        "privacy/rows.md#two-engines",
        releases=("two-way tables",),
    ),
)

ABOUT = About(
    name="Rows: synthetic rows of a table that several owners hold in parts",
    codecs=(CODEC,),
    protocols={way.value: (way.condition,) for way in Way},
    protects=(Protected.RECORDS,),
    claims=CLAIMS,
    audits={},
    conditions=(
        "Owners do not hand their noise or their columns to each other: those who do learn as one "
        "owner of all their columns.",
        "All owners follow the protocol. Those of different columns hold the same records in the "
        "same order.",
        "Schemas, bins, label and all other parameters are public: nobody chose them by looking "
        "at records.",
        "The number of records, and which records take part, is known to all owners.",
    ),
    trust="Each owner adds its own noise. Across machines no party sees another's records: if "
    "owners hold different columns, a helper without data makes the secret product possible, and "
    "is trusted to keep its keys. A run in one process is trusted with all records.",
    exposure="Across machines, records stay with their owners. Coordinator, helper and other "
    "owners see noisy tables and words that are uniform without the keys. In one process, that "
    "process holds all records.",
    access="The key that an owner shares with the helper: these two alone. The owners' common "
    "key, which orders identifiers: never the coordinator. Each owner's ledger with its mark, and "
    "across machines the rows of its latest runs beside it: that owner; a copy of ledger and mark "
    "that is put back forgets what was spent.",
    afterwards="Rows, model and noisy tables may be shown to everyone, at no further cost. "
    "Another run on the same records adds up in every owner's ledger.",
    # A run opens with Join, whose answer has the public facts.
    unsent=(Describe, Description),
    beside={
        Way.TOGETHER.value: (_IN_ONE_PROCESS,),
        Way.SUMS_TOGETHER.value: (_IN_ONE_PROCESS,),
        Way.MPYC.value: (
            (
                "Shares of MPyC",
                Disclosure(
                    "each of the two owners of a table, and the helper",
                    "the other two",
                    "Shamir's shares of the owners' records and noise, sent by the package mpyc "
                    "over TLS",
                    "both owners' records, under secret sharing with threshold 1",
                    "One party alone sees uniform shares; any two together read the third's "
                    "records. The left owner learns the table with both noises.",
                    "privacy/rows.md#two-engines",
                    releases=("two-way tables",),
                ),
            ),
        ),
    },
)

"""A dossier by the topics of NIST SP 800-226, *Guidelines for Evaluating Differential Privacy
Guarantees*.

The topics are those of its privacy pyramid, from the top (what epsilon promises) to the base (what
was exposed before any noise), and what its privacy hazards warn of. They were compared with all
sections of the initial public draft (December 2023), whose numbers stand with them; the final text
(March 2025) was not at hand. The questions are worded here, not quoted.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from dpsumm.checks import counted
from dpsumm.privacy.events import Unit
from dpsumm.report import parts
from dpsumm.report.numbers import round_up, small
from dpsumm.report.parts import Html
from dpsumm.report.spent import mechanism

if TYPE_CHECKING:
    from dpsumm.report.dossier import Dossier

_UNITS = {
    Unit.REPLACE_RECORD: "one record replaced (bounded; sizes public)",
    Unit.ADD_REMOVE_RECORD: "one record added or removed (unbounded; sizes private)",
    Unit.WHOLE_OWNER: "all data of one party",
}


def answers(dossier: Dossier) -> tuple[Html, Html]:
    """Return the table of topics, each with what this run answers."""
    return (
        parts.intro(
            "The topics follow the pyramid of NIST SP 800-226 from its top to its base: each layer "
            "is worth no more than those below it. Numbers are of sections in its initial public "
            "draft (December 2023), with which pyramid and hazards were compared; in the final "
            "text (March 2025), which was not at hand, they may differ. The questions are in this "
            "package's words."
        ),
        parts.tag(
            "div", parts.table(("Topic", "Question", "Answer"), _rows(dossier)), class_="long"
        ),
    )


def _rows(dossier: Dossier) -> Iterator[tuple[str, str, str]]:
    record, about, charges = dossier.record, dossier.about, dossier.charges
    said = "; ".join(f"epsilon {round_up(epsilon)} {what}" for what, epsilon in dossier.figures)
    units = ", ".join(f"{count:,} ({whose})" for whose, count in record.units.items())
    yield (
        "Privacy parameters (2.2)",
        "How large are epsilon and delta?",
        f"{said}; delta {small(record.delta)}. Protected units: {units or 'not public'}; delta "
        "must lie well below one over their number.",
    )
    nothing = "see the owners' ledgers" if dossier.elsewhere else "nothing was charged"
    counts = counted(len(charges), "charge", "charges") if charges else nothing
    of = dict.fromkeys(_UNITS[charge.unit] for charge in charges)
    yield (
        "Unit of privacy (2.4)",
        "Whose change of data is hidden?",
        f"{'; '.join(of) or nothing}. A record is not a person: of somebody with several records "
        "each is protected alone, which is weaker.",
    )
    yield (
        "Variant and comparison (2.3, 2.5)",
        "In which variant is it proved, and with what may the numbers be compared?",
        "Each charge has its mechanism's own parameters: see what was charged. Epsilon is "
        "composed from these at the delta above. Numbers of two runs compare only at one delta "
        "and for one unit.",
    )
    yield (
        "Query model and budget (4.1)",
        "What may be asked how often, and who counts?",
        f"One run by a fixed plan ({counts}); a charge is made before its message leaves; nobody "
        "asks freely. Runs add up in the ledger, whose cap refuses more: see the totals.",
    )
    how = dict.fromkeys(mechanism(charge).partition(",")[0] for charge in charges)
    yield (
        "Algorithms (3.1, 3.4 to 3.6)",
        "Which mechanisms are used, and where are they proved?",
        f"{'; '.join(how) or nothing}. Each charge's claim and page: see what each charge claims.",
    )
    drawn = dict.fromkeys(one.numerics for one in dossier.claims)
    yield (
        "Correct implementation (4.3)",
        "Do noise and arithmetic do what the proof says, floating point included?",
        f"{'; '.join(drawn) or 'no noise was drawn'}. Mechanisms of the protocols are this "
        "package's own code, not a library's in wide use. Audits: "
        + (
            "none at hand."
            if dossier.audits is None
            else "see above; of this code."
            if dossier.audits.code == record.code
            else "of other code, see above."
        ),
    )
    yield ("Threat and trust model (4.2)", "Who must be trusted with what?", about.trust)
    yield (
        "Side channels (4.3)",
        "What leaks beside the messages?",
        "Not covered: timing, sizes and number of messages, logs, crashes, and the machines' own "
        "memory, swap and backups. Nobody sends queries of their own to be timed.",
    )
    yield (
        "Utility and bias (3.2, 3.3)",
        "Is the result good, and good for all groups?",
        "Not on this page, on purpose: quality depends on records and is for whoever may see the "
        "result (its report). Noise hides small groups before large ones.",
    )
    yield ("Other releases (2.6)", "What else is known of the same records?", about.afterwards)
    yield ("Security and access (4.4)", "Who can reach what must stay secret?", about.access)
    yield (
        "Exposure at collection (4.5)",
        "Who sees records before any noise, and must they be collected at all?",
        f"{about.exposure} Whether the data are needed is for people to answer.",
    )

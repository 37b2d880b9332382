"""The kinds of requests of each protocol, which an owner's policy allows by name.

A protocol's version is that of its latest kind (`Kind.version` of `dpsumm.exchange.codec`): one
whose messages change gets the next one here, and is refused until owners allow it. `DrawRequest` is
in no protocol, because those across silos do not use it.
"""

from collections.abc import Mapping

PROTOCOLS: Mapping[str, frozenset[str]] = {
    "summarize/offers/2": frozenset({"Describe", "Expect", "OfferRequest.2"}),
    "summarize/auction/1": frozenset({"Describe", "Expect", "BidRequest", "SendRequest"}),
    "learn/votes/1": frozenset({"Describe", "Expect", "VoteTask"}),
    "learn/updates/1": frozenset({"Describe", "Expect", "UpdateTask"}),
    "learn/classifiers/1": frozenset({"Describe", "Expect", "ClassifierTask"}),
    "synthesize/tables/2": frozenset(
        {"Join", "CountColumns", "Start.2", "NextRows", "Finish", "Refine", "Deal"}
    ),
}


# Whose answers may tell of all records at once: no first policy allows them, an owner names them.
NAMED = frozenset({"summarize/auction/1", "learn/classifiers/1"})


def of_task(task: str) -> list[str]:
    """Return the protocols of a task."""
    return [name for name in PROTOCOLS if name.startswith(f"{task}/")]

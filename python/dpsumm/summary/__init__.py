"""Summaries: a few of the owners' records that match a target, and the protocols for it."""

from typing import TYPE_CHECKING

from dpsumm.basics.lazy import names_of

if TYPE_CHECKING:
    from dpsumm.summary.compare import Comparison
    from dpsumm.summary.embedding import Embedding
    from dpsumm.summary.made_up import MadeUpOwners
    from dpsumm.summary.models.sgd import DpSgd
    from dpsumm.summary.plan import PointsPlan
    from dpsumm.summary.protocols import Protocol, Requests

__all__ = [
    "Comparison",
    "DpSgd",
    "Embedding",
    "MadeUpOwners",
    "PointsPlan",
    "Protocol",
    "Requests",
]

__getattr__, __dir__ = names_of(
    __name__,
    {
        "compare": "Comparison",
        "embedding": "Embedding",
        "made_up": "MadeUpOwners",
        "models.sgd": "DpSgd",
        "plan": "PointsPlan",
        "protocols": "Protocol Requests",
    },
)

"""Summaries: a few of the owners' records that match a target, and the protocols for it."""

from typing import TYPE_CHECKING

from dpsumm.basics.lazy import names_of

if TYPE_CHECKING:
    from dpsumm.summary.compare import Comparison
    from dpsumm.summary.embedding import Embedding
    from dpsumm.summary.estimator import Summarizer
    from dpsumm.summary.made_up import MadeUpOwners
    from dpsumm.summary.mechanisms import Gaussian
    from dpsumm.summary.models.sgd import DpSgd
    from dpsumm.summary.plan import PointsPlan
    from dpsumm.summary.protocols import Greedy, Protocol, Uniform
    from dpsumm.summary.result import Summary

__all__ = [
    "Comparison",
    "DpSgd",
    "Embedding",
    "Gaussian",
    "Greedy",
    "MadeUpOwners",
    "PointsPlan",
    "Protocol",
    "Summarizer",
    "Summary",
    "Uniform",
]

__getattr__, __dir__ = names_of(
    __name__,
    {
        "compare": "Comparison",
        "embedding": "Embedding",
        "estimator": "Summarizer",
        "made_up": "MadeUpOwners",
        "mechanisms": "Gaussian",
        "models.sgd": "DpSgd",
        "plan": "PointsPlan",
        "protocols": "Greedy Protocol Uniform",
        "result": "Summary",
    },
)

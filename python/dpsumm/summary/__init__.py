"""Summaries: a few of the owners' records that match a target, and the protocols for it."""

from dpsumm.summary.compare import Comparison
from dpsumm.summary.embedding import Embedding
from dpsumm.summary.models.sgd import DpSgd
from dpsumm.summary.plan import Plan
from dpsumm.summary.protocols import Protocol, Requests

__all__ = [
    "Comparison",
    "DpSgd",
    "Embedding",
    "Plan",
    "Protocol",
    "Requests",
]

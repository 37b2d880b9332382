"""Private summaries of distributed data under covariate shift.

What runs do is logged to ``logging.getLogger("dpsumm")``: public facts only, nothing that depends
on records. It says nothing unless the program configures logging.
"""

import logging

from dpsumm._core import __version__
from dpsumm.data.inputs import FileFormat
from dpsumm.data.large.shards import Shards
from dpsumm.data.large.stream import Stream
from dpsumm.data.schema import Column, Kind, Schema, WhenMissing
from dpsumm.errors import (
    BudgetExceededError,
    DpsummError,
    InvalidDataError,
    InvalidParameterError,
    MissingExtraError,
    ProtocolError,
    ShardLostError,
)
from dpsumm.privacy import Ledger, PrivacyReport, Protected, Unit
from dpsumm.summary.attribution import NoisyAttribution, release_attribution
from dpsumm.summary.embedding import Embedding
from dpsumm.summary.estimator import Summarizer
from dpsumm.summary.kernel import RBF, PrivateMedian
from dpsumm.summary.plan import Plan, plan
from dpsumm.summary.protocols import Auction, Greedy, Offers, Pool, Protocol, Requests, Uniform
from dpsumm.summary.result import Summary
from dpsumm.summary.summarize import summarize

__all__ = [
    "RBF",
    "Auction",
    "BudgetExceededError",
    "Column",
    "DpsummError",
    "Embedding",
    "FileFormat",
    "Greedy",
    "InvalidDataError",
    "InvalidParameterError",
    "Kind",
    "Ledger",
    "MissingExtraError",
    "NoisyAttribution",
    "Offers",
    "Plan",
    "Pool",
    "PrivacyReport",
    "PrivateMedian",
    "Protected",
    "Protocol",
    "ProtocolError",
    "Requests",
    "Schema",
    "ShardLostError",
    "Shards",
    "Stream",
    "Summarizer",
    "Summary",
    "Uniform",
    "Unit",
    "WhenMissing",
    "__version__",
    "plan",
    "release_attribution",
    "summarize",
]

logging.getLogger("dpsumm").addHandler(logging.NullHandler())

"""Private summaries of distributed data under covariate shift.

What runs do is logged to ``logging.getLogger("dpsumm")``: public facts only, nothing that depends
on records. It says nothing unless the program configures logging.
"""

import logging

from dpsumm._core import __version__
from dpsumm.attribution import NoisyAttribution, release_attribution
from dpsumm.embedding import Embedding
from dpsumm.errors import (
    BudgetExceededError,
    DpsummError,
    InvalidDataError,
    InvalidParameterError,
    MissingExtraError,
    ProtocolError,
    ShardLostError,
)
from dpsumm.estimator import Summarizer
from dpsumm.kernel import RBF, PrivateMedian
from dpsumm.plan import Plan, plan
from dpsumm.privacy import Ledger, PrivacyReport, Protected, Unit
from dpsumm.protocol import Auction, Greedy, Offers, Pool, Requests, Uniform
from dpsumm.schema import Column, Kind, Schema, WhenMissing
from dpsumm.shards import Shards
from dpsumm.streams import Stream
from dpsumm.summarize import summarize
from dpsumm.summary import Summary
from dpsumm.tables import FileFormat

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

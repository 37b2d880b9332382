"""Private summaries of distributed data under covariate shift.

What runs do is logged to ``logging.getLogger("dpsumm")``: public facts only, nothing that depends
on records. It says nothing unless the program configures logging.
"""

import logging

from dpsumm import kernels
from dpsumm.data.column import Column
from dpsumm.data.large.shards import Shards
from dpsumm.data.large.stream import Stream
from dpsumm.data.schema import Schema
from dpsumm.kernels._core import __version__
from dpsumm.privacy import Ledger
from dpsumm.summary.estimator import Summarizer
from dpsumm.summary.kernel import RBF, PrivateMedian
from dpsumm.summary.mechanisms import Gaussian, Mwem
from dpsumm.summary.plan import plan
from dpsumm.summary.protocols import Auction, Greedy, Offers, Pool, Uniform
from dpsumm.summary.result import Summary
from dpsumm.summary.summarize import summarize

__all__ = [
    "RBF",
    "Auction",
    "Column",
    "Gaussian",
    "Greedy",
    "Ledger",
    "Mwem",
    "Offers",
    "Pool",
    "PrivateMedian",
    "Schema",
    "Shards",
    "Stream",
    "Summarizer",
    "Summary",
    "Uniform",
    "__version__",
    "kernels",
    "plan",
    "summarize",
]

logging.getLogger("dpsumm").addHandler(logging.NullHandler())

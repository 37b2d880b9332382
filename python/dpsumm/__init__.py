"""Private summaries of distributed data under covariate shift.

What runs do is logged to ``logging.getLogger("dpsumm")``: public facts only, nothing that depends
on records. It says nothing unless the program configures logging.

A name is imported when it is first asked for: whoever needs one does not wait for the others.
"""

import importlib
import logging
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpsumm import kernels
    from dpsumm.data.column import Column
    from dpsumm.data.large.shards import Shards
    from dpsumm.data.large.stream import Stream
    from dpsumm.data.schema import Schema
    from dpsumm.ensemble.classifier import PrivateEnsembleClassifier
    from dpsumm.ensemble.learn import learn
    from dpsumm.ensemble.plan import plan_learning
    from dpsumm.kernels._core import __version__
    from dpsumm.privacy import Ledger
    from dpsumm.products import run
    from dpsumm.summary.compare import compare
    from dpsumm.summary.estimator import Summarizer
    from dpsumm.summary.kernel import RBF, PrivateMedian
    from dpsumm.summary.mechanisms import Gaussian, Mwem
    from dpsumm.summary.plan import plan
    from dpsumm.summary.protocols import Auction, Greedy, Offers, Pool, Uniform
    from dpsumm.summary.result import Summary
    from dpsumm.summary.summarize import summarize
    from dpsumm.vertical.plan import plan_synthesis
    from dpsumm.vertical.synthesize import synthesize
    from dpsumm.vertical.tables import Tables

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
    "PrivateEnsembleClassifier",
    "PrivateMedian",
    "Schema",
    "Shards",
    "Stream",
    "Summarizer",
    "Summary",
    "Tables",
    "Uniform",
    "__version__",
    "compare",
    "kernels",
    "learn",
    "plan",
    "plan_learning",
    "plan_synthesis",
    "run",
    "summarize",
    "synthesize",
]

# Where each of these is: the same as above, for whoever runs it.
_HOMES = {
    "data.column": "Column",
    "data.large.shards": "Shards",
    "data.large.stream": "Stream",
    "data.schema": "Schema",
    "ensemble.classifier": "PrivateEnsembleClassifier",
    "ensemble.learn": "learn",
    "ensemble.plan": "plan_learning",
    "kernels._core": "__version__",
    "privacy": "Ledger",
    "products": "run",
    "summary.compare": "compare",
    "summary.estimator": "Summarizer",
    "summary.kernel": "RBF PrivateMedian",
    "summary.mechanisms": "Gaussian Mwem",
    "summary.plan": "plan",
    "summary.protocols": "Auction Greedy Offers Pool Uniform",
    "summary.result": "Summary",
    "summary.summarize": "summarize",
    "vertical.plan": "plan_synthesis",
    "vertical.synthesize": "synthesize",
    "vertical.tables": "Tables",
}
_HOME = {name: home for home, names in _HOMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name == "kernels":
        return importlib.import_module("dpsumm.kernels")
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"dpsumm.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    # And the rooms that are loaded; not what this module itself imports.
    rooms = (n for n, v in globals().items() if getattr(v, "__name__", "") == f"dpsumm.{n}")
    return sorted({*__all__, *rooms})


logging.getLogger("dpsumm").addHandler(logging.NullHandler())

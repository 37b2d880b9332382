"""Private summaries of distributed data under covariate shift.

Runs log public facts to ``logging.getLogger("dpsumm")``, and nothing that depends on records. The
log is silent unless the program configures logging.

A name is imported when it is first used, so no one waits for the others.
"""

import importlib
import logging
from typing import TYPE_CHECKING, Any

from dpsumm.basics.lazy import names_of

if TYPE_CHECKING:
    from dpsumm import errors, kernels
    from dpsumm.cli.products import run
    from dpsumm.data.column import Column
    from dpsumm.data.schema import Schema
    from dpsumm.ensemble.learn import learn
    from dpsumm.ensemble.plans import plan_learning
    from dpsumm.ensemble.protocols import Updates, Voting
    from dpsumm.kernels._core import __version__
    from dpsumm.privacy import Ledger
    from dpsumm.summary.compare import compare
    from dpsumm.summary.kernel import RBF
    from dpsumm.summary.plan import plan
    from dpsumm.summary.protocols import Offers, Pool
    from dpsumm.summary.summarize import summarize
    from dpsumm.vertical.plan import plan_synthesis
    from dpsumm.vertical.synthesize import synthesize
    from dpsumm.vertical.tables import Tables

__all__ = [
    "RBF",
    "Column",
    "Ledger",
    "Offers",
    "Pool",
    "Schema",
    "Tables",
    "Updates",
    "Voting",
    "__version__",
    "compare",
    "errors",
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
    "data.schema": "Schema",
    "ensemble.learn": "learn",
    "ensemble.plans": "plan_learning",
    "ensemble.protocols": "Updates Voting",
    "kernels._core": "__version__",
    "privacy": "Ledger",
    "cli.products": "run",
    "summary.compare": "compare",
    "summary.kernel": "RBF",
    "summary.plan": "plan",
    "summary.protocols": "Offers Pool",
    "summary.summarize": "summarize",
    "vertical.plan": "plan_synthesis",
    "vertical.synthesize": "synthesize",
    "vertical.tables": "Tables",
}
_get, __dir__ = names_of(__name__, _HOMES)
# Modules that need no import of their own.
_ROOMS = ("data", "ensemble", "errors", "kernels", "papers", "summary", "vertical")
# What 0.1 had here is still found, and listed in its room alone.
_MOVED = {
    "data": "Shards Stream",
    "ensemble": "PrivateEnsembleClassifier",
    "papers": "Auction Mwem",
    "summary": "Gaussian Greedy Summarizer Summary Uniform",
}
_get_moved, _ = names_of(__name__, _MOVED)


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return importlib.import_module(f"dpsumm.{name}")
    return (_get_moved if name in " ".join(_MOVED.values()).split() else _get)(name)


logging.getLogger("dpsumm").addHandler(logging.NullHandler())

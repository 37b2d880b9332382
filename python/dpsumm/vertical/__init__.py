"""Synthetic rows of a table whose columns several owners hold."""

from typing import TYPE_CHECKING

from dpsumm.basics.lazy import names_of

if TYPE_CHECKING:
    from dpsumm.vertical.chain import Chain
    from dpsumm.vertical.label_model import LabelModel
    from dpsumm.vertical.label_score import LabelScore
    from dpsumm.vertical.model import Mixture
    from dpsumm.vertical.plan import PlannedTable, SynthesisPlan
    from dpsumm.vertical.pooled import Pooled
    from dpsumm.vertical.privacy import SynthesisPrivacy
    from dpsumm.vertical.products import Dealer, Mpyc
    from dpsumm.vertical.result import Synthetic
    from dpsumm.vertical.tables import Tables

__all__ = [
    "Chain",
    "Dealer",
    "LabelModel",
    "LabelScore",
    "Mixture",
    "Mpyc",
    "PlannedTable",
    "Pooled",
    "SynthesisPlan",
    "SynthesisPrivacy",
    "Synthetic",
    "Tables",
]

__getattr__, __dir__ = names_of(
    __name__,
    {
        "chain": "Chain",
        "label_model": "LabelModel",
        "label_score": "LabelScore",
        "model": "Mixture",
        "plan": "PlannedTable SynthesisPlan",
        "pooled": "Pooled",
        "privacy": "SynthesisPrivacy",
        "products": "Dealer Mpyc",
        "result": "Synthetic",
        "tables": "Tables",
    },
)

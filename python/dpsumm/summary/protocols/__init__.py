"""Protocols as roles without I/O: messages in, messages out.

``curator.py`` and ``owner.py`` hold what protocols share. ``offers.py`` and ``draws.py`` have the
rest of each. The paper's is `dpsumm.papers.Auction`.
"""

from dpsumm.summary.protocols.curator import CollectingCurator, Curator, Selection, Setting
from dpsumm.summary.protocols.draws import Greedy, Pool, Uniform
from dpsumm.summary.protocols.offers import Offers
from dpsumm.summary.protocols.owner import Owner
from dpsumm.summary.protocols.protocol import Protocol

__all__ = [
    "CollectingCurator",
    "Curator",
    "Greedy",
    "Offers",
    "Owner",
    "Pool",
    "Protocol",
    "Selection",
    "Setting",
    "Uniform",
]

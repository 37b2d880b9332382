"""Protocols as roles without I/O: messages in, messages out.

``curator.py`` and ``owner.py`` hold what protocols share; ``offers.py``, ``auction.py`` and
``draws.py`` say what is particular to each; ``driver.py`` runs them in one process.
"""

from dpsumm.protocol.auction import Auction
from dpsumm.protocol.curator import Curator, Selection, Setting
from dpsumm.protocol.draws import Greedy, Pool, Uniform
from dpsumm.protocol.driver import run_in_process
from dpsumm.protocol.offers import Offers
from dpsumm.protocol.owner import Owner
from dpsumm.protocol.requests import Requests

__all__ = [
    "Auction",
    "Curator",
    "Greedy",
    "Offers",
    "Owner",
    "Pool",
    "Requests",
    "Selection",
    "Setting",
    "Uniform",
    "run_in_process",
]

"""The papers' algorithms as published, which the package's own methods are compared with.

``auction`` is that of Sarpatwar et al. (2019), ``hamm`` of Hamm, Cao and Belkin (2016), and
``dpvi`` of Tajeddine et al. No product imports this room. A run finds a protocol of it by name.
"""

from typing import TYPE_CHECKING

from dpsumm.basics.lazy import names_of

if TYPE_CHECKING:
    from dpsumm.papers.auction.auction import Auction
    from dpsumm.papers.auction.mwem import Mwem
    from dpsumm.papers.auction.requests import Requests
    from dpsumm.papers.dpvi.figures import VPDP, Stated
    from dpsumm.papers.dpvi.method import Dpvi, Inferred
    from dpsumm.papers.hamm import Published, published

__all__ = [
    "VPDP",
    "Auction",
    "Dpvi",
    "Inferred",
    "Mwem",
    "Published",
    "Requests",
    "Stated",
    "published",
]

__getattr__, __dir__ = names_of(
    __name__,
    {
        "auction.auction": "Auction",
        "auction.mwem": "Mwem",
        "auction.requests": "Requests",
        "dpvi.figures": "VPDP Stated",
        "dpvi.method": "Dpvi Inferred",
        "hamm": "Published published",
    },
)

"""Protocols and request rules by their words, for what must know no more of them."""

from enum import Enum


class Name(str, Enum):
    """Protocols by the names that they have in calls, on a command line and in configurations."""

    OFFERS = "offers"
    AUCTION = "auction"
    POOL = "pool"
    UNIFORM = "uniform"
    GREEDY = "greedy"


class Rule(str, Enum):
    """Words of ``--requests``."""

    ALL = "all"
    PRIVATE = "private"
    WINNER = "winner"
    PUBLISHED = "published"

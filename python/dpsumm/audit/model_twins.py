"""BROKEN ON PURPOSE: protocols that are taken for stable and are not, which audits must catch."""

from __future__ import annotations

from dataclasses import dataclass

from dpsumm.papers import Auction
from dpsumm.summary.protocols import Curator, Offers, Pool, Protocol, Setting
from dpsumm.summary.stability import Stability


def _taken(setting: Setting) -> Stability:
    return Stability(2, "none: a broken twin")


@dataclass(frozen=True)
class OffersAccepted(Offers):
    """BROKEN: takes a record under Offers for two points."""

    def stability(self, setting: Setting) -> Stability:
        """Return what does not hold."""
        return _taken(setting)


@dataclass(frozen=True)
class ChosenAgain(Auction):
    """BROKEN: forgets that the greedy chooses once more at the end."""

    def stability(self, setting: Setting) -> Stability:
        """Return what does not hold."""
        return _taken(setting)


@dataclass(frozen=True)
class PoolAccepted(Protocol):
    """BROKEN: takes the greedy's choice from a pool for the pool."""

    name = Pool.name
    owners_argument = Pool.owners_argument

    def curator(self, setting: Setting) -> Curator:
        """Return the pool's curator."""
        return Pool(reads_per_record=2).curator(setting)

    def stability(self, setting: Setting) -> Stability:
        """Return what does not hold."""
        return _taken(setting)

"""Witnesses are pairs of neighbouring data on which a broken twin breaks a lemma outright.

A measured epsilon needs many runs. One pair of worlds in which a bound of Lemma 1 or 2 fails, or an
owner's messages differ where they must not, is a proof.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import ClassVar

import numpy as np

from dpsumm.audit.auction_worlds import Script, SteeredCurator, compare
from dpsumm.audit.settings import setting
from dpsumm.data.inputs import read_inputs
from dpsumm.privacy.ledger import Ledger
from dpsumm.summary.protocols.curator import Curator, Setting
from dpsumm.summary.protocols.messages import OfferRequest
from dpsumm.summary.protocols.offers import Offers
from dpsumm.summary.protocols.owner import Owner
from dpsumm.summary.release import Release


class Search(ABC):
    """A claim that one pair of worlds can refute: what must never happen, and a search for it."""

    #: In words, for tables.
    claim: ClassVar[str]

    @abstractmethod
    def find(self, rng: np.random.Generator, trials: int) -> str | None:
        """Return how the claim was refuted in one of `trials` pairs of worlds, or None."""


@dataclass(frozen=True)
class Lemmas(Search):
    """Lemmas 1 and 2 for one curator, on drawn neighbours (replace one record).

    Attributes
    ----------
    curator
        The real one, or a broken twin.
    dropping
        Whether an owner fails on the way.
    tau
        Of the paper's step 14, which must ask for the same points in both worlds, and for every
        point that was its owner's best so many times; None: off.
    """

    curator: type[SteeredCurator] = SteeredCurator
    dropping: bool = False
    tau: int | None = None

    claim = "2 points, 1 rank"

    def find(self, rng: np.random.Generator, trials: int) -> str | None:
        """Return how a bound was broken in one of `trials` pairs of worlds, or None."""
        for _ in range(trials):
            points = rng.integers(-1, 2, (4, 4, 2)).astype(float)
            first = {f"o{i}": points[i] for i in range(4)}
            changed = points[1].copy()
            changed[rng.integers(4)] = rng.integers(-1, 2, 2)
            script = Script.draw(rng, n_owners=4, size=7, batch=1, asked=0.4, tau=self.tau)
            drop = (int(rng.integers(3)), "o2") if self.dropping else None
            moved = compare(
                first, {**first, "o1": changed}, script, rng, curator=self.curator, drop=drop
            )
            if moved.points > 2:
                return f"summaries differ in {moved.points} points, not at most 2"
            if moved.ranks > 1:
                return f"a rank moved by {moved.ranks}, not at most 1"
            if moved.due:
                return "step 14 asks for a point or not, by what another owner holds"
            if moved.overdue:
                return "a point that was its owner's best tau times was not asked for"
        return None


@dataclass(frozen=True)
class OffersSilence(Search):
    """An owner's messages under Offers, with other owners' data replaced as a whole.

    Attributes
    ----------
    curator
        Makes the curator. A broken twin's goes here.
    """

    curator: Callable[[Offers, Setting], Curator] = Offers.curator

    claim = "the same messages"

    def find(self, rng: np.random.Generator, trials: int) -> str | None:
        """Return how an owner's messages depended on others' data, or None."""
        for _ in range(trials):
            target, mine = rng.normal(1, 1, (40, 2)), rng.normal(0, 1, (20, 2))
            near, far = rng.normal(1, 1, (20, 2)), rng.normal(60, 1, (20, 2))
            # One book for both worlds: what was released is released again, with the same noise.
            with Ledger(run="silence") as book:
                first, second = (
                    self._received({"a": mine, "b": other}, target, book) for other in (near, far)
                )
            if len(first) != len(second):
                return f"{len(first)} or {len(second)} messages, by what the other owner holds"
            if first != second:
                return "a message's contents, by what the other owner holds"
        return None

    def _received(
        self, owners: dict[str, np.ndarray], target: np.ndarray, book: Ledger
    ) -> list[tuple[object, ...]]:
        """Return all that the first owner receives in a run."""
        tables, _ = read_inputs(owners, target)
        roles = {table.name: Owner(table) for table in tables}
        sizes = {name: len(points) for name, points in owners.items()}
        about = setting(target, sizes, 12, book, epsilon=8.0, delta=1e-5)
        curator = self.curator(Offers(n_features=256), about)
        messages = []
        while requests := curator.send():
            mine = requests["a"]
            assert isinstance(mine, OfferRequest)
            values = [getattr(mine, field.name) for field in fields(mine)]
            messages.append(tuple(v.to_bytes() if isinstance(v, Release) else v for v in values))
            for name, request in requests.items():
                curator.receive(name, roles[name].answer(request))
        return messages

"""A party that holds labelled records, whichever protocol a run of `learn` is of."""

from __future__ import annotations

from typing import Any

from dpsumm.data.table import Table
from dpsumm.ensemble import messages as votes
from dpsumm.ensemble.trainer import LEAST_SHARD, Trainer
from dpsumm.ensemble.updates import messages as updates
from dpsumm.ensemble.updates.party import Updater
from dpsumm.exchange.codec import Codec
from dpsumm.exchange.messages import Answer, Request
from dpsumm.exchange.roles import Party

CODEC = Codec([*votes.KINDS, *updates.KINDS], {**votes.PARTS, **updates.PARTS})


class Holder(Party):
    """Trains and votes, or answers the rounds of private updates. For the curator alone.

    One that is made anew for every exchange is made with `dpsumm.ensemble.once.Once`.

    Parameters
    ----------
    table, learner, seed, least
        As for `dpsumm.ensemble.trainer.Trainer`.
    """

    codec = CODEC
    forgets = True

    def __init__(
        self,
        table: Table,
        learner: Any = None,
        *,
        seed: int | None = None,
        least: int = LEAST_SHARD,
    ) -> None:
        self._trainer = Trainer(table, learner, seed=seed, least=least)
        self._updater = Updater(table)

    @property
    def n_records(self) -> int:
        """Rows that it learns from."""
        return self._trainer.n_records

    def answer(self, request: Request) -> Answer:
        """Answer as the request's protocol says."""
        asked = isinstance(request, updates.UpdateTask)
        return (self._updater if asked else self._trainer).answer(request)

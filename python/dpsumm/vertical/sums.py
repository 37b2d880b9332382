"""Owners that hold the same columns of different records. Their noisy tables are added up."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import ClassVar

import numpy as np

from dpsumm.errors import ProtocolError
from dpsumm.exchange.codec import Codec
from dpsumm.exchange.messages import Answer, Request
from dpsumm.exchange.roles import Coordinator
from dpsumm.vertical.coordinator import TablesCoordinator, check_schema
from dpsumm.vertical.layout import ALL_OWNERS, HELPER, Budget, Layout, Released
from dpsumm.vertical.messages import ColumnCounts, Dealt, Joined, TwoWay
from dpsumm.vertical.wire import CODEC


class SumsCoordinator(Coordinator[Released]):
    """Asks every owner what `TablesCoordinator` asks the holder of all columns, and adds up.

    There are no tables of two owners, so no helper and no pads. Each owner adds the noise that its
    own records need towards everybody, and the sums have the noise of all.

    Parameters
    ----------
    inner
        Of a layout of `same_columns`. To it the sums are the answers of one holder.
    layout
        Its layout.
    """

    codec: ClassVar[Codec] = CODEC
    stages: ClassVar[tuple[str, str, str]] = TablesCoordinator.stages

    def __init__(self, inner: TablesCoordinator, layout: Layout) -> None:
        self.names, self._schemas = layout.owners, layout.schemas
        self._inner = inner
        self._asked: Request | None = None
        self._answers: dict[str, Answer] = {}

    def send(self) -> Mapping[str, Request]:
        """Return the next requests."""
        if self._asked is not None:
            raise ProtocolError("answers are outstanding")
        asked = dict(self._inner.send())
        if HELPER in asked:
            self._inner.receive(HELPER, Dealt(()))
        self._asked = asked.get(ALL_OWNERS)
        return {} if self._asked is None else dict.fromkeys(self.names, self._asked)

    @property
    def begun(self) -> bool:
        """Whether owners were asked for a release."""
        return self._inner.begun

    def receive(self, name: str, answer: Answer) -> None:
        """Take an answer."""
        if self._asked is None or name not in self.names or name in self._answers:
            raise ProtocolError(f"nothing was asked of {name!r}")
        if isinstance(answer, Joined):
            check_schema(name, answer, self._schemas[self.names.index(name)])
        self._answers[name] = answer
        if len(self._answers) == len(self.names):
            answers, self._answers, self._asked = list(self._answers.values()), {}, None
            self._inner.receive(ALL_OWNERS, _sum(answers))

    def drop(self, *names: str) -> None:
        """Stop: a sum without one of the owners is of other records than were planned."""
        self._inner.drop(*names)

    def result(self) -> Released:
        """Open the tables."""
        return self._inner.result()


def _sum(answers: list[Answer]) -> Answer:
    """Return the answers of all owners as one, that of the holder of all columns."""
    first = answers[0]
    if len({(type(answer), _shape(answer)) for answer in answers}) > 1:
        raise ProtocolError("owners sent tables of different sizes")
    if isinstance(first, Joined):
        records = sum(answer.n_records for answer in answers if isinstance(answer, Joined))
        return replace(first, n_records=records)
    if isinstance(first, ColumnCounts):
        parts = [answer.counts for answer in answers if isinstance(answer, ColumnCounts)]
        return replace(first, counts=np.sum(parts, axis=0, dtype=np.int64))
    if isinstance(first, TwoWay):
        tables = [answer.within for answer in answers if isinstance(answer, TwoWay)]
        return replace(first, within=np.sum(tables, axis=0, dtype=np.int64))
    return first


def _shape(answer: Answer) -> tuple[int, ...]:
    if isinstance(answer, ColumnCounts):
        return answer.counts.shape
    return answer.within.shape if isinstance(answer, TwoWay) else ()


def coordinator_of(
    layout: Layout,
    budget: Budget,
    run: str,
    *,
    refused: float | None = None,
    keep: Callable[[bytes], bytes] = bytes,
) -> TablesCoordinator | SumsCoordinator:
    """Return the coordinator of a run, by whether its owners hold the same columns."""
    inner = TablesCoordinator(layout, budget, run, refused=refused, keep=keep)
    return SumsCoordinator(inner, layout) if layout.same_columns else inner

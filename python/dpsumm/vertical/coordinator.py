"""The coordinator asks for noisy tables and learns nothing else."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import ClassVar

import numpy as np

from dpsumm.errors import InvalidDataError, ProtocolError
from dpsumm.exchange.codec import Codec
from dpsumm.exchange.messages import Answer, Request
from dpsumm.exchange.roles import Coordinator
from dpsumm.privacy.weak import check_budget
from dpsumm.vertical.chosen import Pair
from dpsumm.vertical.layout import HELPER, Budget, Layout, Released
from dpsumm.vertical.messages import (
    ColumnCounts,
    CountColumns,
    Deal,
    Dealt,
    Finish,
    Join,
    Joined,
    MaskedRows,
    NextRows,
    Refine,
    Start,
    TwoWay,
)
from dpsumm.vertical.wire import CODEC, DIGITS
from dpsumm.vertical.work import Counts, Work, cut, flat


def parameters_of(layout: Layout, budget: Budget) -> str:
    """Return a digest of all public parameters, to which every owner holds a run."""
    about = [repr(layout), repr(budget)]
    return hashlib.sha256(json.dumps(about).encode()).hexdigest()[:DIGITS]


def check_schema(name: str, joined: Joined, schema: str) -> None:
    """Refuse an owner that reads its data by another schema."""
    if joined.schema != schema:
        raise InvalidDataError(
            f"schema: {name!r} reads its data by another schema than the coordinator "
            "knows. Give both the same file"
        )


class TablesCoordinator(Coordinator[Released]):
    """Asks owners and helper, opens what two shares add up to.

    It sees noisy tables, and words that are uniform without the keys that owners and helper share.

    Parameters
    ----------
    layout, budget
        Public.
    refused
        The budget's epsilon, if the run is to stop before the first release where that or delta
        is too weak for so many records. None accepts it.
    keep
        Of two rounds, records the first one's tables as bytes and returns those that count.
    """

    codec: ClassVar[Codec] = CODEC
    stages: ClassVar[tuple[str, str, str]] = ("plan", "tables", "open")

    def __init__(
        self,
        layout: Layout,
        budget: Budget,
        run: str,
        *,
        refused: float | None = None,
        keep: Callable[[bytes], bytes] = bytes,
    ) -> None:
        self._refused, self._keep = refused, keep
        self.names = (*layout.holders, HELPER)
        self._layout, self._budget, self._run = layout, budget, run
        self._joined: dict[str, Joined] = {}
        self._counts: dict[str, ColumnCounts] = {}
        self._masked: dict[str, MaskedRows] = {}
        self._dealt: Dealt | None = None
        self._two_way: dict[str, TwoWay] = {}
        self._first_tables: Mapping[Pair, Counts] | None = None
        self._second: dict[str, TwoWay] = {}
        self._asked: dict[str, Request] = {}
        self._first = budget.plan(layout, layout.planned)
        self._work: Work | None = None

    def send(self) -> Mapping[str, Request]:
        """Return the next requests."""
        if self._asked:
            raise ProtocolError("answers are outstanding")
        owners, layout = self._layout.holders, self._layout
        if not self._joined:
            self._asked = {name: self._join(p) for p, name in enumerate(owners)}
        elif not self._counts:
            self._check_joined()
            if self._refused is not None:
                records = self._joined[owners[0]].n_records
                check_budget(self._refused, self._budget.delta, records, allowed=False)
            self._asked = {name: CountColumns(self._first.single_std) for name in owners}
        elif self._work is None:
            n_records = self._joined[owners[0]].n_records
            self._work = Work(layout, self._budget, self._run, n_records, self._counts)
            self._asked = {**self._work.starts(), HELPER: self._work.deal()}
        elif not self._two_way:
            self._asked = dict(self._work.forward(self._masked, self._dealt))
            self._masked = {}
        elif self._work.two_rounds and self._first_tables is None:
            self._first_tables = self._work.opened(self._two_way)
            raw = self._keep(flat(self._first_tables).astype("<i8").tobytes())
            numbers = np.frombuffer(raw, "<i8").astype(np.int64)
            self._first_tables, _ = cut(self._work.plan, self._work.plan.pairs, numbers)
            self._asked = self._work.refine(self._first_tables)
        return dict(self._asked)

    @property
    def begun(self) -> bool:
        """Whether owners were asked for a release."""
        return bool(self._counts) or any(isinstance(r, CountColumns) for r in self._asked.values())

    def _join(self, owner: int) -> Join:
        layout = self._layout
        mine = layout.of_owner(owner)
        return Join(
            self._run,
            parameters_of(layout, self._budget),
            # The budget bounds what is charged between two owners, whatever is merged. Of more
            # owners one may be charged more, by this plan or, rarely, by the one after the merge.
            1 / max(1 / self._budget.noise_multiplier, self._first.mu_charged(owner)),
            self._budget.delta,
            layout.ids,
            tuple(layout.columns[j] for j in mine),
            tuple(np.array(layout.edges[j] if layout.edges else (), np.float64) for j in mine),
        )

    def _check_joined(self) -> None:
        first = self._layout.holders[0]
        # Owners of the same columns are one holder here, see `SumsCoordinator`.
        for name, schema in zip(self._layout.holders, self._layout.schemas, strict=False):
            joined, other = self._joined[name], self._joined[first]
            check_schema(name, joined, schema)
            if joined.n_records != other.n_records:
                raise InvalidDataError(
                    f"owners: {name!r} has {joined.n_records} records and {first!r} has "
                    f"{other.n_records}. All need the same records in the same order. Intersect "
                    "them first (a package such as openmined-psi), and give `ids` to check it"
                )
            if joined.order != other.order:
                raise InvalidDataError(
                    f"ids: those of {name!r} are not those of {first!r}. All owners need the same "
                    "records. Intersect them first (a package such as openmined-psi). Nothing was "
                    "released"
                )

    def receive(self, name: str, answer: Answer) -> None:
        """Take an answer."""
        request = self._asked.get(name)
        if request is None:
            raise ProtocolError(f"nothing was asked of {name!r}")
        kinds = {
            Join: Joined,
            CountColumns: ColumnCounts,
            Deal: Dealt,
            Start: MaskedRows,
            NextRows: MaskedRows,
            Finish: TwoWay,
            Refine: TwoWay,
        }
        if not isinstance(answer, kinds[type(request)]):
            raise ProtocolError(f"{name!r} answered with a {type(answer).__name__}")
        if isinstance(answer, Joined):
            self._joined[name] = answer
        elif isinstance(answer, ColumnCounts):
            owner = self._layout.holders.index(name)
            if len(answer.counts) != self._layout.counts_of(owner) or not answer.nonce:
                raise ProtocolError(f"{name!r} sent tables of another size, or no nonce")
            self._counts[name] = answer
        else:
            assert self._work is not None
            self._work.check(name, request, answer)
            if isinstance(answer, Dealt):
                self._dealt = answer
            elif isinstance(answer, MaskedRows):
                self._masked[name] = answer
            elif isinstance(request, Refine):
                assert isinstance(answer, TwoWay)
                self._second[name] = answer
            elif isinstance(answer, TwoWay):
                self._two_way[name] = answer
        del self._asked[name]

    def drop(self, *names: str) -> None:
        """Stop: no owner's columns and no helper can be left out."""
        raise ProtocolError(
            f"{', '.join(map(repr, names))} failed. The run needs every owner and the helper. What "
            "was released stays charged. Run again under the same name, which sends it again"
        )

    def result(self) -> Released:
        """Open the tables."""
        answers = self._two_way if self._first_tables is None else self._second
        work, ended = self._work, len(answers) == len(self._layout.holders)
        if work is None or not ended or work.two_rounds != bool(self._second):
            raise ProtocolError("the run has not ended")
        if self._first_tables is None:
            return work.released(work.opened(answers))
        return work.released(self._first_tables, work.opened(answers, second=True))

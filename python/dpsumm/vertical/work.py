"""What the coordinator asks for after the merge, and how it opens the answers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsumm.errors import ProtocolError
from dpsumm.exchange.messages import Answer, Request
from dpsumm.kernels.inputs import Words
from dpsumm.vertical.chosen import Pair, chosen, grouped
from dpsumm.vertical.coded import coded_columns
from dpsumm.vertical.coding import add_up
from dpsumm.vertical.layout import Budget, Layout, Released
from dpsumm.vertical.messages import (
    ColumnCounts,
    Deal,
    Dealt,
    Finish,
    MaskedRows,
    NextRows,
    Refine,
    Start,
    TwoWay,
)
from dpsumm.vertical.noise import NoisePlan, refined
from dpsumm.vertical.secret_products import FAR
from dpsumm.vertical.way import Way

Counts = NDArray[np.int64]


def kept(released: Released) -> bytes:
    """Return the opened tables as bytes, from which `restored` makes them again."""
    first = {**(released.coarse or released.pairs), **released.with_label}
    again = released.coarse.keys() & released.pairs.keys()
    second = {pair: released.pairs[pair] for pair in again}
    numbers = [np.array([released.n_records]), released.one_way]
    return np.concatenate([*numbers, flat(first), flat(second)]).astype("<i8").tobytes()


def restored(layout: Layout, budget: Budget, raw: bytes) -> Released:
    """Return the tables of an earlier life of a run with these public parameters."""
    numbers = np.frombuffer(raw, "<i8").astype(np.int64)
    counts, first = {}, 1
    for p, name in enumerate(layout.holders):
        last = first + layout.counts_of(p)
        counts[name], first = ColumnCounts(numbers[first:last]), last
    work = Work(layout, budget, "", int(numbers[0]), counts)
    tables, rest = cut(work.plan, work.plan.pairs, numbers[first:])
    if not work.two_rounds:
        return work.released(tables)
    work.choose(tables)
    return work.released(tables, cut(work.final, work.again, rest)[0])


def flat(tables: Mapping[Pair, Counts]) -> Counts:
    """Return the cells of tables one after another, in the order of their pairs."""
    return np.concatenate([np.zeros(0, np.int64), *(tables[at].ravel() for at in sorted(tables))])


def cut(
    plan: NoisePlan, pairs: Sequence[Pair], numbers: Counts
) -> tuple[dict[Pair, Counts], Counts]:
    """Return the tables of these pairs, which stand one after another, and what follows."""
    tables = {}
    for pair in pairs:
        shape = plan.shape(pair)
        size = shape[0] * shape[1]
        tables[pair], numbers = numbers[:size].reshape(shape), numbers[size:]
    return tables, numbers


class Work:
    """Everything after the merge."""

    def __init__(
        self,
        layout: Layout,
        budget: Budget,
        run: str,
        n_records: int,
        counts: Mapping[str, ColumnCounts],
    ) -> None:
        first = budget.plan(layout, layout.planned)
        self._layout, self._budget, self._run, self._rows = layout, budget, run, budget.rows
        self._without_rows = budget.way is not Way.PADS
        self._nonces = {name: one.nonce for name, one in counts.items()}
        self.n_records = n_records
        self._one_way = np.concatenate([counts[name].counts for name in layout.holders])
        self._coded = coded_columns(layout, budget, n_records, self._one_way, first)
        self.codes = tuple(one.codes for one in self._coded)
        self.sizes = tuple(int(codes.max()) + 1 for codes in self.codes)
        self.fine = tuple(int(one.finest.max()) + 1 for one in self._coded)
        singles = first.counted, first.single_std
        self.plan = self.final = budget.plan(layout, self.sizes, singles, self.fine)
        self.again: list[Pair] = []
        self.groups: list[Counts] = []
        without = [pair for pair in self.plan.pairs if layout.label not in pair]
        largest = max(self.plan.pair_std, default=0.0)
        self._most = budget.again * sum(size > 1 for size in self.sizes)
        self.two_rounds = budget.two_rounds(layout) and len(without) > self._most
        if self.two_rounds:
            self.groups = [
                grouped(np.bincount(one.codes, one.counts).astype(np.float64))
                for one in self._coded
            ]
            sizes = [int(groups.max()) + 1 for groups in self.groups]
            part = budget.coarse_part(layout)
            self.plan = budget.plan(layout, sizes, singles, self.fine, part)
            # Of fewer pairs each has more of the budget, and so less noise.
            most = refined(self.plan, self.sizes, without, budget.noise_multiplier, layout.pairs)
            largest = max(largest, *self.plan.pair_std, *most.pair_std)
        noise = 2 * FAR * largest
        self.ring = 32 if self.n_records + noise < 2**31 else 64
        self._columns = [
            [j for j in layout.of_owner(p) if self.sizes[j] > 1] for p in range(len(layout.holders))
        ]
        owners = [p for p, columns in enumerate(self._columns) if columns]
        self._pairs = [(a, b) for a in owners for b in owners if a < b]

    def starts(self) -> dict[str, Request]:
        """Return each owner's work."""
        return {name: self._start(p) for p, name in enumerate(self._layout.holders)}

    def _start(self, owner: int) -> Start:
        names = self._layout.holders
        peers, within, noise = self._peers(owner), *self._noise(owner, self.plan.every)
        return Start(
            codes=np.concatenate([self._coded[j].by_value for j in self._layout.of_owner(owner)]),
            within=within,
            peers=tuple(names[q] for q in peers),
            widths=tuple(np.array(self._codes_of(q, owner)) for q in peers),
            sides=tuple(owner < q for q in peers),
            nonces=tuple(self._nonces[names[q]] for q in peers),
            noise=noise,
            rows=self._rows,
            ring=self.ring,
            bins=self._bins(owner),
            peer_bins=tuple(self._bins(q, owner) for q in peers),
            label=self._label(owner),
            peer_labels=tuple(map(self._label, peers)),
            groups=self._groups(owner),
            peer_groups=tuple(map(self._groups, peers)) if self.two_rounds else (),
        )

    def _groups(self, owner: int) -> Counts:
        groups = [self.groups[j] for j in self._columns[owner]] if self.two_rounds else []
        return np.concatenate([np.zeros(0, np.int64), *groups])

    def _finest(self, peer: int | None) -> bool:
        """Whether an owner's codes are the finest: among its own, towards the label's owner."""
        return peer is None or self._label(peer) >= 0

    def _codes_of(self, owner: int, peer: int | None) -> list[int]:
        """Return how many codes an owner's columns have in tables with a peer, or in its own."""
        return [(self.fine if self._finest(peer) else self.sizes)[j] for j in self._columns[owner]]

    def _bins(self, owner: int, peer: int | None = None) -> NDArray[np.int64]:
        bins = [
            self._coded[j].code_of_fine if self._finest(peer) else np.arange(self.sizes[j])
            for j in self._columns[owner]
        ]
        return np.concatenate([np.zeros(0, np.int64), *bins])

    def _label(self, owner: int) -> int:
        columns, label = self._columns[owner], self._layout.label
        return columns.index(label) if label in columns else -1

    def _noise(
        self, owner: int, tables: Iterable[tuple[Pair, float]]
    ) -> tuple[NDArray[np.float64], tuple[NDArray[np.float64], ...]]:
        """Return the noise of an owner's own tables, and of those with each peer; 0 for none."""
        std, mine = dict(tables), self._columns[owner]
        within = np.array([[std.get((i, j), 0.0) for j in mine] for i in mine])
        theirs = (self._columns[q] for q in self._peers(owner))
        noise = tuple(
            np.array([[std.get((min(i, j), max(i, j)), 0.0) for j in columns] for i in mine])
            for columns in theirs
        )
        return within.reshape(len(mine), len(mine)), noise

    def choose(self, first: Mapping[Pair, Counts]) -> None:
        """Choose the pairs of the second round by the first one's tables."""
        coarse = {pair: table for pair, table in first.items() if self._layout.label not in pair}
        variance = (self.plan.variance(index) for index in range(len(self.plan.pairs)))
        self.again = chosen(
            coarse,
            [self._shares(j) for j in range(len(self.sizes))],
            {pair: math.sqrt(v) for pair, v in zip(self.plan.pairs, variance, strict=True)},
            self.n_records,
            self._most,
            self._layout.pairs,
        )
        multiplier, named = self._budget.noise_multiplier, self._layout.pairs
        self.final = refined(self.plan, self.sizes, self.again, multiplier, named)

    def _shares(self, column: int) -> NDArray[np.float64]:
        """Return the shares of a column's groups by its one-way tables."""
        one = self._coded[column]
        counts = np.bincount(self.groups[column][one.codes], np.maximum(one.counts, 0.0))
        shares: NDArray[np.float64] = counts / max(math.fsum(counts), 1.0)
        return shares

    def refine(self, first: Mapping[Pair, Counts]) -> dict[str, Request]:
        """Return each owner's work in the second round."""
        self.choose(first)
        again = [one for one in self.final.every[: len(self.final.pairs)] if one[0] in self.again]
        return {name: Refine(*self._noise(p, again)) for p, name in enumerate(self._layout.holders)}

    def _peers(self, owner: int) -> list[int]:
        return [a + b - owner for a, b in self._pairs if owner in (a, b)]

    def _width(self, owner: int, peer: int | None) -> int:
        return sum(self._codes_of(owner, peer))

    def deal(self) -> Deal:
        """Return the helper's work."""
        names = self._layout.holders
        left, right = [a for a, _ in self._pairs], [b for _, b in self._pairs]
        return Deal(
            run=self._run,
            rows=self.n_records,
            ring=self.ring,
            left=tuple(names[p] for p in left),
            right=tuple(names[p] for p in right),
            left_widths=tuple(self._width(a, b) for a, b in self._pairs),
            right_widths=tuple(self._width(b, a) for a, b in self._pairs),
            left_nonces=tuple(self._nonces[names[p]] for p in left),
            right_nonces=tuple(self._nonces[names[p]] for p in right),
        )

    def check(self, name: str, request: Request, answer: Answer) -> None:
        """Refuse an answer that does not fit."""
        if isinstance(answer, Dealt):
            shapes = [(self._width(a, b), self._width(b, a)) for a, b in self._pairs]
            self._check_words(name, answer.corrections, [] if self._without_rows else shapes)
            return
        owner = self._layout.holders.index(name)
        peers = self._peers(owner)
        if isinstance(answer, MaskedRows):
            before = request.first_row + self._rows if isinstance(request, NextRows) else 0
            rows = min(self._rows, self.n_records - before)
            if answer.first_row != before:
                raise ProtocolError(f"{name!r} sent other rows than were asked for")
            shapes = [(rows, self._width(owner, q)) for q in peers]
            self._check_words(name, answer.masked, [] if self._without_rows else shapes)
        elif isinstance(answer, TwoWay):
            width = self._width(owner, None)
            if answer.within.shape != (width, width):
                raise ProtocolError(f"{name!r} sent tables of another size")
            pairs = [(min(owner, q), max(owner, q)) for q in peers]
            shapes = [(self._width(a, b), self._width(b, a)) for a, b in pairs]
            self._check_words(name, answer.shares, shapes)

    def _check_words(
        self, name: str, words: tuple[Words, ...], shapes: list[tuple[int, int]]
    ) -> None:
        fits = [w.shape for w in words] == shapes
        if not fits or any(w.dtype.itemsize * 8 != self.ring for w in words):
            raise ProtocolError(f"{name!r} sent words of another size")

    def forward(
        self, masked: Mapping[str, MaskedRows], dealt: Dealt | None
    ) -> dict[str, NextRows | Finish]:
        """Return requests that carry each owner what its peers sent."""
        assert dealt is not None
        names = self._layout.holders
        if self._without_rows:
            return {name: Finish(0, (), ()) for name in names}
        first = next(iter(masked.values())).first_row
        last = first + self._rows >= self.n_records
        out: dict[str, NextRows | Finish] = {}
        for p, name in enumerate(names):
            peers = self._peers(p)
            received = tuple(masked[names[q]].masked[self._peers(q).index(p)] for q in peers)
            nothing = np.zeros((0, 0), np.uint32 if self.ring == 32 else np.uint64)
            given: list[Any] = [
                nothing if p < q else dealt.corrections[self._pairs.index((q, p))] for q in peers
            ]
            out[name] = Finish(first, received, tuple(given)) if last else NextRows(first, received)
        return out

    def opened(self, answers: Mapping[str, TwoWay], *, second: bool = False) -> dict[Pair, Counts]:
        """Add up the shares of a round, and cut all tables out."""
        names, pairs = self._layout.holders, {}
        signed = np.int32 if self.ring == 32 else np.int64
        sums = {}
        for a, b in self._pairs:
            one = answers[names[a]].shares[self._peers(a).index(b)]
            other = answers[names[b]].shares[self._peers(b).index(a)]
            sums[a, b] = (one + other).view(signed).astype(np.int64)
        plan = self.final if second else self.plan
        for (i, j), std in plan.every[: len(plan.pairs)]:
            if second and (i, j) not in self.again:
                continue
            p, q = self._layout.owner_of[i], self._layout.owner_of[j]
            whole = answers[names[p]].within if p == q else sums[p, q]
            at = self._place(i, p, q), self._place(j, q, p)
            size = plan.shape((i, j))
            table = whole[at[0] : at[0] + size[0], at[1] : at[1] + size[1]]
            limit = FAR * max(2, plan.noises((i, j))) * std
            if (table < -limit).any() or (table > self.n_records + limit).any():
                raise ProtocolError(
                    "a table is out of all bounds: two owners computed with other pads or data"
                )
            pairs[i, j] = table
        return pairs

    def _place(self, column: int, owner: int, other: int) -> int:
        """Return where a column's codes begin in a table of two owners, or of one."""
        codes = self._codes_of(owner, None if owner == other else other)
        return sum(codes[: self._columns[owner].index(column)])

    def released(
        self, first: Mapping[Pair, Counts], second: Mapping[Pair, Counts] | None = None
    ) -> Released:
        """Return all that was released, with the two-way tables of each round as they were."""
        label = self._layout.label
        with_label = {pair: table for pair, table in first.items() if label in pair}
        coarse = {pair: table for pair, table in first.items() if label not in pair}
        fine = with_label | (coarse if second is None else dict(second))
        whole = {(i, j): self._of_bins(fine[i, j], i, j) for i, j in sorted(fine)}
        singles = tuple(one.counts for one in self._coded)
        starts = tuple(one.starts for one in self._coded)
        return Released(
            self.n_records,
            singles,
            self.codes,
            whole,
            self.final,
            starts,
            self._one_way,
            with_label,
            tuple(one.finest for one in self._coded),
            {} if second is None else coarse,
        )

    def _of_bins(self, table: NDArray[np.int64], i: int, j: int) -> NDArray[np.int64]:
        """Return a table of codes from one that may have finer ones."""
        for axis, column in enumerate((i, j)):
            if table.shape[axis] > self.sizes[column]:
                table = add_up(table, self._coded[column].code_of_fine, axis)
        return table

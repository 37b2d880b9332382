"""What the coordinator asks for after the merge, and how it opens the answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsumm.errors import ProtocolError
from dpsumm.exchange.messages import Answer, Request
from dpsumm.kernels.inputs import Words
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
    Start,
    TwoWay,
)
from dpsumm.vertical.owner import FAR


def kept(released: Released) -> bytes:
    """Return what was opened as bytes, from which `restored` makes it again."""
    raw = {**released.pairs, **released.with_label}
    tables = (raw[pair].ravel() for pair in released.plan.pairs)
    numbers = np.concatenate([[released.n_records], released.one_way, *tables])
    return numbers.astype("<i8").tobytes()


def restored(layout: Layout, budget: Budget, raw: bytes) -> Released:
    """Return what was opened in an earlier life of a run with these public parameters."""
    numbers = np.frombuffer(raw, "<i8").astype(np.int64)
    counts, first = {}, 1
    for p, name in enumerate(layout.owners):
        last = first + layout.counts_of(p)
        counts[name], first = ColumnCounts(numbers[first:last]), last
    work = Work(layout, budget, "", int(numbers[0]), counts)
    pairs = {}
    for i, j in work.plan.pairs:
        shape = work.plan.shape((i, j))
        last = first + shape[0] * shape[1]
        pairs[i, j], first = numbers[first:last].reshape(shape), last
    return work.released(pairs)


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
        self._layout, self._run, self._rows = layout, run, budget.rows
        self._by_mpyc = budget.by_mpyc
        self._nonces = {name: one.nonce for name, one in counts.items()}
        self.n_records = n_records
        self._one_way = np.concatenate([counts[name].counts for name in layout.owners])
        self._coded = coded_columns(layout, budget, n_records, self._one_way, first)
        self.codes = tuple(one.codes for one in self._coded)
        self.sizes = tuple(int(codes.max()) + 1 for codes in self.codes)
        self.fine = tuple(int(one.finest.max()) + 1 for one in self._coded)
        singles = first.counted, first.single_std
        self.plan = budget.plan(layout, self.sizes, singles, self.fine)
        noise = 2 * FAR * max(self.plan.pair_std, default=0.0)
        self.ring = 32 if self.n_records + noise < 2**31 else 64
        self._columns = [
            [j for j in layout.of_owner(p) if self.sizes[j] > 1] for p in range(len(layout.owners))
        ]
        owners = [p for p, columns in enumerate(self._columns) if columns]
        self._pairs = [(a, b) for a in owners for b in owners if a < b]
        self._std = dict(zip(self.plan.pairs, self.plan.pair_std, strict=True))

    def starts(self) -> dict[str, Request]:
        """Return each owner's work."""
        return {name: self._start(p) for p, name in enumerate(self._layout.owners)}

    def _start(self, owner: int) -> Start:
        names, mine = self._layout.owners, self._columns[owner]
        peers = self._peers(owner)
        within = np.zeros((len(mine), len(mine)))
        for a, i in enumerate(mine):
            for b, j in enumerate(mine):
                within[a, b] = self._std[i, j] if a < b else 0.0
        return Start(
            codes=np.concatenate([self._coded[j].by_value for j in self._layout.of_owner(owner)]),
            within=within,
            peers=tuple(names[q] for q in peers),
            widths=tuple(np.array(self._codes_of(q, owner)) for q in peers),
            sides=tuple(owner < q for q in peers),
            nonces=tuple(self._nonces[names[q]] for q in peers),
            noise=tuple(self._noise(mine, self._columns[q]) for q in peers),
            rows=self._rows,
            ring=self.ring,
            bins=self._bins(owner),
            peer_bins=tuple(self._bins(q, owner) for q in peers),
            label=self._label(owner),
            peer_labels=tuple(map(self._label, peers)),
        )

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

    def _noise(self, mine: list[int], theirs: list[int]) -> NDArray[np.float64]:
        std = self._std
        return np.array([[std[min(i, j), max(i, j)] for j in theirs] for i in mine])

    def _peers(self, owner: int) -> list[int]:
        return [a + b - owner for a, b in self._pairs if owner in (a, b)]

    def _width(self, owner: int, peer: int | None) -> int:
        return sum(self._codes_of(owner, peer))

    def deal(self) -> Deal:
        """Return the helper's work."""
        names = self._layout.owners
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
            self._check_words(name, answer.corrections, [] if self._by_mpyc else shapes)
            return
        owner = self._layout.owners.index(name)
        peers = self._peers(owner)
        if isinstance(answer, MaskedRows):
            before = request.first_row + self._rows if isinstance(request, NextRows) else 0
            rows = min(self._rows, self.n_records - before)
            if answer.first_row != before:
                raise ProtocolError(f"{name!r} sent other rows than were asked for")
            shapes = [(rows, self._width(owner, q)) for q in peers]
            self._check_words(name, answer.masked, [] if self._by_mpyc else shapes)
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
        names = self._layout.owners
        if self._by_mpyc:
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

    def opened(self, answers: Mapping[str, TwoWay]) -> Released:
        """Add up the shares, and cut all tables out."""
        names, pairs = self._layout.owners, {}
        signed = np.int32 if self.ring == 32 else np.int64
        sums = {}
        for a, b in self._pairs:
            one = answers[names[a]].shares[self._peers(a).index(b)]
            other = answers[names[b]].shares[self._peers(b).index(a)]
            sums[a, b] = (one + other).view(signed).astype(np.int64)
        for (i, j), std in self._std.items():
            p, q = self._layout.owner_of[i], self._layout.owner_of[j]
            whole = answers[names[p]].within if p == q else sums[p, q]
            at = self._place(i, p, q), self._place(j, q, p)
            size = self.plan.shape((i, j))
            table = whole[at[0] : at[0] + size[0], at[1] : at[1] + size[1]]
            limit = FAR * 2 * std
            if (table < -limit).any() or (table > self.n_records + limit).any():
                raise ProtocolError(
                    "a table is out of all bounds: two owners computed with other pads or data"
                )
            pairs[i, j] = table
        return self.released(pairs)

    def _place(self, column: int, owner: int, other: int) -> int:
        """Return where a column's codes begin in a table of two owners, or of one."""
        codes = self._codes_of(owner, None if owner == other else other)
        return sum(codes[: self._columns[owner].index(column)])

    def released(self, pairs: Mapping[tuple[int, int], NDArray[np.int64]]) -> Released:
        """Return all that was released, with these two-way tables as they were released."""
        label = self._layout.label
        with_label = {pair: table for pair, table in pairs.items() if label in pair}
        whole = {(i, j): self._of_bins(table, i, j) for (i, j), table in pairs.items()}
        singles = tuple(one.counts for one in self._coded)
        starts = tuple(one.starts for one in self._coded)
        return Released(
            self.n_records,
            singles,
            self.codes,
            whole,
            self.plan,
            starts,
            self._one_way,
            with_label,
            tuple(one.finest for one in self._coded),
        )

    def _of_bins(self, table: NDArray[np.int64], i: int, j: int) -> NDArray[np.int64]:
        """Return a table of codes from one that may have finer ones."""
        for axis, column in enumerate((i, j)):
            if table.shape[axis] > self.sizes[column]:
                table = add_up(table, self._coded[column].code_of_fine, axis)
        return table

"""What an owner of some columns does."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import ClassVar, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpsumm.errors import BudgetExceededError, InvalidParameterError, ProtocolError
from dpsumm.exchange.codec import Codec
from dpsumm.exchange.messages import Answer, Request
from dpsumm.exchange.roles import Party
from dpsumm.kernels import one_hot_product, pair_counts
from dpsumm.kernels.inputs import Words
from dpsumm.privacy.events import Charge
from dpsumm.privacy.ledger import Ledger, OtherReleaseError
from dpsumm.privacy.release import PaidNoise, Sums, release, share
from dpsumm.vertical.charges import run_charges, table_sums
from dpsumm.vertical.coding import Coding, add_up, of_groups, put
from dpsumm.vertical.helper import check_secret, pad_of
from dpsumm.vertical.messages import (
    ColumnCounts,
    CountColumns,
    Finish,
    Join,
    Joined,
    MaskedRows,
    NextRows,
    Refine,
    Start,
    TwoWay,
)
from dpsumm.vertical.noise import table_std
from dpsumm.vertical.trees import Tree
from dpsumm.vertical.wire import CODEC, DIGITS

Kind = TypeVar("Kind", bound=Answer)

# How many standard deviations a noise never exceeds, for whether words wrap.
FAR = 40


class Owner(Party):
    """An owner's answers. Each release is charged once, before it exists for anybody else.

    Its ledger holds releases and public facts, and no other function of its records. Rows are
    masked under a nonce that exists as long as the rows that it hides (see `pad_of`).

    Claim: one replaced record is protected as ``charges.py`` charges, towards another owner and the
    analyst. Assumes an honest helper (see there), and the same records in the same order at every
    owner. Owners do not hand over their noise. Masked rows arrive as a peer made them, because
    changed ones would show records in the opened tables. Argument: ``docs/privacy/rows.md``.
    Counts and noise are integers. Tested by tests/vertical/test_vertical_roles.py and
    tests/vertical/test_vertical_noise.py.

    Parameters
    ----------
    name
        Its name in the run.
    codes : (n, d) uint32
        Level of each record in each column.
    sizes
        Levels of the columns.
    schema
        Fingerprint of its schema.
    order
        Keyed digest of the records' identifiers in order; empty without identifiers.
    ledger
        Its own books, opened for this run. Charged before an answer exists. Releases are kept
        there: a resend is the same bytes.
    secret
        32 bytes that it shares with the helper alone.
    seed
        For tests: repeatable noise, charged as infinite.
    nonce
        Of the pads that hide these codes, and never others; a fresh one by default.
    keep
        Called once, before the run's first release is recorded: keeps codes and nonce.
    trees
        What is counted of each column; one table of its levels by default.
    joint
        All roles are one process, which keeps the opened tables. Shares of a process that died are
        lost with its keys, so the ledger has their charge alone, and they are made anew.
    """

    codec: ClassVar[Codec] = CODEC

    def __init__(
        self,
        name: str,
        codes: NDArray[np.uint32],
        sizes: tuple[int, ...],
        *,
        schema: str,
        order: str,
        ledger: Ledger,
        secret: bytes,
        seed: int | None = None,
        nonce: str | None = None,
        keep: Callable[[], None] | None = None,
        joint: bool = False,
        trees: tuple[Tree, ...] | None = None,
    ) -> None:
        check_secret(secret)
        self.name = name
        self._codes, self._sizes = codes, sizes
        self._trees = trees or tuple(map(Tree, sizes))
        self._schema, self._order = schema, order
        self._ledger, self._secret, self._seed = ledger, secret, seed
        self._nonce = nonce or fresh_nonce()
        self._keep, self._joint, self._begun = keep, joint, False
        self._product: Products | None = None

    def answer(self, request: Request) -> Answer:
        """Answer in the protocol's order."""
        if isinstance(request, Join):
            return self._join(request)
        if isinstance(request, CountColumns) and self._begun:
            return self._count(request)
        if isinstance(request, Start) and self._begun:
            return self._start(request)
        if isinstance(request, NextRows) and self._product is not None:
            self._product.take(request.first_row, request.received)
            return self._product.next_rows()
        if isinstance(request, Finish) and self._product is not None:
            return self._finish(request)
        if isinstance(request, Refine) and self._product is not None:
            return self._refine(request, self._product)
        raise ProtocolError(f"no answer to a {type(request).__name__} in this state of the run")

    def _join(self, request: Join) -> Joined:
        if request.run != self._ledger.run:
            raise ProtocolError("the ledger was opened for another run")
        hold(self._ledger, self.name, request.parameters)
        self._check_room(request)
        self._begun = True
        return Joined(len(self._codes), self._schema, self._order)

    def _check_room(self, request: Join) -> None:
        """Refuse a run for which the cap has no room, before any owner is charged for it."""
        if not self._ledger.has("one-way"):  # or what is kept is sent again
            seeded = self._seed is not None
            self._look(run_charges(request.noise_multiplier, seeded=seeded))

    def _look(self, charges: Sequence[Charge]) -> None:
        """Refuse charges for which the cap has no room."""
        try:
            self._ledger.check_room(charges)
        except BudgetExceededError as error:
            raise BudgetExceededError(f"ledger of {self.name!r}: {error}") from None

    def _count(self, request: CountColumns) -> ColumnCounts:
        tables = [
            (table_std(request.noise_std, len(tree.lengths)), self._seed_of(f"one-way {j} {k}"))
            for j, tree in enumerate(self._trees)
            for k in range(len(tree.lengths) if tree.size > 1 else 0)
        ]
        sums = table_sums(f"one-way tables ({len(tables)})", tables)

        def draw(noise: PaidNoise) -> bytes:
            if self._keep is not None:
                self._keep()
            parts = []
            for j, tree in enumerate(self._trees):
                counts = np.bincount(self._codes[:, j], minlength=tree.size).astype(np.int64)
                for table in tree.tables(counts):
                    parts.append(noise.on(table) if tree.size > 1 else np.zeros(1, np.int64))
            return CODEC.encode(ColumnCounts(np.concatenate(parts)))

        binding = f"{request.noise_std!r} {len(self._codes)}"  # the number of records is public
        released = self._released("one-way", sums, draw, binding, ColumnCounts)
        return replace(released, nonce=self._nonce)

    def _start(self, request: Start) -> MaskedRows:
        # A step of its own: owners whose product MPyC makes send no masked rows (`MpycOwner`).
        return self._begin(request).next_rows()

    def _begin(self, request: Start) -> Products:
        # Another merge would make another matrix under the same pads. Other nonces make other pads.
        digest = hashlib.sha256(CODEC.encode(_without_nonces(request))).hexdigest()
        self._recorded("start", lambda: b"started", digest)
        self._product = Products(
            request,
            digest,
            name=self.name,
            codes=self._codes,
            sizes=self._sizes,
            run=self._ledger.run,
            nonce=self._nonce,
            secret=self._secret,
        )
        # Now the charge is known, and no owner has made its two-way tables yet.
        if not self._ledger.has("two-way"):
            self._look(self._two_way(self._product).charges)
        return self._product

    def _finish(self, request: Finish) -> TwoWay:
        product = self._product
        assert product is not None
        product.take(request.first_row, request.received)
        product.check_finished(request)
        exact = [product.share(k, dealt) for k, dealt in enumerate(request.dealt)]
        return self._first_tables(product, exact)

    def _first_tables(self, product: Products, exact: list[Words]) -> TwoWay:
        product.exact, product.asked = exact, product.start
        return self._tables(product, "two-way", product.digest)

    def _refine(self, request: Refine, product: Products) -> TwoWay:
        product.refine(request)
        about = product.digest.encode() + CODEC.encode(request)
        return self._tables(product, "refined", hashlib.sha256(about).hexdigest())

    def _tables(self, product: Products, key: str, binding: str) -> TwoWay:
        """Return the tables of a round with noise, which are charged before."""

        def draw(noise: PaidNoise) -> bytes:
            within = self._within(product, noise)
            shares = [
                self._with_noise(product, k, exact, noise)
                for k, exact in enumerate(product.exact or ())
            ]
            return CODEC.encode(TwoWay(within, tuple(shares)))

        make = self._shared if self._joint else self._released
        return make(key, self._two_way(product), draw, binding, TwoWay)

    def _two_way(self, product: Products) -> Sums:
        """Return the tables of the owner's own pairs in a round, then those with each peer."""
        asked = product.asked
        second = "again " * isinstance(asked, Refine)
        tables = [
            (float(asked.within[i, j]), self._seed_of(f"{second}{i} {j}"))
            for i, j in product.within
        ]
        tables += [
            (float(std), self._seed_of(f"{second}{peer} {i} {j}"))
            for peer, stds in zip(product.start.peers, asked.noise, strict=True)
            for (i, j), std in np.ndenumerate(stds)
            if std > 0
        ]
        return table_sums(f"two-way tables ({len(tables)})", tables)

    def _within(self, product: Products, noise: PaidNoise) -> NDArray[np.int64]:
        """Return noisy tables of the owner's own pairs of columns; 0 elsewhere.

        Those with the label are of all codes, others of their bins or of groups of bins.
        """
        counts, own, label = product.counts(), product.finest, product.start.label
        tables = np.zeros_like(counts)
        for i, j in product.within:
            block = (own.block(i), own.block(j))
            table = counts[block]
            if label not in (i, j):
                table = add_up(add_up(table, own.bins[i], 0), own.bins[j], 1)
                if product.coarse:
                    table = of_groups(table, product.groups[i], product.groups[j])
            put(tables, block, noise.on(table))
        return tables

    def _with_noise(self, product: Products, k: int, exact: Words, noise: PaidNoise) -> Words:
        """Return the tables with a peer, each with noise; the left owner's columns down.

        Those with the label are of all codes, others of their bins or of groups of bins: a share of
        theirs is a sum.
        """
        start, own = product.start, product.towards(k)
        noisy = np.zeros_like(exact)
        counts, made = (exact, noisy) if start.sides[k] else (exact.T, noisy.T)  # own columns down
        ends = np.cumsum([0, *start.widths[k].tolist()])
        for (i, j), std in np.ndenumerate(product.asked.noise[k]):
            if not std:
                continue
            block = (own.block(i), slice(ends[j], ends[j + 1]))
            table = counts[block]
            if i != start.label and j != start.peer_labels[k]:
                bins = start.peer_bins[k][block[1]]
                table = add_up(add_up(table, own.bins[i], 0), bins, 1)
                if product.coarse:
                    table = of_groups(table, product.groups[i], product.peer_groups[k][j])
            put(made, block, noise.on(table))
        return noisy

    def _seed_of(self, use: str) -> int | None:
        """Return a seed of its own for every use: two tables never share a noise."""
        if self._seed is None:
            return None
        about = f"{self._seed} {self.name} {use}".encode()
        return int.from_bytes(hashlib.sha256(about).digest()[:8], "little")

    def _released(
        self,
        key: str,
        sums: Sums,
        draw: Callable[[PaidNoise], bytes],
        binding: str,
        kind: type[Kind],
    ) -> Kind:
        made = self._asked(lambda: release(self._ledger, key, sums, draw, binding=binding))
        return self._decoded(made, kind)

    def _shared(
        self,
        key: str,
        sums: Sums,
        draw: Callable[[PaidNoise], bytes],
        binding: str,
        kind: type[Kind],
    ) -> Kind:
        return self._decoded(
            self._asked(lambda: share(self._ledger, key, sums, draw, binding=binding)), kind
        )

    def _decoded(self, raw: bytes, kind: type[Kind]) -> Kind:
        answer = CODEC.decode(raw)
        assert isinstance(answer, kind)
        return answer

    def _recorded(self, key: str, draw: Callable[[], bytes], binding: str) -> bytes:
        return self._asked(lambda: self._ledger.record(key, draw, binding=binding))

    def _asked(self, ask: Callable[[], bytes]) -> bytes:
        """Return what the own ledger answers, which errors name: there are several owners."""
        try:
            return ask()
        except OtherReleaseError:
            raise other_settings(self._ledger.run, self.name) from None
        except BudgetExceededError as error:
            raise BudgetExceededError(f"ledger of {self.name!r}: {error}") from None


def fresh_nonce() -> str:
    """Return a nonce that nobody had before: 128 bits of the operating system."""
    return secrets.token_hex(DIGITS // 2)


def hold(book: Ledger, name: str, parameters: str) -> None:
    """Hold an owner's run to the digest of its public parameters; refuse other ones."""
    try:
        book.hold_to("synthesize", {"parameters": parameters})
    except OtherReleaseError:
        raise other_settings(book.run, name) from None


def other_settings(run: str, name: str) -> InvalidParameterError:
    """Return what is said of a run that has released with other public settings."""
    return InvalidParameterError(
        f"run: the settings or the number of records differ from those of run {run!r} in the "
        f"ledger of {name!r}; go on with those, or give the new run another name"
    )


class Products:
    """The secret products of one owner with its peers, in pieces of rows."""

    def __init__(
        self,
        start: Start,
        digest: str,
        *,
        name: str,
        codes: NDArray[np.uint32],
        sizes: tuple[int, ...],
        run: str,
        nonce: str,
        secret: bytes,
    ) -> None:
        self.start, self.digest = start, digest
        # The round at hand.
        self.asked: Start | Refine = start
        maps = _maps(start.codes, sizes)
        active = [j for j, codes_of in enumerate(maps) if codes_of.max() > 0]
        self.sizes = [int(maps[j].max()) + 1 for j in active]
        self.n_records = len(codes)
        self._check_noise()
        self._check_bins()
        bins = np.split(start.bins, np.cumsum(self.sizes)[:-1]) if active else []
        self.finest = Coding.of([maps[j][codes[:, j]] for j in active], bins)
        self.binned = self.finest.binned()
        if self.sizes and len(start.peer_groups) != len(start.peers) * bool(start.groups.size):
            raise ProtocolError("the groups are not of all columns")
        self.groups = _groups(start.groups, self.finest.bins)
        self.peer_groups = [
            _groups(groups, np.split(bins, np.cumsum(widths)[:-1]))
            for groups, bins, widths in zip(
                start.peer_groups, start.peer_bins, start.widths, strict=False
            )
        ]
        ring: Literal[32, 64] = 32 if start.ring == 32 else 64
        self._pads = [
            pad_of(
                secret,
                run=run,
                names=(name, peer) if left else (peer, name),
                nonces=(nonce, other) if left else (other, nonce),
                widths=_order(self.towards(k).width, int(widths.sum()), left),
                rows=len(codes),
                ring=ring,
                side=0 if left else 1,
            )
            for k, (peer, other, widths, left) in enumerate(
                zip(start.peers, start.nonces, start.widths, start.sides, strict=True)
            )
        ]
        # From the end of the product on: exact shares, without noise, for all rounds.
        self.exact: list[Words] | None = None
        self._sums: list[Words | None] = [None] * len(self._pads)
        self._sent = self._taken = 0

    def _check_noise(self) -> None:
        self._check_fits(self.start)
        if any((noise <= 0).any() for noise in self.start.noise):
            raise ProtocolError("every table needs its noise, once")

    def _check_fits(self, asked: Start | Refine) -> None:
        start, d = self.start, len(self.sizes)
        stds = [asked.within.ravel(), *(noise.ravel() for noise in asked.noise)]
        shapes = [(d, len(widths)) for widths in start.widths]
        if asked.within.shape != (d, d) or [noise.shape for noise in asked.noise] != shapes:
            raise ProtocolError("the noise does not fit the columns")
        if (np.tril(asked.within) > 0).any():
            raise ProtocolError("every table needs its noise, once")
        largest = max((float(part.max()) for part in stds if part.size), default=0.0)
        if self.n_records + 2 * FAR * largest >= 2 ** (start.ring - 1):
            raise ProtocolError("the counts and their noise do not fit the ring; use ring 64")

    @property
    def within(self) -> list[tuple[int, int]]:
        """The pairs of the owner's own columns that this round counts."""
        return [(i, j) for i, j in np.argwhere(self.asked.within > 0).tolist() if i < j]

    @property
    def coarse(self) -> bool:
        """Whether tables of this round that lack the label count groups of bins."""
        return bool(self.groups) and self.asked is self.start

    def refine(self, asked: Refine) -> None:
        """Begin the second round, or refuse one that is too early or has the label's tables."""
        if self.exact is None or (self.sizes and not self.groups):
            raise ProtocolError("the run has no second round, or not yet")
        self._check_fits(asked)
        own = self.start.label
        with_label = [asked.within[own], asked.within[:, own]] if own >= 0 else []
        for noise, theirs in zip(asked.noise, self.start.peer_labels, strict=True):
            with_label += [noise[own]] if own >= 0 else []
            with_label += [noise[:, theirs]] if theirs >= 0 else []
        if any(part.any() for part in with_label):
            raise ProtocolError("tables with the label are counted in the first round alone")
        self.asked = asked

    def _check_bins(self) -> None:
        """Refuse bins that are not of all codes, in their order."""
        start = self.start
        for bins, sizes in (
            (start.bins, self.sizes),
            *zip(start.peer_bins, (widths.tolist() for widths in start.widths), strict=True),
        ):
            fits = len(bins) == sum(sizes)
            if fits:
                firsts = np.cumsum([0, *sizes])[:-1]
                rest = np.delete(np.diff(bins, prepend=0), firsts)
                fits = bool((bins[firsts] == 0).all() and np.isin(rest, (0, 1)).all())
            if not fits:
                raise ProtocolError("the bins do not fit the codes")

    def towards(self, peer: int) -> Coding:
        """Return the codes of which a peer's tables are made: the finest if it has the label."""
        return self.binned if self.start.peer_labels[peer] < 0 else self.finest

    def counts(self) -> NDArray[np.int64]:
        """Return the exact counts of all pairs of codes; see `kernels.pair_counts`."""
        if not self.sizes:
            return np.zeros((0, 0), np.int64)
        return pair_counts(self.finest.codes, self.finest.width)

    def next_rows(self) -> MaskedRows:
        """Return the next rows, hidden from each peer by its own pad."""
        first, last = self._sent, min(self._sent + self.start.rows, self.n_records)
        self._sent = last
        masked = [
            pad.mask(self.towards(k).codes[first:last], first_row=first)
            for k, pad in enumerate(self._pads)
        ]
        return MaskedRows(first, tuple(masked))

    def take(self, first_row: int, received: tuple[Words, ...]) -> None:
        """Add up the products with what the peers sent of the rows that were sent last."""
        last = self._sent
        if first_row != self._taken or len(received) != len(self._pads):
            raise ProtocolError("rows came out of order")
        self._taken = last
        for k, (pad, words) in enumerate(zip(self._pads, received, strict=True)):
            own = self.towards(k)
            wanted = (last - first_row, int(self.start.widths[k].sum()))
            if words.shape != wanted or words.dtype.itemsize * 8 != pad.ring:
                raise ProtocolError("a peer's rows do not fit")
            if self.start.sides[k]:
                part = one_hot_product(own.codes[first_row:last], own.width, words)
            else:
                part = pad.product(words, first_row=first_row)
            known = self._sums[k]
            self._sums[k] = part if known is None else known + part

    def check_finished(self, request: Finish) -> None:
        """Refuse an end before all rows went both ways, and what the helper cannot have dealt."""
        if self._taken < self.n_records:
            raise ProtocolError("rows are missing")
        if len(request.dealt) != len(self._pads):
            raise ProtocolError("what was dealt does not fit")
        for k, (pad, dealt) in enumerate(zip(self._pads, request.dealt, strict=True)):
            other, left = int(self.start.widths[k].sum()), self.start.sides[k]
            wanted = (0, 0) if left else (other, self.towards(k).width)
            if dealt.shape != wanted or dealt.dtype.itemsize * 8 != pad.ring:
                raise ProtocolError("what was dealt does not fit")

    def share(self, k: int, dealt: Words) -> Words:
        """Return the exact share of the tables with a peer, the left owner's columns down."""
        pad, sums = self._pads[k], self._sums[k]
        assert sums is not None
        other = int(self.start.widths[k].sum())
        share: Words
        if self.start.sides[k]:
            share = sums + pad.share(other)
        else:
            share = sums + dealt - pad.share(other).T
        return share


def _groups(
    groups: NDArray[np.int64], bins: Sequence[NDArray[np.int64]]
) -> list[NDArray[np.int64]]:
    """Return the group of each bin, of each column; none if the run has one round."""
    if not groups.size:
        return []
    sizes = [int(of.max()) + 1 for of in bins]
    if len(groups) != sum(sizes):
        raise ProtocolError("the groups do not fit the bins")
    parts = np.split(groups, np.cumsum(sizes)[:-1])
    for part in parts:
        steps = np.diff(part, prepend=0)
        if steps[0] or not np.isin(steps, (0, 1)).all():
            raise ProtocolError("the groups do not fit the bins")
    return parts


def _without_nonces(start: Start) -> Start:
    return replace(start, nonces=("0" * DIGITS,) * len(start.nonces))


def _order(own: int, other: int, left: bool) -> tuple[int, int]:
    return (own, other) if left else (other, own)


def _maps(codes: NDArray[np.int64], sizes: tuple[int, ...]) -> list[NDArray[np.int64]]:
    """Return each column's map from levels to codes."""
    if len(codes) != sum(sizes) or (codes > codes.size).any():
        raise ProtocolError("the codes do not fit the columns")
    return np.split(codes, np.cumsum(sizes)[:-1])

"""The role of an owner of some columns."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpsumm.errors import BudgetExceededError, InvalidParameterError, ProtocolError
from dpsumm.exchange.codec import Codec
from dpsumm.exchange.messages import Answer, Request
from dpsumm.exchange.roles import Party
from dpsumm.kernels.inputs import Words
from dpsumm.privacy.events import Charge
from dpsumm.privacy.ledger import Ledger, OtherReleaseError
from dpsumm.privacy.release import PaidNoise, Sums, release, share
from dpsumm.vertical.charges import run_charges, table_sums
from dpsumm.vertical.coding import add_up, of_groups, put
from dpsumm.vertical.helper import check_secret
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
from dpsumm.vertical.secret_products import Products
from dpsumm.vertical.trees import Tree
from dpsumm.vertical.wire import CODEC, DIGITS

Kind = TypeVar("Kind", bound=Answer)


class Owner(Party):
    """An owner's answers. Each release is charged once, before it exists for anybody else.

    Its ledger holds releases and public facts, and no other function of its records. Rows are
    masked under a nonce that exists as long as the rows that it hides (see `pad_of`).

    An owner of all columns has no peers, and all its tables are its own (`SumsCoordinator`).

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
        Keyed digest of the records' identifiers in order. Empty without identifiers.
    ledger
        Its own books, opened for this run. Charged before an answer exists. Releases are kept
        there: a resend is the same bytes.
    secret
        32 bytes that it shares with the helper alone; None without a helper.
    seed
        For tests: repeatable noise, charged as infinite.
    nonce
        Of the pads that hide these codes, and never others. A fresh one by default.
    keep
        Called once, before the run's first release is recorded. Keeps codes and nonce.
    trees
        Tables that count each column. One of its levels by default.
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
        secret: bytes | None,
        seed: int | None = None,
        nonce: str | None = None,
        keep: Callable[[], None] | None = None,
        joint: bool = False,
        trees: tuple[Tree, ...] | None = None,
    ) -> None:
        if secret is not None:
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
        if request.peers and self._secret is None:
            raise ProtocolError("this owner has no key that a helper shares, so it has no pads")
        self._recorded("start", lambda: b"started", digest)
        self._product = Products(
            request,
            digest,
            name=self.name,
            codes=self._codes,
            sizes=self._sizes,
            run=self._ledger.run,
            nonce=self._nonce,
            secret=self._secret or b"",
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
        """Return the tables with a peer, each with noise. The left owner's columns down.

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
    """Return a new nonce, 128 bits of the operating system."""
    return secrets.token_hex(DIGITS // 2)


def hold(book: Ledger, name: str, parameters: str) -> None:
    """Hold an owner's run to the digest of its public parameters. Refuse other ones."""
    try:
        book.hold_to("synthesize", {"parameters": parameters})
    except OtherReleaseError:
        raise other_settings(book.run, name) from None


def other_settings(run: str, name: str) -> InvalidParameterError:
    """Return the error of a run that has released with other public settings."""
    return InvalidParameterError(
        f"run: the settings or the number of records differ from those of run {run!r} in the "
        f"ledger of {name!r}. Go on with those, or give the new run another name"
    )


def _without_nonces(start: Start) -> Start:
    return replace(start, nonces=("0" * DIGITS,) * len(start.nonces))

"""An owner's part of the secret products with its peers, in pieces of rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dpsumm.errors import ProtocolError
from dpsumm.kernels import one_hot_product, pair_counts
from dpsumm.kernels.inputs import Words
from dpsumm.vertical.coding import Coding
from dpsumm.vertical.helper import pad_of
from dpsumm.vertical.messages import Finish, MaskedRows, Refine, Start

# How many standard deviations a noise never exceeds, for whether words wrap.
FAR = 40


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
            raise ProtocolError("the counts and their noise do not fit the ring. Use ring 64")

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
        """Return the codes in tables with a peer, which are the finest if it has the label."""
        return self.binned if self.start.peer_labels[peer] < 0 else self.finest

    def counts(self) -> NDArray[np.int64]:
        """Return the exact counts of all pairs of codes by `kernels.pair_counts`."""
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
        """Refuse an end before all rows went both ways, and words that no helper dealt."""
        if self._pads and self._taken < self.n_records:
            raise ProtocolError("rows are missing")
        if len(request.dealt) != len(self._pads):
            raise ProtocolError("the helper's words do not fit")
        for k, (pad, dealt) in enumerate(zip(self._pads, request.dealt, strict=True)):
            other, left = int(self.start.widths[k].sum()), self.start.sides[k]
            wanted = (0, 0) if left else (other, self.towards(k).width)
            if dealt.shape != wanted or dealt.dtype.itemsize * 8 != pad.ring:
                raise ProtocolError("the helper's words do not fit")

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
    """Return the group of each bin, of each column. None if the run has one round."""
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


def _order(own: int, other: int, left: bool) -> tuple[int, int]:
    return (own, other) if left else (other, own)


def _maps(codes: NDArray[np.int64], sizes: tuple[int, ...]) -> list[NDArray[np.int64]]:
    """Return each column's map from levels to codes."""
    if len(codes) != sum(sizes) or (codes > codes.size).any():
        raise ProtocolError("the codes do not fit the columns")
    return np.split(codes, np.cumsum(sizes)[:-1])

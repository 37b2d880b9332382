"""A run in one process, which holds all records and so counts tables of two owners directly.

Pads would hide records from other owners only. The tables and their noise are the same.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from dpsumm.exchange.messages import Answer, Request
from dpsumm.exchange.roles import Party
from dpsumm.kernels import pair_counts
from dpsumm.kernels.inputs import Words
from dpsumm.vertical.coding import Coding
from dpsumm.vertical.messages import Dealt, Finish, MaskedRows, Start, TwoWay
from dpsumm.vertical.owner import Owner
from dpsumm.vertical.secret_products import Products

# Records at a time, for the memory.
_BLOCK = 2**16


class OwnerTogether(Owner):
    """An owner that reads the others' codes where it would multiply their masked rows.

    Its noise, its charges and its ledger are those of `Owner`. The left owner's share of a table is
    the exact one, the other's is zero, and both add their noise.
    """

    others: Mapping[str, OwnerTogether]

    def _start(self, request: Start) -> MaskedRows:
        self._begin(request)
        return MaskedRows(0, ())

    def _finish(self, request: Finish) -> TwoWay:
        product = self._product
        assert product is not None
        return self._first_tables(
            product, [self._exact(product, k) for k in range(len(product.start.peers))]
        )

    def _exact(self, product: Products, k: int) -> Words:
        """Return the share of the tables with a peer, the left owner's columns down."""
        start, own = product.start, product.towards(k)
        if start.sides[k]:
            peer = self.others[start.peers[k]]._product
            assert peer is not None
            exact = crossed(own, peer.towards(peer.start.peers.index(self.name)))
        else:
            exact = np.zeros((int(start.widths[k].sum()), own.width), np.int64)
        return exact.astype(np.uint32) if start.ring == 32 else exact.astype(np.uint64)


class NoHelper(Party):
    """A helper that is not needed."""

    def answer(self, request: Request) -> Answer:
        """Deal nothing."""
        return Dealt(())


def crossed(left: Coding, right: Coding) -> NDArray[np.int64]:
    """Return in how many records each two codes of two owners occur together."""
    found = np.zeros((left.width, right.width), np.int64)
    for i in range(0, len(left.codes), _BLOCK):
        own, theirs = left.codes[i : i + _BLOCK], right.codes[i : i + _BLOCK]
        codes = np.hstack([own, theirs + np.uint32(left.width)])
        counts = pair_counts(codes, left.width + right.width)
        found += counts[: left.width, left.width :]
    return found

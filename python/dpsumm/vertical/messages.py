"""What owners, helper and coordinator say to each other.

All of it passes through the coordinator. What hides records from it is a key that each owner
shares with the helper; the coordinator has none of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpsumm.exchange.messages import Answer, Request
from dpsumm.kernels.inputs import Words


class Recordless(Answer):
    """An answer that carries no record."""

    @property
    def n_sent(self) -> int:
        """None."""
        return 0


@dataclass(frozen=True)
class Join(Request):
    """To an owner: take part in a run.

    Attributes
    ----------
    run
        Its name.
    parameters
        Digest of all public parameters and schemas: an owner's run is bound to it.
    noise_multiplier
        Of one Gaussian release that costs as much as all that the owner may be asked for.
    delta
        At which its ledger accounts for the run.
    ids
        Name of the column of identifiers; empty without.
    columns
        The owner's, in order.
    edges
        Of the bins of each column; empty for one of categories.
    """

    run: str
    parameters: str
    noise_multiplier: float
    delta: float = 1e-5
    ids: str = ""
    columns: tuple[str, ...] = ()
    edges: tuple[NDArray[np.float64], ...] = ()


@dataclass(frozen=True)
class Joined(Recordless):
    """From an owner: the public facts of its data. Claim: equality of records and order only.

    Attributes
    ----------
    n_records
        Rows.
    schema
        Fingerprint of its schema.
    order
        Keyed digest of the identifiers in their order; empty if it has none.
    nonce
        Fresh for this run and these data: keys are made with it.
    """

    n_records: int
    schema: str
    order: str
    nonce: str


@dataclass(frozen=True)
class CountColumns(Request):
    """To an owner: release the one-way tables of your columns with noise of this size."""

    noise_std: float


@dataclass(frozen=True)
class ColumnCounts(Recordless):
    """From an owner: its noisy one-way tables one after another. Charged before it leaves."""

    counts: NDArray[np.int64]


@dataclass(frozen=True)
class Start(Request):
    """To an owner: how two-way tables are made; it answers with its first masked rows.

    Attributes
    ----------
    codes
        New code of each level of its columns, one column after another.
    within : (d, d) float64
        Noise of the tables of two of its columns, above the diagonal; 0 for none.
    peers, widths, sides
        The owners with whom it has tables, the codes of their columns in all, and whether its own
        side is the left one.
    nonces
        Theirs.
    noise
        For each peer the noise that it adds for each of its columns by each of theirs.
    rows
        Of one message.
    ring
        Bits of a word.
    """

    codes: NDArray[np.int64]
    within: NDArray[np.float64]
    peers: tuple[str, ...]
    widths: tuple[NDArray[np.int64], ...]
    sides: tuple[bool, ...]
    nonces: tuple[str, ...]
    noise: tuple[NDArray[np.float64], ...]
    rows: int
    ring: int


@dataclass(frozen=True)
class MaskedRows(Recordless):
    """From an owner: rows for each of its peers. Claim: uniform for all but owner and helper."""

    first_row: int
    masked: tuple[Words, ...]


@dataclass(frozen=True)
class NextRows(Request):
    """To an owner: what its peers sent of the same rows; it answers with its next rows."""

    first_row: int
    received: tuple[Words, ...]


@dataclass(frozen=True)
class Finish(Request):
    """To an owner: its peers' last rows, and what the helper dealt (empty on a left side)."""

    first_row: int
    received: tuple[Words, ...]
    dealt: tuple[Words, ...]


@dataclass(frozen=True)
class TwoWay(Recordless):
    """From an owner, charged before it leaves.

    Attributes
    ----------
    within : (w, w) int64
        Noisy counts of its own pairs of columns; 0 where there is no table.
    shares
        For each peer a share of their tables, with the owner's noise in it. Claim: uniform alone;
        with the peer's share it is the table and both noises.
    """

    within: NDArray[np.int64]
    shares: tuple[Words, ...]


@dataclass(frozen=True)
class Deal(Request):
    """To the helper: what it needs to know of each pair of owners."""

    run: str
    rows: int
    ring: int
    left: tuple[str, ...]
    right: tuple[str, ...]
    left_widths: tuple[int, ...]
    right_widths: tuple[int, ...]
    left_nonces: tuple[str, ...]
    right_nonces: tuple[str, ...]


@dataclass(frozen=True)
class Dealt(Recordless):
    """From the helper: for each pair what its right owner needs, hidden from all others."""

    corrections: tuple[Words, ...]

"""What owners, helper and coordinator say to each other.

All of it passes through the coordinator. What hides records from it is a key that each owner
shares with the helper. The coordinator does not have these keys.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dpsumm.exchange.disclosure import Disclosure, Reveals
from dpsumm.exchange.messages import Answer, Request
from dpsumm.kernels.inputs import Words
from dpsumm.vertical.way import Way

_SECRET = (Way.PADS.value, Way.MPYC.value)
_TWO_ROUNDS = tuple(way.value for way in Way if way is not Way.MPYC)


@dataclass(frozen=True)
class Join(Request):
    """Asks an owner to take part in a run.

    Attributes
    ----------
    parameters
        Digest of all public parameters and schemas: an owner's run is bound to it.
    noise_multiplier
        Of one Gaussian release that costs as much as the run may cost the owner.
    delta
        At which its ledger accounts for the run.
    """

    disclosure: ClassVar[Disclosure | None] = Disclosure(
        "coordinator",
        "every owner",
        "the name of the run, a digest of all public parameters, the owner's columns and "
        "their bins",
        "public facts alone",
        "The owner learns nothing of other owners' records.",
        "privacy/rows.md#claims",
    )

    run: str
    parameters: str
    noise_multiplier: float
    delta: float = 1e-5
    ids: str = ""
    columns: tuple[str, ...] = ()
    edges: tuple[NDArray[np.float64], ...] = ()


@dataclass(frozen=True)
class Joined(Answer):
    """Public facts of an owner's data. Claim: equality of records and order only."""

    disclosure: ClassVar[Disclosure | None] = Disclosure(
        "an owner",
        "coordinator",
        "the number of records, the schema's fingerprint, a keyed digest of the identifiers "
        "in their order",
        "the owner's identifiers, through a digest under a key that the coordinator lacks; "
        "the number of records, which is public",
        "The coordinator learns whether the owners' records and their order are equal, and "
        "nothing else of them.",
        "privacy/rows.md#who-sees-what",
        reveals=Reveals.HIDDEN,
    )

    n_records: int
    schema: str
    order: str


@dataclass(frozen=True)
class CountColumns(Request):
    """To an owner: release the one-way tables of your columns with noise of this size.

    That of a column's one table. Where a tree counts it, its tables share what that would cost.
    """

    disclosure: ClassVar[Disclosure | None] = Disclosure(
        "coordinator",
        "every owner",
        "how much noise to add to the one-way tables",
        "public numbers alone",
        "The owner learns nothing of other owners' records.",
        "privacy/rows.md#claims",
    )

    noise_std: float


@dataclass(frozen=True)
class ColumnCounts(Answer):
    """From an owner: its noisy one-way tables one after another. Charged before it leaves.

    Of a column in the order of `Tree.lengths`.
    """

    disclosure: ClassVar[Disclosure | None] = Disclosure(
        "an owner",
        "coordinator, who may publish it",
        "noisy counts of each of the owner's columns, of a public tree of its values where it has "
        "numbers or dates; a random nonce",
        "the owner's records, through the released counts alone",
        "Whoever sees the counts learns of a record what the owner's charge allows.",
        "privacy/rows.md#claims",
        releases=("one-way tables",),
        reveals=Reveals.CHARGED,
    )

    counts: NDArray[np.int64]
    nonce: str = ""


@dataclass(frozen=True)
class Start(Request):
    """To an owner: how two-way tables are made. It answers with its first masked rows.

    Attributes
    ----------
    within : (d, d) float64
        Noise of the tables of two of its columns, above the diagonal; 0 for none.
    noise
        For each peer the noise that it adds for each of its columns by each of theirs.
    codes
        Of each value of its columns, one column after another: the finest, which tables with the
        label count.
    bins
        Of each of these codes the bin, which all other tables count. From 0 in each column.
    widths, peer_bins
        How many codes each peer's columns have, and their bins. The finest are for the label's
        owner alone.
    label, peer_labels
        Which of its columns is the label, which of each peer's; -1 for none.
    groups, peer_groups
        Of two rounds, the group of each bin of its columns and of each peer's, from 0 in each
        column. The first round's tables without the label count groups. Else empty.
    """

    disclosure: ClassVar[Disclosure | None] = Disclosure(
        "coordinator",
        "every owner",
        "which values share a code, which codes a bin, how much noise each two-way table gets, "
        "the sizes and nonces of the other owners",
        "all owners' one-way tables, through the released counts alone",
        "The owner learns of other owners' records what their charges for the one-way tables "
        "allow.",
        "privacy/rows.md#claims",
        releases=("one-way tables",),
    )

    codes: NDArray[np.int64]
    within: NDArray[np.float64]
    peers: tuple[str, ...]
    widths: tuple[NDArray[np.int64], ...]
    sides: tuple[bool, ...]
    nonces: tuple[str, ...]
    noise: tuple[NDArray[np.float64], ...]
    rows: int
    ring: int
    bins: NDArray[np.int64]
    peer_bins: tuple[NDArray[np.int64], ...]
    label: int = -1
    peer_labels: tuple[int, ...] = ()
    groups: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    peer_groups: tuple[NDArray[np.int64], ...] = ()


@dataclass(frozen=True)
class MaskedRows(Answer):
    """An owner's rows for each of its peers. Claim: uniform for all but owner and helper."""

    disclosure: ClassVar[Disclosure | None] = Disclosure(
        "an owner",
        "coordinator, who passes it to the other owners",
        "the owner's records hidden by pads that only the owner and the helper can compute "
        "(by MPyC: nothing)",
        "the owner's records, under the pads",
        "Uniform words for everybody but the owner and the helper. With the helper's key they "
        "are the records.",
        "privacy/rows.md#claims",
        reveals=Reveals.HIDDEN,
        protocols=_SECRET,
    )

    first_row: int
    masked: tuple[Words, ...]


@dataclass(frozen=True)
class NextRows(Request):
    """Brings an owner its peers' part of the same rows. It answers with its next rows."""

    disclosure: ClassVar[Disclosure | None] = Disclosure(
        "coordinator",
        "every owner",
        "what the other owners sent of the same rows, hidden by their pads",
        "the other owners' records, under the pads",
        "Uniform words for the receiver, who lacks the other owner's key with the helper.",
        "privacy/rows.md#claims",
        protocols=(Way.PADS.value,),
    )

    first_row: int
    received: tuple[Words, ...]


@dataclass(frozen=True)
class Finish(Request):
    """To an owner: its peers' last rows, and what the helper dealt (empty on a left side)."""

    disclosure: ClassVar[Disclosure | None] = Disclosure(
        "coordinator",
        "every owner",
        "the other owners' last hidden rows, and what the helper dealt (by MPyC, in one process "
        "and if all owners hold the same columns: nothing)",
        "the other owners' records, under the pads",
        "Uniform words for the receiver, who lacks the other owner's key with the helper.",
        "privacy/rows.md#claims",
    )

    first_row: int
    received: tuple[Words, ...]
    dealt: tuple[Words, ...]


@dataclass(frozen=True)
class Refine(Request):
    """To an owner, which answers with the tables of the second round.

    Attributes
    ----------
    within, noise
        As in `Start`, but 0 for pairs that are not counted again.
    """

    disclosure: ClassVar[Disclosure | None] = Disclosure(
        "coordinator",
        "every owner",
        "which pairs of columns are counted again, and with how much noise",
        "all owners' one-way and coarse two-way tables, through the released counts alone",
        "The owner learns of other owners' records what their charges for these tables allow.",
        "privacy/rows.md#claims",
        releases=("one-way tables", "two-way tables"),
        protocols=_TWO_ROUNDS,
    )

    within: NDArray[np.float64]
    noise: tuple[NDArray[np.float64], ...]


@dataclass(frozen=True)
class TwoWay(Answer):
    """From an owner, charged before it leaves. Of two rounds, one answer for each.

    Attributes
    ----------
    within : (w, w) int64
        Noisy counts of its own pairs of columns; 0 where there is no table.
    shares
        For each peer a share of their tables, with the owner's noise in it. Claim: uniform alone.
        With the peer's share it is the table and both noises.
    """

    disclosure: ClassVar[Disclosure | None] = Disclosure(
        "an owner",
        "coordinator, who may publish what the shares add up to",
        "noisy tables of pairs of the owner's columns; a share of each table with another "
        "owner, with the owner's noise in it (by MPyC: that table with both noises, at one of "
        "the two; in one process: that table with one noise, at one of the two; if all owners hold "
        "the same columns: no share)",
        "the owner's and its peer's records, through the released tables alone",
        "Except in one process, a share alone is uniform; two shares are a table with both "
        "owners' noise. Another owner, who knows its own noise, learns what the charge allows.",
        "privacy/rows.md#claims",
        releases=("two-way tables",),
        reveals=Reveals.CHARGED,
    )

    within: NDArray[np.int64]
    shares: tuple[Words, ...]


@dataclass(frozen=True)
class Deal(Request):
    """Brings the helper the public facts of each pair of owners."""

    disclosure: ClassVar[Disclosure | None] = Disclosure(
        "coordinator",
        "helper",
        "names, sizes and nonces of the owners",
        "public facts, and the number of codes after the merge, through the released counts",
        "The helper learns nothing of records beyond what was released.",
        "privacy/rows.md#who-sees-what",
        releases=("one-way tables",),
        protocols=(*_SECRET, Way.TOGETHER.value),
    )

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
class Dealt(Answer):
    """The helper's part for each pair's right owner, hidden from all others."""

    disclosure: ClassVar[Disclosure | None] = Disclosure(
        "helper",
        "coordinator, who passes it to one owner of each pair",
        "random words from which the secret product is made (by MPyC: nothing)",
        "nobody's records",
        "Uniform words for everybody but one owner of the pair, and no function of data.",
        "privacy/rows.md#claims",
        reveals=Reveals.PUBLIC,
        protocols=_SECRET,
    )

    corrections: tuple[Words, ...]

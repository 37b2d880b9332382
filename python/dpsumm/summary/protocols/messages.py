"""What curator and owners say to each other. Frozen values, no behaviour but their own checks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dpsumm.basics.checks import all_usable
from dpsumm.data.records import Records
from dpsumm.data.schema import Schema
from dpsumm.errors import ProtocolError
from dpsumm.exchange.disclosure import Disclosure, Reveals
from dpsumm.exchange.messages import Answer, Request
from dpsumm.kernels.features import FeatureKind
from dpsumm.summary.release import Release

# A run's option, by which it sends more messages.


@dataclass(frozen=True)
class FeatureMap:
    """Public recipe of the random features. Every party builds the same map from it."""

    gamma: float
    n_columns: int
    n_features: int
    seed: int
    kind: FeatureKind = "paired"
    orthogonal: bool = True


@dataclass(frozen=True, eq=False)
class LandmarkMap:
    """Public recipe of landmark features. Every party builds the same map from it.

    Attributes
    ----------
    sample : (n_features, n_columns) float64 or None
        A public sample to take as the landmarks instead. It travels as it is, so that no owner has
        to be given it in another way or can have another one.
    """

    gamma: float
    n_columns: int
    n_features: int
    seed: int
    schema: str
    sample: NDArray[np.float64] | None = None


@dataclass(frozen=True)
class OfferRequest(Request):
    """Asks every owner once to choose offers for this noisy target.

    Attributes
    ----------
    feature_map, target
        Where the target lies, noisily. The only part that depends on private data.
    noise
        Standard deviation of the target's mean in each coordinate: public, as the mechanism is.
    count
        Public number of offers (or all that an owner has, if fewer).
    """

    disclosure: ClassVar[Disclosure | None] = Disclosure(
        "curator",
        "every owner, the same bytes to all, once",
        "a noisy mean embedding of the target; the recipe of the features with the bandwidth; how "
        "many records to offer",
        "the target's records, through the released values alone. Of owners: their number of "
        "records at most, which is public",
        "An owner, or any number of them together, learns of a record of the target what the "
        "charge allows, and of other owners' records nothing: (0, 0).",
        "privacy/offers.md#claim",
        releases=("target's noisy mean embedding",),
        protocols=("Offers",),
    )

    feature_map: FeatureMap | LandmarkMap
    target: Release
    noise: float
    count: int
    spread: float


@dataclass(frozen=True)
class DrawRequest(Request):
    """Curator to one owner: send `count` random records. Depends on public numbers only."""

    disclosure: ClassVar[Disclosure | None] = Disclosure(
        "curator",
        "every owner, once",
        "how many records to send, drawn at random (under Greedy all of them)",
        "public numbers alone",
        "An owner learns nothing of the target and nothing of other owners: (0, 0).",
        "privacy/offers.md#claim",
        protocols=("random pool", "uniform", "greedy on all data"),
    )

    count: int


@dataclass(frozen=True)
class BidRequest(Request):
    """Asks every owner in each round of the Auction to bid its best unsent points.

    An owner's score of a point x is the exact integer
    ``target_factor * (h(x) . target) - summary_factor * (h(x) . summary)`` over grid features.

    Attributes
    ----------
    target, summary : (d,) int64
        Released sums (see `Release.steps`); `summary` is zero while the summary is empty.
    """

    disclosure: ClassVar[Disclosure | None] = Disclosure(
        "curator",
        "every owner, the same bytes to all, in each round",
        "noisy mean embeddings of the target and of the summary so far; the recipe of the "
        "features with the bandwidth; how many bids are wanted",
        "the target's records and, from the second round on, the owners' records in the summary, "
        "both through the released values alone",
        "An owner learns of a record of the target, and of one of another owner, what the charges "
        "of the whole run allow.",
        "privacy/auction.md#claim",
        releases=(
            "target's noisy mean embedding",
            "noisy mean embedding of the summary so far",
        ),
        protocols=("Auction",),
    )

    feature_map: FeatureMap
    target: NDArray[np.int64]
    summary: NDArray[np.int64]
    target_factor: int
    summary_factor: int
    count: int


@dataclass(frozen=True)
class Bids(Answer):
    """An owner's scores and rows of its best unsent points, best first, for the curator."""

    disclosure: ClassVar[Disclosure | None] = Disclosure(
        "an owner",
        "curator, no other owner",
        "exact scores and row numbers of its best records not yet sent",
        "the owner's records, and the round's noisy embeddings",
        "No claim towards the curator, who is trusted. Other owners learn of bids through the "
        "releases and requests alone.",
        "privacy/threat-model.md#not-protected",
        protocols=("Auction",),
        reveals=Reveals.ALL,
    )

    scores: tuple[int, ...] = field(repr=False)
    rows: tuple[int, ...] = field(repr=False)


@dataclass(frozen=True)
class SendRequest(Request):
    """Asks one owner for some of its bids, by one flag a bid. Depends on other owners'
    data.

    Its law is the request rule's (:mod:`dpsumm.papers.auction.requests`).
    """

    disclosure: ClassVar[Disclosure | None] = Disclosure(
        "curator",
        "each owner, about its own bids, in each round",
        "one bit for each bid: send this record or do not",
        "all owners' bids, through the rank of a bid and fresh coins",
        "An owner learns of a record of another owner what the charge for the bits of the whole "
        "run allows; the rule that asks for all bids tells nothing and costs nothing.",
        "privacy/auction.md#claim",
        releases=("request bits of the whole run",),
        protocols=("Auction",),
    )

    wanted: tuple[bool, ...]


@dataclass(frozen=True)
class Points(Records, Answer):
    """An owner's records as they are, rows ascending. Curator and consumer see them, and no other
    owner does.
    """

    disclosure: ClassVar[Disclosure | None] = Disclosure(
        "an owner",
        "curator and consumer, no other owner",
        "records as they are: values, labels, columns that travel along, row numbers (under an "
        "embedding features in place of the values)",
        "the owner's own records, and what the owner was asked",
        "No claim: these records are not protected from the curator and the consumer.",
        "privacy/threat-model.md#not-protected",
        reveals=Reveals.SENT,
    )

    def revealed(self, of: int) -> int:
        """Every point is a record."""
        return len(self.rows)

    def check(
        self, n_columns: int, wanted: int, labelled: bool, schema: Schema | None = None
    ) -> None:
        """Raise `ProtocolError` unless this answer fits the request. Tells no value."""
        if not (
            isinstance(self.rows, np.ndarray)
            and self.rows.dtype == np.int64
            and self.rows.ndim == 1
            and isinstance(self.values, np.ndarray)
            and self.values.dtype in (np.float32, np.float64)
        ):
            raise ProtocolError("rows must be (q,) int64 and values float32 or float64 arrays")
        count = len(self.rows)
        if self.values.ndim != 2 or self.values.shape != (count, n_columns):
            raise ProtocolError(f"values must have shape ({count}, {n_columns})")
        if count != wanted:
            raise ProtocolError(f"{count} points sent, {wanted} were asked for")
        if schema is None and not all_usable(self.values):
            raise ProtocolError("values hold NaN, infinity or numbers too large to use")
        if schema is not None and not schema.fits(self.values):
            raise ProtocolError(
                "values hold infinity, numbers too large to use, or what the schema does not allow"
            )
        if count and (self.rows[0] < 0 or (np.diff(self.rows) <= 0).any()):
            raise ProtocolError("rows must be ascending, distinct and >= 0")
        if labelled != (self.labels is not None) or (
            self.labels is not None
            and (self.labels.shape != (count,) or self.labels.dtype.kind not in "fiubU")
        ):
            raise ProtocolError("labels must be sent by all owners or by none, one a point")
        along = 0 if schema is None else len(schema.carried)
        if len(self.carried) != along or not all(_can_travel(x, count) for x in self.carried):
            raise ProtocolError(
                f"{along} columns must travel along, each of numbers, text or dates, one a point"
            )


# Dates that Python and all data-frame libraries can show.
_FIRST, _LAST = np.datetime64("0001-01-01"), np.datetime64("9999-12-31T23:59:59.999999")


def _can_travel(column: NDArray[np.generic], count: int) -> bool:
    if not isinstance(column, np.ndarray) or column.shape != (count,):
        return False
    if column.dtype.kind != "M":
        return column.dtype.kind in "fiubU"
    if column.dtype not in (np.dtype("M8[D]"), np.dtype("M8[us]")):
        return False
    # As integers: compared in a common unit, a day far away would overflow.
    first, last = (date.astype(column.dtype).astype(np.int64) for date in (_FIRST, _LAST))
    steps = column[~np.isnat(column)].astype(np.int64)
    return not bool(((steps < first) | (steps > last)).any())

"""What parties, curator and consumer say to each other, and how it is written."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dpsumm.basics.names import is_name
from dpsumm.ensemble.declared import Declared, Forest, GaussianBayes, Linear, is_declared
from dpsumm.ensemble.terms import MOST_GRID, MOST_SHARDS, Label, Terms, are_classes, are_terms
from dpsumm.errors import ProtocolError
from dpsumm.exchange.codec import Codec, Kind
from dpsumm.exchange.disclosure import Disclosure, Reveals
from dpsumm.exchange.fields import is_array, is_hex, is_noise, is_number, is_whole
from dpsumm.exchange.messages import Answer, Request
from dpsumm.privacy.events import Unit

VOTES = np.dtype(np.uint16)


@dataclass(frozen=True, eq=False)
class VoteTask(Request):
    """From the curator to every party, once. It asks for votes on these points.

    Claim: (0, 0)-DP towards parties. It holds public facts and the public points, which are
    public or the consumer's to show. Tested by tests/ensemble/test_ensemble_roles.py.

    Attributes
    ----------
    points : (N, d) float64
    """

    disclosure: ClassVar[Disclosure | None] = Disclosure(
        "curator",
        "every party, the same bytes to all, once",
        "the public points, the classes and the terms of the vote",
        "nobody's protected records: the points are public",
        "A party learns nothing of other parties: (0, 0).",
        "privacy/votes.md#model",
        protocols=("Noisy votes",),
    )

    run: str
    terms: Terms
    points: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Votes(Answer):
    """Party to curator: its classifiers' votes. Not private. Only the curator sees them.

    Attributes
    ----------
    votes : (N, K) uint16
        In a row: `grid` votes of each shard's classifier. One that abstains, having no record of a
        listed class, gives none.
    """

    disclosure: ClassVar[Disclosure | None] = Disclosure(
        "a party",
        "curator, nobody else",
        "the votes of its classifiers on every point",
        "the party's own records and coins, and the task",
        "No claim towards the curator, who is trusted with the votes.",
        "privacy/votes.md#model",
        protocols=("Noisy votes",),
        reveals=Reveals.ALL,
    )

    run: str
    digest: str
    votes: NDArray[np.uint16] = field(repr=False)


@dataclass(frozen=True)
class ClassifierTask(Request):
    """Curator to every party, once, in place of a `VoteTask`: send your classifiers.

    Claim: (0, 0)-DP towards parties for the consumer's points and for other parties: it holds
    public facts alone. Tested by tests/ensemble/test_declared.py.
    """

    disclosure: ClassVar[Disclosure | None] = Disclosure(
        "curator",
        "every party, the same bytes to all, once",
        "the classes, the number of columns and the terms of the vote; not the points",
        "public facts alone",
        "A party learns nothing of the consumer's points and nothing of other parties: (0, 0).",
        "privacy/votes.md#model",
        protocols=("Noisy votes on points of the consumer",),
    )

    run: str
    classes: tuple[Label, ...]
    grid: int
    shards: int
    n_columns: int


@dataclass(frozen=True, eq=False)
class Classifiers(Answer):
    """A party's classifiers as numbers. Not private. Only the curator sees them."""

    disclosure: ClassVar[Disclosure | None] = Disclosure(
        "a party",
        "curator, nobody else",
        "its classifiers as plain numbers",
        "the party's own records and coins",
        "No claim towards the curator, who is trusted with the classifiers; they may well "
        "remember records.",
        "privacy/votes.md#model",
        protocols=("Noisy votes on points of the consumer",),
        reveals=Reveals.ALL,
    )

    run: str
    n_columns: int
    classifiers: Declared = field(repr=False)


@dataclass(frozen=True, eq=False)
class NoisyVotes(Answer):
    """Curator to consumer: all parties' votes added up, with noise. What can be learnt.

    Made by :func:`dpsumm.ensemble.release.release_votes` alone, which states the claim. Everything
    computed from it and from public data is post-processing, at no further cost.

    Attributes
    ----------
    run, terms
        Of the run.
    unit
        Whose replacement (epsilon, delta) was asked for: one whole owner, or one record.
    noise_multiplier
        Noise / sensitivity for that unit.
    noise_std
        Of the noise in a count, before rounding to integers.
    counts : (N, K) int64, or (N, 1) for two classes
        Votes for each class. For two classes, votes for the second less votes for the first.

    See Also
    --------
    dpsumm.learn : Makes them. Its example runs.
    dpsumm.ensemble.Model : Has them as `votes`.
    """

    disclosure: ClassVar[Disclosure | None] = Disclosure(
        "curator",
        "consumer, and whoever the consumer shows the votes, a model or its predictions",
        "the sum of all parties' votes on every point, with noise, once",
        "all parties' records, through the released sum alone",
        "Whoever sees it learns of a party's records what the charge allows, whatever the points "
        "are; all that is computed from it costs nothing more.",
        "privacy/votes.md#theorem",
        releases=("noisy votes",),
        reveals=Reveals.CHARGED,
    )

    run: str
    terms: Terms
    unit: Unit | str
    noise_multiplier: float
    noise_std: float
    counts: NDArray[np.int64] = field(repr=False)

    @property
    def shares(self) -> NDArray[np.float64]:
        """Noisy shares of the votes, (N, columns): of each class, or of the second of two.

        Attendance shows in row sums, under the same noise. So rows of several classes are centred.
        The same for every consumer, to the last bits of a float: post-processing.
        """
        share: NDArray[np.float64] = self.counts / (self.terms.n_parties * self.terms.total)
        if self.terms.columns == 1:
            return share / 2 + 0.5
        return np.asarray(share - share.mean(1, keepdims=True) + 1 / self.terms.n_classes)

    @property
    def share_noise(self) -> float:
        """Standard deviation of the noise in one of `shares`, before rows are centred."""
        halved = 2 if self.terms.columns == 1 else 1
        return self.noise_std / (self.terms.n_parties * self.terms.total * halved)

    def to_bytes(self) -> bytes:
        """Return the message as bytes, without pickle. The same message gives the same bytes."""
        return CODEC.encode(self)

    @classmethod
    def from_bytes(cls, data: bytes) -> NoisyVotes:
        """Return what :meth:`to_bytes` wrote.

        Raises
        ------
        ProtocolError
            Anything else.
        """
        message = CODEC.decode(data)
        if not isinstance(message, cls):
            raise ProtocolError(f"a {type(message).__name__} is no NoisyVotes")
        return message


def _is_task(message: VoteTask) -> bool:
    return (
        is_name(message.run)
        and are_terms(message.terms)
        and is_array(message.points, 2, "f8")
        and len(message.points) == message.terms.n_points
        and bool(np.isfinite(message.points).all())
    )


def _are_votes(message: Votes) -> bool:
    return is_name(message.run) and is_hex(message.digest, 64) and is_array(message.votes, 2, "u2")


def _is_classifier_task(message: ClassifierTask) -> bool:
    return (
        is_name(message.run)
        and are_classes(message.classes)
        and is_whole(message.grid, MOST_GRID + 1)
        and is_whole(message.shards, MOST_SHARDS + 1)
        and min(message.grid, message.shards) >= 1
        and is_whole(message.n_columns, 2**20)
    )


def _are_classifiers(message: Classifiers) -> bool:
    return (
        is_name(message.run)
        and is_whole(message.n_columns, 2**20)
        and is_declared(message.classifiers, message.n_columns)
    )


def _are_noisy(message: NoisyVotes) -> bool:
    return (
        is_name(message.run)
        and are_terms(message.terms)
        and message.unit in (Unit.WHOLE_OWNER.value, Unit.REPLACE_RECORD.value)
        and type(message.unit) is str
        and is_number(message.noise_multiplier)
        and is_noise(message.noise_std)
        and is_array(message.counts, 2, "i8")
        and message.counts.shape == (message.terms.n_points, message.terms.columns)
    )


KINDS = (
    Kind("VoteTask", VoteTask, _is_task),
    Kind("Votes", Votes, _are_votes),
    Kind("ClassifierTask", ClassifierTask, _is_classifier_task),
    Kind("Classifiers", Classifiers, _are_classifiers),
    Kind("NoisyVotes", NoisyVotes, _are_noisy),
)
PARTS = {"Terms": Terms, "Linear": Linear, "GaussianBayes": GaussianBayes, "Forest": Forest}
CODEC = Codec(KINDS, PARTS)

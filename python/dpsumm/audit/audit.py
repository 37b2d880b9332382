"""Audits of claims, each with broken twins, and their outcomes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from dpsumm.audit.samples import Scores
from dpsumm.audit.witness import Search

# A Gaussian charge claims an epsilon at every delta. Two normals that overlap differ most, as far
# as samples can tell, in events of large probability, so this is where few trials see much.
_SEEN_DELTA = 0.2


class Sampled(Protocol):
    """A claim that is audited by samples."""

    def scores(self, world: int, trials: int) -> Scores:
        """Return scores of independent outputs in one world."""

    def claimed(self, delta: float) -> float:
        """Return epsilon as it is charged."""


@dataclass(frozen=True)
class Twin:
    """A copy with one known mistake, charged as the honest one.

    Attributes
    ----------
    name
        The mistake, in words.
    subject
        The subject of the run, of the kind of its audit's.
    trials
        In both modes: what few trials catch, more do. At most the quick trials of its audit,
        and by default.
    halved
        The mistake is that the honest subject runs with half of the noise.
    """

    name: str
    subject: Sampled | Search
    trials: int | None = None
    halved: bool = False

    @classmethod
    def half(cls, subject: Sampled) -> Twin:
        """Return the twin of a claim of normal noise."""
        return cls("half of the noise", subject, halved=True)


@dataclass(frozen=True)
class Audit:
    """One claim.

    Attributes
    ----------
    name
        In words.
    subject
        The subject of the run, which is sampled or searched for a witness.
    twins
        At least one.
    trials, quick_trials
        Samples of each world, or pairs of worlds.
    delta
        At which epsilon is claimed, without meaning for a search.
    """

    name: str
    subject: Sampled | Search
    twins: tuple[Twin, ...]
    trials: int
    quick_trials: int
    delta: float = _SEEN_DELTA


@dataclass(frozen=True)
class Found:
    """What samples or a search showed.

    Attributes
    ----------
    epsilon
        Lower confidence bound; None for a search.
    witness
        Finding of a search, if there is one.
    trials
        Samples of each world, or pairs of worlds.
    refuted
        Whether the claim cannot be true.
    """

    epsilon: float | None
    witness: str | None
    trials: int
    refuted: bool


@dataclass(frozen=True)
class Outcome:
    """Outcome of an audit.

    Attributes
    ----------
    audit
        Which one.
    claimed
        Epsilon as charged; None for a search.
    ceiling
        The most that could have been measured; None for a search, where one witness is enough.
    found
        Of the claim.
    twins
        Of the twins, in their order.

    See Also
    --------
    dpsumm.audit.run_audits : Makes them.
    """

    audit: Audit
    claimed: float | None
    ceiling: float | None
    found: Found
    twins: tuple[Found, ...]

    @property
    def caught(self) -> int:
        """How many twins were refuted."""
        return sum(twin.refuted for twin in self.twins)

    @property
    def passed(self) -> bool:
        """Whether it came out as it should: the claim holds, all twins are caught."""
        return not self.found.refuted and self.caught == len(self.twins)

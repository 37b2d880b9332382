"""Events are frozen values of a mechanism's effect on privacy.

The unit is put into the sensitivity by the mechanism that makes the event, so an event says the
same thing to every accountant (``docs/privacy/accounting.md``).
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import ClassVar

from dpsumm.errors import InvalidParameterError


class Protected(str):
    """Whose records a claim protects.

    A subsystem names its parties once, by `named`. Afterwards ``Protected("owners")`` is the party
    of that name. Any other name is refused, in a call or in a ledger's file. Nothing was ever spent
    on a party that is misspelt.

    Raises
    ------
    InvalidParameterError
        No subsystem has named such a party.

    See Also
    --------
    dpsumm.privacy.Unit : What changes between neighbouring data.
    dpsumm.Ledger : Counts the spending on each.

    Examples
    --------
    >>> from dpsumm.privacy import Ledger, Protected
    >>> Protected("target").value
    'target'
    >>> with Ledger() as book:
    ...     book.spent(Protected("target"))[0]
    0.0
    """

    _known: ClassVar[dict[str, Protected]] = {}
    TARGET: ClassVar[Protected]
    OWNERS: ClassVar[Protected]
    #: Of which several owners hold different columns.
    RECORDS: ClassVar[Protected]

    def __new__(cls, name: str) -> Protected:
        """Return the party of that name."""
        if not isinstance(name, str) or name not in cls._known:
            known = " or ".join(map(repr, cls.known()))
            raise InvalidParameterError(f"protected must be {known}, got {name!r}")
        return cls._known[name]

    @classmethod
    def named(cls, name: str) -> Protected:
        """Make a party's name known, and return it. Names stay in ledgers: never change one.

        Raises
        ------
        InvalidParameterError
            The name is not of small letters, with single dashes or spaces between them.
        """
        if not re.fullmatch(r"[a-z]+([ -][a-z]+)*", name):
            raise InvalidParameterError(f"name: use words of small letters, got {name!r}")
        return cls._known.setdefault(name, str.__new__(cls, name))

    @classmethod
    def known(cls) -> tuple[Protected, ...]:
        """Return all parties that were named."""
        return tuple(cls._known.values())

    @property
    def value(self) -> str:
        """The name as plain text."""
        return str(self)


Protected.TARGET, Protected.OWNERS, Protected.RECORDS = map(
    Protected.named, ("target", "owners", "records")
)


class Observer(str, Enum):
    """Who sees the message.

    See Also
    --------
    dpsumm.privacy.Charge : Has one.
    """

    OWNER = "an owner"
    CONSUMER = "the consumer"
    PUBLIC = "everyone"


class Unit(str, Enum):
    """What may change between two neighbouring data sets.

    See Also
    --------
    dpsumm.privacy.Protected : Whose records a claim is for.
    """

    REPLACE_RECORD = "replace one record"
    WHOLE_OWNER = "one whole owner"


def _positive(name: str, value: float) -> None:
    if not (math.isfinite(value) and value > 0):
        raise InvalidParameterError(f"{name} must be a finite number above 0, got {value!r}")


@dataclass(frozen=True)
class Gaussian:
    """Gaussian noise, rounded to integers or not.

    Parameters
    ----------
    noise_multiplier
        Standard deviation divided by the L2 sensitivity of the unit.

    See Also
    --------
    dpsumm.privacy.Charge : An event with the party that it is charged to.

    Examples
    --------
    >>> from dpsumm.privacy import Gaussian
    >>> Gaussian(noise_multiplier=4.0)  # noise of 8 on a sum that one record moves by 2
    Gaussian(noise_multiplier=4.0)
    """

    noise_multiplier: float

    def __post_init__(self) -> None:
        _positive("noise_multiplier", self.noise_multiplier)


@dataclass(frozen=True)
class BoundedRange:
    """An exponential mechanism: ``epsilon``-DP with range bounded by ``epsilon``.

    So ``epsilon**2 / 8``-zCDP (Cesar & Rogers 2021). It does not hold for permute-and-flip.

    See Also
    --------
    dpsumm.privacy.Pure : Any mechanism with delta 0.

    Examples
    --------
    >>> from dpsumm.privacy import BoundedRange
    >>> BoundedRange(epsilon=0.5)
    BoundedRange(epsilon=0.5)
    """

    epsilon: float

    def __post_init__(self) -> None:
        _positive("epsilon", self.epsilon)


@dataclass(frozen=True)
class Pure:
    """Anything that is ``epsilon``-DP, epsilon in nats.

    See Also
    --------
    dpsumm.privacy.Approximate : A mechanism with a delta.

    Examples
    --------
    >>> from dpsumm.privacy import Pure
    >>> Pure(epsilon=0.5)
    Pure(epsilon=0.5)
    """

    epsilon: float

    def __post_init__(self) -> None:
        _positive("epsilon", self.epsilon)


@dataclass(frozen=True)
class Approximate:
    """Anything that is ``(epsilon, delta)``-DP.

    See Also
    --------
    dpsumm.privacy.Pure : A mechanism with delta 0.

    Examples
    --------
    >>> from dpsumm.privacy import Approximate
    >>> Approximate(epsilon=0.5, delta=1e-6)
    Approximate(epsilon=0.5, delta=1e-06)
    """

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.epsilon) and self.epsilon >= 0):
            raise InvalidParameterError(f"epsilon must be finite and >= 0, got {self.epsilon!r}")
        if not 0 <= self.delta < 1:
            raise InvalidParameterError(f"delta must be in [0, 1), got {self.delta!r}")


@dataclass(frozen=True)
class NonPrivate:
    """No guarantee: epsilon is infinite.

    See Also
    --------
    dpsumm.privacy.Seeded : Of runs with a seed.

    Examples
    --------
    >>> from dpsumm.privacy import NonPrivate
    >>> NonPrivate("the winner is told")
    NonPrivate(reason='the winner is told')
    """

    reason: str


@dataclass(frozen=True)
class Seeded(NonPrivate):
    """No guarantee, since anyone who knows the user's seed can draw the same noise again.

    See Also
    --------
    dpsumm.privacy.NonPrivate : What guarantees nothing in earnest.

    Examples
    --------
    >>> from dpsumm.privacy import Seeded
    >>> Seeded().reason
    'a seed was given'
    """

    reason: str = field(default="a seed was given", init=False, repr=False)


Event = Gaussian | BoundedRange | Pure | Approximate | NonPrivate


@dataclass(frozen=True)
class Charge:
    """One line of the ledger: a message that depends on private data.

    Attributes
    ----------
    protected
        Whose records the message depends on.
    message
        What left, in words ("target release").
    event
        Its cost.
    count
        How many times, each with fresh randomness: 1 to 2**53.
    observer
        Who sees it.
    unit
        The neighbouring relation that the event's sensitivity is for.

    Raises
    ------
    InvalidParameterError
        `count` is out of range.

    See Also
    --------
    dpsumm.Ledger : Its example charges one.
    """

    protected: Protected
    message: str
    event: Event
    count: int = 1
    observer: Observer = Observer.OWNER
    unit: Unit = Unit.REPLACE_RECORD

    def __post_init__(self) -> None:
        # Up to where floats, in which figures are computed, count exactly.
        if type(self.count) is not int or not 1 <= self.count <= 2**53:
            raise InvalidParameterError(
                f"count must be a whole number from 1 to 2**53, got {self.count!r}. "
                "A release that depends on nobody's data has no charge"
            )


# Books may hold multipliers of all digits; six digits, and the figures' margin, move one by less.
_SAME_MULTIPLIER = 2e-5


def same_charges(recorded: Sequence[Charge], asked: Sequence[Charge]) -> bool:
    """Return whether charges on record are those of the same release, asked for again.

    Equal, up to the digits that a noise multiplier is rounded to, and ``Pure(epsilon)`` is
    ``Approximate(epsilon, 0)``: books of older code have the one where today's has the other. What
    is on record is what the release was made with and what counts, so nothing is lost by it.
    """
    return len(recorded) == len(asked) and all(
        replace(old, event=new.event) == new and _same_event(old.event, new.event)
        for old, new in zip(recorded, asked, strict=True)
    )


def _same_event(old: Event, new: Event) -> bool:
    if isinstance(old, Gaussian) and isinstance(new, Gaussian):
        return math.isclose(old.noise_multiplier, new.noise_multiplier, rel_tol=_SAME_MULTIPLIER)
    if isinstance(old, Pure):
        return new in (old, Approximate(old.epsilon, 0.0))
    return old == new

"""Events: what a mechanism does to privacy, as frozen values.

The unit is put into the sensitivity by the mechanism that makes the event, so an event says the
same thing to every accountant (``docs/privacy/accounting.md``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

from dpsumm.errors import InvalidParameterError


class Protected(str, Enum):
    """Whose records a claim protects."""

    TARGET = "target"
    OWNERS = "owners"


class Observer(str, Enum):
    """Who sees the message."""

    OWNER = "an owner"
    PUBLIC = "everyone"


class Unit(str, Enum):
    """What may change between two neighbouring data sets."""

    REPLACE_RECORD = "replace one record"
    ADD_REMOVE_RECORD = "add or remove one record"
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
    """

    noise_multiplier: float

    def __post_init__(self) -> None:
        _positive("noise_multiplier", self.noise_multiplier)


@dataclass(frozen=True)
class Laplace:
    """Continuous Laplace noise. Discrete Laplace noise is not dominated by it: that is `Pure`.

    Parameters
    ----------
    noise_multiplier
        Scale divided by the L1 sensitivity of the unit.
    """

    noise_multiplier: float

    def __post_init__(self) -> None:
        _positive("noise_multiplier", self.noise_multiplier)


@dataclass(frozen=True)
class BoundedRange:
    """An exponential mechanism: ``epsilon``-DP with range bounded by ``epsilon``.

    Hence ``epsilon**2 / 8``-zCDP (Cesar & Rogers 2021). It does not hold for permute-and-flip.
    """

    epsilon: float

    def __post_init__(self) -> None:
        _positive("epsilon", self.epsilon)


@dataclass(frozen=True)
class Pure:
    """Anything that is ``epsilon``-DP, epsilon in nats."""

    epsilon: float

    def __post_init__(self) -> None:
        _positive("epsilon", self.epsilon)


@dataclass(frozen=True)
class Approximate:
    """Anything that is ``(epsilon, delta)``-DP."""

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.epsilon) and self.epsilon >= 0):
            raise InvalidParameterError(f"epsilon must be finite and >= 0, got {self.epsilon!r}")
        if not 0 <= self.delta < 1:
            raise InvalidParameterError(f"delta must be in [0, 1), got {self.delta!r}")


@dataclass(frozen=True)
class NonPrivate:
    """No guarantee: epsilon is infinite."""

    reason: str


Event = Gaussian | Laplace | BoundedRange | Pure | Approximate | NonPrivate


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
        What it costs.
    count
        How many times, each with fresh randomness.
    observer
        Who sees it.
    unit
        The neighbouring relation that the event's sensitivity is for.
    """

    protected: Protected
    message: str
    event: Event
    count: int = 1
    observer: Observer = Observer.OWNER
    unit: Unit = Unit.REPLACE_RECORD

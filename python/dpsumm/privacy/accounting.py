"""Composition of events gives the joint cost of several releases.

A valid figure is any valid figure, so the smallest of a closed form and of the curves in `curves`
is reported, rounded up.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

from dpsumm.basics.checks import is_number
from dpsumm.errors import InvalidParameterError
from dpsumm.privacy import curves, portable
from dpsumm.privacy.events import (
    Approximate,
    BoundedRange,
    Event,
    Gaussian,
    NonPrivate,
    Pure,
)

Counted = tuple[Event, int]

# Reported figures are rounded up at this relative step, far above the accountants' float error.
_ROUND_UP = 1e-9
# Above this a tighter figure helps nobody, and its arithmetic takes long or overflows.
_LARGEST_TIGHT = 100.0


def check_epsilon(epsilon: float, name: str = "epsilon") -> None:
    """Raise `InvalidParameterError` unless epsilon (nats) lies between 1e-9 and 1e6."""
    if not (is_number(epsilon) and 1e-9 <= epsilon <= 1e6):
        raise InvalidParameterError(
            f"{name} must be a number above 0 (1e-9 to 1e6, usually 0.1 to 10), got {epsilon!r}"
        )


def check_delta(delta: float, name: str = "delta") -> None:
    """Raise `InvalidParameterError` unless delta lies strictly between 0 and 1."""
    if not (is_number(delta) and 0 < delta < 1):
        raise InvalidParameterError(
            f"{name} must lie strictly between 0 and 1 (usual: below 1 / records), got {delta!r}"
        )


def gaussian_noise_multiplier(epsilon: float, delta: float) -> float:
    """Return the least noise_std / sensitivity of six digits for one release at (epsilon, delta).

    Analytic Gaussian mechanism, Balle & Wang 2018, Theorem 8. The same on every processor, because
    releases are made with it. The epsilon reported for it (rounded up) is not above the one asked
    for.
    """
    check_epsilon(epsilon)
    check_delta(delta)
    return portable.gaussian_multiplier(epsilon / (1 + 2 * _ROUND_UP), delta)


def compose(events: Sequence[Counted], delta: float) -> float:
    """Return an epsilon such that all events together are (epsilon, delta)-DP, rounded up.

    Parameters
    ----------
    delta
        Probability that epsilon need not cover, in (0, 1).

    Returns
    -------
    float
        0 for no events, infinity if any event has no guarantee.
    """
    check_delta(delta)
    events = [(event, count) for event, count in events if count > 0]
    if not events:
        return 0.0
    if any(isinstance(event, NonPrivate) for event, _ in events):
        return math.inf
    spent = sum(e.delta * n for e, n in events if isinstance(e, Approximate))
    rest = delta - spent
    if rest <= 0:
        return math.inf
    known = sum(e.epsilon * n for e, n in events if isinstance(e, Approximate))
    events = [(event, count) for event, count in events if not isinstance(event, Approximate)]
    try:
        figure = known + _smallest(events, rest) if events else known
    except OverflowError:  # what nobody would choose, but a damaged ledger may hold
        return math.inf
    return figure * (1 + _ROUND_UP)


def _smallest(events: list[Counted], delta: float) -> float:
    """Return the least figure of Gaussian, pure and bounded-range events that are planned."""
    precision, rho = Fraction(0), 0.0
    pure: Counter[float] = Counter()
    for event, count in events:
        if isinstance(event, Gaussian):
            precision += Fraction(count) / Fraction(event.noise_multiplier) ** 2
        else:
            assert isinstance(event, BoundedRange | Pure)
            pure[event.epsilon] += count
            # A loss in an interval of this length (Lemma D).
            width = event.epsilon if isinstance(event, BoundedRange) else 2 * event.epsilon
            rho += count * width * width / 8
    gaussian = portable.gaussian_epsilon(precision, delta) if precision else 0.0
    # Pure parts add up; all Gaussians are one Gaussian with the whole delta.
    closed = sum(count * each for each, count in pure.items()) + gaussian
    if not pure or (pure.total() == 1 and not precision):
        return closed
    least = min(closed, curves.by_zcdp(rho + float(precision) / 2, delta))
    if least > _LARGEST_TIGHT:
        return least
    return curves.tight(pure, math.sqrt(precision), delta, least)

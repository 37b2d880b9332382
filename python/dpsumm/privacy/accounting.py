"""Composition of events, by dp-accounting. No other module knows that package.

Traps kept out of the rest of the code:

* Every event carries its own sensitivity, so the accountants run under ``ADD_OR_REMOVE_ONE`` with
  ``noise_multiplier = scale / sensitivity``. Under ``REPLACE_ONE`` dp-accounting 0.6 doubles a
  Gaussian in one accountant and not in the other.
* There is no event for the exponential mechanism: it enters RDP as ``epsilon**2 / 8``-zCDP and PLD
  as a pure guarantee.
* A valid figure is any valid figure, so the smallest of closed form, PLD and RDP is reported,
  rounded up.

Importing dp-accounting takes over a second, so it is imported on first use.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from dpsumm.basics.checks import is_number
from dpsumm.errors import InvalidParameterError
from dpsumm.privacy import portable
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
# Width of a PLD's cells, in nats.
_PLD_CELL = 1e-4
# What the Fourier transforms of a PLD may add to delta: in all, and for each cell and each event.
# Two to fifty times the error seen against exact binomial sums.
_PLD_ERROR = 1e-12
_PLD_ERROR_EACH = 1e-16
# Above this a tighter figure helps nobody, and the PLD takes gigabytes or overflows.
_LARGEST_PLD_EPSILON = 100.0
# Above this many events it takes minutes.
_LARGEST_PLD_COUNT = 2_000_000


def check_epsilon(epsilon: float, name: str = "epsilon") -> None:
    """Raise `InvalidParameterError` unless epsilon (nats) lies between 1e-9 and 1e6."""
    if not (is_number(epsilon) and 1e-9 <= epsilon <= 1e6):
        raise InvalidParameterError(
            f"{name} must be a number above 0 (1e-9 to 1e6; usual: 0.1 to 10), got {epsilon!r}"
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
        Probability of failure, in (0, 1).

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
    figure = known + _smallest(events, rest) if events else known
    return figure * (1 + _ROUND_UP)


def sampled_gaussian(
    noise_multiplier: float, sample: float, count: int, delta: float, *, replace: bool
) -> float:
    """Return an epsilon of Gaussian releases of Poisson-sampled records, by PLD, rounded up.

    Parameters
    ----------
    noise_multiplier
        Noise over the most that one record's own part of the sum can be.
    sample
        Chance of a record to be in one release, in (0, 1); the observer does not know who is in it.
    replace
        For one replaced record: it is taken out and another put in, so the sums of the two worlds
        differ by two parts. Otherwise for one added or removed.
    """
    import dp_accounting
    from dp_accounting.pld import PLDAccountant

    check_delta(delta)
    relation = dp_accounting.NeighboringRelation
    accountant = PLDAccountant(relation.REPLACE_ONE if replace else relation.ADD_OR_REMOVE_ONE)
    one = dp_accounting.PoissonSampledDpEvent(
        sample, dp_accounting.GaussianDpEvent(noise_multiplier)
    )
    accountant.compose(one, count)
    return float(accountant.get_epsilon(delta)) * (1 + _ROUND_UP)


def _smallest(events: list[Counted], delta: float) -> float:
    candidates = [_figure(_basic, events, delta)]
    exact = all(isinstance(event, Gaussian) for event, _ in events)
    if not exact and (len(events) > 1 or events[0][1] > 1):
        candidates.append(_figure(_rdp, events, delta))
        if (
            min(candidates) <= _LARGEST_PLD_EPSILON
            and sum(count for _, count in events) <= _LARGEST_PLD_COUNT
        ):
            # For a smaller delta, so that the PLD's own error stays within the one asked for.
            smaller = delta * (1 - _ROUND_UP) - _pld_error(events)
            if smaller >= 0.9 * delta:
                candidates.append(_figure(_pld, events, smaller))
    return min(candidates)


def _pld_error(events: list[Counted]) -> float:
    """Return by how much the true delta may exceed a PLD's: it grows with the cells and events."""
    nats, precision = 0.0, 0.0
    for event, count in events:
        if isinstance(event, Gaussian):
            precision += count / event.noise_multiplier**2
        else:
            nats += count * (_pure_epsilon(event) or 0.0)
    nats += precision / 2 + 10 * math.sqrt(precision)
    cells = nats / _PLD_CELL + sum(count for _, count in events)
    return _PLD_ERROR + _PLD_ERROR_EACH * cells


def _figure(
    method: Callable[[list[Counted], float], float], events: list[Counted], delta: float
) -> float:
    """Return a method's figure; infinity, which is always true, where its arithmetic breaks down.

    That takes parameters that nobody would choose, but a damaged ledger may hold.
    """
    try:
        with np.errstate(all="ignore"):
            figure = method(events, delta)
    except (ArithmeticError, ValueError):
        return math.inf
    return figure if figure >= 0 else math.inf


def _pure_epsilon(event: Event) -> float | None:
    if isinstance(event, BoundedRange | Pure):
        return event.epsilon
    return None


def _basic(events: list[Counted], delta: float) -> float:
    """Pure parts add up; all Gaussians are one Gaussian with the whole delta (exact)."""
    pure = 0.0
    precision = Fraction(0)
    for event, count in events:
        if isinstance(event, Gaussian):
            precision += Fraction(count) / Fraction(event.noise_multiplier) ** 2
        else:
            each = _pure_epsilon(event)
            assert each is not None
            pure += count * each
    return pure + (portable.gaussian_epsilon(precision, delta) if precision else 0.0)


def _pld(events: list[Counted], delta: float) -> float:
    from dp_accounting.pld import common
    from dp_accounting.pld import privacy_loss_distribution as pld

    composed: Any = pld.identity(value_discretization_interval=_PLD_CELL)
    for event, count in events:
        if isinstance(event, Gaussian):
            one = pld.from_gaussian_mechanism(event.noise_multiplier)
        else:
            pure = _pure_epsilon(event)
            assert pure is not None
            one = pld.from_privacy_parameters(common.DifferentialPrivacyParameters(pure, 0.0))
        composed = composed.compose(one.self_compose(count) if count > 1 else one)
    return float(composed.get_epsilon_for_delta(delta))


def _rdp(events: list[Counted], delta: float) -> float:
    import dp_accounting
    from dp_accounting import rdp

    accountant = rdp.RdpAccountant()
    for event, count in events:
        if isinstance(event, Gaussian):
            one: Any = dp_accounting.GaussianDpEvent(event.noise_multiplier)
        elif isinstance(event, BoundedRange):
            one = dp_accounting.ZCDpEvent(event.epsilon**2 / 8)
        else:
            assert isinstance(event, Pure)
            # epsilon-DP implies epsilon**2 / 2-zCDP (Bun & Steinke 2016, Prop. 1.4).
            one = dp_accounting.ZCDpEvent(event.epsilon**2 / 2)
        accountant.compose(one, count)
    return float(accountant.get_epsilon(delta))

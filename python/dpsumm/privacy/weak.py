"""Budgets that promise little or nothing."""

from __future__ import annotations

import math
import warnings
from typing import ClassVar

from dpsumm.errors import InvalidParameterError

# Above, an observer's view may be thousands of times as likely with a record as without.
MOST_EPSILON = 10.0
# Above, who thinks a fact of a record as likely as not may end more than 98 % sure of it.
MUCH_EPSILON = 4.0
# Parts of one over the protected records from which on delta is told of, and is a warning. The
# usual 1e-5 is told of from 10,000 records on, and is a warning from 50,000.
SOME_DELTA, MUCH_DELTA = 0.1, 0.5


class Unrecorded(UserWarning):
    """A run's spending is remembered nowhere."""

    is_said: ClassVar[bool] = False


def warn_unrecorded(ledger: object, seed: int | None, epsilon: float) -> None:
    """Note once in a process, before a run, that no ledger adds up the budgets of such runs.

    Parameters
    ----------
    seed, epsilon
        Of the run: a seeded one guarantees nothing that could add up, nor does an infinite epsilon.
    """
    if Unrecorded.is_said or ledger or seed is not None or math.isinf(epsilon):
        return
    Unrecorded.is_said = True
    warnings.warn(
        "no ledger: what this run spends is remembered nowhere, and runs on the same records add "
        "up. Make a file with dpsumm.Ledger.create(path), and give ledger=path",
        Unrecorded,
        stacklevel=3,
    )


def check_budget(
    epsilon: float,
    delta: float,
    m: int,
    *,
    allowed: bool,
    seed: int | None = None,
    name: str = "epsilon",
    unprotected: str = "",
) -> None:
    """Refuse a budget that is too weak. The one rule of all products.

    Called once for each kind of protected unit: the target's records, those of all owners, parties.

    Parameters
    ----------
    epsilon, delta, m
        Budget of m of them.
    allowed
        Whether the caller has allowed weak privacy.
    name
        What epsilon is called.
    unprotected
        Reason why the owners' records are unprotected, if they are.
    """
    if allowed or seed is not None:
        return
    weak = weak_budget(epsilon, delta, m, name)
    other = "less" if weak else "another"
    if unprotected:
        weak.append(f"{unprotected}: epsilon between owners is ∞")
    if weak:
        raise InvalidParameterError(
            f"{'; '.join(weak)}. Give {other}, or `allow_weak_privacy=True` if that is meant"
        )


def weak_budget(epsilon: float, delta: float, m: int, name: str = "epsilon") -> list[str]:
    """Return the missing promises of a budget to each of m records, as sentences without an end."""
    weak = weak_epsilon(epsilon, name)
    if delta * m >= 1:
        weak.append(
            f"delta {delta:g} is not below 1 / {m:,}, one over the protected records: to publish "
            f"one of them as it is would satisfy it (usual: 1e-5 and well below that share)"
        )
    return weak


def weak_epsilon(epsilon: float, name: str = "epsilon", among: str = "") -> list[str]:
    """Return the missing promise of an epsilon, as at most one sentence without an end.

    `name` is its name. `among` follows its number and names its owner.
    """
    if epsilon <= MOST_EPSILON:
        return []
    shown = f"{epsilon:.4g}" if math.isfinite(epsilon) else "∞"
    odds = f"{math.exp(epsilon):.2g}" if epsilon < 700 else "any number of"
    return [
        f"{name} {shown}{among} promises next to nothing: what an observer sees may be {odds} "
        f"times as likely with a protected record as with another in its place (usual: "
        f"0.1 to 3)"
    ]


def thin_budget(epsilon: float, delta: float, m: int) -> list[str]:
    """Return the weak sides of an accepted budget of m records, as sentences.

    Without a full stop. They do not repeat those of `weak_budget`.
    """
    thin = thin_epsilon(epsilon)
    if MUCH_DELTA <= delta * m < 1:
        thin.append(
            f"delta {delta:g} is {delta * m:.2g} / {m:,}, close to one over the protected records: "
            f"{_published(delta, m)}"
        )
    return thin


def some_delta(delta: float, m: int) -> list[str]:
    """Return the odds of a delta that is a part of 1/m, as at most one sentence without an end.

    For deltas below those of `thin_budget`.
    """
    if not SOME_DELTA < delta * m < MUCH_DELTA:
        return []
    return [f"delta {delta:g} is {delta * m:.2g} / {m:,} protected records: {_published(delta, m)}"]


def _published(delta: float, m: int) -> str:
    return (
        f"to publish each of them as it is with that probability would satisfy it, "
        f"{delta * m:.2g} of them on average. {0.01 / m:.1g} would be about a hundredth of one "
        "over them, and needs somewhat more noise"
    )


def thin_epsilon(epsilon: float, among: str = "") -> list[str]:
    """Return the weak side of an accepted epsilon. See `weak_epsilon`."""
    if not MUCH_EPSILON < epsilon <= MOST_EPSILON:
        return []
    sure = min(1 / (1 + math.exp(-epsilon)), 0.9999)
    return [
        f"epsilon {epsilon:.4g}{among} promises little: what an observer sees may be "
        f"{math.exp(epsilon):,.0f} times as likely with a protected record as with another in its "
        f"place, and who thinks a fact of it as likely as not may end {sure:.2%} sure (usual: "
        f"0.1 to 3)"
    ]

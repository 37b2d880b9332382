"""Caps limit the cost to a party's records of all runs of a ledger together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from dpsumm.errors import BudgetExceededError, InvalidParameterError
from dpsumm.privacy import accounting
from dpsumm.privacy.events import Charge, Protected

Limits = Mapping[str, tuple[float, float]]


@dataclass(frozen=True)
class CapChange:
    """A cap that was set, with its date (None if from before dates were kept), party and value."""

    at: str | None
    protected: Protected
    epsilon: float
    delta: float


def limits_of(caps: Limits) -> list[tuple[str, float, float]]:
    """Return whose records, epsilon and delta of each cap."""
    try:
        return [_named(party, *cap) for party, cap in caps.items()]
    except (AttributeError, TypeError):
        raise InvalidParameterError(
            "caps must be a dict of whose records to (epsilon, delta), such as "
            f"{{'target': (1, 1e-5)}}, got {caps!r}"
        ) from None


def _named(party: str, epsilon: float, delta: float) -> tuple[str, float, float]:
    try:
        return limit_of(party, epsilon, delta)
    except InvalidParameterError as error:
        raise InvalidParameterError(f"caps: {party!r}: {error}") from None


def limit_of(protected: Protected | str, epsilon: float, delta: float) -> tuple[str, float, float]:
    """Return a cap as the file keeps it. Out of range it is an `InvalidParameterError`."""
    whose = Protected(protected)
    accounting.check_epsilon(epsilon)
    accounting.check_delta(delta)
    return whose.value, epsilon, delta


def refuse_beyond(
    cap: tuple[float, float],
    charge: Charge,
    charges: Iterable[Charge],
    spent: tuple[float, float],
    *,
    begun: bool = False,
) -> None:
    """Refuse a charge with which a total is above its cap, or a sum over two units.

    Parameters
    ----------
    cap
        Of the party that the charge is for: epsilon and delta.
    charge
        A new one.
    charges, spent
        All in the ledger with the new ones, and the total then spent on that party.
    begun
        Whether the run of the new one has earlier charges.
    """
    units = {each.unit.value for each in charges if each.protected is charge.protected}
    if others := units - {charge.unit.value}:
        raise InvalidParameterError(
            f"unit: {charge.message} is for the unit {charge.unit.value!r}, and the ledger has "
            f"what is spent on the {charge.protected.value} for "
            f"{' and '.join(map(repr, sorted(others)))}. Their sum, which the cap would bound, "
            "holds for neither. Nothing was sent. Keep one unit to a ledger: ask for the same "
            "unit, or give the runs of this one a ledger of their own"
        )
    # Deltas are written by people; their sum may differ from the cap in the last bit.
    if spent[0] > cap[0] or spent[1] > cap[1] * (1 + 1e-12):
        fate = (
            "Nothing of it was sent, and what earlier messages cost stays charged"
            if begun
            else "Nothing was sent"
        )
        raise BudgetExceededError(
            f"{charge.message} would bring what is spent on the {charge.protected.value} to "
            f"epsilon {spent[0]:.4g} and delta {spent[1]:.4g}, above the cap of ({cap[0]:g}, "
            f"{cap[1]:g}). {fate}. Ask for a smaller epsilon or delta, or raise the cap"
        )

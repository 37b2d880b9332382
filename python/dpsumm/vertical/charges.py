"""What an owner's releases cost its records."""

from __future__ import annotations

import math
from collections.abc import Sequence

from dpsumm.privacy.events import Charge, Event, Gaussian, Observer, Protected, Seeded, Unit


def most_at_once(noise_multiplier: float, owners: int) -> float:
    """Return the noise multiplier of one Gaussian release that covers an owner's whole run.

    Public, and known before the first release: whatever is merged, `table_charges` of the one-way
    and the two-way tables together cost no more.

    An owner is charged ``A + X``, squared mus: A of its own columns and their pairs, X of its pairs
    with others. Nobody learns more than the budget B. The owner itself learns X of the others, so
    ``X <= B``. The other owner with the largest part of X learns A, that part, which is at least
    ``X / (owners - 1)``, and half of the rest, so ``A + X owners / (2 (owners - 1)) <= B``. Hence
    ``A + X <= B (3 owners - 4) / (2 (owners - 1))``: B for two owners, less than 1.5 B for any.

    Parameters
    ----------
    noise_multiplier
        Of one Gaussian release at the run's budget.
    owners
        How many, two or more.
    """
    return noise_multiplier / math.sqrt((3 * owners - 4) / (2 * (owners - 1)))


def run_charges(noise_multiplier: float, *, seeded: bool) -> list[Charge]:
    """Return all that a run may cost an owner, as one charge; see `most_at_once`."""
    return [_records("the whole run", noise_multiplier, seeded)]


def table_charges(message: str, noise_stds: Sequence[float], *, seeded: bool) -> list[Charge]:
    """Return the charge of some tables that an owner adds noise to; none for no table.

    Towards another owner, who may know the second noise of a table that both count. The analyst
    sees the same numbers and knows neither noise, so the charge covers what it learns, too.

    Parameters
    ----------
    message
        What leaves, in words.
    noise_stds
        Of the owner's noise in each table. One replaced record moves two cells of a table by one.
    seeded
        The noise can be drawn again.
    """
    if not noise_stds:
        return []
    mu = math.sqrt(math.fsum(2 / std**2 for std in noise_stds))
    # Gaussian releases are one Gaussian release; rounded in favour of a higher charge.
    return [_records(message, (1 - 1e-12) / mu, seeded)]


def _records(message: str, noise_multiplier: float, seeded: bool) -> Charge:
    event: Event = Seeded() if seeded else Gaussian(noise_multiplier)
    return Charge(Protected.RECORDS, message, event, 1, Observer.OWNER, Unit.REPLACE_RECORD)

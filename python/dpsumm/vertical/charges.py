"""What an owner's releases cost its records."""

from __future__ import annotations

import math
from collections.abc import Sequence

from dpsumm.privacy.events import Charge, Event, Gaussian, Observer, Protected, Seeded, Unit


def run_charges(noise_multiplier: float, *, seeded: bool) -> list[Charge]:
    """Return what a run may cost an owner, as one Gaussian release of that noise multiplier."""
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

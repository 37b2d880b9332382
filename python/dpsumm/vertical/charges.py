"""The cost of an owner's releases to its records."""

from __future__ import annotations

import math
from collections.abc import Sequence

from dpsumm.privacy.events import Charge, Protected
from dpsumm.privacy.release import Bound, Query, Sums

# One replaced record moves two cells of a table by one. The float lies above the root.
MOVED = Bound(math.sqrt(2))


def run_charges(noise_multiplier: float, *, seeded: bool) -> Sequence[Charge]:
    """Return the largest cost of a run to an owner, as one Gaussian release of that multiplier."""
    query = Query.at(MOVED, noise_multiplier, seed=0 if seeded else None)
    return Sums([query], Protected.RECORDS, "the whole run").charges


def table_sums(message: str, tables: Sequence[tuple[float, int | None]]) -> Sums:
    """Return the noisy tables of an owner. Without a table there is no charge.

    Towards another owner, who may know the second noise of a table that both count. The analyst
    sees the same numbers and knows neither noise, so the charge covers the analyst, too.

    Parameters
    ----------
    tables
        Of each the standard deviation of the owner's noise, and its seed, if it can be drawn again.
    """
    queries = [Query.with_std(MOVED, std, seed=seed) for std, seed in tables]
    return Sums(queries, Protected.RECORDS, message)

"""Auxiliary points that are parties' own records, which are then neither public nor protected.

Told to the caller of `dpsumm.learn` alone, who holds all data in one process. It may hang on one
record, so it is in no result: not in a model, its report or its predictions, nor in a log.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from dpsumm.report.notes import Note
from dpsumm.report.numbers import percent

# Part of the auxiliary points that must be records of parties, and how many times what chance
# makes, before anything is said.
MUCH, TIMES = 0.1, 2.0
# Upper bound on a mean of equal pairs of which c were seen: c + 5 sqrt(c) + 14, exceeded with
# probability 1e-6 by a Poisson law.
_ERRORS, _LEAST = 5.0, 14.0


def copies_note(
    auxiliary: NDArray[np.float64], parties: Iterable[NDArray[np.float64]]
) -> Note | None:
    """Return a warning if points equal parties' records more often than coarse rows do by chance.

    Parameters
    ----------
    auxiliary : (N, d)
        The auxiliary points.
    parties : each (n, d)
        The parties' records, in the same space.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> records = [rng.normal(size=(100, 2)) for _ in range(3)]
    >>> copies_note(rng.normal(size=(50, 2)), records)
    >>> copies_note(np.concatenate([records[0][:30], records[1][:20]]), records).severity.name
    'WARNING'
    """
    points = Counter(_rows(auxiliary))
    distinct = [set(_rows(records)) for records in parties]
    held = Counter(row for rows in distinct for row in rows)
    found = sum(count for row, count in points.items() if row in held)
    n, sizes = len(auxiliary), [len(rows) for rows in distinct]
    apart = (sum(sizes) ** 2 - sum(size**2 for size in sizes)) / 2
    shared = _pairs(held.values())
    # How often a point equals a record by chance: as points equal each other, or as records of
    # different parties do, of which there are many more.
    among = _pairs(points.values()) / max(n * (n - 1) / 2, 1)
    between = (shared + _ERRORS * math.sqrt(shared) + _LEAST) / max(apart, 1)
    by_chance = n * min(1.0, sum(sizes) * max(among, between))
    if found <= max(MUCH * n, TIMES * by_chance):
        return None
    return Note(
        f"{percent(found / n)} of the auxiliary points equal a record of a party in every column. "
        "Parties' own records are not public, and nothing protects them as auxiliary points: give "
        "other points. You are told since you hold all data here; it stands in no result."
    )


def _rows(points: NDArray[np.float64]) -> list[bytes]:
    # Adding 0 makes of -0 what it equals.
    return [row.tobytes() for row in points + 0.0]


def _pairs(counts: Iterable[int]) -> float:
    return sum(count * (count - 1) for count in counts) / 2

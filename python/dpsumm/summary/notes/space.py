"""How far from everybody else's the points are that an owner sent: a look at pool and target.

For curator and consumer alone. Nothing is sent. An owner whose rows were invented without knowing
the data has points where no other owner has any, and far from one another. One whose data are only
shifted has them as close together as others' points are.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsumm.basics.checks import listed
from dpsumm.report.notes import Note, Severity
from dpsumm.summary.protocols import Selection, Setting

Array = NDArray[np.float64]

# An owner with fewer points is not judged; of all owners, and of all that they are compared with,
# so many points are looked at.
LEAST_POINTS, MOST_POINTS, MOST_OTHERS = 16, 2_000, 6_000
# Of others' points, so many are closer than that to their neighbour.
USUAL = 0.9
# An owner's remoteness above which its points are worth a look.
REMOTE = 1.0


def space_notes(selection: Selection, setting: Setting) -> list[Note]:
    """Warn of owners most of whose points are where no other owner and no target record is."""
    pool = selection.pool
    if len(pool.owner) == sum(setting.n_records.values()):
        return []  # all records, not what an owner chose to offer
    found = remoteness(pool.scaled, pool.owner, setting.target, len(setting.names), above=REMOTE)
    names = [name for name, value in zip(setting.names, found, strict=True) if value > REMOTE]
    if not names:
        return []
    return [
        Note(
            f"Most points of {listed(names)} lie where no other owner has any and no target record "
            f"is, and far from one another. Data of another unit or kind look so, and rows that "
            f"were invented: ask where they come from.",
            Severity.WARNING,
        )
    ]


def remoteness(
    pool: NDArray[Any],
    owner: NDArray[np.int64],
    target: NDArray[Any],
    n_owners: int,
    above: float = 0.0,
) -> Array:
    """Return by owner how remote its points are: (n_owners,), NaN for one with few points.

    The median distance from a point of the owner to the nearest of all others, its own among them,
    in units of the distance that nine of ten points of the target, and of a middling other owner,
    have to their nearest among as many points of their own. Above 1 most of the owner's points are
    where no others are. A value of at most `above` may be given too large, up to that, since an
    owner whose own points are as close to each other is not compared.
    """
    most = max(LEAST_POINTS, MOST_POINTS // n_owners)
    samples = [_some(pool[owner == i], most) for i in range(n_owners)]
    alone = {i: nearest(own) for i, own in enumerate(samples) if len(own) >= LEAST_POINTS}
    # Most owners have as many points looked at as each other, so that these are their own.
    spacings = {
        count: (
            {
                i: _at(USUAL, near if len(near) <= count else nearest(_some(samples[i], count)))
                for i, near in alone.items()
            },
            _at(USUAL, nearest(_some(target, count))) if len(target) >= LEAST_POINTS else math.nan,
        )
        for count in set(map(len, alone.values()))
    }
    found = np.full(n_owners, np.nan)
    for i, near in alone.items():
        usual, of_target = spacings[len(near)]
        known = [one for place, one in usual.items() if place != i]
        unit = max(of_target, _at(0.5, np.array(known)) if known else 0.0)
        if unit <= 0:
            continue
        found[i] = _at(0.5, near) / unit
        if found[i] > above:
            others = [_some(part, MOST_OTHERS) for part in (pool[owner != i], target)]
            closest = np.minimum(near, nearest(samples[i], np.concatenate(others)))
            found[i] = _at(0.5, closest) / unit
    return found


def nearest(points: Array, others: Array | None = None) -> Array:
    """Return the distance from each point to the nearest of others, or of the other points."""
    # Coordinates far from 0 would be most of the squares, and their rounding most of a distance.
    middle = (points if others is None else others).mean(axis=0)
    points = points - middle
    to = points if others is None else others - middle
    # The nearest has the largest of these.
    products = points @ to.T
    products -= (to * to).sum(axis=1) / 2
    if others is None:
        np.fill_diagonal(products, -np.inf)
    squared = (points * points).sum(axis=1) - 2 * products.max(axis=1)
    distances: Array = np.sqrt(np.maximum(squared, 0.0))
    return distances


def _at(share: float, values: Array) -> float:
    """Return a quantile. Of few values NumPy's own function takes several times as long."""
    values, place = np.sort(values), share * (len(values) - 1)
    low, high = values[math.floor(place)], values[math.ceil(place)]
    return float(low + (high - low) * (place % 1))


def _some(points: NDArray[Any], most: int) -> Array:
    """Return at most so many of the points, evenly from first to last, as doubles."""
    if len(points) > most:
        points = points[np.linspace(0, len(points) - 1, most).astype(np.int64)]
    return np.ascontiguousarray(points, np.float64)

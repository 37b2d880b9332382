"""What else finds lookalikes of private records: the nearest of one or of several private centres.

The target's centres are released once, and each owner sends its records that are nearest to any of
them, as many as Offers would read. Centres are those of DPLloyd (Su, Cao, Li, Bertino & Jin 2016),
with Gaussian noise as the default of dpsumm has. The bound on a record's norm is the median norm of
the owners' records, for which the rivals are charged nothing here.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpsumm.privacy import accounting
from evidence.problem import Floats

ROUNDS = 3


def private_centres(
    target: Floats, count: int, bound: float, epsilon: float, rng: np.random.Generator
) -> Floats:
    """Return (count, c) centres of the target at (epsilon, 1e-5), one record replaced.

    A record of norm at most `bound` that is replaced moves the sums and `bound` times the counts by
    2 `bound` at most, in the same cluster or in another. One centre is the noisy mean, and needs
    one round. A test of usefulness needs no exact sampler.
    """
    norms = np.linalg.norm(target, axis=1, keepdims=True)
    points = target * np.minimum(1, bound / np.maximum(norms, 1e-12))
    rounds = 1 if count == 1 else ROUNDS
    multiplier = accounting.gaussian_noise_multiplier(epsilon, 1e-5)
    noise = 2 * bound * multiplier * np.sqrt(rounds)
    centres = rng.normal(size=(count, points.shape[1]))
    centres *= bound / np.linalg.norm(centres, axis=1, keepdims=True)
    for _ in range(rounds):
        member = np.eye(count)[distances(points, centres).argmin(axis=1)]
        # The number of records is public, and so is that of a single cluster.
        counts = member.sum(axis=0) + (count > 1) * rng.normal(0, noise / bound, count)
        sums = member.T @ points + rng.normal(0, noise, centres.shape)
        centres = sums / np.maximum(counts, 1.0)[:, None]
        norms = np.linalg.norm(centres, axis=1, keepdims=True)
        centres *= np.minimum(1, bound / np.maximum(norms, 1e-12))
    return centres


def distances(points: Floats, centres: Floats) -> Floats:
    """Return the squared distances (n, count)."""
    squares = (points**2).sum(axis=1)[:, None] + (centres**2).sum(axis=1)
    return np.asarray(squares - 2 * points @ centres.T)


def nearest(
    owners: list[Floats], centres: Floats, reads: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return places among all owners' records that are read, nearest first, and their distances."""
    each = -(-reads // len(owners))
    places, found, start = [], [], 0
    for points in owners:
        near = distances(points, centres).min(axis=1)
        rows = np.argsort(near)[:each]
        places.append(start + rows)
        found.append(near[rows])
        start += len(points)
    far = np.concatenate(found)
    order = np.argsort(far)
    return np.concatenate(places)[order], far[order]

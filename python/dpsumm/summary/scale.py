"""Distances to compare a summary's distance to the target with.

For curator and consumer. Computed from raw data after everything was sent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsumm import kernels

# Of the points read, so many stand for all: their number is squared.
MOST_POOL = 2000


@dataclass(frozen=True)
class Scale:
    """Distances (MMD^2) next to that of a summary of p points.

    A summary was fitted to the m target records given, so its distance to them says less than
    theirs to the distribution that they come from. With the target's own sampling error added
    (`to_distribution`) it is compared with fresh records, which were fitted to nothing.

    Attributes
    ----------
    fresh
        Expected for p fresh records of the target's distribution, from that distribution.
    random
        Expected for p random ones of the read points, from the target records given. None if no
        read point was left out.
    pool
        Of all read points, from the target records given.
    """

    fresh: float
    random: float | None
    pool: float
    sampling: float

    def to_distribution(self, mmd2: float) -> float:
        """Return about how far from the target's distribution a summary may be, as an MMD^2.

        The distance to the records given plus what their sampling error is expected to be: an
        estimate, not a bound. The records of one run can be a worse sample than most.
        """
        return mmd2 + self.sampling


def scale_of(
    target: NDArray[Any], target_self: float, pool: NDArray[Any], size: int, gamma: float
) -> Scale:
    """Return what the distance of `size` points chosen from a pool is to be compared with.

    The expectation for p independent draws from any sample X is
    ``MMD^2(X, target) + (1 - mean k(X, X)) / p``. Of a pool of more than 2000 points some at equal
    steps stand for all.
    """
    spread = max(1 - target_self, 0.0)
    shown = np.ascontiguousarray(pool[:: -(-len(pool) // MOST_POOL)])
    own = kernels.mean_kernel_self(shown, gamma)
    apart = float(kernels.kernel_means(shown, target, gamma).mean())
    distance = max(own - 2 * apart + target_self, 0.0)
    random = distance + (1 - own) / size if size < len(pool) else None
    return Scale(spread / size, random, distance, spread / len(target))

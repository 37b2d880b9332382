"""What a summary's distance to the target is to be compared with, and the verdict that follows.

For curator and consumer: computed from raw data after everything was sent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsumm import kernels
from dpsumm.report.verdict import Verdict

# Of the points read, so many stand for all: their number is squared.
MOST_POOL = 2000
# A summary is close if it is at most so many times as far as fresh records would be.
CLOSE = 1.5


@dataclass(frozen=True)
class Scale:
    """Distances (MMD^2) beside that of a summary of p points.

    A summary was fitted to the m target records given, so its distance to them says less than
    theirs to the distribution that they come from. With the target's own sampling error added
    (`to_distribution`) it is compared with fresh records, which were fitted to nothing.

    Attributes
    ----------
    fresh
        Expected for p fresh records of the target's distribution, from that distribution.
    random
        Expected for p random ones of the points read, from the target records given; None if no
        point read was left out.
    pool
        Of all points read, from the target records given.
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

    def verdict(self, mmd2: float) -> str:
        """Return in some words how close a summary at this distance is, and why."""
        return self.judged(mmd2).text

    def judged(self, mmd2: float) -> Verdict:
        """Return `verdict` in its two halves."""
        far = self.to_distribution(mmd2)
        # The sampling error is an average: below 1 a number would promise more than is known.
        times = f"{far / self.fresh:.2g} times" if self.fresh > 0 else "more than"
        times = "about" if far < self.fresh else times
        fresh = (
            f"the distance, with the target's sampling error, is {times} what as many fresh target "
            "records would be expected to have"
        )
        if self.is_close(mmd2):
            return Verdict("close to the target", fresh)
        if self.is_close_to_records(mmd2):
            return Verdict("close to the target records given, too few to tell more", fresh)
        if self.random is None:
            return Verdict("not close to the target", fresh)
        if mmd2 >= self.random:
            return Verdict("poor", "random ones of the points read would be no further away")
        random = (
            f"random ones of the points read would be {self.random / mmd2:.2g} times as far away"
        )
        return Verdict("on the way to the target", f"{random}, and {fresh}")

    def is_close(self, mmd2: float) -> bool:
        """Return whether a summary is about as close as as many fresh records would be.

        Never if there are many more points than target records: then nothing tells.
        """
        return self.to_distribution(mmd2) <= CLOSE * self.fresh

    def is_close_to_records(self, mmd2: float) -> bool:
        """Return whether a summary is close to the records given, and nothing tells more.

        Fresh ones would be as far from these as from the distribution, and these are from it. Only
        of fewer records than points: the sampling error of more is too small to hide anything.
        """
        return self.sampling > self.fresh and mmd2 <= CLOSE * (self.fresh + self.sampling)

    def point(self, mmd2: float, points: str) -> str:
        """Return the verdict as one sentence for whoever reads no other, of `points` in words."""
        if self.is_close(mmd2):
            how = "the target about as well as fresh target records would"
        elif self.is_close_to_records(mmd2):
            how = (
                "the target records given, which are too few to tell whether fresh ones would be "
                "closer to where they come from"
            )
        elif self.random is None:
            how = "the target less than fresh target records would"
        elif mmd2 >= self.random:
            how = "the target no more than random ones would"
        else:
            how = "the target more than random ones would, and less than fresh target records would"
        return f"These {points} resemble {how}."


def scale_of(
    target: NDArray[Any], target_self: float, pool: NDArray[Any], size: int, gamma: float
) -> Scale:
    """Return what the distance of `size` points chosen from a pool is to be compared with.

    The expectation for p independent draws from any sample X is
    ``MMD^2(X, target) + (1 - mean k(X, X)) / p``; of a pool of more than 2000 points some at equal
    steps stand for all.
    """
    spread = max(1 - target_self, 0.0)
    shown = np.ascontiguousarray(pool[:: -(-len(pool) // MOST_POOL)])
    own = kernels.mean_kernel_self(shown, gamma)
    apart = float(kernels.kernel_means(shown, target, gamma).mean())
    distance = max(own - 2 * apart + target_self, 0.0)
    random = distance + (1 - own) / size if size < len(pool) else None
    return Scale(spread / size, random, distance, spread / len(target))

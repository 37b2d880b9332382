"""A split of data: what a method gets, and what it is judged on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsumm import RBF, Schema, kernels

Floats = NDArray[np.float32] | NDArray[np.float64]


@dataclass(frozen=True)
class Labelled:
    """Points (n, c) and their labels (n,)."""

    points: Floats
    labels: NDArray[Any]

    def take(self, rows: NDArray[np.integer]) -> Labelled:
        """Return some rows."""
        return Labelled(self.points[rows], self.labels[rows])


@dataclass(frozen=True)
class Problem:
    """What a method gets, and what it is judged on.

    Attributes
    ----------
    owners
        Each owner's data.
    target
        The consumer's points.
    fresh
        Points of the target's distribution that no method sees.
    oracle
        As many more as the summary has, fewer if there are no more: a summary that no owner gave.
    kernel
        By public facts.
    schema
        What the columns are; None for points that are in the kernel's space already.
    target_labels
        The consumer's, for what looks at them.
    """

    owners: tuple[Labelled, ...]
    target: Floats
    fresh: Labelled
    oracle: Labelled
    kernel: RBF
    schema: Schema | None = None
    target_labels: NDArray[Any] | None = None

    def seen(self, points: Floats) -> Floats:
        """Return points as the kernel sees them."""
        return points if self.schema is None else self.schema.encode(points)

    @cached_property
    def fresh_noise(self) -> float:
        """What the sampling of the n fresh points F adds to MMD^2, (1 - mean k(F, F)) / (n - 1).

        Without it, the mean over pairs of different fresh points takes the place of that over all
        pairs, and the expected value is MMD^2 to their distribution.
        """
        points = self.seen(self.fresh.points)
        return (1 - kernels.mean_kernel_self(points, self.kernel.gamma)) / (len(points) - 1)


def split(
    owners: Sequence[Labelled],
    like_target: Labelled,
    m: int,
    size: int,
    kernel: RBF,
    rng: np.random.Generator,
    schema: Schema | None = None,
) -> Problem:
    """Split points like the target into target, oracle and fresh; a third at least stays fresh."""
    order = rng.permutation(len(like_target.labels))
    n_oracle = max(min(size, (len(order) - m) // 2), 1)
    target, oracle, fresh = np.split(order, [m, m + n_oracle])
    if len(fresh) < 20:
        raise ValueError(f"only {len(fresh)} fresh points are left; take a smaller m")
    return Problem(
        tuple(owners),
        like_target.points[target],
        like_target.take(fresh),
        like_target.take(oracle),
        kernel,
        schema,
        like_target.labels[target],
    )

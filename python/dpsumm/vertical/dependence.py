"""Which columns are seen to depend on each other beyond noise. By the noisy tables alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsumm.vertical.layout import Released
from dpsumm.vertical.merged import all_counts, counts_by_pair

Floats = NDArray[np.float64]

# From how many standard deviations of noise and sampling on two columns are seen to depend on each
# other.
SEEN = 3.0


@dataclass(frozen=True)
class Dependence:
    """Of the columns of one two-way table.

    Attributes
    ----------
    squares
        Sum over cells of the squared count that independence leaves, after both directions were
        centred.
    noise, sampling
        What the noise makes of it on average, and what as many records of independent columns do.
    spread
        Standard deviation of both.
    """

    squares: float
    noise: float
    sampling: float
    spread: float

    @property
    def seen(self) -> bool:
        """Whether it is beyond what both explain.

        Their sum of squares is about a chi-square of this mean and spread. Its quantile is that of
        Wilson and Hilferty (1931).
        """
        mean = self.noise + self.sampling
        if not mean:
            return False
        ninth = (self.spread / mean) ** 2 / 9
        return self.squares > mean * (1 - ninth + SEEN * math.sqrt(ninth)) ** 3


def dependences(released: Released) -> list[Dependence]:
    """Return how far each pair of columns is from independence, in the order of the plan's pairs.

    The counts of one column are those of all other tables that count it. So their noise is not
    that of the pair's own table.
    """
    whole = [all_counts(released, j) for j in range(len(released.codes))]
    found = []
    for index, pair in enumerate(released.plan.pairs):
        counts, variances = [], []
        for column in pair:
            weight, total = whole[column]
            own, part = counts_by_pair(released, index, column)
            counts.append((total - part) / (weight - own))
            variances.append(1 / (weight - own))
        found.append(_dependence(released, index, counts, variances))
    return found


def hidden_pairs(released: Released) -> list[tuple[int, int]]:
    """Return the pairs in which only noise is seen beyond independence."""
    pairs = zip(released.plan.pairs, dependences(released), strict=True)
    return [pair for pair, found in pairs if not found.seen]


def unexplained(table: NDArray[Any], records: float, one: Floats, other: Floats) -> Floats:
    """Return a table less that of independent columns with these shares, centred both ways.

    Most of the error in the shares is in the means that centring removes. All sums are exact, so
    every processor returns the same bits.
    """
    down, across = table.shape
    rest: Floats = table - records * np.outer(one, other)
    rest -= np.array([math.fsum(row) / across for row in rest])[:, None]
    rest -= np.array([math.fsum(column) / down for column in rest.T])
    return rest


def _dependence(
    released: Released, index: int, counts: list[Floats], variances: list[Floats]
) -> Dependence:
    table = released.pairs[released.plan.pairs[index]]
    n, noise = released.n_records, released.plan.variance(index)
    one, other = (column / n for column in counts)
    rest = unexplained(table, n, one, other)
    free = (len(one) - 1) * (len(other) - 1)
    errors = [
        variances[0] * (1 - 1 / len(one)) * _squares(other - other.mean()),
        variances[1] * (1 - 1 / len(other)) * _squares(one - one.mean()),
    ]
    # Of records of independent columns. Rows and columns of it sum to 0, so fewer numbers than
    # cells vary, and their sum spreads more.
    sampled = n * np.outer(_bernoulli(one), _bernoulli(other))
    sampling = float(sampled.sum())
    spread = (
        2 * noise**2 * free
        + 2 * sum(_squares(error) for error in errors)
        + 2 * _squares(sampled) * sampled.size / free
        + 4 * noise * sampling
    )
    whole = noise * free + float(sum(error.sum() for error in errors))
    return Dependence(_squares(rest), whole, sampling, math.sqrt(spread))


def _squares(values: Floats) -> float:
    return float((values**2).sum())


def _bernoulli(shares: Floats) -> Floats:
    """Return the variance of whether a record has each level. Noisy shares may lie beyond 0, 1."""
    inside = shares.clip(0.0, 1.0)
    result: Floats = inside * (1.0 - inside)
    return result

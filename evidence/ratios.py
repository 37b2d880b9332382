"""How much closer or farther than the greedy on all data: ratios of mean MMD^2, with intervals."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import exp, inf, log, nan, sqrt

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evidence.methods import GREEDY


@dataclass(frozen=True)
class Ratio:
    """A ratio of expected values.

    Attributes
    ----------
    value
        Ratio of the means over splits.
    low, high
        95 % interval, from 0 up; 0 and infinity if the splits say nothing, NaN for a single split.
    error
        Standard error of the logarithm.
    """

    value: float
    low: float
    high: float
    error: float


Ratios = dict[tuple[str, str], Ratio]  # (scenario, method) -> ratio


def ratios(table: pl.DataFrame, column: str = "mmd2", base: str = "mmd2") -> Ratios:
    """Return each method's MMD^2 over the greedy's (`base`), in the same scenario and splits.

    MMD^2 is to the target's *distribution*: without the noise of the fresh points. Such estimates
    can be below 0 in one split, so means are taken before the ratio.
    """
    keys = ["scenario", "seed"]
    greedy = table.filter(pl.col("method") == GREEDY)
    greedy = greedy.select(*keys, base=pl.col(base) - pl.col("fresh_noise"))
    joined = table.with_columns(mine=pl.col(column) - pl.col("fresh_noise")).join(greedy, on=keys)
    parts = joined.drop_nulls(["mine", "base"]).sort("seed").group_by("scenario", "method")
    return {
        (str(key[0]), str(key[1])): ratio(part["mine"].to_numpy(), part["base"].to_numpy())
        for key, part in parts
    }


def ratio(above: NDArray[np.float64], below: NDArray[np.float64]) -> Ratio:
    """Return mean(above) / mean(below) of pairs (n,), with Fieller's interval (1954).

    It holds for means that are normal, whatever the denominator's distance from 0, and is unbounded
    where the denominator cannot be told from 0.
    """
    from scipy import stats

    n, a, b = len(above), float(above.mean()), float(below.mean())
    if n < 2:
        return Ratio(a / b, nan, nan, nan)
    error = sqrt(np.square(above / a - below / b).sum() / (n * (n - 1)))
    t2 = float(stats.t.ppf(0.975, n - 1)) ** 2
    (aa, ab), (_, bb) = np.cov(above, below) / n
    # The ratios r for which the mean of above - r * below is not significantly different from 0.
    square, half, rest = b * b - t2 * bb, a * b - t2 * ab, a * a - t2 * aa
    if square <= 0:
        return Ratio(a / b, 0.0, inf, error)
    root = sqrt(max(half * half - square * rest, 0.0))
    return Ratio(a / b, max((half - root) / square, 0.0), max((half + root) / square, 0.0), error)


def overall(found: Iterable[Ratio]) -> Ratio | None:
    """Return the geometric mean of scenarios' ratios, if all are above 0; interval for them alone.

    The interval tells what other splits of the same scenarios would give, not other scenarios.
    """
    every = list(found)
    if not every or min(r.value for r in every) <= 0:
        return None
    middle = float(np.mean([log(r.value) for r in every]))
    error = sqrt(sum(r.error**2 for r in every)) / len(every)
    return Ratio(exp(middle), exp(middle - 1.96 * error), exp(middle + 1.96 * error), error)

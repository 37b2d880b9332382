"""How close rows are to the noisy tables of pairs, by post-processing of releases.

Most of a distance to a noisy table is the table's own noise. So each distance comes with the one
that noise alone would make.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpsumm.kernels import pair_counts
from dpsumm.vertical.dependence import dependences
from dpsumm.vertical.label_model import LabelModel
from dpsumm.vertical.layout import Released
from dpsumm.vertical.pooled import Pooled

# Rows that are drawn to see what rows look like, and the seed of that draw: it touches no privacy.
_DRAWN, _SEED = 100_000, 0


@dataclass(frozen=True)
class PairFidelity:
    """Two columns.

    Attributes
    ----------
    distance
        Total variation between rows and noisy counts. Above 1 where these are mostly noise.
    noise
        What the noise of the counts alone makes of it, on average.
    released, rows
        How far the columns are from independence, by the noisy table less its noise and in the
        rows. This is the root of the sum of squared differences of shares.
    """

    pair: tuple[int, int]
    distance: float
    noise: float
    seen: bool
    released: float
    rows: float


def drawn_rows(model: Pooled, label: LabelModel | None) -> NDArray[np.uint32]:
    """Return levels of rows of the models, (n, columns), to see what rows look like."""
    drawn = model.draw(_DRAWN, seed=_SEED)
    if label is not None:
        drawn[:, label.label] = label.draw(drawn, np.random.default_rng(_SEED))
    return drawn


def fidelity_of(released: Released, drawn: NDArray[np.uint32]) -> tuple[PairFidelity, ...]:
    """Return how close drawn rows are to the released tables of pairs."""
    plan, n = released.plan, released.n_records
    if not plan.pairs:
        return ()
    active = [j for j, size in enumerate(plan.sizes) if size > 1]
    starts = np.cumsum([0, *(plan.sizes[j] for j in active)])
    codes = [released.codes[j][drawn[:, j]] + starts[k] for k, j in enumerate(active)]
    together = pair_counts(np.stack(codes, axis=1), int(starts[-1])) / len(drawn)
    place = {j: slice(starts[k], starts[k + 1]) for k, j in enumerate(active)}
    pairs = []
    for index, ((i, j), found) in enumerate(zip(plan.pairs, dependences(released), strict=True)):
        table, std = released.pairs[i, j] / n, math.sqrt(plan.variance(index))
        rows = together[place[i], place[j]]
        pairs.append(
            PairFidelity(
                (i, j),
                distance=float(np.abs(rows - table).sum()) / 2,
                noise=_absolute(std, table.size) / (2 * n),
                seen=found.seen,
                released=math.sqrt(max(found.squares - found.noise, 0.0)) / n,
                rows=float(np.linalg.norm(rows - np.outer(rows.sum(1), rows.sum(0)))),
            )
        )
    return tuple(pairs)


def _absolute(std: float, cells: int) -> float:
    """Return the mean of the sum of absolute values of the noise in so many cells."""
    return math.sqrt(2 / math.pi) * std * cells

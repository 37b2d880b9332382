"""One half of the model: a mixture of products, fitted to released tables.

Post-processing of noisy tables: no further cost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpsumm.kernels import fit_mixture, sample_mixture
from dpsumm.vertical.layout import Released
from dpsumm.vertical.merged import code_variance, level_shares, merged_counts


@dataclass(frozen=True)
class Fitting:
    """How the model is fitted. See `kernels.fit_mixture`."""

    components: int
    step: float
    init: float
    stop: float
    max_steps: int


@dataclass(frozen=True, eq=False)
class Mixture:
    """Records drawn from one of K products of independent columns.

    Attributes
    ----------
    pi : (K,)
        Weights of the products.
    theta : (K, W)
        Shares of the levels of each column, one column after another.
    sizes
        Levels of the columns.
    steps, chi2
        How far the fit came: chi-square for each two-way cell, 1 where it is as large as the noise.

    See Also
    --------
    dpsumm.synthesize : Fits one. Its example runs.
    dpsumm.vertical.Chain : The other half of the model.
    """

    pi: NDArray[np.float64]
    theta: NDArray[np.float64]
    sizes: tuple[int, ...]
    steps: int
    chi2: float

    def draw(
        self, n: int, given: Sequence[int | None] | None = None, seed: int | None = None
    ) -> NDArray[np.uint32]:
        """Return the levels of n records, (n, columns). See `kernels.sample_mixture`."""
        return sample_mixture(self.pi, self.theta, self.sizes, n, given=given, seed=seed)


def fit(released: Released, fitting: Fitting) -> Mixture:
    """Return the mixture whose tables are the released ones, up to their noise."""
    plan, n = released.plan, released.n_records
    columns = [j for j, size in enumerate(plan.sizes) if size > 1]
    starts = dict(zip(columns, np.cumsum([0, *(plan.sizes[j] for j in columns)]), strict=False))
    width = sum(plan.sizes[j] for j in columns)
    if not columns:
        return _spread(released, np.ones(1), np.ones((1, 0)), {}, 0, 0.0)
    pairs, weights = np.zeros((width, width)), np.zeros((width, width))
    for index, (i, j) in enumerate(plan.pairs):
        rows = slice(starts[i], starts[i] + plan.sizes[i])
        across = slice(starts[j], starts[j] + plan.sizes[j])
        pairs[rows, across] = released.pairs[i, j] / n
        pairs[across, rows] = pairs[rows, across].T
        weights[rows, across] = n**2 / plan.variance(index)
        weights[across, rows] = n**2 / plan.variance(index)
    singles = np.concatenate([merged_counts(released, j) for j in columns]) / n
    variance = np.concatenate([code_variance(released, j) for j in columns])
    fitted = fit_mixture(
        [plan.sizes[j] for j in columns],
        pairs,
        weights,
        singles,
        n**2 / variance,
        components=fitting.components,
        step=fitting.step,
        init=fitting.init,
        stop=fitting.stop,
        max_steps=fitting.max_steps,
    )
    return _spread(released, fitted.pi, fitted.theta, starts, fitted.steps, fitted.chi2)


def _spread(
    released: Released,
    pi: NDArray[np.float64],
    theta: NDArray[np.float64],
    starts: dict[int, int],
    steps: int,
    chi2: float,
) -> Mixture:
    """Give the levels that share a code their parts of it, by their noisy counts."""
    parts = []
    for j, codes in enumerate(released.codes):
        share = theta[:, starts[j] + codes] if j in starts else np.ones((len(pi), len(codes)))
        parts.append(share * level_shares(released, j))
    sizes = tuple(len(counts) for counts in released.singles)
    return Mixture(pi, np.hstack(parts), sizes, steps, chi2)

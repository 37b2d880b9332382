"""One half of the model: a chain of columns, each drawn by a regression on those before it.

Post-processing of noisy tables: no further cost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from dpsumm.kernels import fit_softmax, softmax_shares
from dpsumm.vertical.label_fit import moments_of, projected, signal_of
from dpsumm.vertical.layout import Released
from dpsumm.vertical.merged import best_shares, drawn_codes, drawn_levels, level_shares

Floats = NDArray[np.float64]

# Rows that it is fitted on, and the seed of their draw: it touches no privacy.
_ROWS, _SEED = 15_000, 0
# What is drawn from it has a stream of its own: others begin with the same seed.
_STREAM = 1


@dataclass(frozen=True, eq=False)
class Link:
    """How a column's codes follow from those of columns before it.

    Attributes
    ----------
    before
        Columns that it depends on. None for the first.
    sizes
        How many codes each of them has.
    weights : (sum of sizes, K)
        Of their codes, one column after another.
    start : (K,)
        Shares of its own codes.
    """

    column: int
    before: tuple[int, ...]
    sizes: tuple[int, ...]
    weights: Floats = field(repr=False)
    start: Floats = field(repr=False)

    def draw(self, codes: NDArray[np.uint32], rng: np.random.Generator) -> NDArray[np.int64]:
        """Return a code for each record of these codes, (n,)."""

        def shares(part: NDArray[np.uint32]) -> Floats:
            if not self.before:
                return np.broadcast_to(self.start, (len(part), len(self.start)))
            return softmax_shares(part[:, self.before], self.sizes, self.weights, self.start)

        return drawn_codes(codes, shares, rng)


@dataclass(frozen=True, eq=False)
class Chain:
    """Columns one after another, each drawn given all before it.

    Attributes
    ----------
    links
        In the order in which columns are drawn.
    released
        The tables that it was fitted to.

    See Also
    --------
    dpsumm.synthesize : Fits one. Its example runs.
    dpsumm.vertical.Mixture : The other half of the model.
    """

    links: tuple[Link, ...]
    released: Released = field(repr=False)

    def draw(
        self, n: int, given: Sequence[int | None] | None = None, seed: int | None = None
    ) -> NDArray[np.uint32]:
        """Return the levels of n records, (n, columns).

        Parameters
        ----------
        given
            A level for each column, or None. All records have these levels, and the other columns
            are drawn given them, by a chain that begins with these columns.
        seed
            Repeats a draw.
        """
        known = {j: level for j, level in enumerate(given or ()) if level is not None}
        if set(known) != {link.column for link in self.links[: len(known)]}:
            return fit_chain(self.released, first=tuple(known)).draw(n, given, seed)
        rng = np.random.default_rng(None if seed is None else (seed, _STREAM))
        codes, levels = (np.zeros((n, len(self.links)), np.uint32) for _ in range(2))
        for link in self.links:
            j = link.column
            code_of = self.released.codes[j]
            if (level := known.get(j)) is not None:
                codes[:, j], levels[:, j] = code_of[level], level
                continue
            drawn = link.draw(codes, rng)
            codes[:, j] = drawn
            levels[:, j] = drawn_levels(drawn, code_of, level_shares(self.released, j), rng)
        return levels


def fit_chain(released: Released, *, first: Sequence[int] = ()) -> Chain:
    """Return the chain whose tables are the released ones, up to their noise.

    Parameters
    ----------
    first
        Columns that come before all others. The label comes last, if it is not among them.
    """
    plan = released.plan
    index = {pair: k for k, pair in enumerate(plan.pairs)}
    rest = sorted(set(range(len(plan.sizes))) - set(first), key=lambda j: (j == plan.label, j))
    order, rng = [*first, *rest], np.random.default_rng(_SEED)
    codes = np.zeros((_ROWS, len(order)), np.uint32)
    links = []
    for place, j in enumerate(order):
        before = tuple(k for k in order[:place] if (min(k, j), max(k, j)) in index)
        links.append(_link(released, index, j, before, codes))
        codes[:, j] = links[-1].draw(codes, rng)
    return Chain(tuple(links), released)


def _link(
    released: Released,
    index: dict[tuple[int, int], int],
    j: int,
    before: tuple[int, ...],
    codes: NDArray[np.uint32],
) -> Link:
    """Return column j's link to columns that were drawn before it, (rows, columns)."""
    plan, n, start = released.plan, released.n_records, best_shares(released, j)
    sizes = tuple(plan.sizes[k] for k in before)
    link = Link(j, before, sizes, np.zeros((sum(sizes), len(start))), start)
    if not before:
        return link
    moments, ridges = [], []
    for k, size in zip(before, sizes, strict=True):
        pair = min(k, j), max(k, j)
        table = released.pairs[pair].astype(np.float64)
        table = projected(table.reshape(1, -1), np.array([n])).reshape(table.shape)
        table = table if k < j else table.T
        variance = np.full(size, plan.variance(index[pair]))
        signal = signal_of(table, variance, np.tile(start, (size, 1)), np.zeros(size, np.int64))
        share = np.bincount(codes[:, k], minlength=size) / len(codes)
        moment, ridge = moments_of(table, variance, n, share, start, signal)
        moments.append(moment)
        ridges.append(ridge)
    fitted = fit_softmax(codes[:, before], sizes, np.vstack(moments), np.vstack(ridges), start)
    return replace(link, weights=fitted)

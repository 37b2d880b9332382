"""The codes of all columns, by the one-way tables that were released. Post-processing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpsumm.vertical.bins import equal_mass, merged_codes
from dpsumm.vertical.consistency import consistent
from dpsumm.vertical.defaults import BINS, FINE
from dpsumm.vertical.layout import Budget, Layout
from dpsumm.vertical.noise import NoisePlan
from dpsumm.vertical.trees import Tree
from dpsumm.vertical.way import Way

# Share of the records that a bin needs at most, unless noise hides even halves. So a column has two
# bins, and tables with other columns may show what its own counts do not.
_HALF = 0.49


@dataclass(frozen=True, eq=False)
class Coded:
    """One column: what two-way tables count of it.

    Attributes
    ----------
    size
        Values of the column, as its owner has them.
    counts : (levels,)
        Of its levels: noisy ones, or those of cells that follow from a tree.
    codes : (levels,) int64
        Code of each level.
    starts : (levels,) int64
        First value of each cell of a tree. Without one, levels are values.
    fine : (levels,) int64
        Finer code of each level, for tables with the label. Those of a code follow each other.
    """

    size: int
    counts: NDArray[np.int64] | NDArray[np.float64]
    codes: NDArray[np.int64]
    starts: NDArray[np.int64] | None = None
    fine: NDArray[np.int64] | None = None

    @property
    def finest(self) -> NDArray[np.int64]:
        """Finer code of each level, or its code without finer ones."""
        return self.codes if self.fine is None else self.fine

    @property
    def by_value(self) -> NDArray[np.int64]:
        """Finest code of each value, (size,)."""
        if self.starts is None:
            return self.finest
        return np.repeat(self.finest, np.diff(self.starts, append=self.size))

    @property
    def code_of_fine(self) -> NDArray[np.int64]:
        """Code of each finest one, in order."""
        return self.codes[np.unique(self.finest, return_index=True)[1]]


def coded_columns(
    layout: Layout, budget: Budget, records: int, one_way: NDArray[np.int64], plan: NoisePlan
) -> tuple[Coded, ...]:
    """Return all columns from their noisy tables, which stand one after another."""
    trees = layout.counted_by
    ends = np.cumsum([sum(tree.lengths) for tree in trees])
    parts = np.split(one_way, ends[:-1])
    coded = []
    for j, (tree, part) in enumerate(zip(trees, parts, strict=True)):
        std = plan.std_of(j)
        if tree.size == 1:
            coded.append(Coded(1, part, np.zeros(1, np.int64)))
        elif tree.flat:
            least = budget.keep * std
            by_category = not (layout.edges and layout.edges[j])
            if budget.rare and by_category and j != layout.label:
                least = max(least, budget.rare * records)
            codes = merged_codes(part, least)
            if j == layout.label and not codes.any() and records >= std * tree.size:
                # Of one code nothing could be predicted.
                codes = np.arange(tree.size)
            coded.append(Coded(tree.size, part, codes))
        else:
            fine = layout.label not in (None, j) and budget.way is not Way.MPYC
            coded.append(_binned(tree, part, records, std, budget.keep, fine=fine))
    return tuple(coded)


def _binned(
    tree: Tree, part: NDArray[np.int64], records: int, std: float, keep: float, *, fine: bool
) -> Coded:
    starts, counts = consistent(tree, tree.cut(part), records, std)
    shares = counts / counts.sum()
    least = 2 * keep * std / records
    if records >= 2 * std:
        least = min(least, _HALF)
    codes = equal_mass(shares, BINS, least)
    if tree.missing and shares[-1] > keep * std / records:
        # Never with numbers, where it is seen.
        codes[-1] = len(codes)
        codes = np.unique(codes, return_inverse=True)[1]
    # What has one bin is in no table, so it needs no finer ones.
    if not fine or not codes.any():
        return Coded(tree.size, counts, codes, starts)
    finer = equal_mass(shares, FINE, 2 * std / records) + len(codes) * codes
    return Coded(tree.size, counts, codes, starts, np.unique(finer, return_inverse=True)[1])

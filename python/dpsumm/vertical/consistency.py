"""Counts of a column's cells that agree with each other, from a noisy tree. Post-processing.

Top-down as of Hay et al. 2010, *Boosting the accuracy of differentially private histograms through
consistency*, with the noise's empty cells dropped on the way. In a flat histogram noise adds up
over the empty tail of a skewed column, and moves its mean.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dpsumm.vertical.trees import FAN, Counts, Tree

Floats = NDArray[np.float64]

# In standard deviations of one count: nodes below are empty; cells apart are counted at every
# level, so that their mean has less noise; values above stand out of their cell.
_EMPTY, _APART, _STANDS_OUT = 2.5, 3.0, 3.5


def consistent(
    tree: Tree, tables: Sequence[Counts], records: int, std: float
) -> tuple[NDArray[np.int64], Floats]:
    """Return the first value of each cell and its records, which are `records` together.

    Cells are those of the tree. Values that stand out of their cell have one of their own.

    Parameters
    ----------
    tables
        Noisy counts, see `Tree.lengths`.
    std
        Of the noise of each.
    """
    values, nodes = (tables[0], tables[1:]) if tree.by_value else (None, tables)
    apart, starts = np.array(tree.apart, np.int64), np.array(tree.starts, np.int64)
    counts = np.zeros(len(starts))
    if len(apart):
        again = [table[-len(apart) :] for table in nodes]
        again += [] if values is None else [values[starts[apart]]]
        own = np.mean(again, axis=0)
        counts[apart] = np.where(own > _APART * std / math.sqrt(len(again)), own, 0.0)
        nodes = [table[: -len(apart)] for table in nodes]
    inner = np.delete(np.arange(len(starts)), apart)
    counts[inner] = _top_down(nodes, len(inner), max(records - counts.sum(), 0.0), std)
    counts *= records / counts.sum()
    if values is None:
        return starts, counts
    return _own_cells(tree.size, starts, counts, values, std)


def _top_down(nodes: Sequence[Counts], cells: int, records: float, std: float) -> Floats:
    """Return counts of cells, from the coarsest level down: children sum to their node."""
    above, parents = np.array([records]), np.zeros(len(nodes[-1]), np.int64)
    for k in reversed(range(len(nodes))):
        wide = FAN**k
        sizes = np.minimum(np.arange(1, len(nodes[k]) + 1) * wide, cells)
        sizes -= np.arange(len(nodes[k])) * wide
        counts = np.zeros(len(nodes[k]))
        for node in np.flatnonzero(above > 0):
            children = parents == node
            counts[children] = _split(
                nodes[k][children],
                above[node],
                sizes[children],
                std,
                near=k == 0 and len(nodes) > 1,
            )
        above, parents = counts, np.arange(len(nodes[k - 1])) // FAN
    return above


def _split(
    noisy: Counts, records: float, sizes: NDArray[np.int64], std: float, *, near: bool
) -> Floats:
    """Return children's counts that sum to their node's: the nearest without empty ones.

    Where they do not differ beyond noise, by chi-square, they are even.

    Parameters
    ----------
    near
        Whether the children are neighbouring cells. Then a low count among visible ones is kept,
        since it moves no mean. Dropped, it would be a gap that no record explains.
    """
    flat: Floats = records * sizes / sizes.sum()
    moved = noisy + (records - noisy.sum()) / len(noisy)
    free = max(len(noisy) - 1, 1)
    if (((moved - flat) / std) ** 2).sum() <= free + 2 * math.sqrt(2 * free):
        return flat
    full = moved > (0.0 if near and flat.min() >= _EMPTY * std else _EMPTY * std)
    while full.any():
        excess = (moved[full].sum() - records) / full.sum()
        if (moved[full] > excess).all():
            return np.where(full, moved - excess, 0.0)
        full &= moved > excess
    return flat


def _own_cells(
    size: int, starts: NDArray[np.int64], counts: Floats, noisy: Counts, std: float
) -> tuple[NDArray[np.int64], Floats]:
    """Give values that stand out of their cell a cell of their own, and the others the rest."""
    sizes = np.diff(starts, append=size)
    cell = np.repeat(np.arange(len(starts)), sizes)
    share = (counts / sizes)[cell]
    found = np.flatnonzero((noisy - share > _STANDS_OUT * std) & (share > 0) & (sizes[cell] > 1))
    own = np.bincount(cell[found], noisy[found], len(starts))
    others = sizes - np.bincount(cell[found], minlength=len(starts))
    # They have no more than their cell, and all of it if there are no others.
    part = counts / np.maximum(own, 1e-9)
    part = np.where(others > 0, np.minimum(1.0, part), part)
    rest = np.maximum(counts - own * part, 0.0)
    made = np.union1d(np.union1d(starts, found), found[found + 1 < size] + 1)
    widths, homes = np.diff(made, append=size), cell[made]
    density = (rest / np.maximum(others, 1))[homes]
    alone = np.isin(made, found)
    return made, np.where(alone, noisy[made] * part[homes], density * widths)

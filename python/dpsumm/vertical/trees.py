"""Which counts of one column are released: a public tree of its values. Geometry alone, no data."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dpsumm.vertical.defaults import BINS

Counts = NDArray[np.int64]

# Children of a node.
FAN = 4
# One more level of nodes for each of these that the number of cells exceeds.
DEEPER = (64, 128, 256)


@dataclass(frozen=True)
class Tree:
    """Tables of one column, each a coarser count of the same records.

    Claim: a record is in one cell of each table, so replacing it moves two cells of each by one.
    Tested by: tests/vertical/test_trees.py.

    Attributes
    ----------
    size
        Values of the column, a missing one last.
    starts
        First value of each cell. Cells are runs of values. Empty for one table of all values.
    apart
        Cells that are nodes of their own at every level.
    depth
        Levels of nodes: cells, `FAN` cells, `FAN`**2 cells.
    missing
        The last cell is a missing value's.
    """

    size: int
    starts: tuple[int, ...] = ()
    apart: tuple[int, ...] = ()
    depth: int = 1
    missing: bool = False

    @classmethod
    def of_cells(
        cls, size: int, starts: tuple[int, ...], apart: tuple[int, ...], *, missing: bool
    ) -> Tree:
        """Return the tree over cells of these first values. A small one needs no levels."""
        depth = 1 + sum(len(starts) > cells for cells in DEEPER)
        return cls(size, starts, apart if depth > 1 else (), depth, missing)

    @property
    def flat(self) -> bool:
        """Whether it is one table of all values, which is taken as it is."""
        return not self.starts

    @property
    def by_value(self) -> bool:
        """Whether every value is counted, too, since cells may hold more than one."""
        return 0 < len(self.starts) < self.size

    @property
    def codes(self) -> int:
        """Codes that are to be expected after the counts are released."""
        return self.size if self.flat else min(self.size, BINS)

    @cached_property
    def lengths(self) -> tuple[int, ...]:
        """Lengths of the tables of values if they are counted, of cells, then of coarser nodes."""
        inner = (len(self.starts) or self.size) - len(self.apart)
        nodes = [math.ceil(inner / FAN**k) + len(self.apart) for k in range(self.depth)]
        return (*([self.size] if self.by_value else []), *nodes)

    def tables(self, counts: Counts) -> list[Counts]:
        """Return the tables of records from the counts of each value, (size,)."""
        cells = np.add.reduceat(counts, self.starts) if self.starts else counts
        apart = np.array(self.apart, np.int64)
        inner, own = np.delete(cells, apart), cells[apart]
        nodes = [
            np.concatenate([np.add.reduceat(inner, np.arange(0, len(inner), FAN**k)), own])
            for k in range(self.depth)
        ]
        return [counts, *nodes] if self.by_value else nodes

    def cut(self, numbers: Counts) -> list[Counts]:
        """Return the tables that stand one after another in `numbers`."""
        return np.split(numbers, np.cumsum(self.lengths)[:-1])

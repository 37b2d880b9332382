"""The public columns of a run, its budget, and its releases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dpsumm.vertical.noise import NoisePlan, plan_noise
from dpsumm.vertical.trees import Tree
from dpsumm.vertical.way import Way

# The party that deals pads; no owner may have this name.
HELPER = "helper"
# Owners of the same columns as the one holder of them, whose tables are the sums of theirs.
ALL_OWNERS = "all owners"


@dataclass(frozen=True)
class Layout:
    """The public columns of all owners, in order.

    Attributes
    ----------
    sizes
        Levels of each column as its owner codes records. Of a grid its values.
    trees
        Tables that count each column. One by default.
    pairs
        Pairs of columns that the rows are for, (i, j) with i < j.
    same_columns
        Every owner holds all columns, of records of its own.
    """

    owners: tuple[str, ...]
    schemas: tuple[str, ...]
    columns: tuple[str, ...]
    sizes: tuple[int, ...]
    owner_of: tuple[int, ...]
    label: int | None
    edges: tuple[tuple[float, ...], ...] = ()
    ids: str = ""
    trees: tuple[Tree, ...] = ()
    pairs: tuple[tuple[int, int], ...] = ()
    same_columns: bool = False

    @property
    def holders(self) -> tuple[str, ...]:
        """Who holds columns that no other has: the owners, or all of them as one."""
        return (ALL_OWNERS,) if self.same_columns else self.owners

    @property
    def counted_by(self) -> tuple[Tree, ...]:
        """Tables that count each column."""
        return self.trees or tuple(map(Tree, self.sizes))

    @property
    def planned(self) -> tuple[int, ...]:
        """Codes of each column that are to be expected, before any data are read."""
        return tuple(tree.codes for tree in self.counted_by)

    def of_owner(self, owner: int) -> list[int]:
        """Return the positions of a holder's columns."""
        return [j for j, p in enumerate(self.owner_of) if p == owner]

    def counts_of(self, owner: int) -> int:
        """Return how many counts are in a holder's one-way tables together."""
        return sum(sum(self.counted_by[j].lengths) for j in self.of_owner(owner))


@dataclass(frozen=True)
class Budget:
    """How the noise is planned, and how records are sent.

    Attributes
    ----------
    noise_multiplier, first, to_label
        See `plan_noise`.
    keep
        Levels with fewer noisy records than so many standard deviations of their noise share a
        code.
    delta
        At which owners account for the run.
    rare
        Categories with less of the records share a code, too. The label's do not.
    coarse
        Share for coarse tables of all pairs without the label, in the first of two rounds; 0 for
        one round.
    way
        How tables of two owners are made.
    many
        Columns from which on there are two rounds.
    again
        Pairs for each column that the second round counts. Of 60 columns with 81 pairs that depend
        on each other, it found 62.
    """

    noise_multiplier: float
    first: float
    to_label: float
    keep: float
    rows: int
    way: Way = Way.PADS
    delta: float = 1e-5
    rare: float = 0.0
    coarse: float = 0.0
    many: int = 25
    again: int = 3

    def two_rounds(self, layout: Layout) -> bool:
        """Whether there may be two rounds, by public facts."""
        columns = sum(size > 1 for size in layout.planned)
        return self.coarse > 0 and columns >= self.many and self.way is not Way.MPYC

    def coarse_part(self, layout: Layout) -> float:
        """Return the part that coarse tables get of what all tables without the label get."""
        with_label = self.to_label if layout.label is not None else 0.0
        return min(self.coarse / (1 - self.first - with_label), 0.9)

    def plan(
        self,
        layout: Layout,
        sizes: Sequence[int],
        singles: tuple[Sequence[int], float] | None = None,
        fine: Sequence[int] = (),
        part: float = 1.0,
    ) -> NoisePlan:
        """Return the plan for columns of these sizes. See `plan_noise`."""
        return plan_noise(
            sizes,
            layout.owner_of,
            self.noise_multiplier,
            first=self.first,
            label=layout.label,
            to_label=self.to_label,
            named=layout.pairs,
            fine=fine,
            singles=singles,
            part=part,
            tables=tuple(len(tree.lengths) for tree in layout.counted_by),
            adds=len(layout.owners) if layout.same_columns else 1,
        )


@dataclass(frozen=True, eq=False)
class Released:
    """All that was released. The model is made of it.

    Attributes
    ----------
    n_records
        Records, public.
    singles
        Counts of each column's levels: noisy ones, or those of cells that follow from a tree.
    codes
        Code of each level.
    pairs
        Noisy two-way counts of the codes, by columns (i, j), i < j.
    with_label
        The same of pairs with the label as they were released, by finer codes.
    fine
        Finer code of each level. Those of a code follow each other.
    plan
        Their noise.
    starts
        First value of each cell of a column counted by a tree. None for another column.
    one_way
        The noisy counts of all columns' tables as they were released, one after another.
    coarse
        Of two rounds, the first one's noisy tables of groups of codes, of all pairs without the
        label. `pairs` are then those with the label and those that were counted again.
    """

    n_records: int
    singles: tuple[NDArray[np.int64] | NDArray[np.float64], ...]
    codes: tuple[NDArray[np.int64], ...]
    pairs: Mapping[tuple[int, int], NDArray[np.int64]]
    plan: NoisePlan
    starts: tuple[NDArray[np.int64] | None, ...] = ()
    one_way: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    with_label: Mapping[tuple[int, int], NDArray[np.int64]] = field(default_factory=dict)
    fine: tuple[NDArray[np.int64], ...] = ()
    coarse: Mapping[tuple[int, int], NDArray[np.int64]] = field(default_factory=dict)

    def by_tree(self, column: int) -> bool:
        """Whether a column was counted by a tree."""
        return bool(self.starts) and self.starts[column] is not None

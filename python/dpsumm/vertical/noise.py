"""The noise plan has the noise of each table, and the figure of each observer.

Public arithmetic, by cube roots of integers, exact sums and IEEE roots: the same bits everywhere.

Claim (``docs/privacy/rows.md``): one replaced record moves two cells of a table by one.
The L tables of a column's tree have the noise of one times the root of L, and the cost of one.
With sd the standard deviation of that noise in a table which an observer does not know, the
observer learns mu-GDP with ``mu**2 = sum of 2 / sd**2`` over the tables that depend on the
protected record. Assumes: N public, rounded normal noise, the merge and the pairs of a second
round computed from released counts.
Argument: rounding is post-processing. For two rounded normals, see ``JOINED``.
Numerics: multipliers are rounded up, so that the claim is not above the one asked for.
Tested by: tests/vertical/test_vertical_noise.py.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

# Two rounded normals of standard deviation s >= JOINED in one cell are, up to 1e-35 in total
# variation, one normal of variance 2 s^2 plus a uniform number, rounded: post-processing. Below,
# an observer is charged as if it knew one of them. In two rounds shares of one secret leave twice,
# so that more of the noises is known, and the same holds from JOINED times the root of 2 on.
JOINED = 3.0
# Noise is a multiple of this, rounded up (`kernels.rounded_normal`).
_STEP = 2.0**-20
# Every plan is this much below what is asked for, far above the floats' error.
_MARGIN = 1 - 1e-9
_ANALYST = -1


@dataclass(frozen=True)
class NoisePlan:
    """Standard deviations, and the views that follow.

    Attributes
    ----------
    pairs
        Columns (i, j), i < j, of each two-way table.
    pair_std
        Noise that each owner of a pair adds to each cell.
    single_std
        Noise of the one-way tables, if a column has one.
    tables
        How many one-way tables each column has. One by default. They share the column's budget.
    label
        The column whose tables have finer codes of the other column.
    fine
        How many, of each column.
    coarse, coarse_std
        Of two rounds, the pairs of the first one's coarse tables, and their noise. `pairs` are then
        those with the label, which it counts, too, and those of the second.
    rounds
        1 or 2.
    adds
        How many owners count each table, each with this noise. One but for owners that hold the
        same columns, whose tables are added.
    """

    sizes: tuple[int, ...]
    owner_of: tuple[int, ...]
    pairs: tuple[tuple[int, int], ...]
    pair_std: tuple[float, ...]
    single_std: float
    counted: tuple[int, ...]
    tables: tuple[int, ...] = ()
    label: int | None = None
    fine: tuple[int, ...] = ()
    coarse: tuple[tuple[int, int], ...] = ()
    coarse_std: tuple[float, ...] = ()
    rounds: int = 1
    adds: int = 1

    @property
    def every(self) -> tuple[tuple[tuple[int, int], float], ...]:
        """All two-way tables of all rounds, each with its noise."""
        pairs, stds = (*self.pairs, *self.coarse), (*self.pair_std, *self.coarse_std)
        return tuple(zip(pairs, stds, strict=True))

    def shape(self, pair: tuple[int, int]) -> tuple[int, int]:
        """Return how many codes of each column a pair's table counts, as it is released."""
        sizes = self.fine if self.label in pair and self.fine else self.sizes
        return sizes[pair[0]], sizes[pair[1]]

    @property
    def one_way_std(self) -> float:
        """The noise of the one-way tables as they are opened, if a column has one."""
        return self.single_std * math.sqrt(self.adds)

    def std_of(self, column: int) -> float:
        """Return the noise of each of a column's one-way tables as they are opened."""
        return self._added(column) * math.sqrt(self.adds)

    def _added(self, column: int) -> float:
        """Return the noise that an owner adds to each of a column's one-way tables."""
        return table_std(self.single_std, self.tables[column] if self.tables else 1)

    def _learnt(self, column: int) -> float:
        """Return the squared mu of a column's one-way tables."""
        return 2 * (self.tables[column] if self.tables else 1) / self._added(column) ** 2

    def is_cross(self, pair: tuple[int, int]) -> bool:
        """Whether the columns are of two owners."""
        return self.owner_of[pair[0]] != self.owner_of[pair[1]]

    def variance(self, index: int) -> float:
        """Return the variance of the noise in a cell of two codes. Where fine ones make it up, the
        mean."""
        pair = self.pairs[index]
        cells = math.prod(self.shape(pair)) / (self.sizes[pair[0]] * self.sizes[pair[1]])
        return self.pair_std[index] ** 2 * self.noises(pair) * cells

    def noises(self, pair: tuple[int, int]) -> int:
        """Return how many owners' noises are in a table of these columns as it is opened."""
        return self.adds * (2 if self.is_cross(pair) else 1)

    def mu(self, observer: int | None) -> float:
        """Return the mu of the analyst (None), or of an owner at that position."""
        return math.sqrt(self.square(_ANALYST if observer is None else observer))

    def square(self, observer: int) -> float:
        """Return the squared mu of an observer at that position; -1 is the analyst."""
        seen = _seen([pair for pair, _ in self.every], self.owner_of, observer, self.joined)
        singles = [self._learnt(j) for j in self.counted if self.owner_of[j] != observer]
        squares = [2 * f / sd**2 for f, (_, sd) in zip(seen, self.every, strict=True)]
        return math.fsum((*singles, *squares))

    def mu_charged(self, owner: int) -> float:
        """Return the mu that an owner's books are charged, by its noise in each of its tables."""
        singles = [self._learnt(j) for j in self.counted if self.owner_of[j] == owner]
        pairs = [
            2 / sd**2 for (i, j), sd in self.every if owner in (self.owner_of[i], self.owner_of[j])
        ]
        return math.sqrt(math.fsum((*singles, *pairs)))

    @property
    def joined(self) -> bool:
        """Whether both noises of a cross table count for who knows neither."""
        cross = [sd for pair, sd in self.every if self.is_cross(pair)]
        return all(sd >= least_joined(self.rounds) for sd in cross)


def plan_noise(
    sizes: Sequence[int],
    owner_of: Sequence[int],
    noise_multiplier: float,
    *,
    first: float = 0.1,
    label: int | None = None,
    to_label: float = 0.3,
    named: Collection[tuple[int, int]] = (),
    singles: tuple[Sequence[int], float] | None = None,
    tables: tuple[int, ...] = (),
    fine: Sequence[int] = (),
    part: float = 1.0,
    adds: int = 1,
) -> NoisePlan:
    """Return the plan by which the observer who sees most is at `noise_multiplier`.

    Parameters
    ----------
    noise_multiplier
        Of one Gaussian release at the budget.
    singles
        Columns of the one-way tables that were released, and their noise: the two-way tables get
        all that these leave.
    tables
        How many one-way tables each column has. One by default.
    fine
        Codes of each column in its table with the label. As many as `sizes` by default.
    to_label
        Share of the tables with the label, if there are others, too.
    named
        Pairs without the label that get half of what all such pairs get.
    part
        Of what the pairs without the label get. Below 1, `refined` has the rest.
    adds
        See `NoisePlan`.
    """
    columns = [j for j, size in enumerate(sizes) if size > 1]
    pairs = tuple((i, j) for i in columns for j in columns if i < j)
    worth = [_two_thirds(sizes[i] * sizes[j]) for i, j in pairs]
    kinds = [0 if label in pair else 1 if pair in named else 2 for pair in pairs]
    share = _shares(worth, kinds, first, to_label)
    budget = _MARGIN / noise_multiplier**2
    observers = [_ANALYST, *sorted(set(owner_of))]
    plan = None
    for joined in (True, False):
        views = [
            math.fsum(f * s for f, s in zip(_seen(pairs, owner_of, v, joined), share, strict=True))
            for v in observers
        ]
        if singles is None:
            counted, each = tuple(columns), first / max(len(columns), 1)
            seen = [each * sum(owner_of[j] != v for j in counted) for v in observers]
            scale = budget / max(a + b for a, b in zip(seen, views, strict=True))
            single_std = _up(math.sqrt(2 / (each * scale)))
        else:
            counted, single_std = tuple(singles[0]), singles[1]
            left = [
                budget - 2 * sum(owner_of[j] != v for j in counted) / single_std**2
                for v in observers
            ]
            scale = min((b / view for b, view in zip(left, views, strict=True) if view), default=1)
        parts = [s * (1.0 if kind == 0 else part) for s, kind in zip(share, kinds, strict=True)]
        stds = tuple(_up(math.sqrt(2 / (s * scale))) for s in parts)
        plan = NoisePlan(
            tuple(sizes),
            tuple(owner_of),
            pairs,
            stds,
            single_std,
            counted,
            tables,
            label,
            tuple(fine),
            rounds=1 if part == 1 else 2,
            adds=adds,
        )
        if plan.joined or not joined:
            break
    assert plan is not None
    return plan


def refined(
    first: NoisePlan,
    sizes: Sequence[int],
    pairs: Sequence[tuple[int, int]],
    noise_multiplier: float,
    named: Collection[tuple[int, int]] = (),
) -> NoisePlan:
    """Return the plan of two rounds, whose second counts these pairs with all that is left.

    Parameters
    ----------
    first
        The plan of the first round, of a budget for which `plan_noise` got a `part`.
    sizes
        Codes of each column in the second round.
    pairs
        Without the label. They may follow from all that the first round released.
    named
        As for `plan_noise`.
    """
    worth = [_two_thirds(sizes[i] * sizes[j]) for i, j in pairs]
    share = _shares(worth, [1 if pair in named else 2 for pair in pairs], 0.0, 0.0)
    scales = []
    for observer in (_ANALYST, *sorted(set(first.owner_of))):
        seen = _seen(pairs, first.owner_of, observer, first.joined)
        view = math.fsum(f * s for f, s in zip(seen, share, strict=True))
        if view:
            scales.append((_MARGIN / noise_multiplier**2 - first.square(observer)) / view)
    stds = {pair: std for pair, std in first.every if first.label in pair}
    coarse = {pair: std for pair, std in first.every if first.label not in pair}
    for pair, s in zip(pairs, share, strict=True):
        std = _up(math.sqrt(2 / (s * min(scales))))
        # Otherwise both noises of a table would count in the second round, and not in the first.
        stds[pair] = max(std, least_joined(2)) if first.joined and first.is_cross(pair) else std
    return replace(
        first,
        sizes=tuple(sizes),
        pairs=tuple(sorted(stds)),
        pair_std=tuple(stds[pair] for pair in sorted(stds)),
        coarse=tuple(coarse),
        coarse_std=tuple(coarse.values()),
    )


def _shares(
    worth: Sequence[float], kinds: Sequence[int], first: float, to_label: float
) -> list[float]:
    """Return each pair's share of the budget: of its kind (label, named, other), by worth."""
    of_label, of_named = (
        math.fsum(w for w, one in zip(worth, kinds, strict=True) if one == kind) for kind in (0, 1)
    )
    others = math.fsum(worth) - of_label - of_named
    alone = 2 not in kinds
    to_label = (1 - first if alone and not of_named else to_label) if of_label else 0.0
    left = 1 - first - to_label
    to_named = (left if alone else left / 2) if of_named else 0.0
    each = (
        to_label / (of_label or 1.0),
        to_named / (of_named or 1.0),
        (left - to_named) / (1.0 if alone else others),
    )
    return [w * each[kind] for w, kind in zip(worth, kinds, strict=True)]


def _seen(
    pairs: Sequence[tuple[int, int]], owner_of: Sequence[int], observer: int, joined: bool
) -> list[float]:
    """Return for each table how much of ``2 / sd**2`` an observer learns."""

    def factor(pair: tuple[int, int]) -> float:
        a, b = owner_of[pair[0]], owner_of[pair[1]]
        if a == b:
            return 0.0 if a == observer else 1.0
        return 1.0 if observer in (a, b) or not joined else 0.5

    return [factor(pair) for pair in pairs]


def least_joined(rounds: int) -> float:
    """Return from which noise on both noises of tables count in so many rounds."""
    return _up(JOINED * math.sqrt(rounds))


def table_std(single_std: float, tables: int) -> float:
    """Return the noise of each of so many tables of a column that together have the cost of one."""
    return single_std if tables == 1 else _up(single_std * math.sqrt(tables))


def _up(std: float) -> float:
    return math.ceil(std / _STEP) * _STEP


def _two_thirds(n: int) -> float:
    """Return ``n**(2/3)`` to 30 bits, the same everywhere."""
    wanted = (int(n) ** 2) << 90
    root = 1 << (wanted.bit_length() // 3 + 1)
    while True:  # Newton's method from above
        lower = (2 * root + wanted // (root * root)) // 3
        if lower >= root:
            return root / 2**30
        root = lower

"""Made-up records by a public schema, for rehearsals: owners that differ, a target, fresh points.

Records are of twelve kinds. A kind has a middle for each number and odds for each category; an
owner has more of some kinds than of others, and the target has three kinds only.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dpsumm.data.column import Column
from dpsumm.data.kinds.kind import Kind, WhenMissing
from dpsumm.data.schema import Schema

KINDS, OF_TARGET = 12, 3
# Of the range of a number: how far apart records of one kind lie.
WIDTH = 0.1
# Dirichlet parameters: the smaller, the more owners, and kinds, differ.
OWNERS_DIFFER, CATEGORIES_DIFFER = 0.3, 0.5
MISSING_SHARE = 0.05
# What a rehearsal has when no schema is given.
NUMBERS = Schema([Column(f"x{j}", bounds=(0.0, 1.0)) for j in range(8)])

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class MadeUp:
    """Data for one rehearsal.

    Attributes
    ----------
    owners
        (n_records, c) each.
    target : (m, c), fresh : (n, c)
        Of the same distribution.
    """

    schema: Schema
    owners: tuple[Floats, ...]
    target: Floats
    fresh: Floats


def make_up(
    schema: Schema,
    seed: int,
    *,
    n_owners: int,
    n_records: int,
    target_size: int,
    rarity: float,
    n_fresh: int = 4000,
) -> MadeUp:
    """Return data by a bounded schema; of the owners' records a part `rarity` is like the target.

    Public: made from the schema and the seed alone.
    """
    rng = np.random.default_rng(seed)
    columns = coded(schema)
    cells = [_Cell.drawn(column, rng) for column in columns.kernel]

    def records(shares: Floats, count: int) -> Floats:
        kinds = rng.choice(KINDS, count, p=shares)
        return np.stack([cell.values(kinds, rng) for cell in cells], axis=1)

    def of_owner() -> Floats:
        like = rng.dirichlet(np.full(OF_TARGET, OWNERS_DIFFER))
        other = rng.dirichlet(np.full(KINDS - OF_TARGET, OWNERS_DIFFER))
        return np.concatenate([rarity * like, (1 - rarity) * other])

    owners = tuple(records(of_owner(), n_records) for _ in range(n_owners))
    wanted = np.zeros(KINDS)
    wanted[:OF_TARGET] = rng.dirichlet(np.full(OF_TARGET, 2.0))
    target, fresh = np.split(records(wanted, target_size + n_fresh), [target_size])
    return MadeUp(columns, owners, target, fresh)


def coded(schema: Schema) -> Schema:
    """Return the schema of `Records.values` as an array: categories by position, dates by day.

    What the kernel sees is the same.
    """
    return Schema([_coded(column) for column in schema.kernel])


def _coded(column: Column) -> Column:
    if column.kind is Kind.CATEGORY:
        codes = tuple(map(float, range(len(column.categories))))
        other = None if column.other is None else float(len(codes))
        return replace(column, categories=codes, other=other, missing=())
    return replace(
        column, kind=Kind.NUMBER, bounds=column.limits, date_format=None, missing=(), whole=False
    )


@dataclass(frozen=True)
class _Cell:
    """How the values of one column come about: a middle, or odds, for each kind."""

    column: Column
    middles: Floats
    odds: Floats

    @classmethod
    def drawn(cls, column: Column, rng: np.random.Generator) -> _Cell:
        count = len(column.categories)
        odds = np.full((KINDS, max(count, 1)), CATEGORIES_DIFFER)
        return cls(
            column,
            rng.uniform(0.15, 0.85, KINDS),
            np.stack([rng.dirichlet(odds[kind]) for kind in range(KINDS)]),
        )

    def values(self, kinds: NDArray[np.int64], rng: np.random.Generator) -> Floats:
        column, made = self.column, np.empty(len(kinds))
        if column.categories:
            # The first category whose cumulative odds exceed a uniform number.
            above = self.odds.cumsum(axis=1)[kinds] <= rng.random((len(kinds), 1))
            made[:] = np.minimum(above.sum(axis=1), len(column.categories) - 1)
        else:
            assert column.limits is not None  # the schema is bounded
            low, high = column.limits
            share = np.clip(self.middles[kinds] + WIDTH * rng.normal(size=len(kinds)), 0, 1)
            made[:] = low + (high - low) * share
        if column.when_missing is WhenMissing.ENCODE:
            made[rng.random(len(kinds)) < MISSING_SHARE] = np.nan
        return made

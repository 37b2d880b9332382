"""Made-up records by a public schema, for rehearsals: owners that differ, a target, fresh points.

Records are of twelve kinds. A kind has a middle for each number and odds for each category. An
owner has more of some kinds than of others, and the target has three kinds only.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dpsumm.basics.checks import check_number, check_whole
from dpsumm.data.column import Column
from dpsumm.data.kinds.kind import Kind, WhenMissing
from dpsumm.data.schema import Schema
from dpsumm.errors import InvalidParameterError

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
class MadeUpOwners:
    """Owners whose records are made up for a rehearsal.

    Parameters
    ----------
    n_owners
        How many, at least 1.
    n_records
        Records of each, at least 1.
    rarity
        Share of the records that are like the target's, above 0 and at most 1.

    Raises
    ------
    InvalidParameterError
        A number is out of range.

    See Also
    --------
    dpsumm.compare : Rehearses with them.

    Examples
    --------
    >>> from dpsumm.summary import MadeUpOwners
    >>> MadeUpOwners(rarity=0.05)
    MadeUpOwners(n_owners=5, n_records=2000, rarity=0.05)
    """

    n_owners: int = 5
    n_records: int = 2000
    rarity: float = 0.1

    def __post_init__(self) -> None:
        """Check the ranges."""
        check_whole(self.n_owners, "n_owners", 1)
        check_whole(self.n_records, "n_records", 1)
        check_rarity(self.rarity)


def check_rarity(rarity: float) -> None:
    """Refuse what can be no share of records, or none at all."""
    check_number(rarity, "rarity", 0, 1)
    if not rarity > 0:
        raise InvalidParameterError("rarity must be above 0, because otherwise no record would fit")


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
    schema: Schema, seed: int, wanted: MadeUpOwners, *, target_size: int, n_fresh: int = 4000
) -> MadeUp:
    """Return data by a bounded schema.

    Public, because it is made from the schema and the seed alone.
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
        return np.concatenate([wanted.rarity * like, (1 - wanted.rarity) * other])

    owners = tuple(records(of_owner(), wanted.n_records) for _ in range(wanted.n_owners))
    kinds = np.zeros(KINDS)
    kinds[:OF_TARGET] = rng.dirichlet(np.full(OF_TARGET, 2.0))
    target, fresh = np.split(records(kinds, target_size + n_fresh), [target_size])
    return MadeUp(columns, owners, target, fresh)


def coded(schema: Schema) -> Schema:
    """Return the schema of `Records.values` as an array: categories by position, dates by day.

    What the kernel sees is the same.
    """
    return Schema([_coded(column) for column in schema.kernel])


def _coded(column: Column) -> Column:
    if column.categories:
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

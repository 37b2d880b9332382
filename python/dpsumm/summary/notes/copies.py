"""Records that are there twice, and what of that is chance.

For curator and consumer alone: it depends on private data. No value of a record is in it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import expm1, inf, log, log1p
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsumm.checks import counted
from dpsumm.data.coordinates import cell_names
from dpsumm.data.schema import Schema
from dpsumm.report.notes import Note, Severity
from dpsumm.summary.notes.limits import MUCH
from dpsumm.summary.protocols import Selection
from dpsumm.summary.protocols.curator import row_keys

# Owners with which a holder of a point is compared.
NEIGHBOURS = 16


def copy_notes(
    selection: Selection,
    target: NDArray[Any],
    schema: Schema | None = None,
    *,
    dropped: bool,
) -> list[Note]:
    """Tell of records that are there twice: in the target, at it and an owner, at two, or at one.

    Records of few columns or categories are often equal by chance. What is chance is told from the
    target alone: how many of its own records are equal to another one, but no more than are equal
    to a different one but for one column. So a target that was pasted twice hides no copies.
    Points read are equal by chance more often; see `_Chance`. Nothing is said where chance makes as
    many.

    Parameters
    ----------
    schema
        Of the columns; None where each coordinate is one.
    dropped
        Whether points that equal a target record were left out of the summary.
    """
    seen = Counter(row_keys(target))
    pasted = sum(count for count in seen.values() if count > 1)
    by_chance = pasted / len(target)
    if pasted:
        by_chance = min(by_chance, _nearly_equal(target, schema))
    pool, chosen = row_keys(selection.pool.scaled), row_keys(selection.scaled)
    notes = []
    if pasted > 2 * by_chance * len(target):
        most = max(seen.values())
        notes.append(
            Note(
                f"{pasted:,} of the target's {len(target):,} records equal another one in every "
                f"column, up to {most:,} of them each other. Who is in it k times is protected by "
                f"k times the epsilon said: give each record once.",
                Severity.ALARM if pasted >= MUCH * len(target) else Severity.WARNING,
            )
        )
    read = counted(len(pool), "point", "points")
    owners = selection.pool.owner.tolist()
    held = Counter(zip(pool, owners, strict=True))
    some_equal = len({*pool, *seen}) < len(pool) + len(seen)
    nearly = _nearly_equal(selection.pool.scaled, schema) if some_equal else 0.0
    chance = _Chance.of(pool, owners, target, by_chance, nearly)
    copies = Counter(owner for key, owner in zip(pool, owners, strict=True) if key in seen)
    if dropped:
        if copies:
            text = (
                f"{copies.total():,} of {read} read equal a target record in every column and were "
                f"left out."
            )
            notes.append(Note(text, Severity.INFO))
    elif who := {o for o, count in copies.items() if chance.are_copies(o, count)}:
        found = sum(copies[owner] for owner in who)
        taken = sum(
            key in seen and owner in who
            for key, owner in zip(chosen, selection.owner.tolist(), strict=True)
        )
        notes.append(
            Note(
                f"{found:,} of {read} read equal a target record in every column, {taken:,} of "
                f"the summary's {len(chosen):,}. If an owner holds the target's own data, a "
                f"summary of it says nothing about the owners: leave that owner out, or those "
                f"points with drop_target_copies (--drop-target-copies), which costs nothing.",
                Severity.ALARM if taken >= MUCH * len(chosen) else Severity.WARNING,
            )
        )
    shared = _shared(held, chance)
    twice = sum(one in shared for one in zip(pool, owners, strict=True))
    if twice:
        notes.append(
            Note(
                f"{twice:,} of {read} read are held by two owners or more, equal in every column: "
                f"is one file given as two owners? A record held twice counts twice, for the "
                f"summary and for what it costs its person.",
                Severity.ALARM if twice >= MUCH * len(pool) else Severity.WARNING,
            )
        )
    again = sum(held[key, owner] > 1 for key, owner in zip(pool, owners, strict=True))
    if _clearly_more(again, len(pool), chance.again(1), chance.again(3)):
        notes.append(
            Note(
                f"{again:,} of {read} read equal another one of the same owner in every column: "
                f"does a file hold records more than once? Each copy counts, for the summary and "
                f"for what it costs its person.",
                Severity.ALARM if again >= MUCH * len(pool) else Severity.WARNING,
            )
        )
    return notes


@dataclass(frozen=True)
class _Chance:
    """How often points of an owner equal another point by chance, for each point it is held to.

    The points read lie where the target is dense, so more of them are equal than of its records.
    What is chance among them is told from how many equal a record of the target, which no copy
    within or among owners changes; between two owners, or one and the target, also from how many
    equal another one of the same owner. No share is taken for larger than that of different points
    nearly equal.

    Attributes
    ----------
    sizes
        Points read of each owner.
    records
        Of the target.
    within
        Rate of the target's records among each other. A point equals one of n others with
        probability ``1 - exp(-rate n)``.
    of_target, of_own
        Rates by owner.
    """

    sizes: Mapping[int, int]
    records: int
    within: float
    of_target: Mapping[int, float]
    of_own: Mapping[int, float]

    @classmethod
    def of(
        cls,
        pool: Sequence[bytes],
        owners: Sequence[int],
        target: NDArray[Any],
        by_chance: float,
        most: float,
    ) -> _Chance:
        """Return what is chance, of a pool's keys with their owners."""
        records = set(row_keys(target))
        held, sizes = Counter(zip(pool, owners, strict=True)), Counter(owners)
        copies: Counter[int] = Counter()
        again: Counter[int] = Counter()
        for (key, owner), count in held.items():
            copies[owner] += count * (key in records)
            again[owner] += count * (count > 1)

        def rate(found: float, of: int, others: int) -> float:
            share = min(found / of, most)
            return 0.0 if share == 0 else -log1p(-share) / others if share < 1 else inf

        within = rate(by_chance, 1, max(len(target) - 1, 1))
        usual = max(within, rate(copies.total(), len(pool), len(target)))
        return cls(
            sizes,
            len(target),
            within,
            {o: max(usual, rate(copies[o], n, len(target))) for o, n in sizes.items()},
            {o: rate(again[o], n, max(n - 1, 1)) for o, n in sizes.items()},
        )

    def are_copies(self, owner: int, count: int) -> bool:
        """Return whether so many points of an owner equal the target's by more than chance."""
        n, rate = self.sizes[owner], max(self.within, self.of_own[owner])
        usual, most = (n * _reached(times * rate, self.records) for times in (1, 2))
        return _clearly_more(count, n, usual, most)

    def again(self, times: float) -> float:
        """Return how many points equal another of their owner, at so many times the rates."""
        return sum(n * _reached(times * self.of_target[o], n - 1) for o, n in self.sizes.items())

    def shared(self, one: int, other: int, times: float) -> float:
        """Return how many points of two owners the other has, too, at so many times the rates."""
        a, b = self.sizes[one], self.sizes[other]
        rates = (a * of[one] + b * of[other] for of in (self.of_target, self.of_own))
        rate = times * max(rates) / (a + b)
        return a * _reached(rate, b) + b * _reached(rate, a)


def _reached(rate: float, others: int) -> float:
    return -expm1(-rate * others) if others else 0.0


def _clearly_more(found: int, of: int, expected: float, at_most: float) -> bool:
    """Return whether so many equal points are more than chance makes, and than `at_most`.

    By Chernoff's bound for pairs of equal points: chance makes as many once in 10,000 cases.
    """
    if found <= at_most or expected == 0:
        return found > at_most
    gain = found * log(found / expected)
    if found < of:
        gain += (of - found) * log((of - found) / (of - expected))
    return gain / 2 > log(1e4)


def _shared(held: Mapping[tuple[bytes, int], int], chance: _Chance) -> set[tuple[bytes, int]]:
    """Return what two owners hold, key and owner, where that is more than chance makes.

    Of many holders of one key each is compared with the `NEIGHBOURS` next ones: owners that were
    given one file hold the same keys, so that some two of them are compared by all.
    """
    holders: dict[bytes, list[int]] = {}
    for key, owner in sorted(held):
        holders.setdefault(key, []).append(owner)
    pairs: dict[tuple[int, int], list[bytes]] = {}
    for key, who in holders.items():
        for step in range(1, min(len(who), NEIGHBOURS + 1)):
            for pair in zip(who, who[step:], strict=False):
                pairs.setdefault(pair, []).append(key)
    found: set[tuple[bytes, int]] = set()
    for (one, other), keys in pairs.items():
        count = sum(held[key, one] + held[key, other] for key in keys)
        usual, most = (chance.shared(one, other, times) for times in (1, 2))
        if _clearly_more(count, chance.sizes[one] + chance.sizes[other], usual, most):
            found.update((key, owner) for key in keys for owner in (one, other))
    return found


def _nearly_equal(points: NDArray[Any], schema: Schema | None) -> float:
    """Return the share of different points that equal another one but for one column.

    Of the column for which it is largest: no fewer are equal by chance in all columns.
    """
    points = np.unique(points, axis=0)
    cells = np.ones(points.shape[1], np.int64)
    if schema is not None and len(schema.cells) == points.shape[1]:
        cells = np.array([len(cell_names(column)) for column in schema.kernel])
    # A row's hash is the sum of its columns', so that one is left out by a subtraction.
    bits = (np.asarray(points, np.float64) + 0.0).view(np.uint64)
    bits = (bits ^ (bits >> np.uint64(31))) * np.uint64(0xBF58476D1CE4E5B9)
    bits += np.random.default_rng(0).integers(0, 2**64, bits.shape[1], np.uint64)
    bits = (bits ^ (bits >> np.uint64(29))) * np.uint64(0x94D049BB133111EB)
    columns = np.add.reduceat(bits ^ (bits >> np.uint64(32)), np.cumsum(cells) - cells, axis=1)
    rest = columns.sum(axis=1, dtype=np.uint64)[:, None] - columns
    rest.sort(axis=0)
    same = rest[1:] == rest[:-1]
    edge = np.zeros((1, same.shape[1]), bool)
    equal = np.concatenate([edge, same]) | np.concatenate([same, edge])
    return float(equal.mean(axis=0).max())

"""Rows that are there twice, and what of that is chance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from math import expm1, inf, log, log1p

import numpy as np
from numpy.typing import NDArray

from dpsumm.summary.notes.hashes import Hashes, equal_to_another, nearly_equal, row_hashes

# Owners with which a holder of a point is compared.
NEIGHBOURS = 16
Held = Mapping[tuple[int, int], int]


@dataclass(frozen=True)
class Twice:
    """How many rows equal another one; 0 where chance makes as many.

    Attributes
    ----------
    copied, taken
        Points read that equal a target record, and points of the summary among them. Whether or
        not by chance in `equal_target`.
    """

    pasted: int = 0
    most: int = 0
    copied: int = 0
    taken: int = 0
    equal_target: int = 0
    shared: int = 0
    again: int = 0


@dataclass(frozen=True)
class Rows:
    """What is compared, as hashes by column.

    Attributes
    ----------
    target, pool, chosen
        The target's, the points read and those of the summary, (rows, columns) each.
    """

    target: Hashes
    pool: Hashes
    chosen: Hashes
    owner: NDArray[np.int64]
    chosen_owner: NDArray[np.int64]

    def without_copies(self) -> Rows:
        """Return the rows without points read that equal a target record."""
        kept = ~np.isin(row_hashes(self.pool), row_hashes(self.target))
        return replace(self, pool=self.pool[kept], owner=self.owner[kept])


def twice(rows: Rows) -> Twice:
    """Return how many rows are there twice, by more than chance.

    Rows of few columns or categories are often equal by chance. What is chance is told from the
    target alone: how many of its own records are equal to another one, but no more than are equal
    to a different one but for one column. So a target that was pasted twice hides no copies.
    Points read are equal by chance more often; see `_Chance`.
    """
    m, n = len(rows.target), len(rows.pool)
    keys = np.concatenate([row_hashes(part) for part in (rows.target, rows.pool, rows.chosen)])
    if not equal_to_another(np.sort(keys[: m + n])).any():
        return Twice()
    key = np.unique(keys, return_inverse=True)[1]
    counts = np.bincount(key[: m + n])
    seen = np.bincount(key[:m], minlength=len(counts))
    pasted = int(seen[seen > 1].sum())
    by_chance = min(pasted / m, nearly_equal(rows.target)[0]) if pasted else 0.0
    sizes = {i: size for i, size in enumerate(np.bincount(rows.owner).tolist()) if size}
    place, chosen = key[m : m + n], key[m + n :]
    there = counts[place] > 1
    held = Counter(zip(place[there].tolist(), rows.owner[there].tolist(), strict=True))
    copies: Counter[int] = Counter()
    doubled: Counter[int] = Counter()
    for (one, holder), count in held.items():
        copies[holder] += count * bool(seen[one])
        doubled[holder] += count * (count > 1)
    most = nearly_equal(rows.pool)[0] if held else 0.0
    least = nearly_equal(np.concatenate([rows.target, rows.pool]))[1] if held else 0.0
    chance = _Chance.of(sizes, m, copies, doubled, by_chance, most, least)
    who = [holder for holder, count in copies.items() if chance.are_copies(holder, count)]
    again = doubled.total()
    is_again = again > most * n and clearly_more(again, n, chance.again(1), chance.again(3))
    return Twice(
        pasted=pasted if pasted > 2 * by_chance * m else 0,
        most=int(seen.max()),
        copied=sum(copies[holder] for holder in who),
        taken=int(np.count_nonzero(np.isin(rows.chosen_owner, who) & (seen[chosen] > 0))),
        equal_target=copies.total(),
        shared=sum(held[one] for one in _shared(held, chance)),
        again=again if is_again else 0,
    )


@dataclass(frozen=True)
class _Chance:
    """How often points of an owner equal another point by chance, for each point it is held to.

    The points read lie where the target is dense, so more of them are equal than of its records.
    What is chance among them is told from how many equal a record of the target, which no copy
    within or among owners changes; between two owners, or one and the target, also from how many
    equal another one of the same owner. No share is taken for larger than that of different points
    nearly equal, nor for smaller than columns that have nothing to do with each other make it.

    Attributes
    ----------
    records
        Of the target.
    within
        Rate of the target's records among each other. A point equals one of n others with
        probability ``1 - exp(-rate n)``.
    """

    sizes: Mapping[int, int]
    records: int
    within: float
    of_target: Mapping[int, float]
    of_own: Mapping[int, float]

    @classmethod
    def of(
        cls,
        sizes: Mapping[int, int],
        records: int,
        copies: Mapping[int, int],
        again: Mapping[int, int],
        by_chance: float,
        most: float,
        least: float,
    ) -> _Chance:
        """Return what is chance, where by owner so many equal the target's, or its own others.

        Of points of the pool it is `most` at most; of them and the target together, `least`.
        """

        def rate(found: float, of: int, others: int) -> float:
            share = min(found / of, most)
            return 0.0 if share == 0 else -log1p(-share) / others if share < 1 else inf

        n = sum(sizes.values())
        known = rate(least, 1, records + n - 1)
        within = max(known, rate(by_chance, 1, max(records - 1, 1)))
        usual = max(within, rate(sum(copies.values()), n, records))
        return cls(
            sizes,
            records,
            within,
            {o: max(usual, rate(copies.get(o, 0), n, records)) for o, n in sizes.items()},
            {o: max(known, rate(again.get(o, 0), n, max(n - 1, 1))) for o, n in sizes.items()},
        )

    def are_copies(self, owner: int, count: int) -> bool:
        """Return whether so many points of an owner equal the target's by more than chance."""
        n, rate = self.sizes[owner], max(self.within, self.of_own[owner])
        usual, most = (n * _reached(times * rate, self.records) for times in (1, 2))
        return clearly_more(count, n, usual, most)

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


def clearly_more(found: int, of: int, expected: float, at_most: float) -> bool:
    """Return whether so many equal points are more than chance makes, and than `at_most`.

    By Chernoff's bound for pairs of equal points: chance makes as many once in 10,000 cases. Where
    chance makes nine in ten equal, all may be.
    """
    if expected > 0.9 * of:
        return False
    if found <= at_most or expected == 0:
        return found > at_most
    gain = found * log(found / expected)
    if found < of:
        gain += (of - found) * log((of - found) / (of - expected))
    return gain / 2 > log(1e4)


def pairs_of(held: Iterable[tuple[int, int]]) -> dict[tuple[int, int], list[int]]:
    """Return by pair of owners the keys that both hold, of (key, owner).

    Of many holders of one key each is compared with the `NEIGHBOURS` next ones: owners that were
    given one file hold the same keys, so that some two of them are compared by all.
    """
    holders: dict[int, list[int]] = {}
    for key, owner in sorted(held):
        holders.setdefault(key, []).append(owner)
    pairs: dict[tuple[int, int], list[int]] = {}
    for key, who in holders.items():
        for step in range(1, min(len(who), NEIGHBOURS + 1)):
            for pair in zip(who, who[step:], strict=False):
                pairs.setdefault(pair, []).append(key)
    return pairs


def _shared(held: Held, chance: _Chance) -> set[tuple[int, int]]:
    """Return what two owners hold, key and owner, where that is more than chance makes."""
    found: set[tuple[int, int]] = set()
    for (one, other), keys in pairs_of(held).items():
        count = sum(held[key, one] + held[key, other] for key in keys)
        both = chance.sizes[one] + chance.sizes[other]
        usual, most = (chance.shared(one, other, times) for times in (1, 2))
        if clearly_more(count, both, usual, most):
            found.update((key, owner) for key in keys for owner in (one, other))
    return found

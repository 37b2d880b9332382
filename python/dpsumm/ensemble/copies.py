"""Records that are where they should not be: in several parties, or among the public points.

Told to the caller of `dpsumm.learn` alone, who holds all data in one process. It may hang on one
record, so it is in no result: not in a model, its report or its predictions, nor in a log.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from dpsumm.report.notes import Note
from dpsumm.report.numbers import percent

# Part of the public points that must be records of parties, and how many times what chance
# makes, before anything is said.
MUCH, TIMES = 0.1, 2.0
# Part of a party's different records that another one must hold.
HALF = 0.5
# Parties that are compared with each other: the first ones, each with each.
MOST_COMPARED = 1000
# Upper bound on a mean of equal pairs of which c were seen, and on the pairs seen where c are
# expected: c + 5 sqrt(c) + 14, exceeded with probability 1e-6 by a Poisson law.
_ERRORS, _LEAST = 5.0, 14.0
_TOLD = "You are told since you hold all data here; it stands in no result."


def copies_notes(
    public_points: NDArray[np.float64], parties: Mapping[str, NDArray[np.float64]]
) -> list[Note]:
    """Return warnings of records that several parties hold, and of points that are records.

    Nothing is said where coarse rows are equal as often by chance.

    Parameters
    ----------
    public_points : (N, d)
        The public points.
    parties : each (n, d)
        The parties' records, in the same space, by name.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> records = {f"p{i}": rng.normal(size=(100, 2)) for i in range(3)}
    >>> copies_notes(rng.normal(size=(50, 2)), records)
    []
    >>> [note] = copies_notes(records["p0"][:50], records)
    >>> print(note.partition(".")[0])
    100% of the public points equal a record of a party in every column
    >>> [note] = copies_notes(rng.normal(size=(50, 2)), records | {"p3": records["p0"]})
    >>> print(note.partition(",")[0])
    2 of 4 parties hold half of their records or more in common with another one
    """
    points = Counter(_rows(public_points))
    rows = {name: Counter(_rows(records)) for name, records in parties.items()}
    # How often a point equals another one.
    among = _pairs(points.values()) / max(math.comb(len(public_points), 2), 1)
    return [
        *_in_several(dict(list(rows.items())[:MOST_COMPARED]), len(rows), among),
        *_in_points(points, [set(row) for row in rows.values()], among),
    ]


def _in_several(rows: Mapping[str, Counter[bytes]], n_parties: int, among: float) -> Iterator[Note]:
    names = list(rows)
    sizes = np.array([held.total() for held in rows.values()], np.float64)
    # By chance records of two parties are equal as often as those of one, or as points are.
    within = sum(_pairs(held.values()) for held in rows.values())
    chance = max(among, _most(within) / max((sizes * (sizes - 1)).sum() / 2, 1))
    first, second, common = _overlap(list(rows.values()))
    different = np.array([len(held) for held in rows.values()])
    expected = chance * sizes[first] * sizes[second]
    told = (common >= HALF * np.minimum(different[first], different[second])) & (
        common > _most(expected)
    )
    if not told.any():
        return
    first, second = first[told], second[told]
    others = np.bincount(np.concatenate([first, second]), minlength=len(names))
    most = int(others.max()) + 1
    pair = int(np.argmin(first * len(names) + second))
    yield Note(
        f"{np.count_nonzero(others):,} of {n_parties:,} parties hold half of their records or more "
        f"in common with another one, equal in every column, such as {names[first[pair]]!r} and "
        f"{names[second[pair]]!r}: is one file given as two parties? Epsilon is for what one party "
        f"holds. For a record that {'two' if most == 2 else f'up to {most:,}'} parties hold it is "
        f"{most:,} times as large, or more: give each record once. {_TOLD}"
    )


def _overlap(
    rows: Sequence[Counter[bytes]],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the pairs of parties that hold equal rows, and how many different ones each holds."""
    from scipy import sparse

    held = Counter(row for one in rows for row in one)
    place = {row: k for k, row in enumerate(row for row, count in held.items() if count > 1)}
    where = [[place[row] for row in one if row in place] for one in rows]
    party = np.repeat(np.arange(len(rows)), [len(one) for one in where])
    column = np.array([k for one in where for k in one], np.int64)
    shape = (len(rows), max(len(place), 1))
    holds = sparse.csr_array((np.ones(len(column), np.int64), (party, column)), shape=shape)
    pairs = sparse.triu(holds @ holds.T, k=1).tocoo()
    return pairs.row.astype(np.int64), pairs.col.astype(np.int64), pairs.data


def _in_points(
    points: Counter[bytes], distinct: Sequence[set[bytes]], among: float
) -> Iterator[Note]:
    held = Counter(row for rows in distinct for row in rows)
    found = sum(count for row, count in points.items() if row in held)
    n, sizes = points.total(), [len(rows) for rows in distinct]
    apart = (sum(sizes) ** 2 - sum(size**2 for size in sizes)) / 2
    # How often a point equals a record by chance: as points equal each other, or as records of
    # different parties do, of which there are many more.
    between = float(_most(_pairs(held.values()))) / max(apart, 1)
    by_chance = n * min(1.0, sum(sizes) * max(among, between))
    if found > max(MUCH * n, TIMES * by_chance):
        yield Note(
            f"{percent(found / n)} of the public points equal a record of a party in every "
            "column. Parties' own records are not public, and nothing protects them as public "
            f"points: give other points. {_TOLD}"
        )


def _rows(points: NDArray[np.float64]) -> list[bytes]:
    # Adding 0 makes of -0 what it equals.
    return [row.tobytes() for row in points + 0.0]


def _pairs(counts: Iterable[int]) -> int:
    return sum(math.comb(count, 2) for count in counts)


def _most(count: float | NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(count + _ERRORS * np.sqrt(count) + _LEAST, np.float64)

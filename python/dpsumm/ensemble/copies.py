"""Records that are where they should not be, in several parties or among the public points.

For the caller of `dpsumm.learn` alone, who holds all data in one process. It may depend on one
record, so it is in no model, report, prediction or log.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from dpsumm.basics.checks import listed
from dpsumm.data.hashes import column_hashes, row_hashes
from dpsumm.data.twice import twice
from dpsumm.report.notes import Note
from dpsumm.report.numbers import percent

# Part of the public points that must be records of parties, and part of a party's records that
# others must hold, before anything is said.
MUCH, HALF = 0.1, 0.5
# Parties that a note names.
MOST_NAMED = 2
TOLD = "You are told since you hold all data here; it stands in no result."


def copies_notes(
    public_points: NDArray[np.float64], parties: Mapping[str, NDArray[np.float64]]
) -> list[Note]:
    """Return warnings of records that several parties hold, and of points that are records.

    There is no note if coarse rows are equal as often by chance.

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
    2 of 4 parties hold half of their records or more in common with others
    """
    if not parties:
        return []
    keys = [row_hashes(column_hashes(rows)) for rows in (public_points, *parties.values())]
    if len(np.unique(np.concatenate(keys))) == sum(map(len, keys)):
        return []
    rows = column_hashes(np.concatenate(list(parties.values())))
    owner = np.repeat(np.arange(len(parties)), [len(held) for held in keys[1:]])
    found = twice(column_hashes(public_points), rows, owner)
    held = np.concatenate(keys[1:])
    return [
        *_in_several(list(parties), owner, held, found["shared"]),
        *_in_points(keys[0], held[found["copied"]]),
    ]


def _in_several(
    names: list[str],
    owner: NDArray[np.int64],
    keys: NDArray[np.uint64],
    shared: NDArray[np.bool_],
) -> Iterator[Note]:
    told = np.bincount(owner, shared, len(names)) >= HALF * np.maximum(
        np.bincount(owner, minlength=len(names)), 1
    )
    if not told.any():
        return
    which = shared & told[owner]
    held = np.isin(keys, keys[which])
    once = np.unique(np.stack([keys[held], owner[held].astype(np.uint64)]), axis=1)
    most = int(np.unique(once[0], return_counts=True)[1].max())
    some = listed([names[i] for i in np.flatnonzero(told)[:MOST_NAMED].tolist()])
    yield Note(
        f"{told.sum():,} of {len(names):,} parties hold half of their records or more in common "
        f"with others, equal in every column, such as {some}: is one file given as two parties? "
        f"Epsilon is for what one party holds. For a record that {'two' if most == 2 else most} "
        f"parties hold it is {most:,} times as large, or more: give each record once. {TOLD}"
    )


def _in_points(points: NDArray[np.uint64], held: NDArray[np.uint64]) -> Iterator[Note]:
    part = float(np.isin(points, held).mean())
    if part > MUCH:
        yield Note(
            f"{percent(part)} of the public points equal a record of a party in every column. "
            f"Parties' own records are not public, and nothing protects them as public points: "
            f"give other points. {TOLD}"
        )

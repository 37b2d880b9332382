"""Records that are there twice, and what of that is chance.

For curator and consumer alone: it depends on private data. No value of a record is in it.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsumm.checks import counted
from dpsumm.data.coordinates import cell_names
from dpsumm.data.schema import Schema
from dpsumm.report.notes import Note, Severity
from dpsumm.summary.notes import MUCH
from dpsumm.summary.protocols import Selection
from dpsumm.summary.protocols.curator import row_keys


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
    copies = sum(key in seen for key in pool)
    taken = sum(key in seen for key in chosen)
    read = counted(len(pool), "point", "points")
    if dropped:
        if copies:
            text = (
                f"{copies:,} of {read} read equal a target record in every column and were left "
                f"out."
            )
            notes.append(Note(text, Severity.INFO))
    elif copies > 2 * by_chance * len(pool):
        notes.append(
            Note(
                f"{copies:,} of {read} read equal a target record in every column, {taken:,} of "
                f"the summary's {len(chosen):,}. If an owner holds the target's own data, a "
                f"summary of it says nothing about the owners: leave that owner out, or those "
                f"points with drop_target_copies (--drop-target-copies), which costs nothing.",
                Severity.ALARM if taken >= MUCH * len(chosen) else Severity.WARNING,
            )
        )
    owners = selection.pool.owner.tolist()
    held = Counter(zip(pool, owners, strict=True))
    holders = Counter(key for key, _ in held)
    twice = sum(holders[key] > 1 for key in pool)
    if twice > 2 * by_chance * len(pool):
        notes.append(
            Note(
                f"{twice:,} of {read} read are held by two owners or more, equal in every column: "
                f"is one file given as two owners? A record held twice counts twice, for the "
                f"summary and for what it costs its person.",
                Severity.ALARM if twice >= MUCH * len(pool) else Severity.WARNING,
            )
        )
    again = sum(held[key, owner] > 1 for key, owner in zip(pool, owners, strict=True))
    if again > 2 * by_chance * len(pool):
        notes.append(
            Note(
                f"{again:,} of {read} read equal another one of the same owner in every column: "
                f"does a file hold records more than once? Each copy counts, for the summary and "
                f"for what it costs its person.",
                Severity.ALARM if again >= MUCH * len(pool) else Severity.WARNING,
            )
        )
    return notes


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

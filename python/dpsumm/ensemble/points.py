"""Messages on public points and on rows to predict, to those who own them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from dpsumm.data.table import Table
from dpsumm.report.notes import Note
from dpsumm.report.outside import outside_notes

# Part of the public points that must differ from each other.
DIFFERENT = 0.5


def points_notes(table: Table) -> list[Note]:
    """Return what the consumer should know of the public points, before anybody votes on them.

    They are public or the consumer's own, so this reveals no party's data.

    Examples
    --------
    >>> import numpy as np
    >>> from dpsumm.data.table import read_table
    >>> few = np.tile(np.random.default_rng(0).normal(size=(6, 2)), (100, 1))
    >>> print(points_notes(read_table(few, name="public_points"))[0].partition(":")[0])
    Of the 600 public points only 6 differ from each other
    """
    then = "Parties vote on what is left of the points, and the model learns from these votes."
    return [*outside_notes(table, "the public points'", then), *_alike(table.values)]


def rows_notes(table: Table) -> list[Note]:
    """Return what anyone who predicts should know of the rows."""
    then = "Predictions are for what is left of the rows, and may mean nothing."
    return list(outside_notes(table, "the rows'", then))


def _alike(values: NDArray[np.floating]) -> Iterator[Note]:
    n, differ = len(values), _different(values)
    if differ >= DIFFERENT * n:
        return
    # Rows of few coarse columns are equal by chance. Of rows that were repeated two columns tell
    # most apart, each alone.
    one, other = sorted([0, 0, *(_different(values[:, [j]]) for j in range(values.shape[1]))])[-2:]
    if one <= DIFFERENT * differ or one * other < 4 * differ:
        return
    yield Note(
        f"Of the {n:,} public points only {differ:,} differ from each other: equal points teach "
        "a student nothing new. Give each point once, and more of them."
    )


def _different(values: NDArray[np.floating]) -> int:
    # Adding 0 makes of -0 what it equals.
    return len({row.tobytes() for row in values + 0.0})

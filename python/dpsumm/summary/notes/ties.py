"""Points that are equal in all that is compared, so that their order decides whose are taken.

For curator and consumer alone: it depends on private data. No value of a record is in it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpsumm.basics.checks import counted
from dpsumm.report.notes import Note, Severity
from dpsumm.summary.notes.hashes import column_hashes, row_hashes
from dpsumm.summary.protocols import Selection


def tie_notes(selection: Selection) -> list[Note]:
    """Tell of fewer different points among those read, of several owners, than the summary has.

    Of equal points the first is taken, so that an owner's worth follows the order of the owners.
    One and the same point, whoever sent it, is told of already.
    """
    p, pool = len(selection.scaled), selection.pool
    if _different(selection.scaled) == p or (pool.owner == pool.owner[0]).all():
        return []
    different = _different(pool.scaled)
    if not 1 < different < p:
        return []
    return [
        Note(
            f"The {counted(len(pool.scaled), 'point', 'points')} read are "
            f"{counted(different, 'different one', 'different ones')} in what is compared, fewer "
            f"than the summary's {p:,}. Of points that do not differ those of the owner named "
            f"first are taken, so what an owner is worth says nothing. Compare more columns, or "
            f"judge owners by all points collected (collected_attribution).",
            Severity.WARNING,
        )
    ]


def _different(points: NDArray[np.generic]) -> int:
    return len(np.unique(row_hashes(column_hashes(points))))

"""Refusals before anything is charged or sent, because the summary would mean nothing."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpsumm.basics.checks import counted
from dpsumm.data.hashes import column_hashes, row_hashes
from dpsumm.data.table import Table
from dpsumm.errors import InvalidDataError
from dpsumm.report.outside import MUCH

# Times what chance makes of equal rows, above which they are copies.
BEYOND_CHANCE = 3.0


def check_target(target: Table) -> None:
    """Refuse a target if bounds or categories leave nothing of it to compare.

    Privacy
    -------
    Before the first message, and towards the consumer alone. That no run takes place is visible, as
    for every refusal. Guarantees compare targets that are both accepted.
    """
    titles = target.titles or tuple(f"column {name!r}" for name in target.columns)
    for column, title, count in zip(target.schema.kernel, titles, target.n_clipped, strict=False):
        if count == len(target):
            low, high = column.bounds or ("", "")
            raise InvalidDataError(
                f"'target': every value of {title} is outside its bounds ({low}, {high}). Give "
                f"public bounds in the column's own units, or leave the column out"
            )
    if len(target) > 1 and (target.scaled == target.scaled[0]).all():
        raise InvalidDataError(
            "'target': all records are the same point for the kernel, so there is nothing to "
            "match. Check columns, bounds and categories"
        )


def check_sample(sample: Any, target: Table) -> None:
    """Refuse a sample that holds target records, because every owner receives its rows.

    Records are equal in single precision. A tenth of the target's must be, and more than coarse
    rows are by chance, which the target's own tell. Records that were changed are not found.

    Parameters
    ----------
    sample : (n, columns of the kernel's space), optional
        As `Offers` has it.

    Privacy
    -------
    The target's records decide. The consumer alone observes it, in its own process and before it
    asks, sends or charges anything. Others see at most that a run ends without a first message.
    Without a refusal everything is as if this had not been called.
    """
    m, rows = len(target), np.asarray([] if sample is None else sample, np.float32)
    if rows.ndim != 2 or rows.shape[1] != target.scaled.shape[1] or m < 2:
        return
    records, public = (
        row_hashes(column_hashes(part.astype(np.float32))) for part in (target.scaled, rows)
    )
    times = np.unique(records, return_counts=True)[1]
    alike = float((times * (times - 1)).sum()) / (m * (m - 1))
    by_chance = m * min(len(np.unique(public)) * alike, 1.0)
    copies = int(np.isin(records, public).sum())
    if copies >= MUCH * m and copies > BEYOND_CHANCE * by_chance:
        raise InvalidDataError(
            f"sample: holds {copies:,} of {counted(m, 'target record', 'target records')}, and "
            f"every owner is sent its rows as they are. Give public records that are not the "
            f"target's, or leave `sample` out"
        )

"""Whether the kernel can tell records apart at all: of a distance that is small whatever is chosen.

For curator and consumer alone: it depends on private data. No value of a record is in it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsumm import kernels
from dpsumm.report.notes import Severity
from dpsumm.summary.protocols import Selection, Setting

# How unlike two records are on average: 1 less the kernel's value, which is 0 for nothing alike.
# A normal column that fills a third of its bounds has 0.07, most tables 0.4.
BARELY, HARDLY = 0.005, 0.02
# Records and points that are looked at.
MOST_ROWS = 1000


def unlike(selection: Selection, setting: Setting, gamma: float) -> float:
    """Return how unlike target records are of each other and of points read, 0 to 1.

    The larger of both: a narrow target is none if the points read lie elsewhere. Equal records are
    counted once: it is no fault of the kernel that they are alike. Above `HARDLY` it may be any
    larger number. The rows that are looked at depend on their number alone.
    """
    count = len(setting.target)
    if count < 2 or 1 - selection.target_self > HARDLY:
        return 1.0
    target, pool = (
        np.ascontiguousarray(_some(part), np.float64)
        for part in (setting.target, selection.pool.scaled)
    )
    apart = 1 - float(kernels.kernel_means(pool, target, gamma).mean())
    target = np.unique(target, axis=0)
    if apart > HARDLY or len(target) < 2:
        return 1.0
    own = (1 - kernels.mean_kernel_self(target, gamma)) * len(target) / (len(target) - 1)
    return max(own, apart, 0.0)


def severity_of(unlikeness: float) -> Severity | None:
    """Return how bad it is, None if the kernel tells records apart."""
    if unlikeness >= HARDLY:
        return None
    return Severity.ALARM if unlikeness < BARELY else Severity.WARNING


def _some(rows: NDArray[Any]) -> NDArray[Any]:
    """Return at most `MOST_ROWS` of them, evenly spaced."""
    if len(rows) <= MOST_ROWS:
        return rows
    return rows[np.linspace(0, len(rows) - 1, MOST_ROWS).astype(np.int64)]

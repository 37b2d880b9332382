"""How each column of the rows is distributed, next to its noisy table. Post-processing, no data."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dpsumm.report.notes import Severity
from dpsumm.report.panels import Bins, Categories, Panel, histogram, most_frequent
from dpsumm.vertical.grid import Drawn
from dpsumm.vertical.layout import Released
from dpsumm.vertical.margins import Grade, Margin

SETS = {"target": "noisy table", "summary": "rows"}
# Bins of a number; of its rows the shares at either end that are drawn at the edge.
_BINS, _ENDS = 24, (0.002, 0.998)
# Values that are drawn of a noisy table, which has cells only.
_DRAWN = 20_000
_SEVERITY = {
    Grade.CLOSE: Severity.INFO,
    Grade.ROUGH: Severity.INFO,
    Grade.NOISE: Severity.WARNING,
}


def panels_of(
    released: Released,
    levels: Sequence[Drawn],
    drawn: NDArray[np.uint32],
    margins: Sequence[Margin],
) -> list[Panel]:
    """Return a panel for each margin; `drawn` (n, columns) are levels of rows."""
    return [
        Panel(
            levels[one.column].name,
            f"{one.said}; {one.grade}",
            _shown(released.singles[one.column], levels[one.column], drawn[:, one.column]),
            _SEVERITY[one.grade],
        )
        for one in margins
    ]


def _shown(
    counts: NDArray[np.int64] | NDArray[np.float64], levels: Drawn, drawn: NDArray[np.uint32]
) -> Bins | Categories:
    column = levels.column
    # Noise makes counts negative, which a picture has no place for.
    table = np.clip(np.asarray(counts, dtype=np.float64), 0, None)
    table /= table.sum() or 1.0
    if classes := column.how.classes:
        names = ["missing" if one is None else str(one) for one in classes]
        rows = np.bincount(drawn, minlength=len(table)) / len(drawn)
        return most_frequent(np.stack([table, rows]), names)
    rng = np.random.default_rng(0)
    codes = rng.choice(len(table), _DRAWN, p=table) if table.any() else np.zeros(1, np.int64)
    sets = [levels.decode(one.astype(np.uint32), rng) for one in (codes, drawn)]
    known = [values[~np.isnan(values)] for values in sets]
    low, high = np.quantile(known[1], _ENDS).tolist() if len(known[1]) else (0.0, 1.0)
    return histogram(known, low, high, _BINS, is_date=column.how.is_date)

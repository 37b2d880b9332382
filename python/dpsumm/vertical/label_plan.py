"""How well rows will predict a label, from the noise of the label's tables alone.

This is an estimate for planning, from public numbers alone. Take classes that are normal along the
best score. An AUC on real records is then a squared distance of the classes, and noise in the
tables turns the score away from its direction.
"""

from __future__ import annotations

import math
from statistics import NormalDist

from dpsumm.vertical.noise import NoisePlan

# How the noise that counts grows with that of the tables, because rare levels are merged and
# weights shrink where it is large; and by how much it is off in most runs. From Adult and a made-up
# clinic, then judged on other tables (evidence/vertical/label_plan.py, docs/results-rows.md).
FACTOR, POWER, SPREAD = 0.83, 0.58, 4.0
# What trees lose because rows are drawn, in AUC.
DRAWN = 0.01
_NORMAL = NormalDist()


def label_noise(noise: NoisePlan) -> float | None:
    """Return the noise that turns the label's score, in the unit of a squared distance of classes.

    It is the variance of log-odds that all tables with the label add, for levels and classes of
    equal size. None without a table of the label.
    """
    label = noise.label
    found = [
        2 * (noise.sizes[i] * noise.sizes[j]) ** 2 * noise.variance(index)
        for index, (i, j) in enumerate(noise.pairs)
        if label in (i, j)
    ]
    return math.fsum(found) if found else None


def auc_of_rows(on_real: float, noise: float, records: int) -> tuple[float, float]:
    """Return the AUC to expect of trees trained on rows, as a range.

    Parameters
    ----------
    on_real
        That of trees trained on all real records, 0.5 to 1.
    noise
        By `label_noise`.
    """
    most = FACTOR * (noise / records**2) ** POWER
    low, high = (_turned(on_real, spread * most) for spread in (SPREAD, 1 / SPREAD))
    return max(low - DRAWN, 0.5), high


def _turned(auc: float, noise: float) -> float:
    """Return what is left of an AUC if noise is added to the direction of its score."""
    if auc in (0.5, 1.0):
        return auc
    apart = 2 * _NORMAL.inv_cdf(auc) ** 2
    return _NORMAL.cdf(apart / math.sqrt(2 * (apart + noise)))

"""A kernel that takes all records for alike, and bounds so wide that it hardly sees a column.

For curator and consumer alone, since it depends on private data. No value of a record is in it. It
looks at target and read points, after the last message, so it does not reach an owner.
"""

from __future__ import annotations

import math

import numpy as np

from dpsumm import kernels
from dpsumm.report.notes import Note, Severity
from dpsumm.report.numbers import percent
from dpsumm.report.thinned import thinned
from dpsumm.summary.kernel import RBF
from dpsumm.summary.notes.limits import MOST_NAMED
from dpsumm.summary.protocols import Selection, Setting

# How unlike two records are on average: 1 less the kernel's value, which is 0 for nothing alike.
# A normal column that fills a third of its bounds has 0.07, most tables 0.4.
BARELY, HARDLY = 0.005, 0.02
# What of its bounds a column takes up; its part of the squared distance is the square.
NARROW, NOTHING = 1 / 20, 1 / 100
# So much at either end is left out: marks of no value, and slips of the pen.
ENDS = 0.02
# Records and points that are looked at.
MOST_ROWS = 1000


def narrow_notes(selection: Selection, setting: Setting, kernel: RBF) -> list[Note]:
    """Warn of a distance that hardly sees the records, or some of their columns."""
    unlikeness = unlike(selection, setting, kernel.gamma)
    hidden = _hidden(selection, setting, kernel)
    names = ", ".join(f"{name} ({_few(share)})" for share, name in hidden[:MOST_NAMED])
    if unlikeness < HARDLY:
        said = (
            f"The kernel takes the target's records for alike: on average two of them, or one of "
            f"them and a point read, are {_few(unlikeness)} as unlike as two records can be, or "
            f"less. Any of the points read would look close, well chosen or not. Give public "
            f"bounds that are close to the values which can be there, or a larger gamma "
            f"(`kernel=RBF(gamma)`)."
        )
        said += f" They take up a small part of the bounds of {names}." if hidden else ""
        return [Note(said, Severity.ALARM if unlikeness < BARELY else Severity.WARNING)]
    if not hidden:
        return []
    columns = 0 if setting.schema is None else len(setting.schema.kernel)
    bad = hidden[0][0] < NOTHING or 2 * len(hidden) > columns
    text = (
        f"Target and points read take up a small part of the bounds of {names}, so the distance "
        f"hardly sees them. Give public bounds that are close to the values which can be there, "
        f"and look for marks of no value, such as 9999."
    )
    return [Note(text, Severity.ALARM if bad else Severity.WARNING)]


def unlike(selection: Selection, setting: Setting, gamma: float) -> float:
    """Return how unlike target records are of each other and of read points, 0 to 1.

    The larger of both, because a target is not narrow if the read points are elsewhere. Equal
    records are counted once, since the kernel is not the reason that they are alike. Above `HARDLY`
    it may be any larger number.
    """
    if len(setting.target) < 2 or 1 - selection.target_self > HARDLY:
        return 1.0
    target, pool = (
        np.ascontiguousarray(thinned(part, MOST_ROWS), np.float64)
        for part in (setting.target, selection.pool.scaled)
    )
    apart = 1 - float(kernels.kernel_means(pool, target, gamma).mean())
    target = np.unique(target, axis=0)
    if apart > HARDLY or len(target) < 2:
        return 1.0
    own = (1 - kernels.mean_kernel_self(target, gamma)) * len(target) / (len(target) - 1)
    return max(own, apart, 0.0)


def _hidden(selection: Selection, setting: Setting, kernel: RBF) -> list[tuple[float, str]]:
    """Return numbers of which target and points read take up little, and how much, least first.

    A bandwidth smaller than the default one sees smaller differences.
    """
    schema = setting.schema
    if schema is None or not schema.bounded:
        return []
    if len(schema.cells) != selection.pool.scaled.shape[1]:
        return []
    sharper = math.sqrt(max(kernel.gamma / RBF.for_schema(schema).gamma, 1.0))
    parts = [thinned(part, MOST_ROWS) for part in (setting.target, selection.pool.scaled)]
    found, start = [], 0
    for column in schema.kernel:
        stop = start + len(column.how.cells)
        if not column.categories:
            known = [part[~(part[:, start + 1 : stop] > 0).any(axis=1), start] for part in parts]
            ends = [np.quantile(one, (ENDS, 0.5, 1 - ENDS)) for one in known if len(one)]
            share = float(np.ptp(ends)) / column.weight if ends else 0.0
            # Of a column that is mostly one value no bounds would show more.
            varies = any(low < middle < high for low, middle, high in ends)
            if varies and 0 < share * sharper < NARROW:
                found.append((share, column.name))
        start = stop
    return sorted(found)


def _few(share: float) -> str:
    return percent(share) if share >= 0.001 else "below 0.1%"

"""Whether a summary can stand in for the target: useful, check, or do not use.

By what it is for, not by multiples of what chance makes: the share of the gap that it closes, how
well a classifier tells it from the target, and columns that it does not follow. docs/results.md
says how often the rules were right, as evidence.verdicts measured it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dpsumm.report.notes import Severity
from dpsumm.report.numbers import percent
from dpsumm.report.verdict import Verdict

if TYPE_CHECKING:
    from dpsumm.summary.likeness import Estimate, Likeness

# Share closed: from half of the gap on a careful user keeps it, below a quarter there is nothing.
KEPT, NOTHING = 0.5, 0.25
# Pairs of a point and a target record that a classifier tells: nearly alike, clearly apart.
CHANCE, ALIKE, TOLD = 0.5, 0.65, 0.75
# Target records, and rows of either set, below which it stays open.
FEW, FEWEST = 50, 20
_CALLS = {Severity.ALARM: "do not use: ", Severity.WARNING: "check: ", Severity.INFO: ""}


def judged(found: Likeness | None, far: Sequence[str], n_target: int, *, alarms: bool) -> Verdict:
    """Return the verdict.

    Parameters
    ----------
    found
        None if there are fewer than `FEWEST` rows of either set.
    far
        Columns that the summary does not follow, worst first; see `by_column.not_followed`.
    n_target
        Records of the target.
    alarms
        Whether notes say that records look mistaken, or that privacy is weak.
    """
    bad, check = [], ["read the warnings first"] if alarms else []
    if found is None:
        check.append("too few rows to judge by")
        return _said(Severity.WARNING, check, "")
    doubts = len(check)
    if found.apart.low > ALIKE:
        if found.rows_apart.low <= 0:
            check.append("it stays open whether these points are closer")
        elif found.closed is None:
            check.append("nothing was chosen, and a classifier tells these points apart")
        elif found.closed.high < NOTHING:
            bad.append("no closer to your data than the rows read")
        elif found.closed.value < KEPT:
            check.append("closer to your data, but most of the gap remains")
    if far and not bad:
        check.append(f"closer to your data, but not in {far[0]}")
    if found.apart.low > TOLD and not bad and len(check) == doubts:
        check.append("closer to your data, yet a classifier tells them apart")
    if n_target < FEW:
        check.append("too few records of yours to judge by")
    if bad:
        return _said(Severity.ALARM, bad + check, _why(found))
    if check:
        return _said(Severity.WARNING, check, _why(found))
    return _said(Severity.INFO, ["these points look much like your data"], _why(found))


def _said(severity: Severity, heads: list[str], why: str) -> Verdict:
    head, *others = heads
    why = "; ".join([*filter(None, [why]), *others])
    return Verdict(f"{_CALLS[severity]}{head}", why, severity)


def _why(found: Likeness) -> str:
    if found.rows_apart.low <= 0:
        share = "the rows read are no further away than chance makes them"
    elif found.closed is None:
        share = "all rows read are in"
    elif found.closed.low >= 1:
        share = "they close the whole gap of the rows read"
    else:
        share = f"they close {_within(found.closed, 0.0, 1.0)} of the gap of the rows read"
    told = "a classifier does not tell them from your data"
    if found.apart.low > CHANCE:
        pairs = _within(found.apart, CHANCE, 1.0)
        told = f"a classifier tells {pairs} of pairs of theirs and yours, where 50% is chance"
    return f"{share}; {told}"


def _within(one: Estimate, least: float, most: float) -> str:
    value, low, high = (percent(min(max(x, least), most)) for x in (one.value, one.low, one.high))
    return f"{value} ({low} to {high})"

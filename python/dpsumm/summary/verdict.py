"""The verdict on a summary in place of the target: useful, check, or do not use.

By its use, not by multiples of chance. It goes by the share of the gap that the summary closes, how
well a classifier tells it from the target, columns that it does not follow and, where the target
has labels, the scores of a model of it on these. docs/results.md says how often the rules were
right, as evidence.verdicts measured it.
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
# Area under the curve by which own labels must lead labels that rank nothing.
WORSE = 0.1
# And by which they must lead for the points to be called needless.
LESS = 0.02
# Target records, and rows of either set, below which it stays open.
FEW, FEWEST = 50, 20
_CALLS = {Severity.ALARM: "do not use: ", Severity.WARNING: "check: ", Severity.INFO: ""}


def judged(
    found: Likeness | None,
    far: Sequence[str],
    n_target: int,
    *,
    alarms: bool = False,
    strange_labels: bool = False,
) -> Verdict:
    """Return the verdict.

    Parameters
    ----------
    found
        None if there are fewer than `FEWEST` rows of either set.
    far
        Columns that the summary does not follow, worst first. See `by_column.not_followed`.
    n_target
        Records of the target.
    alarms
        Whether notes say that records look mistaken, or that privacy is weak.
    strange_labels
        Whether the summary has no label of the target's.
    """
    check = ["read the warnings first"] if alarms else []
    if strange_labels:
        check.append("your labels are none of theirs")
    if found is None:
        return _said(Severity.WARNING, [*check, "too few rows to judge by"], "")
    bad, doubts = _by_distance(found)
    if far and not bad:
        doubts.append(f"closer to your data, but not in {far[0]}")
    if found.apart.low > TOLD and not bad and not doubts:
        doubts.append("closer to your data, yet a classifier tells them apart")
    if n_target < FEW:
        doubts.append("too few records of yours to judge by")
    use = found.use
    works = use is not None and use.theirs.low > CHANCE
    if use is not None and use.theirs.high < CHANCE:
        bad.insert(0, "these labels contradict yours; do not train on them")
    elif use is not None and use.theirs.low < CHANCE < use.own.low and use.more.high < -WORSE:
        bad.insert(0, "these labels say nothing about yours")
    elif use is not None and use.more.high < 0 and use.more.value < -LESS:
        doubts.append("your own labels alone do better")
    elif works:
        # Labels settle it: distance alone is no reason to throw away what a model learns from.
        doubts, bad = bad + doubts, []
    if bad:
        return _said(Severity.ALARM, bad + check + doubts, _why(found))
    if check or doubts:
        return _said(Severity.WARNING, check + doubts, _why(found))
    good = "a model of these points works on your data"
    head = good if works else "these points look much like your data"
    return _said(Severity.INFO, [head], _why(found))


def _by_distance(found: Likeness) -> tuple[list[str], list[str]]:
    """Return why not to use points that are told apart, and why to check them."""
    if found.apart.low <= ALIKE:
        return [], []
    if found.rows_apart.low <= 0:
        return [], ["it stays open whether these points are closer"]
    if found.closed is None:
        return [], ["nothing was chosen, and a classifier tells these points apart"]
    if found.closed.high < NOTHING:
        return ["no closer to your data than the rows read"], []
    if found.closed.value < KEPT:
        return [], ["closer to your data, but most of the gap remains"]
    return [], []


def _said(severity: Severity, heads: list[str], why: str) -> Verdict:
    head, *others = heads
    why = "; ".join([*filter(None, [why]), *others])
    return Verdict(f"{_CALLS[severity]}{head}", why, severity)


def _why(found: Likeness) -> str:
    if found.rows_apart.low <= 0:
        share = "the records read are as close to your data as chance allows"
    elif found.closed is None:
        share = "every record read was kept"
    elif found.closed.low >= 1:
        share = "they close the gap between your data and the records read"
    else:
        closed = _within(found.closed, 0.0, 1.0)
        share = f"they close {closed} of the gap between your data and the records read"
    told = "a classifier cannot tell them from your data"
    if found.apart.low > CHANCE:
        pairs = _within(found.apart, CHANCE, 1.0)
        told = f"a classifier tells them from your data in {pairs} of pairs, where 50% is chance"
    if found.use is None:
        return f"{share}; {told}"
    theirs, own = (_within(one, 0.0, 1.0) for one in (found.use.theirs, found.use.own))
    models = f"on your labels a model of them has AUC {theirs}, one of your own data {own}"
    return f"{share}; {told}; {models}"


def _within(one: Estimate, least: float, most: float) -> str:
    value, low, high = (percent(min(max(x, least), most)) for x in (one.value, one.low, one.high))
    return f"{value} ({low} to {high})"

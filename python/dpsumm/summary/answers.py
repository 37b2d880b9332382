"""The first screen of a summary's page, on likeness to the target, messages and next steps."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from dpsumm.basics.checks import counted
from dpsumm.report.numbers import percent, round_up
from dpsumm.report.parts import Bar, Html, bars, tag
from dpsumm.report.screen import Flow, big, flow, odds
from dpsumm.summary.by_column import closed_by_column

if TYPE_CHECKING:
    from dpsumm.summary.result import Summary

# Columns whose gap is shown, and the part of the gap that calls for more reads.
MOST_BARS, MOSTLY = 4, 0.9


def answer(summary: Summary) -> Iterator[Html]:
    """Yield how like the target the points are."""
    found = summary.likeness
    if found is None:
        yield big(f"{len(summary):,}", "points came out. They are too few to judge by.")
        return
    told = percent(min(max(found.apart.value, 0.5), 1.0))
    pairs = "of pairs of a point and a record of yours"
    if found.use is not None:
        theirs, own = (percent(one.value) for one in (found.use.theirs, found.use.own))
        yield big(theirs, f"AUC of a model of the points on your labels. One of your data: {own}.")
    elif found.closed is None:
        yield big(told, f"{pairs} are told apart by a classifier. 50% is chance.")
        return
    if found.closed is not None:
        yield from _gap(summary, found.closed.value, leads=found.use is None)
    yield tag("p", f"A classifier tells {told} {pairs} apart. 50% is chance.")


def _gap(summary: Summary, closed: float, *, leads: bool) -> Iterator[Html]:
    columns = closed_by_column(summary, MOST_BARS)
    each = columns if len(columns) > 1 else []  # one alone says the same as all
    if leads:
        yield big(_share(closed), "of the gap between the records read and your data is closed")
        said = "By column, those where the gap was largest:"
    else:
        each = [("all columns", closed, True), *each]
        said = "Of the gap between the records read and your data, the choice closes:"
    if each:
        yield tag("p", said)
        rows = [
            Bar(name, max(value, 0.0), _share(value), kind="" if followed else "far")
            for name, value, followed in each
        ]
        yield bars(rows, 1.0)


def _share(value: float) -> str:
    return percent(min(max(value, 0.0), 1.0))


def seen(summary: Summary) -> Iterator[Html]:
    """Yield who saw what, with the numbers of this run."""
    privacy, epsilon = summary.privacy, summary.privacy.epsilon()
    between = privacy.epsilon(protected="owners")
    total = sum(summary.n_records)
    n_sent = sum(one.count for one in privacy.charges if one.protected == "target")
    noisy = (
        f"{counted(n_sent, 'noisy message', 'noisy messages')}, ε\u00a0=\u00a0{round_up(epsilon)}"
    )
    if not n_sent:
        noisy = "a request without your data"
    elif math.isinf(epsilon):
        noisy = "messages that nothing protects"
    read = counted(summary.accesses, "record", "records")
    share = percent(summary.accesses / total) if total else "all"
    form = "under a secret map" if privacy.embedded else "as they are"
    yield flow(
        Flow(
            (
                ("You", counted(len(summary.target), "record", "records")),
                ("Curator", "trusted by all"),
                (
                    counted(len(summary.names), "owner", "owners"),
                    counted(total, "record", "records"),
                ),
            ),
            ("your target", noisy),
            (counted(len(summary), "point", "points"), f"{read} ({share}), {form}"),
        )
    )
    if n_sent:
        yield from odds("An owner", "one of your records", epsilon, privacy.delta)
    if between == 0:
        yield tag("p", "Owners learn", tag("strong", "nothing"), "about each other.")
    else:
        who = "Anyone" if privacy.shown else "Another owner"
        yield from odds(who, "a record of an owner", between, privacy.delta)
    yield tag(
        "p",
        tag("strong", "Not protected:"),
        f"the {read} that were read, from the curator and you. Do not publish them, or "
        f"{'another' if privacy.shown else 'a'} model trained on them.",
    )


def steps(summary: Summary) -> Iterator[str]:
    """Yield what to do with the points."""
    found = summary.likeness
    gap = None if found is None else found.closed
    if gap is not None and gap.value < MOSTLY and summary.protocol == "Offers":
        more = math.ceil(2 * summary.reads_per_record)
        yield f"To close more of the gap, let the curator read more: `reads_per_record={more}`."
    if summary.labels is None:
        yield "Take the points with `summary.to_frame()`."
    else:
        yield (
            f"Train a model with `summary.fit(estimator, own=(X, y))`. It uses all "
            f"{summary.accesses:,} records read, and your own labels if you have some."
        )
        if summary.target_labels is None:
            yield (
                "Give own labels with the target. They stay with you, and tell whether a model of "
                "the points works on your data."
            )
    yield (
        "For a privacy officer, save the points with `summary.save(path)` and run `dpsumm dossier` "
        "on the file."
    )

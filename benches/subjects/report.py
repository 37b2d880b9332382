"""The report of a run beside the run, as columns grow: owners of few rows, hundreds of columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import dpsumm
from benches import data
from benches.subjects import Scale
from benches.timing import OURS, Case

OWNERS, ROWS, SIZE = 5, 200, 50
RUN, REPORT = f"{OURS}, run", f"{OURS}, report"


def cases(scale: Scale) -> Iterator[Case]:
    for columns in (scale.of(20, 500), scale.of(50, 5000)):
        yield _case(columns)


def _case(columns: int) -> Case:
    owners = [data.normals(ROWS, columns, seed=i) for i in range(OWNERS)]
    target = data.normals(ROWS, columns, seed=OWNERS)
    run = partial(
        dpsumm.summarize, owners, target, size=SIZE, kernel=dpsumm.RBF(data.gamma(columns))
    )
    summary = run()
    sizes = {"n": ROWS * OWNERS, "K": OWNERS, "m": ROWS, "c": columns, "p": SIZE}
    # Of a new copy each time: a summary computes what its owners' points are worth but once.
    return Case(sizes, {RUN: run, REPORT: lambda: replace(summary).report()})

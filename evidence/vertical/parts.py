"""What the plan's one figure foretells: parts of Adult, with epsilon such that it is the same.

The figure is `least_correlation`, of the median table; see docs/results-rows.md.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from dpsumm import Tables, plan_synthesis
from evidence.markdown import markdown
from evidence.vertical.data import Task
from evidence.vertical.methods import DELTA, by_default
from evidence.vertical.score import distances, predicted

RESULTS = Path(__file__).with_name("parts.jsonl")
FIGURES = (1.5, 0.5, 0.15, 0.05)
RECORDS = (200, 500, 1000, 2000, 5000, 10_000, 20_000, 30_162)
# Outside of these nobody would ask for rows.
LEAST, MOST = 0.3, 3.0


def known() -> list[dict[str, float]]:
    """Return the results that are there."""
    if not RESULTS.exists():
        return []
    return [json.loads(line) for line in RESULTS.read_text().splitlines()]


def run(task: Task, seed: int) -> None:
    """Add the runs that are not there."""
    there = {(line["figure"], line["records"]) for line in known()}
    for figure, records, epsilon in _cases(task):
        if (figure, records) in there:
            continue
        rng = np.random.default_rng(seed)
        chosen = rng.permutation(len(task.real))[:records]
        owners = {name: frame[chosen] for name, frame in task.owners.items()}
        part = replace(task, owners=owners, real=task.real[chosen])
        rows = by_default(part, epsilon, seed)
        apart = np.stack([rng.permutation(column) for column in part.real.T], axis=1)
        line = {
            "figure": figure,
            "records": records,
            "epsilon": round(epsilon, 4),
            "across": distances(task, rows)["across"],
            "apart": distances(task, apart)["across"],
            "linear": predicted(task, rows)["linear"],
        }
        print(json.dumps(line), flush=True)
        with RESULTS.open("a") as file:
            file.write(json.dumps(line) + "\n")


def _cases(task: Task) -> Iterator[tuple[float, int, float]]:
    protocol = Tables()
    for figure in FIGURES:
        for records in RECORDS:

            def planned(epsilon: float, records: int = records) -> float:
                plan = plan_synthesis(
                    task.schemas,
                    records,
                    epsilon=epsilon,
                    delta=DELTA,
                    label=task.label,
                    protocol=protocol,
                )
                return plan.least_correlation

            if planned(LEAST) < figure or planned(MOST) > figure:
                continue
            low, high = LEAST, MOST
            for _ in range(20):
                middle = (low + high) / 2
                low, high = (middle, high) if planned(middle) > figure else (low, middle)
            yield figure, records, high


def table(lines: Sequence[Mapping[str, float]]) -> str:
    """Return a row for each figure, with the least and the largest of its runs."""
    rows = []
    for figure in FIGURES:
        mine = [line for line in lines if line["figure"] == figure]
        mine.sort(key=lambda line: line["records"])
        if mine:
            spans = [_span([line[key] for line in mine]) for key in ("across", "apart", "linear")]
            rows.append([f"{figure:g}", ", ".join(f"{r['records']:,.0f}" for r in mine), *spans])
    return markdown(
        [
            "median",
            "records",
            "total variation across owners",
            "columns drawn apart",
            "accuracy, logistic",
        ],
        rows,
    )


def _span(values: Sequence[float]) -> str:
    ends = [f"{value:.3f}".lstrip("0") for value in (min(values), max(values))]
    return ends[0] if ends[0] == ends[1] else " to ".join(ends)

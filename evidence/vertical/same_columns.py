"""Rows of owners that hold the same columns: what more owners, and so more noise, cost.

    python -m evidence.vertical.same_columns --data folder [--runs 3]

Adult's records, dealt to so many owners at random, epsilon 1. Next to the sums of all owners'
tables are rows of one owner alone. Prints a table in Markdown.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import polars as pl

from dpsumm import Schema, synthesize
from evidence.vertical.data import Task, adult
from evidence.vertical.score import judged

OWNERS = (1, 4, 16, 64)
MEASURES = ("linear", "trees", "auc", "within")


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser("evidence.vertical.same_columns", description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--runs", type=int, default=3)
    given = parser.parse_args()
    task = adult(given.data, 2)
    print("| owners | rows of | accuracy, logistic | accuracy, trees | AUC, trees | distance |")
    print("|---|---|---|---|---|---|")
    for owners in OWNERS:
        for who in ("all", "one alone") if owners > 1 else ("all",):
            found = [measured(task, owners, who, seed) for seed in range(given.runs)]
            means = (f"{np.mean([one[name] for one in found]):.3f}" for name in MEASURES)
            print(f"| {owners} | {who} | {' | '.join(means)} |", flush=True)


def measured(task: Task, owners: int, who: str, seed: int) -> Mapping[str, float]:
    """Return how good as many rows are as there are records."""
    records = pl.concat(list(task.owners.values()), how="horizontal")
    place = np.random.default_rng(seed).integers(owners, size=records.height)
    shards = {f"owner {k}": records.filter(pl.Series(place == k)) for k in range(owners)}
    if who != "all":
        shards = {"owner 0": shards["owner 0"]}
    schema = Schema(column for part in task.schemas.values() for column in part.columns)
    made = synthesize(shards, schema=dict.fromkeys(shards, schema), label=task.label)
    rows = task.values(made.sample(records.height, seed=seed, backend="polars"))
    found = judged(task, rows)
    # All columns are one holder's here.
    pairs = len(task.columns) * (len(task.columns) - 1) / 2
    within = sum(
        task.owner_of[i] == task.owner_of[j] for i in range(len(task.columns)) for j in range(i)
    )
    mean = (within * found["within"] + (pairs - within) * found["across"]) / pairs
    return {**found, "within": mean}


if __name__ == "__main__":
    main()

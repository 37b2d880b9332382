"""How far the verdict on rows can be trusted: tables of two and three owners, whole and spoilt.

    python -m evidence.vertical.verdicts --data folder [--runs 10]

For each table and fault it counts the verdicts of `dpsumm.synthesize` (information, a warning, an
alarm), and how far the range of `Synthetic.label_score` is from the AUC on real records of boosted
trees that were trained on the rows. Prints a table in Markdown.
"""

from __future__ import annotations

import argparse
import warnings
from collections import defaultdict
from pathlib import Path

import numpy as np
import polars as pl

import dpsumm
from dpsumm.vertical import Synthetic
from evidence.vertical.data import Task, adult, clinic
from evidence.vertical.score import auc

# Records and epsilon; of rows of the first, careful users would make use.
GOOD = ((30_000, 0.3), (30_000, 1.0), (5000, 1.0), (5000, 3.0), (1000, 3.0))
NOISY = ((5000, 0.3), (1000, 0.3), (1000, 1.0), (300, 0.3), (300, 1.0), (300, 3.0))
FAULTS = ("none", "rows in another order", "labels at random")
LEVELS = ("INFO", "WARNING", "ALARM")
# Rows that are worth nothing: trees trained on them are about as good as chance.
CHANCE = 0.6


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser("evidence.vertical.verdicts", description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    rng, found = np.random.default_rng(given.seed), defaultdict[str, list[tuple[str, float]]](list)
    warnings.simplefilter("ignore")
    for task in (adult(given.data, 2), adult(given.data, 3), clinic(1)):
        for _ in range(given.runs):
            for records, epsilon in (*GOOD, *NOISY):
                for fault in FAULTS if (records, epsilon) in GOOD else FAULTS[:1]:
                    kind, level, miss = run(rng, task, records, epsilon, fault)
                    found[kind].append((level, miss))
    print("| Rows | No alarm | Check | Do not use | AUC outside the range by more than 0.03 |")
    print("|---|---|---|---|---|")
    for kind, runs in sorted(found.items()):
        levels = [sum(level == one for level, _ in runs) for one in LEVELS]
        missed = [miss for _, miss in runs if not np.isnan(miss)]
        far = f"{sum(miss > 0.03 for miss in missed)} of {len(missed)}"
        print(f"| {kind} | {' | '.join(map(str, levels))} | {far} |", flush=True)


def run(
    rng: np.random.Generator, task: Task, records: int, epsilon: float, fault: str
) -> tuple[str, str, float]:
    """Return what the rows are, the level of their verdict, and how far the AUC is off."""
    chosen = rng.permutation(len(task.real))[:records].tolist()
    owners = {name: frame[chosen] for name, frame in task.owners.items()}
    holder = next(name for name, frame in owners.items() if task.label in frame.columns)
    order = rng.permutation(len(chosen)).tolist()
    if fault == "rows in another order":
        owners = {name: one if name == holder else one[order] for name, one in owners.items()}
    elif fault == "labels at random":
        labels = pl.Series(task.label, owners[holder][task.label].to_numpy()[order])
        owners[holder] = owners[holder].with_columns(labels)
    made = dpsumm.synthesize(
        owners, schema=task.schemas, epsilon=epsilon, label=task.label, allow_weak_privacy=True
    )
    reached = auc(task, task.values(made.sample(len(chosen), backend="polars")))
    worth = f"AUC {'above' if reached > CHANCE else 'up to'} {CHANCE}"
    kind = f"right, {worth}" if fault == "none" else fault
    return kind, made.verdict.severity.name, apart(made, reached)


def apart(made: Synthetic, reached: float) -> float:
    """Return how far an AUC lies outside the range that was foretold; NaN without one."""
    score = made.label_score
    return np.nan if score is None else max(score.low - reached, reached - score.high, 0.0)


if __name__ == "__main__":
    main()

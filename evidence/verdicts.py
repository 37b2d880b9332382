"""How far the verdict on points can be trusted: on worlds whose answer fresh records know.

    python -m evidence.verdicts --data FOLDER [--seeds 4]

Counts the verdicts of `dpsumm.summarize` on summaries that help (they close half of the gap between
the owners' rows and fresh records of the target, or a model of them leads one of as many rows drawn
evenly by a point), on others, on rows drawn evenly in their place, and on the same summaries with
spoilt labels; without and with the target's own labels. Prints a table in Markdown.
"""

from __future__ import annotations

import argparse
import warnings
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np

import dpsumm
from dpsumm.kernels import mmd2
from evidence.measures import judged
from evidence.problem import Floats, Labelled, Problem
from evidence.runner import SCENARIOS, scenarios

HALF, LEAD = 0.5, 0.01
EPSILONS = (0.3, 1.0)
SIZES = (50, 200)
LEVELS = ("INFO", "WARNING", "ALARM")
# Rows that stand for all owners'.
ROWS = 2000


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser("evidence.verdicts", description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--first", type=int, default=2000, help="the first seed")
    parser.add_argument("--each", action="store_true", help="print each run, too")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    found = Counter[tuple[str, str]]()
    for name, scenario in scenarios(SCENARIOS).items():
        if not {"main", "tables"} & set(scenario.groups):
            continue
        for seed in range(given.first, given.first + given.seeds):
            problem = scenario.problem(given.data, seed)
            for size in SIZES:
                for said in run(problem, size, seed):
                    found[said[:2]] += 1
                    if given.each:
                        print(name, seed, size, *said, sep=" | ", flush=True)
    print("| Points | Useful | Check | Do not use |")
    print("|---|---|---|---|")
    for kind in sorted({kind for kind, _ in found}):
        print(f"| {kind} | {' | '.join(str(found[kind, level]) for level in LEVELS)} |")


def run(problem: Problem, size: int, seed: int) -> list[tuple[str, str, str]]:
    """Return what the points are, the level of the verdict and its words, for each protocol."""
    rng = np.random.default_rng(seed)
    every = Labelled(
        np.concatenate([owner.points for owner in problem.owners]),
        np.concatenate([owner.labels for owner in problem.owners]),
    )
    evenly = every.take(rng.choice(len(every.labels), ROWS))
    found = []
    for epsilon in EPSILONS:
        summary = dpsumm.summarize(
            [(owner.points, owner.labels) for owner in problem.owners],
            problem.target,
            size=size,
            schema=labelled(problem.schema),
            kernel=problem.kernel,
            epsilon=epsilon,
            delta=1e-5,
            seed=seed,
            allow_weak_privacy=True,
        )
        kind = "help" if helps(problem, summary, evenly) else "do not help"
        rows, labels = evenly.take(np.arange(size)), np.asarray(summary.labels)
        drawn = replace(summary, scaled=problem.seen(rows.points), labels=rows.labels, notes=())
        found += said(kind, summary, problem) + said("drawn evenly", drawn, problem)
        if len(np.unique(labels)) > 1:
            classes, place = np.unique(labels, return_inverse=True)
            for how, spoilt in (
                ("labels exchanged", classes[(place + 1) % len(classes)]),
                ("labels at random", rng.permutation(labels)),
            ):
                found += said(how, replace(summary, labels=spoilt), problem)
    return found


def said(
    kind: str, summary: dpsumm.summary.Summary, problem: Problem
) -> list[tuple[str, str, str]]:
    """Return the verdicts without and with the target's labels, by their classes: see `run`."""
    found, own = [], problem.target_labels
    classes = "of two classes" if len(np.unique(own)) == 2 else "of more"
    for labels in (None, own) if len(np.unique(own)) > 1 else (None,):
        one = replace(summary, target_labels=labels).verdict
        name = kind if labels is None else f"{kind}, with own labels {classes}"
        found.append((name, one.severity.name, one.text))
    return found


def labelled(schema: dpsumm.Schema | None) -> dpsumm.Schema | None:
    """Return a schema with a label, behind its columns."""
    label = dpsumm.Column("label", "label")
    return None if schema is None else dpsumm.Schema([*schema.columns, label])


def helps(problem: Problem, summary: dpsumm.summary.Summary, evenly: Labelled) -> bool:
    """Return whether a summary closes half of the gap, or trains a better model."""
    fresh = Labelled(problem.seen(problem.fresh.points), problem.fresh.labels)
    made = Labelled(problem.seen(summary.points), np.asarray(summary.labels))
    drawn = Labelled(problem.seen(evenly.points), evenly.labels)

    def gap(points: Floats) -> float:
        gamma = problem.kernel.gamma
        own = (1 - dpsumm.kernels.mean_kernel_self(points, gamma)) / (len(points) - 1)
        return mmd2(points, fresh.points.astype(points.dtype), gamma) - own - problem.fresh_noise

    if gap(made.points) <= HALF * gap(drawn.points):
        return True
    as_many = drawn.take(np.arange(len(made.labels)))
    # The area under the curve if there are two labels, else accuracy.
    ours, theirs = ([*judged("logistic", one, None, fresh).values()][-1] for one in (made, as_many))
    return ours >= theirs + LEAD


if __name__ == "__main__":
    main()

"""Figures 2 and 3 of Tajeddine et al.: how likely the model of `Dpvi` makes other people's records.

    python -m evidence.vertical.paper_figures --data folder [--figure 2] [--runs 10]

Adult among two owners, in the bins of `evidence.vertical.data`. Figure 2 is the negative log
likelihood of a test record after so many steps of the paper's section 6, with and without secure
computation, and without renormalisation. Figure 3 is the log likelihood of a test record by
epsilon, for a table that one curator holds and for one that two owners hold. Prints two tables in
Markdown, as mean and standard deviation over runs.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from dpsumm import Tables, synthesize
from dpsumm.papers import Dpvi
from dpsumm.papers.dpvi.method import Training
from dpsumm.vertical import Mixture
from evidence.vertical.data import Task, adult

DELTA = 1e-5
STEPS = (500, 2000, 20_000)
EPSILONS = (0.5, 1.0, 2.0, 4.0)
ARITHMETIC = {
    "float": "floats, no secure computation",
    "mended": "fixed point, renormalised as corrected here",
    "published": "fixed point, the paper's renormalisation",
    "plain": "fixed point, no renormalisation",
}


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser("evidence.vertical.paper_figures", description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--figure", type=int, choices=(2, 3))
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--processes", type=int, default=2)
    given = parser.parse_args()
    with ProcessPoolExecutor(given.processes) as pool:

        def row(name: str, run: Callable[..., float], settings: Sequence[object]) -> None:
            """Print a row: a cell for each setting."""
            jobs = list(product(settings, range(given.runs)))
            found = pool.map(partial(_run, run, given.data), *zip(*jobs, strict=True))
            cells = np.array(list(found)).reshape(len(settings), given.runs)
            shown = (f"{cell.mean():.2f} ± {cell.std():.2f}" for cell in cells)
            print(f"| {name} | {' | '.join(shown)} |", flush=True)

        if given.figure != 3:
            _head("arithmetic", [f"{steps:,} steps" for steps in STEPS])
            for arithmetic, name in ARITHMETIC.items():
                row(name, partial(figure_2, arithmetic), STEPS)
        if given.figure != 2:
            _head("method", [f"epsilon {epsilon:g}" for epsilon in EPSILONS])
            for name, method in FIGURE_3.items():
                row(name, method, EPSILONS)


def _head(first: str, columns: Sequence[str]) -> None:
    print(f"\n| {first} | {' | '.join(columns)} |")
    print("|---|" + "---|" * len(columns), flush=True)


def _run(run: Callable[..., float], data: Path, setting: object, seed: int) -> float:
    return run(adult(data, 2), setting, seed)


def figure_2(arithmetic: str, task: Task, steps: int, seed: int) -> float:
    """Return the negative log likelihood after training with the paper's noise and batches."""
    method = replace(Dpvi.published(), arithmetic=arithmetic, steps=steps)
    return -likelihood(_trained(method, task, seed), task.test)


def one_curator(task: Task, epsilon: float, seed: int) -> float:
    """`Dpvi` of one table, whose curator is trusted: its noise counts in full."""
    return likelihood(_trained(_half_known(epsilon), task, seed, owners=1), task.test)


def two_owners(task: Task, epsilon: float, seed: int) -> float:
    """`Dpvi` among owners that each know their own noise, in the arithmetic of shares."""
    method = replace(_half_known(epsilon), arithmetic="mended")
    return likelihood(_trained(method, task, seed), task.test)


def by_tables(task: Task, epsilon: float, seed: int) -> float:
    """`Tables` with the same bins, and the mixture half of its model."""
    protocol = Tables(bins=task.bins)
    made = synthesize(
        task.owners, schema=task.schemas, epsilon=epsilon, delta=DELTA, protocol=protocol
    )
    return likelihood(made.model.mixture, task.test)


FIGURE_3: dict[str, Callable[[Task, float, int], float]] = {
    "`Dpvi`, one table with a trusted curator": one_curator,
    "`Dpvi`, two owners": two_owners,
    "`Tables(bins=...)`, two owners": by_tables,
}


def _half_known(epsilon: float) -> Dpvi:
    """Return `Dpvi` whose every noise, the only one that another owner does not know, suffices."""
    return Dpvi.for_budget(epsilon, DELTA)


def _trained(method: Dpvi, task: Task, seed: int, owners: int = 2) -> Mixture:
    holders = [
        [j for j, owner in enumerate(task.owner_of) if owner == p or owners == 1]
        for p in range(owners)
    ]
    return Training(method, task.train, task.sizes, holders, seed).run().model


def likelihood(model: Mixture, codes: NDArray[np.int64]) -> float:
    """Return the mean log likelihood of records, (n, columns), in nats."""
    starts = np.cumsum([0, *model.sizes[:-1]])
    logs = np.log(np.maximum(model.theta, 1e-12))
    places = codes + starts
    each = sum((logs[:, place] for place in places.T), np.log(model.pi)[:, None])
    found = float(logsumexp(each, axis=0).mean())
    assert math.isfinite(found)
    return found


if __name__ == "__main__":
    main()

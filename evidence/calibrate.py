"""Fit the constants of `dpsumm.plan` to runs on seeds that docs/results.md does not report.

    python -m evidence.calibrate --data FOLDER --keep tuning.parquet

prints what belongs into python/dpsumm/summary/plan.py.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

import dpsumm
from dpsumm.summary.plan import MOST_NOISE, READS_PER_RECORD
from evidence.methods import GREEDY, METHODS, Method
from evidence.ratios import ratios
from evidence.runner import Scenario, run, scenarios

EPSILONS = (0.3, 1.0, 3.0)
GROUPS = ("main", "tables", "m")
Floats = NDArray[np.float64]


def named(rho: float, epsilon: float) -> str:
    """Return the method's name."""
    return f"Offers, {rho:g}" + (f", epsilon {epsilon:g}" if epsilon != 1 else "")


def fit(noise: Floats, measured: Floats) -> tuple[float, float]:
    """Return base and scale: base + (noise / scale)**2 is nearest in the logarithm, in the middle.

    The median of distances counts, not their squares: a rare far scenario moves nothing.
    """
    grid = product(np.geomspace(0.9, 2.5, 60), np.geomspace(0.2, 20, 120))
    noise = np.minimum(noise, MOST_NOISE)

    def loss(pair: tuple[float, float]) -> float:
        off = np.log(measured / (pair[0] + (noise / pair[1]) ** 2))
        return float(np.mean(np.abs(off)))

    base, scale = min(grid, key=loss)
    return float(base), float(scale)


def points(
    table: pl.DataFrame, known: Sequence[Scenario], rho: float, column: str
) -> tuple[Floats, Floats]:
    """Return the noise of a plan, and the ratio measured, in all scenarios and epsilons."""
    made, found = ratios(table, column), []
    for s, epsilon in product(known, EPSILONS):
        measured = made.get((s.name, named(rho, epsilon)))
        if measured is not None and measured.value > 0:
            plan = dpsumm.plan(s.m, s.size, epsilon=epsilon)
            found.append((plan.noise_to_sampling, measured.value))
    noise, measured_ratios = np.array(found).T
    return noise, measured_ratios


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser("evidence.calibrate", description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder of the data sets")
    parser.add_argument("--keep", type=Path, required=True, help="where results are kept")
    parser.add_argument("--seeds", type=int, default=2)
    given = parser.parse_args()
    for rho, epsilon in product(READS_PER_RECORD, EPSILONS):
        METHODS[named(rho, epsilon)] = Method(
            lambda _, rho=rho: dpsumm.Offers(reads_per_record=rho), epsilon, GROUPS, weighted=True
        )
    known = [s for s in scenarios().values() if set(GROUPS) & set(s.groups)]
    tuning = [replace(s, seeds=tuple(range(given.seeds)), classify=False) for s in known]
    methods = [GREEDY, *(named(*each) for each in product(READS_PER_RECORD, EPSILONS))]
    table = run(tuning, methods, given.data, given.keep, 1)
    for column in ("mmd2", "mmd2_weighted"):
        fits = [fit(*points(table, known, rho, column)) for rho in READS_PER_RECORD]
        print(column, "base", [round(b, 2) for b, _ in fits], end=" ")
        print("scale", [round(s, 2) for _, s in fits])


if __name__ == "__main__":
    main()

"""Run the methods on the scenarios: resumable, in parallel, one table of results."""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import dpsumm
from dpsumm.metrics import mmd2
from evidence.data import BUILT_IN, SOURCES, Problem
from evidence.measures import accuracy
from evidence.methods import GREEDY, METHODS, ORACLE

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SCENARIOS = Path(__file__).with_name("scenarios.toml")
# Numerical libraries in a worker: the workers are the parallel part.
THREADS = {
    name: "1"
    for name in ("RAYON_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
}
# Seeds of a scenario that classifiers are trained for: they take longer than all the rest.
CLASSIFIED = 5
SCHEMA = {
    "scenario": pl.String,
    "seed": pl.Int64,
    "method": pl.String,
    "key": pl.String,
    "points": pl.Int64,
    "accesses": pl.Int64,
    "mmd2": pl.Float64,
    "mmd2_weighted": pl.Float64,
    "svm": pl.Float64,
    "trees": pl.Float64,
    "svm_weighted": pl.Float64,
    "seconds": pl.Float64,
}


@dataclass(frozen=True)
class Scenario:
    """One entry of scenarios.toml.

    Attributes
    ----------
    tuned
        Choices were made on other seeds of it.
    options
        Arguments of the data's function, beside folder, seed, m and size.
    """

    name: str
    title: str
    data: str
    m: int
    size: int
    groups: tuple[str, ...]
    classify: bool
    tuned: bool
    seeds: tuple[int, ...]
    options: dict[str, Any]

    def problem(self, folder: Path, seed: int) -> Problem:
        """Make its data."""
        return SOURCES[self.data](folder, seed, self.m, self.size, **self.options)

    def key(self, method: str) -> str:
        """Tell results of another definition or version of the package apart."""
        facts = [dpsumm.__version__, self.data, self.m, self.size, self.classify, self.options]
        facts += [method, METHODS[method].epsilon]
        facts.append(repr(METHODS[method].protocol and METHODS[method].protocol(self.size)))
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]


def scenarios(path: Path = SCENARIOS) -> dict[str, Scenario]:
    """Read all scenarios."""
    entries = tomllib.loads(path.read_text())
    defaults = entries.pop("defaults")
    known = ("title", "data", "m", "size", "groups", "classify", "tuned", "seeds")
    made = {}
    for name, entry in entries.items():
        whole = {"classify": False, "tuned": False, **defaults, **entry}
        options = {key: value for key, value in whole.items() if key not in known}
        whole |= {"groups": tuple(whole["groups"]), "seeds": tuple(whole["seeds"])}
        made[name] = Scenario(name, options=options, **{key: whole[key] for key in known})
    return made


def run(
    wanted: Sequence[Scenario],
    methods: Sequence[str],
    folder: Path | None,
    results: Path,
    jobs: int,
) -> pl.DataFrame:
    """Run what `results` lacks, a scenario and seed at a time, and return all results.

    The file is written whole after each, so that a run that was stopped goes on where it was.
    """
    table = pl.read_parquet(results) if results.exists() else pl.DataFrame(schema=SCHEMA)
    done = set(table.select("scenario", "seed", "key").iter_rows())
    left = [
        (scenario, seed, lacking)
        for scenario in wanted
        if scenario.data in BUILT_IN or folder is not None
        for seed in scenario.seeds
        if (
            lacking := [
                name
                for name in methods
                if set(METHODS[name].groups) & set(scenario.groups)
                and (scenario.name, seed, scenario.key(name)) not in done
            ]
        )
    ]
    if not left:
        return table
    os.environ |= THREADS  # before the workers start
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        futures = [pool.submit(_measured, *job, folder) for job in left]
        for future in _with_progress(futures):
            table = pl.concat([table, pl.DataFrame(future.result(), schema=SCHEMA)])
            # Of a method that was measured before under another definition only the new stays.
            table = table.unique(["scenario", "seed", "method"], keep="last", maintain_order=True)
            _write(table, results)
    return table


def _write(table: pl.DataFrame, results: Path) -> None:
    results.parent.mkdir(parents=True, exist_ok=True)
    whole = results.with_suffix(".partial")
    table.sort("scenario", "seed", "method").write_parquet(whole)
    whole.replace(results)


def _with_progress(futures: list[Any]) -> Iterator[Any]:
    from rich.progress import track

    yield from track(as_completed(futures), "measuring", total=len(futures))


def _measured(
    scenario: Scenario, seed: int, methods: Sequence[str], folder: Path | None
) -> list[dict[str, Any]]:
    problem = scenario.problem(folder or Path(), seed)
    return [_row(scenario, seed, name, problem) for name in methods]


def _row(scenario: Scenario, seed: int, name: str, problem: Problem) -> dict[str, Any]:
    started = time.perf_counter()
    kernel, fresh = problem.kernel, problem.fresh
    row: dict[str, Any] = dict.fromkeys(SCHEMA)
    row |= {"scenario": scenario.name, "seed": seed, "method": name, "key": scenario.key(name)}
    weights = None
    if name == ORACLE:
        points, labels = problem.oracle.points, problem.oracle.labels
        row["accesses"] = len(points)
    else:
        method = METHODS[name]
        summary = dpsumm.summarize(
            [owner.points for owner in problem.owners],
            problem.target,
            size=scenario.size,
            kernel=kernel,
            protocol=method.protocol(scenario.size),  # type: ignore[misc]
            epsilon=method.epsilon,
            delta=1e-5,
            seed=seed,
        )
        points = summary.points
        labels = np.array(
            [problem.owners[i].labels[j] for i, j in zip(summary.owner, summary.index, strict=True)]
        )
        row["accesses"] = summary.accesses
    row["seconds"] = time.perf_counter() - started
    row["points"] = len(points)
    row["mmd2"] = mmd2(points, fresh.points, kernel)
    if name not in (ORACLE, GREEDY):
        weights = summary.weights
        row["mmd2_weighted"] = mmd2(points, fresh.points, kernel, weights)
    if scenario.classify and seed in scenario.seeds[:CLASSIFIED]:
        for model in ("svm", "trees"):
            row[model] = accuracy(model, points, labels, None, fresh.points, fresh.labels)
        if weights is not None:
            kept = weights > 0
            sample_weight = weights[kept] * len(points)
            row["svm_weighted"] = accuracy(
                "svm", points[kept], labels[kept], sample_weight, fresh.points, fresh.labels
            )
    return row

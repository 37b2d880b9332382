"""Run the methods on the scenarios: resumable, in parallel, one table of results."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import polars as pl

from evidence.data import BUILT_IN, SOURCES
from evidence.measures import MEASURES, measured
from evidence.methods import METHODS
from evidence.problem import Problem
from evidence.sources import digest

# Where the Parquet file says what it was made with.
MADE_WITH = "made with"
SCENARIOS = Path(__file__).with_name("scenarios.toml")
# Numerical libraries in a worker: the workers are the parallel part.
THREADS = {
    name: "1"
    for name in ("RAYON_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
}
# Seeds of a scenario of points that classifiers are trained for: images take longer than the rest.
CLASSIFIED = 3
# Groups of scenarios whose tables show weights.
WEIGHED = {"main", "tables"}
# Choices are made on seeds below.
FIRST_SEED = 100
SCHEMA = {
    "scenario": pl.String,
    "seed": pl.Int64,
    "method": pl.String,
    "key": pl.String,
    "points": pl.Int64,
    "accesses": pl.Int64,
    "mmd2": pl.Float64,
    "fresh_noise": pl.Float64,
    "mmd2_weighted": pl.Float64,
    "means": pl.Float64,
    "means_weighted": pl.Float64,
    **dict.fromkeys(MEASURES, pl.Float64),
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

    def key(self, method: str, code: str | None = None) -> str:
        """Tell results of another definition, or of other code (today's by default), apart."""
        facts = [code or digest(), self.data, self.m, self.size, self.classify, self.options]
        protocol = METHODS[method].protocol
        facts += [method, METHODS[method].epsilon, repr(protocol and protocol(self.size))]
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]


def scenarios(path: Path = SCENARIOS) -> dict[str, Scenario]:
    """Read all scenarios."""
    entries = tomllib.loads(path.read_text())
    defaults = entries.pop("defaults")
    known = ("title", "data", "m", "size", "groups", "classify", "tuned", "splits")
    made = {}
    for name, entry in entries.items():
        whole = {"classify": False, "tuned": False, **defaults, **entry}
        options = {key: value for key, value in whole.items() if key not in known}
        seeds = tuple(range(FIRST_SEED, FIRST_SEED + whole.pop("splits")))
        whole |= {"groups": tuple(whole["groups"])}
        fields = {key: whole[key] for key in known if key in whole}
        made[name] = Scenario(name, options=options, seeds=seeds, **fields)
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
    table = pl.DataFrame(schema=SCHEMA)
    if results.exists():  # an earlier file may lack a column
        table = pl.concat([table, pl.read_parquet(results)], how="diagonal")
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
    left.sort(key=lambda job: job[1])  # a run that was stopped has some splits of everything
    os.environ |= THREADS  # before the workers start
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        futures = [pool.submit(measured_split, *job, folder) for job in left]
        for future in _with_progress(futures):
            table = pl.concat([table, pl.DataFrame(future.result(), schema=SCHEMA)])
            # Of a method that was measured before under another definition only the new stays.
            table = table.unique(["scenario", "seed", "method"], keep="last", maintain_order=True)
            write(table, results)
    return table


def current(
    table: pl.DataFrame, known: Mapping[str, Scenario], earlier: bool = False
) -> pl.DataFrame:
    """Return the rows that today's scenarios, methods and code would give.

    The others stay in the file until they are measured anew; a page that showed them would mix two
    things. `earlier`: show those of earlier code or definitions all the same.
    """
    today = pl.DataFrame(
        [
            (s.name, name, s.key(name))
            for s in known.values()
            for name, method in METHODS.items()
            if set(method.groups) & set(s.groups)
        ],
        schema={"scenario": pl.String, "method": pl.String, "key": pl.String},
        orient="row",
    )
    same = ["scenario", "method"] if earlier else ["scenario", "method", "key"]
    return table.join(today, on=same, how="semi", maintain_order="left")


def write(table: pl.DataFrame, results: Path, notes: Mapping[str, str] | None = None) -> None:
    """Write the results whole, with what made them; `notes` say what differs from today's."""
    results.parent.mkdir(parents=True, exist_ok=True)
    whole = results.with_suffix(".partial")
    metadata = {MADE_WITH: json.dumps(_machine() | dict(notes or {}))}
    table.sort("scenario", "seed", "method").write_parquet(whole, metadata=metadata)
    whole.replace(results)


def made_with(results: Path) -> dict[str, str]:
    """Return code, versions and hardware of the run that wrote the results last."""
    found: dict[str, str] = json.loads(pl.read_parquet_metadata(results).get(MADE_WITH, "{}"))
    return found


def _machine() -> dict[str, str]:
    packages = {name: version(name) for name in ("numpy", "scikit-learn")}
    return {
        "code": digest(),
        "Python": platform.python_version(),
        **packages,
        "processor": f"{_processor()}, {os.cpu_count()} cores",
    }


def _processor() -> str:
    # platform.processor() is empty on many Linux systems.
    info = Path("/proc/cpuinfo")
    for line in info.read_text().splitlines() if info.exists() else ():
        if line.startswith("model name"):
            return line.split(":")[1].strip()
    return platform.processor() or platform.machine()


def _with_progress(futures: list[Any]) -> Iterator[Any]:
    from rich.progress import track

    yield from track(as_completed(futures), "measuring", total=len(futures))


def measured_split(
    scenario: Scenario, seed: int, methods: Sequence[str], folder: Path | None
) -> list[dict[str, Any]]:
    """Return the rows of one split."""
    problem = scenario.problem(folder or Path(), seed)
    return [row(scenario, seed, name, problem) for name in methods]


def row(scenario: Scenario, seed: int, name: str, problem: Problem) -> dict[str, Any]:
    """Return a row of the table of results."""
    named = {"scenario": scenario.name, "seed": seed, "method": name, "key": scenario.key(name)}
    images = problem.schema is None
    classify = scenario.classify and (not images or seed < FIRST_SEED + CLASSIFIED)
    weigh = METHODS[name].weighted and bool(WEIGHED & set(scenario.groups))
    found = measured(name, METHODS[name], problem, scenario.size, seed, classify, weigh)
    return dict.fromkeys(SCHEMA) | named | found

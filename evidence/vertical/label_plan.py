"""How well `plan_synthesis` foretells what rows are worth for a label.

    python -m evidence.vertical.label_plan --data folder [--seed 6]

Adult and the made-up clinic gave the estimate its two constants (`FACTOR` and `POWER` of
`dpsumm.vertical.label_plan`), which `--fit` computes anew. The other tables judge it: Adult with
another label, and three that are made up here. Prints a table in Markdown.
"""

from __future__ import annotations

import argparse
import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import NormalDist

import numpy as np
import polars as pl
from scipy.optimize import least_squares

import dpsumm
from dpsumm import Column, plan_synthesis
from dpsumm.vertical.label_plan import FACTOR, POWER
from evidence.markdown import markdown
from evidence.vertical.data import Task, adult, clinic
from evidence.vertical.score import auc

RECORDS, EPSILONS = (500, 2000, 8000, 30_000), (0.3, 1.0, 3.0)
NEAR = 0.03
_NORMAL = NormalDist()


@dataclass(frozen=True)
class Run:
    """One run: AUC by rows and by the real records, what was foretold, and the plan's noise."""

    rows: float
    real: float
    low: float
    high: float
    noise: float

    @property
    def off(self) -> float:
        """How far the AUC by rows is outside the range."""
        return max(self.low - self.rows, self.rows - self.high, 0.0)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser("evidence.vertical.label_plan", description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=6)
    parser.add_argument("--fit", action="store_true", help="the tables that gave the constants")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    rng, lines, every = np.random.default_rng(given.seed), [], []
    for name, task in (known if given.fit else held_back)(given.data):
        runs = [run(task, n, epsilon, rng) for n in RECORDS for epsilon in EPSILONS]
        every += runs
        lines.append([name, *counted(runs)])
    print(markdown(["table", "runs", "in the range", f"within {NEAR:g} of it", "farthest"], lines))
    if given.fit:
        print("factor {:.2f}, power {:.2f}".format(*fit(every)))


def counted(runs: list[Run]) -> list[str]:
    """Return how many are in the range, near it, and how far the worst is off."""
    off = [run.off for run in runs]
    inside, near = sum(x == 0 for x in off), sum(x <= NEAR for x in off)
    return [str(len(off)), str(inside), str(near), f"{max(off):.2f}".lstrip("0")]


def run(task: Task, records: int, epsilon: float, rng: np.random.Generator) -> Run:
    """Return one run on random records of a table."""
    plan = plan_synthesis(task.schemas, records, epsilon=epsilon, label=task.label)
    chosen = rng.permutation(len(task.real))[:records].tolist()
    owners = {name: frame[chosen] for name, frame in task.owners.items()}
    made = dpsumm.synthesize(
        owners, schema=task.schemas, epsilon=epsilon, label=task.label, allow_weak_privacy=True
    )
    rows = auc(task, task.values(made.sample(len(chosen), backend="polars")))
    real = auc(task, task.real[chosen])
    assert plan.label_noise is not None
    return Run(rows, real, *plan.label_auc(real), plan.label_noise / records**2)


def fit(runs: list[Run]) -> tuple[float, float]:
    """Return the factor and the power by which all runs are closest to what is foretold."""
    noise = np.log([run.noise for run in runs])
    apart = np.array([2 * _NORMAL.inv_cdf(run.real) ** 2 for run in runs])
    wanted = np.array([max(run.rows, 0.5) for run in runs])

    def miss(given: np.ndarray) -> np.ndarray:
        turned = apart / np.sqrt(2 * (apart + np.exp(given[0] + given[1] * noise)))
        return np.vectorize(_NORMAL.cdf)(turned) - wanted

    found = least_squares(miss, [math.log(FACTOR), POWER]).x
    return math.exp(found[0]), float(found[1])


def known(folder: Path) -> Iterator[tuple[str, Task]]:
    """Yield the tables that gave the constants."""
    yield "Adult, two owners", adult(folder, 2)
    yield "Adult, three owners", adult(folder, 3)
    yield "Clinic", clinic(1)


def held_back(folder: Path) -> Iterator[tuple[str, Task]]:
    """Yield the tables that judge it."""
    yield "Adult, label sex", replace(adult(folder, 2), label="sex")
    yield "six categories", categories()
    yield "skewed numbers", skewed()
    yield "routes", routes()


def categories(n: int = 60_000) -> Task:
    """Three levels each, and a label that adds them up."""
    rng = np.random.default_rng(1)
    hidden = rng.normal(size=(n, 3))
    table = {
        f"c{i}": np.digitize(0.8 * hidden[:, i % 3] + rng.normal(size=n), (-0.5, 0.7))
        for i in range(6)
    }
    label = 0.9 * hidden.sum(axis=1) + rng.logistic(size=n) > 0
    columns = [Column(name, categories=(0, 1, 2)) for name in table]
    return _task("six categories", table, label, columns[:3], columns[3:])


def skewed(n: int = 60_000) -> Task:
    """Lognormal numbers with zeros, rare categories, counts; a label with an interaction."""
    rng = np.random.default_rng(2)
    hidden = rng.normal(size=(n, 3))
    table, columns = {}, []
    for i in range(5):
        size = np.exp(1.2 * (0.8 * hidden[:, i % 3] + 0.6 * rng.normal(size=n)))
        table[f"x{i}"] = np.minimum(size * (rng.random(n) > 0.3), 200.0)
        columns.append(Column(f"x{i}", bounds=(0, 200)))
    for i in range(5):
        more = (hidden[:, i % 3] > 0.5) * rng.integers(0, 3, n)
        table[f"k{i}"] = np.minimum(rng.zipf(1.8, n) + more, 20) - 1
        columns.append(Column(f"k{i}", categories=tuple(range(20))))
    for i in range(4):
        table[f"q{i}"] = np.clip(rng.poisson(np.exp(0.5 + 0.5 * hidden[:, i % 3])), 0, 30)
        columns.append(Column(f"q{i}", bounds=(0, 30), whole=True))
    score = 0.8 * hidden[:, 0] * hidden[:, 1] + 0.9 * hidden[:, 2] + 0.4 * (table["k0"] > 3)
    label = score + 0.8 * rng.logistic(size=n) > 0.6
    return _task("skewed numbers", table, label, columns[::2], columns[1::2])


def routes(n: int = 60_000) -> Task:
    """From a place to a place, and a label that goes by the distance of both."""
    rng = np.random.default_rng(3)
    ends = rng.uniform(0, 100, (n, 4))
    apart = np.hypot(ends[:, 0] - ends[:, 2], ends[:, 1] - ends[:, 3])
    table = dict(zip(("x0", "y0", "x1", "y1"), ends.T, strict=True))
    table["distance"] = np.minimum(apart * rng.lognormal(0, 0.1, n), 150)
    table["load"] = np.rint(rng.gamma(2, 5, n)).clip(0, 80)
    label = (apart - 50) / 15 + 0.05 * table["load"] - 0.5 + 1.2 * rng.logistic(size=n) > 0
    places = {name: Column(name, bounds=(0, 100)) for name in ("x0", "y0", "x1", "y1")}
    distance, load = Column("distance", bounds=(0, 150)), Column("load", bounds=(0, 80), whole=True)
    first = [places["x0"], places["y0"], distance]
    return _task("routes", table, label, first, [places["x1"], places["y1"], load])


def _task(
    name: str,
    table: dict[str, np.ndarray],
    label: np.ndarray,
    first: list[Column],
    second: list[Column],
) -> Task:
    """Return a table of two owners, a third of it to judge by."""
    frame = pl.DataFrame(table | {"label": np.where(label, "yes", "no")})
    holds = {"first": first, "second": [*second, Column("label", categories=("no", "yes"))]}
    cut = 2 * len(frame) // 3
    return Task.of(name, frame[:cut], frame[cut:], holds, 12, "label")


if __name__ == "__main__":
    main()

"""Fit the constants of `dpsumm.plan` to runs on clusters, Adult and MNIST, at known rarities.

    python -m evidence.calibrate --data FOLDER --keep runs.jsonl [--minutes 10] [--seed 0]

adds runs to the file for so long, then prints what belongs into python/dpsumm/summary/plan.py, and
how many of the runs fall into the ranges of plans. Several processes may do so with other seeds.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dpsumm
from dpsumm.summary import Greedy
from dpsumm.summary.plan import MOST_NOISE, RARITY, READS_PER_RECORD
from evidence.data import adult_points, read_mnist

EPSILONS, RARITIES = (0.3, 1.0, 3.0), (0.01, 0.03, 0.1, 0.3, 1.0)
TARGETS, SIZES, OWNERS, COLUMNS = (50, 100, 300, 1000), (50, 100, 200), (4, 10, 30), (2, 4, 8, 16)
# Records of all owners, and records that a summary is judged by.
RECORDS, FRESH = 10_000, 2000
# Quantiles of the curves, and least MMD^2 that fresh records can tell from 0.
QUANTILES, LEAST = (0.1, 0.5, 0.9), 3e-6
Floats = NDArray[np.float64]
Curves = list[tuple[float, float]]  # base and scale of each
# Returns so many records like the target, and as many others.
Source = Callable[[np.random.Generator], tuple[Floats, Floats]]


@dataclass(frozen=True)
class World:
    """Owners of whose records a known share is like the target."""

    owners: list[Floats]
    target: Floats
    fresh: Floats


def clusters(rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Return normal records of the target, and others of eight clusters."""
    d = int(rng.choice(COLUMNS))
    middle, width = rng.uniform(0.15, 0.85, (9, d)), rng.uniform(0.04, 0.12, (9, d))
    kind = np.r_[np.zeros(2 * RECORDS, int), rng.integers(1, 9, RECORDS)]
    records = np.clip(middle[kind] + rng.normal(size=(len(kind), d)) * width[kind], 0, 1)
    return records[: 2 * RECORDS], records[2 * RECORDS :]


def people(folder: Path) -> Source:
    """Return those on one side of two random columns of Adult, and all others."""
    everything = unit(adult_points(folder, without="")[0].points)

    def drawn(rng: np.random.Generator) -> tuple[Floats, Floats]:
        while True:
            inside = np.ones(len(everything), bool)
            for column in rng.choice(everything.shape[1], 2, replace=False):
                cut = np.quantile(everything[:, column], rng.uniform(0.2, 0.8))
                inside &= (everything[:, column] > cut) == (rng.random() < 0.5)
            if inside.sum() > RECORDS / 4:
                return everything[inside], everything[~inside]

    return drawn


def images(folder: Path) -> Source:
    """Return images of one, two or four digits of MNIST, and all others, in 50 directions."""
    train = read_mnist(folder, "train")
    middle = train.points - train.points.mean(0)
    everything = unit(middle @ np.linalg.svd(middle[::10], full_matrices=False)[2][:50].T)

    def drawn(rng: np.random.Generator) -> tuple[Floats, Floats]:
        inside = np.isin(train.labels, rng.choice(10, int(rng.choice([1, 2, 4])), replace=False))
        return everything[inside], everything[~inside]

    return drawn


def unit(points: Any) -> Floats:
    """Return columns from 0 to 1."""
    low, high = points.min(0), points.max(0)
    return np.asarray((points - low) / np.where(high > low, high - low, 1), dtype=np.float64)


def world(source: Source, rarity: float, m: int, rng: np.random.Generator) -> World:
    """Return a world of this rarity, of fewer records where the source has too few."""
    like, other = (rng.permutation(records) for records in source(rng))
    n_fresh = min(FRESH, len(like) // 3)
    target, fresh, left = np.split(like, [m, m + n_fresh])
    n_like = min(int(rarity * RECORDS), len(left))
    n_other = round(n_like * (1 / rarity - 1))
    records = rng.permutation(np.concatenate([left[:n_like], other[:n_other]]))
    return World(np.array_split(records, int(rng.choice(OWNERS))), target, fresh)


def runs(source: Source, seed: int) -> Iterator[dict[str, Any]]:
    """Yield noise, rarity, reads and the ratio to the greedy of the runs in one world."""
    rng = np.random.default_rng(seed)
    rarity, m, size = (rng.choice(of) for of in (RARITIES, TARGETS, SIZES))
    made = world(source, float(rarity), int(m), rng)
    columns = [dpsumm.Column(f"c{j}", bounds=(0, 1)) for j in range(made.target.shape[1])]
    schema = dpsumm.Schema(columns) if rng.random() < 0.7 else None
    kernel = dpsumm.RBF.for_schema(schema) if schema else dpsumm.RBF(scale(made.fresh))
    seen = schema.encode if schema else np.asarray
    judges = seen(made.fresh)
    chance = (1 - dpsumm.kernels.mean_kernel_self(judges, kernel.gamma)) / (len(judges) - 1)

    def far(protocol: Any, epsilon: float = 1.0) -> float:
        found = dpsumm.summarize(
            made.owners,
            made.target,
            size=int(size),
            schema=schema,
            kernel=kernel,
            protocol=protocol,
            epsilon=epsilon,
            allow_weak_privacy=True,
        )
        return float(dpsumm.kernels.mmd2(found.scaled, judges, kernel.gamma) - chance)

    greedy = far(Greedy())
    if greedy > LEAST:
        for reads, epsilon in product(READS_PER_RECORD, EPSILONS):
            offers = dpsumm.Offers(reads_per_record=reads)
            plan = dpsumm.plan(int(m), int(size), epsilon=epsilon, protocol=offers, schema=schema)
            if plan.noise_to_sampling <= MOST_NOISE:
                ratio = max(far(offers, epsilon), LEAST) / greedy
                yield {
                    "reads": reads,
                    "epsilon": epsilon,
                    "noise": plan.noise_to_sampling,
                    "rarity": float(rarity),
                    "ratio": ratio,
                }


def scale(points: Floats) -> float:
    """Return a gamma by the median squared distance."""
    return float(0.25 / np.median(((points[:500, None] - points[None, 500:1000]) ** 2).sum(2)))


def fit(noise: Floats, rarity: Floats, ratio: Floats, quantile: float) -> tuple[float, float]:
    """Return base and scale of ``base + (noise / scale)**3 / rarity`` that many are below."""
    grid = product(np.geomspace(0.6, 6, 90), np.geomspace(0.5, 20, 90))

    def loss(pair: tuple[float, float]) -> float:
        off = np.log(ratio / (pair[0] + (noise / pair[1]) ** 3 / rarity))
        return float(np.where(off > 0, quantile * off, (quantile - 1) * off).mean())

    base, scale = min(grid, key=loss)
    return float(base), float(scale)


def curves(found: dict[str, Floats]) -> list[Curves]:
    """Return the curves of `QUANTILES` for each number of reads."""
    made = []
    for reads in READS_PER_RECORD:
        mine = found["reads"] == reads
        noise, rarity, ratio = (found[name][mine] for name in ("noise", "rarity", "ratio"))
        made.append([fit(noise, rarity, ratio, quantile) for quantile in QUANTILES])
    return made


def covered(found: dict[str, Floats], fitted: list[Curves], *, known: bool) -> str:
    """Return how many runs plans foretold, with the rarity and without."""
    inside, near = [], []
    for reads, three in zip(READS_PER_RECORD, fitted, strict=True):
        mine = {name: values[found["reads"] == reads] for name, values in found.items()}
        rarities = (mine["rarity"],) * 3 if known else (1.0, RARITY, min(RARITIES))
        low, middle, high = (
            base + (mine["noise"] / scale) ** 3 / rarity
            for (base, scale), rarity in zip(three, rarities, strict=True)
        )
        inside.append((mine["ratio"] >= low) & (mine["ratio"] <= high))
        near.append(np.abs(np.log(mine["ratio"] / middle)) <= np.log(1.5))
    everything = np.concatenate(inside)
    return f"in the range {everything.mean():.0%}, within 1.5 {np.concatenate(near).mean():.0%}"


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser("evidence.calibrate", description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of the data sets")
    parser.add_argument("--keep", type=Path, required=True, help="where runs are kept")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=0, help="of the first world")
    given = parser.parse_args()
    warnings.simplefilter("ignore")  # noise above the signal is what this is about
    sources = (clusters, people(given.data), images(given.data))
    until, seed = time.monotonic() + 60 * given.minutes, given.seed
    with given.keep.open("a") as file:
        while time.monotonic() < until:
            for row in runs(sources[seed % 3], seed):
                file.write(json.dumps(row) + "\n")
            file.flush()
            seed += 1
    rows = [json.loads(line) for line in given.keep.read_text().splitlines()]
    found = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    fitted = curves(found)
    print(len(rows), "runs")
    for name, curve in zip(("LOW", "MIDDLE", "HIGH"), zip(*fitted, strict=True), strict=True):
        print(
            name, "base", [round(b, 2) for b, _ in curve], "scale", [round(s, 2) for _, s in curve]
        )
    for known in (True, False):
        print("rarity", "known:" if known else "unknown:", covered(found, fitted, known=known))


if __name__ == "__main__":
    main()

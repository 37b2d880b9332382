"""Does the warning of remote points find invented rows, and leave honest owners alone?

python -m evidence.invented [--data FOLDER]: prints Markdown. Honest owners are those of the main
scenarios and of made-up shifts; a forger takes the place of the last one and offers the best of
20,000 rows that it drew evenly in the box around all data, or column by column from all owners'.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import dpsumm
from dpsumm.summary.notes.space import REMOTE, remoteness
from evidence.problem import Floats
from evidence.runner import SCENARIOS, Scenario, scenarios

ROWS, SIZE = 20_000, 100
Sites = tuple[list[Floats], Floats, dpsumm.RBF]


def shifts(kind: str, d: int, rng: np.random.Generator) -> Sites:
    """Return six honest owners whose data differ in some way, a target and a kernel."""
    owners: list[Floats] = []
    for i in range(6):
        points = rng.normal(0, 1, (2000, d))
        direction = rng.normal(0, 1, d)
        direction /= np.linalg.norm(direction)
        match kind:
            case "moved by 3":
                points += 3 * direction
            case "moved by 10, all apart":
                points += 10 * direction
            case "half to twice as wide":
                points *= 2.0 ** (i / 2.5 - 1)
            case "one four times as wide":
                points *= 4.0 if i == 5 else 1.0
            case "heavy tails":
                points = rng.standard_t(3, (2000, d)) + direction
            case "clusters of their own":
                points = 0.5 * points + 4 * rng.normal(0, 1, (3, d))[rng.integers(0, 3, 2000)]
            case "few records":
                points = points[:40] + direction
        owners.append(points)
    return owners, rng.normal(0, 1, (1000, d)), dpsumm.RBF(0.5 / d)


def sites_of(scenario: Scenario, folder: Path, rng: np.random.Generator) -> Sites:
    """Return the owners, the target and the kernel of a split that no choice was made on."""
    problem = scenario.problem(folder, int(rng.integers(1000, 2000)))
    return [owner.points for owner in problem.owners], problem.target, problem.kernel


KINDS = (
    "moved by 3",
    "moved by 10, all apart",
    "half to twice as wide",
    "one four times as wide",
    "heavy tails",
    "clusters of their own",
    "few records",
)
DIMENSIONS = (2, 5, 20)


def remote(owners: Sequence[Floats], target: Floats, kernel: dpsumm.RBF) -> NDArray[np.float64]:
    """Return what a run's note would look at, by owner."""
    summary = dpsumm.summarize(list(owners), target, size=SIZE, kernel=kernel)
    return remoteness(summary.pool.scaled, summary.pool.owner, summary.target, len(owners))


def evenly(points: Floats, rng: np.random.Generator, rows: int = ROWS) -> Floats:
    """Draw rows in the box around points."""
    made: Floats = rng.uniform(points.min(axis=0), points.max(axis=0), (rows, points.shape[1]))
    return made.astype(points.dtype)


def by_column(points: Floats, rng: np.random.Generator) -> Floats:
    """Draw each column alone from those of points: a forger that knows what values are usual."""
    return np.stack([rng.choice(column, ROWS) for column in points.T], axis=1)


def line(title: str, made: Callable[[np.random.Generator], Sites], seeds: int) -> str:
    """Return a row of the table."""
    honest: list[float] = []
    forged: dict[str, list[float]] = {"evenly": [], "by column": []}
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        owners, target, kernel = made(rng)
        honest += remote(owners, target, kernel).tolist()
        every = np.concatenate(owners)
        for name, draw in (("evenly", evenly), ("by column", by_column)):
            forger = draw(every, rng)
            forged[name].append(float(remote([*owners[:-1], forger], target, kernel)[-1]))
    known = [value for value in honest if not np.isnan(value)]
    cells = [f"{sum(value > REMOTE for value in known)} of {len(known)} ({max(known):.2f})"]
    cells += [
        f"{sum(value > REMOTE for value in values)} of {seeds} ({min(values):.2f})"
        for values in forged.values()
    ]
    return f"| {title} | {' | '.join(cells)} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--seeds", type=int, default=5)
    given = parser.parse_args()
    print("| data | honest owners (largest) | drawn evenly (least) | by column (least) |")
    print("|---|---|---|---|")
    for kind in KINDS:
        for d in DIMENSIONS:
            title = f"{kind}, {d} columns"
            made = partial(shifts, kind, d)
            print(line(title, made, given.seeds), flush=True)
    if given.data is None:
        return
    for name, scenario in scenarios(SCENARIOS).items():
        if "main" in scenario.groups:
            print(line(name, partial(sites_of, scenario, given.data), given.seeds), flush=True)


if __name__ == "__main__":
    main()

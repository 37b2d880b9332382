"""Quality of summaries on real data: MMD^2 to fresh target points, per protocol.

    python benches/quality.py DATA_DIRECTORY [--seeds 3]

The directory holds `mnist/` (the four idx files, gzipped) and `heart/` (the four processed files of
the UCI Heart Disease data). Prints Markdown tables. The splits are seeded; noise is not.
"""

from __future__ import annotations

import argparse
import gzip
import time
from pathlib import Path

import numpy as np

import dpsumm
from dpsumm.metrics import mmd2

HEART = ("age sex cp trestbps chol fbs restecg thalach exang oldpeak slope ca thal num").split(" ")
BOUNDS = {
    "age": (20, 90),
    "sex": (0, 1),
    "cp": (1, 4),
    "trestbps": (80, 200),
    "restecg": (0, 2),
    "thalach": (60, 210),
    "exang": (0, 1),
    "oldpeak": (-3, 7),
}


def read_idx(path: Path, offset: int) -> np.ndarray:
    return np.frombuffer(gzip.open(path).read(), np.uint8, offset=offset)


def mnist(data: Path, seed: int, n_target: int, wanted=(0, 3, 5, 8), n_owners=10, share=None):
    """Owners: 20,000 training digits, labels skewed by Dirichlet(0.3). Target: some test digits."""
    rng = np.random.default_rng(seed)
    folder = data / "mnist"
    x = read_idx(folder / "train-images-idx3-ubyte.gz", 16).reshape(-1, 784)
    y = read_idx(folder / "train-labels-idx1-ubyte.gz", 8)
    keep = rng.permutation(len(x))
    if share is not None:  # so many of the owners' digits are wanted ones
        good = np.isin(y[keep], wanted)
        n_good = round(20_000 * share)
        keep = np.concatenate([keep[good][:n_good], keep[~good][: 20_000 - n_good]])
    x, y = x[keep[:20_000]], y[keep[:20_000]]
    owner = np.empty(len(x), int)
    for digit in range(10):
        rows = np.flatnonzero(y == digit)
        owner[rows] = rng.choice(n_owners, len(rows), p=rng.dirichlet([0.3] * n_owners))
    owners = [x[owner == i] / np.float32(255) for i in range(n_owners) if (owner == i).any()]
    test = read_idx(folder / "t10k-images-idx3-ubyte.gz", 16).reshape(-1, 784) / np.float32(255)
    labels = read_idx(folder / "t10k-labels-idx1-ubyte.gz", 8)
    rows = rng.permutation(np.flatnonzero(np.isin(labels, wanted)))
    return owners, test[rows[:n_target]], test[rows[n_target:]]


def heart(data: Path, seed: int):
    """Owners: three hospitals; target: 40 complete patients of the fourth, the others are fresh."""
    rng = np.random.default_rng(seed)
    low, high = np.array(list(BOUNDS.values()), dtype=float).T
    tables = []
    for name in ("cleveland", "hungarian", "switzerland", "va"):
        path = data / "heart" / f"processed.{name}.data"
        all_columns = np.genfromtxt(path, delimiter=",", missing_values="?")
        rows = all_columns[:, [HEART.index(column) for column in BOUNDS]]
        rows = rows[np.isfinite(rows).all(axis=1)]
        tables.append((np.clip(rows, low, high) - low) / (high - low))
    target = tables.pop()[rng.permutation(140)]
    return tables, target[:40], target[40:]


def compare(scenario, size: int, kernel: dpsumm.RBF, seeds: int) -> None:
    protocols = {
        "greedy on all data, not parsimonious": dpsumm.Greedy(),
        "Offers": dpsumm.Offers(),
        "Offers, parsimony 8": dpsumm.Offers(parsimony=8),
        "random pool": dpsumm.Pool(),
        "random pool, parsimony 8": dpsumm.Pool(parsimony=8),
        "uniform": dpsumm.Uniform(),
        "Auction, 10 rounds, everybody sends": dpsumm.Auction(batch=-(-size // 10), reselect=True),
        "Auction as published": dpsumm.Auction.published(size),
    }
    results = {name: [] for name in protocols}
    for seed in range(seeds):
        owners, target, fresh = scenario(seed)
        for name, protocol in protocols.items():
            started = time.perf_counter()
            summary = dpsumm.summarize(owners, target, size=size, kernel=kernel, protocol=protocol)
            results[name].append(
                (
                    mmd2(summary.points, fresh, kernel),
                    summary.parsimony,
                    summary.privacy.epsilon(),
                    summary.privacy.epsilon(protected="owners"),
                    time.perf_counter() - started,
                )
            )
    best = np.array(results["greedy on all data, not parsimonious"])[:, 0]
    print("| protocol | MMD² | of the greedy's | read per point | ε target | ε owners | seconds |")
    print("|---|---|---|---|---|---|---|")
    for name, rows in results.items():
        value, read, target_epsilon, owner_epsilon, seconds = np.mean(rows, axis=0)
        ratio = np.array(rows)[:, 0] / best
        print(
            f"| {name} | {value:.5f} | {ratio.mean():.2f} ({ratio.min():.2f} to {ratio.max():.2f}) "
            f"| {read:.1f} | {target_epsilon:.3g} | {owner_epsilon:.3g} | {seconds:.1f} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    unit_box = dpsumm.RBF.for_unit_box
    for title, scenario, size, kernel in (
        (
            "MNIST: 10 owners, target 1000 of digits 0 3 5 8, 400 points",
            lambda seed: mnist(given.data, seed, 1000),
            400,
            unit_box(784),
        ),
        (
            "MNIST: the same, target-like digits 3 and 8 are 2 % of the owners' data",
            lambda seed: mnist(given.data, seed, 1000, (3, 8), share=0.02),
            400,
            unit_box(784),
        ),
        (
            "MNIST: the first again with a target of 100",
            lambda seed: mnist(given.data, seed, 100),
            400,
            unit_box(784),
        ),
        (
            "Heart disease: 3 hospitals, target 40 patients of a fourth, 60 points",
            lambda seed: heart(given.data, seed),
            60,
            unit_box(8),
        ),
    ):
        print(f"\n{title} (mean and range of {given.seeds} splits)\n")
        compare(scenario, size, kernel, given.seeds)


if __name__ == "__main__":
    main()

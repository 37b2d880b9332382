"""How far a plan of private updates can be trusted: made-up worlds, and where runs fell.

    python -m evidence.ensemble.worlds [--runs 245]

Prints how many runs of `dpsumm.learn` fell below, into and above the range that their plan gave,
and how many were worse than always saying the commonest class.
"""

from __future__ import annotations

import argparse
import warnings
from collections import Counter

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import make_classification

import dpsumm
from dpsumm import Updates
from dpsumm.privacy import Unit

POINTS, TEST, MOST = 2000, 3000, 40_000
# Of the share: a test set of this size is no more exact.
_CHANCE = 0.02
Table = tuple[NDArray[np.float64], NDArray[np.int64]]


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser("evidence.ensemble.worlds", description=__doc__)
    parser.add_argument("--runs", type=int, default=245)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    rng, found = np.random.default_rng(given.seed), Counter[str]()
    warnings.simplefilter("ignore")
    while found.total() < given.runs:
        fell = run(rng)
        if fell is not None:
            found[fell] += 1
    print({fell: f"{count / given.runs:.0%}" for fell, count in found.items()})


def run(rng: np.random.Generator) -> str | None:
    """Return where a world's run fell; None where nothing can be learnt."""
    classes, d = int(rng.choice([2, 2, 3, 5, 8, 10, 20])), int(rng.choice([4, 8, 15, 30, 50]))
    n_parties = int(rng.choice([4, 10, 20, 50, 100, 200, 500, 1000]))
    n, epsilon = int(rng.choice([20, 50, 150])), float(rng.choice([0.3, 1, 3]))
    unit = [Unit.WHOLE_OWNER, Unit.REPLACE_RECORD][rng.integers(2)]
    if n_parties * n > MOST:
        return None
    return where(rng, classes, d, n_parties, n, epsilon, unit)


def where(
    rng: np.random.Generator,
    classes: int,
    d: int,
    n_parties: int,
    n: int,
    epsilon: float,
    unit: Unit,
) -> str | None:
    """Return where one run falls, of parties with n records of d columns each."""
    x, y = world(rng, n_parties * n + POINTS + TEST, d, classes)
    end = n_parties * n
    parties = [(x[i:end:n_parties], y[i:end:n_parties]) for i in range(n_parties)]
    test, labels = x[-TEST:], y[-TEST:]
    models = [
        dpsumm.learn(
            parties,
            x[end : end + POINTS],
            classes=list(range(classes)),
            unit=unit,
            epsilon=one,
            protocol=Updates(records_per_owner=n if unit is Unit.WHOLE_OWNER else None),
            seed=seed,
            allow_weak_privacy=True,
        )
        for one, seed in ((epsilon, None), (1e4, 1))
    ]
    always = np.bincount(labels).max() / TEST
    right, most = (float((model.predict(test) == labels).mean()) for model in models)
    if most - always < 0.1:
        return None
    share = (right - always) / (most - always)
    low, high = models[0].plan.kept
    if share < -_CHANCE:
        return "worse than one label for all"
    return "below" if share < low - _CHANCE else "above" if share > high + _CHANCE else "in"


def world(rng: np.random.Generator, n: int, d: int, classes: int) -> Table:
    """Return points and labels: linear classes, even or not, or clusters."""
    kind = rng.integers(3)
    if kind == 0 and 2**d >= 2 * classes:
        informative = min(d, max(3, int(np.ceil(np.log2(2 * classes))) + 1))
        x, y = make_classification(
            n,
            d,
            n_informative=informative,
            n_redundant=min(2, d - informative),
            n_classes=classes,
            n_clusters_per_class=1 if 2 ** (informative - 1) < classes * 2 else 2,
            random_state=int(rng.integers(2**31)),
        )
        return x, y
    x = rng.normal(size=(n, d))
    scores = x @ rng.normal(size=(d, classes)) * 3 / np.sqrt(d) + rng.gumbel(size=(n, classes))
    return x, (scores + (kind == 2) * np.linspace(0, 2, classes)).argmax(1)


if __name__ == "__main__":
    main()

"""How far a plan of private updates can be trusted: made-up worlds and tables of scikit-learn.

    python -m evidence.ensemble.worlds [--runs 245]

Prints how many runs of `dpsumm.learn` fell below, into and above the range that their plan gave,
and how many were worse than always saying the commonest class. Of runs that kept half of the gain
without noise, or less than a fifth of it, how many had a plan that says "do not use".
"""

from __future__ import annotations

import argparse
import warnings
from collections import Counter
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import (
    load_breast_cancer,
    load_digits,
    load_iris,
    load_wine,
    make_classification,
)

import dpsumm
from dpsumm import Updates
from dpsumm.ensemble.updates.plan import UpdatesPlan
from dpsumm.privacy import Unit
from evidence.markdown import markdown

POINTS, TEST, MOST = 2000, 3000, 40_000
TABLES = (load_iris, load_wine, load_breast_cancer, load_digits)
# Of the share: a test set of this size is no more exact.
_CHANCE = 0.02
# Gains that are worth a run, and that are not.
_MUCH, _LITTLE = 0.5, 0.2
Table = tuple[NDArray[np.float64], NDArray[np.int64]]
# Points and labels of all, in random order; how many parties, and records of each.
World = tuple[NDArray[np.float64], NDArray[np.int64], int, int]


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser("evidence.ensemble.worlds", description=__doc__)
    parser.add_argument("--runs", type=int, default=245)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    fell = ["in", "above", "below", "worse than one label for all"]
    alarms = ["much kept, do not use", "little kept, do not use"]
    lines = []
    for name, drawn in (("made-up", made), ("scikit-learn", table)):
        rng, found = np.random.default_rng(given.seed), Counter[str]()
        while found["runs"] < given.runs:
            found.update(run(rng, drawn))
        shares = [f"{found[one] / given.runs:.0%}" for one in fell]
        told = [f"{found[one]} of {found[one.partition(',')[0]]}" for one in alarms]
        lines.append([name, str(given.runs), *shares, *told])
    print(markdown(["worlds", "runs", *fell, *alarms], lines))


def run(rng: np.random.Generator, drawn: Callable[[np.random.Generator], World]) -> list[str]:
    """Return what is counted of one world; nothing where nothing can be learnt."""
    x, y, n_parties, n = drawn(rng)
    epsilon = float(rng.choice([0.3, 1, 3]))
    unit = [Unit.WHOLE_OWNER, Unit.REPLACE_RECORD][rng.integers(2)]
    end = n_parties * n
    points = min(POINTS, (len(x) - end) // 2)
    parties = [(x[i:end:n_parties], y[i:end:n_parties]) for i in range(n_parties)]
    test, labels = x[end + points :], y[end + points :]
    models = [
        dpsumm.learn(
            parties,
            x[end : end + points],
            classes=np.unique(y).tolist(),
            unit=unit,
            epsilon=one,
            protocol=Updates(records_per_owner=n if unit is Unit.WHOLE_OWNER else None),
            seed=seed,
            allow_weak_privacy=True,
        )
        for one, seed in ((epsilon, None), (1e4, 1))
    ]
    always = np.bincount(labels).max() / len(labels)
    right, most = (float((model.predict(test) == labels).mean()) for model in models)
    if most - always < 0.1:
        return []
    share, plan = (right - always) / (most - always), models[0].plan
    assert isinstance(plan, UpdatesPlan)
    counted = ["runs", where(share, *plan.kept)]
    kept = "much kept" if share >= _MUCH else "little kept" if share < _LITTLE else "some kept"
    return [*counted, kept, f"{kept}, {plan.verdict.level}"]


def where(share: float, low: float, high: float) -> str:
    """Return where a share of the gain falls."""
    if share < -_CHANCE:
        return "worse than one label for all"
    return "below" if share < low - _CHANCE else "above" if share > high + _CHANCE else "in"


def made(rng: np.random.Generator) -> World:
    """Return a made-up world."""
    while True:
        classes = int(rng.choice([2, 2, 3, 5, 8, 10, 20]))
        d = int(rng.choice([4, 8, 15, 30, 50]))
        n_parties = int(rng.choice([4, 10, 20, 50, 100, 200, 500, 1000]))
        n = int(rng.choice([20, 50, 150]))
        if n_parties * n <= MOST:
            return *world(rng, n_parties * n + POINTS + TEST, d, classes), n_parties, n


def table(rng: np.random.Generator) -> World:
    """Return a table of scikit-learn, a third of it for the parties, in another order each time."""
    x, y = TABLES[rng.integers(len(TABLES))](return_X_y=True)
    order = rng.permutation(len(x))
    n_parties = int(rng.choice([3, 5, 10, 20]))
    return x[order], y[order], n_parties, len(x) // 3 // n_parties


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

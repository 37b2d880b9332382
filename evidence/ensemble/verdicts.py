"""How far the verdict on a model can be trusted: made-up worlds, with and without own labels.

    python -m evidence.ensemble.verdicts [--runs 400]

Counts the verdicts of `dpsumm.learn` (information, a warning, an alarm) on models that beat the
commonest class by two points or more on 3,000 fresh points, and on models that lose by as much.
Models of parties with spoilt labels are counted apart, and those of 50 or more parties once more.
For models that beat the commonest class by ten points or more, the expected calibration error of
their probabilities. Prints three tables in Markdown.
"""

from __future__ import annotations

import argparse
import warnings
from collections import Counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import dpsumm
from dpsumm import Updates
from dpsumm.privacy import Unit
from evidence.ensemble.worlds import MOST, POINTS, TEST, world

LABELS = 200
GOOD, CLEAR = 0.02, 0.1
# Votes of so many parties can be told from noise.
MANY = 50
# Probabilities of the predicted classes, in so many groups of equal width.
GROUPS = 15
LEVELS = ("INFO", "WARNING", "ALARM")
Labels = NDArray[np.int64]


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser("evidence.ensemble.verdicts", description=__doc__)
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    rng, found = np.random.default_rng(given.seed), Counter[Counted]()
    errors: dict[str, list[float]] = {"updates": [], "votes": []}
    warnings.simplefilter("ignore")
    ran = 0
    while ran < given.runs:
        counted = run(rng, errors)
        ran += bool(counted)
        found.update(counted)
    print_counts(found)
    print(f"\nOf {MANY} parties or more:\n")
    print_counts(Counter({key: n for key, n in found.items() if key.many}))
    print("\n| Learnt from | Models | Calibration error, median | 9 in 10 below | Above .1 |")
    print("|---|---|---|---|---|")
    for method, each in errors.items():
        if not each:
            continue
        middle, high = np.quantile(each, [0.5, 0.9])
        above = int((np.array(each) > CLEAR).sum())
        print(f"| {method} | {len(each)} | {middle:.3f} | {high:.3f} | {above} |")


class Counted(NamedTuple):
    """What is counted: of a model the method, what it is, own labels, level and many parties."""

    method: str
    model: str
    labels: int
    level: str
    many: bool


def print_counts(found: Counter[Counted]) -> None:
    """Print how many models have each level."""
    print("| Learnt from | Model | Own labels | No alarm | Check | Do not use |")
    print("|---|---|---|---|---|---|")
    for kind in sorted({key[:3] for key in found}):
        counts = [sum(n for key, n in found.items() if key[:4] == (*kind, one)) for one in LEVELS]
        print(f"| {' | '.join(map(str, (*kind, *counts)))} |")


def run(rng: np.random.Generator, errors: dict[str, list[float]]) -> list[Counted]:
    """Return the verdicts of one world.

    The calibration error of a model that is clearly better than the commonest class is added to its
    method's `errors`.
    """
    classes, d = int(rng.choice([2, 2, 3, 5, 10])), int(rng.choice([4, 8, 15, 30]))
    n_parties = int(rng.choice([10, 20, 50, 100, 200]))
    n, epsilon = int(rng.choice([20, 50, 150])), float(rng.choice([0.3, 1, 3]))
    unit = [Unit.WHOLE_OWNER, Unit.REPLACE_RECORD][rng.integers(2)]
    spoilt = str(rng.choice(["", "", "labels at random", "half of the parties inverted"]))
    if n_parties * n > MOST:
        return []
    end = n_parties * n
    x, y = world(rng, end + POINTS + LABELS + TEST, d, classes)
    own = slice(end + POINTS, end + POINTS + LABELS)
    parties = [
        (x[i:end:n_parties], spoil(rng, y[i:end:n_parties], i, classes, spoilt))
        for i in range(n_parties)
    ]
    counted = []
    for method in ("votes", "updates"):
        for labels in (0, LABELS):
            model = dpsumm.learn(
                parties,
                x[end : end + POINTS],
                classes=list(range(classes)),
                unit=unit,
                epsilon=epsilon,
                protocol=Updates(records_per_owner=n if unit is Unit.WHOLE_OWNER else None)
                if method == "updates"
                else method,
                validation=(x[own], y[own]) if labels else None,
                seed=int(rng.integers(2**31)),
                allow_weak_privacy=True,
            )
            chances = model.predict_proba(x[-TEST:])
            right = float((chances.argmax(1) == y[-TEST:]).mean())
            lead = right - np.bincount(y[-TEST:]).max() / TEST
            found = "leads" if lead >= GOOD else "loses" if lead <= -GOOD else "neither"
            kind = "spoilt, leads" if found == "leads" else "spoilt"
            level, many = model.verdict.severity.name, n_parties >= MANY
            counted.append(Counted(method, kind if spoilt else found, labels, level, many))
            if not labels and lead >= CLEAR:
                errors[method].append(calibration_error(chances, y[-TEST:]))
    return counted


def calibration_error(chances: NDArray[np.float64], y: Labels) -> float:
    """Return how far the predicted classes' probabilities are from how often they are right."""
    sure, right = chances.max(1), chances.argmax(1) == y
    group = np.minimum((sure * GROUPS).astype(np.int64), GROUPS - 1)
    gaps = np.bincount(group, right - sure, GROUPS)
    return float(np.abs(gaps).sum() / len(y))


def spoil(rng: np.random.Generator, y: Labels, party: int, classes: int, how: str) -> Labels:
    """Return a party's labels, spoilt as asked for."""
    if how == "labels at random":
        return rng.integers(classes, size=len(y))
    return (y + 1) % classes if how and party % 2 else y


if __name__ == "__main__":
    main()

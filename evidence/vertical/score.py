"""How good synthetic rows are: classifiers trained on them, distances of two-way tables.

Trees see values, and distances are of tables whose cells no method knows: parts of equal mass of
the records that nobody has. The logistic regression sees the levels of bins made by hand.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from evidence.vertical.data import Codes, Task, Values

# Parts of a number's or date's values. A value that nearly so much have is a cell of its own.
PARTS, _HEAVY = 10, 0.7


def one_hot(codes: Codes, sizes: list[int]) -> NDArray[np.float32]:
    """Return a column for each level."""
    return np.hstack(
        [
            np.eye(size, dtype=np.float32)[column]
            for size, column in zip(sizes, codes.T, strict=True)
        ]
    )


def predicted(task: Task, rows: Values, *, alone: bool = False) -> dict[str, float]:
    """Return how well two classifiers trained on `rows` predict the label of the test rows.

    These are accuracies, and the trees' AUC. `alone` has the label owner's columns alone.
    """
    mine = task.owner_of[task.target]
    rest = [j for j in _rest(task) if task.owner_of[j] == mine or not alone]
    labels, wanted = rows[:, task.target], task.held_out[:, task.target]
    if len(np.unique(labels)) == 1:
        same = float((wanted == labels[0]).mean())
        return {"linear": same, "trees": same, "auc": 0.5}
    hot = [
        one_hot(codes[:, rest], [task.sizes[j] for j in rest])
        for codes in (task.codes(rows), task.test)
    ]
    linear = LogisticRegression(max_iter=200)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the steps ended
        linear.fit(hot[0], labels)
    trees = _trees(task, rows, rest)
    return {
        "linear": float(linear.score(hot[1], wanted)),
        "trees": float(trees.score(task.held_out[:, rest], wanted)),
        "auc": _auc(task, trees, rest),
    }


def auc(task: Task, rows: Values) -> float:
    """Return the AUC on the test rows of trees trained on `rows`."""
    rest = _rest(task)
    if len(np.unique(rows[:, task.target])) == 1:
        return 0.5
    return _auc(task, _trees(task, rows, rest), rest)


def _rest(task: Task) -> list[int]:
    return [j for j in range(len(task.levels)) if j != task.target]


def _trees(task: Task, rows: Values, rest: Sequence[int]) -> HistGradientBoostingClassifier:
    trees = HistGradientBoostingClassifier(
        max_iter=60,
        categorical_features=[not task.ordered[j] for j in rest],
        early_stopping=False,
        random_state=0,
    )
    given = rows[:, rest].copy()
    # The trees refuse a column without any value. Noise makes some of those.
    given[:, np.isnan(given).all(axis=0)] = 0.0
    return trees.fit(given, rows[:, task.target])


def _auc(task: Task, trees: HistGradientBoostingClassifier, rest: Sequence[int]) -> float:
    chances = trees.predict_proba(task.held_out[:, rest])[:, 1]
    return float(roc_auc_score(task.held_out[:, task.target], chances))


def distances(task: Task, rows: Values) -> dict[str, float]:
    """Return mean total variations of two-way tables to the test rows: within owners, across."""
    found: dict[str, list[float]] = {"within": [], "across": []}
    pairs = list(combinations(range(len(task.levels)), 2))
    apart = pair_distances(task.held_out, rows, task.ordered, pairs)
    for (i, j), distance in zip(pairs, apart, strict=True):
        found["within" if task.owner_of[i] == task.owner_of[j] else "across"].append(distance)
    return {kind: float(np.mean(values)) for kind, values in found.items()}


def pair_distances(
    real: Values, rows: Values, ordered: Sequence[bool], pairs: Sequence[tuple[int, int]]
) -> list[float]:
    """Return the total variation between each pair's two-way tables of real records and of rows."""
    columns = zip(real.T, rows.T, ordered, strict=True)
    cells = [_cells(one, other, numbers) for one, other, numbers in columns]
    sizes = [1 + max(column.max() for column in both) for both in cells]
    found = []
    for i, j in pairs:
        one, other = (
            np.bincount(down * sizes[j] + right, minlength=sizes[i] * sizes[j]) / len(down)
            for down, right in zip(cells[i], cells[j], strict=True)
        )
        found.append(float(np.abs(one - other).sum()) / 2)
    return found


def _cells(
    real: NDArray[np.float64], rows: NDArray[np.float64], numbers: bool
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the cell of each real value and of each row's: a category, a part, a missing one."""
    known, counts = np.unique(real[~np.isnan(real)], return_counts=True)
    heavy = known[counts >= _HEAVY / PARTS * len(real)] if numbers else known
    others = real[~np.isnan(real) & ~np.isin(real, heavy)]
    cuts = np.unique(np.quantile(others, np.arange(1, PARTS) / PARTS)) if len(others) else others

    def cell(values: NDArray[np.float64]) -> NDArray[np.int64]:
        apart = np.searchsorted(heavy, values)
        part = len(heavy) + 1 + np.searchsorted(cuts, values, side="right")
        found = np.where(np.isin(values, heavy), apart, part)
        return np.where(np.isnan(values), len(heavy), found)

    return cell(real), cell(rows)


def judged(task: Task, rows: Values, *, alone: bool = False) -> dict[str, float]:
    """Return all measures."""
    return predicted(task, rows, alone=alone) | distances(task, rows)

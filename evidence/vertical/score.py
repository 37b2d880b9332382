"""How good synthetic rows are: classifiers trained on them, distances of two-way tables."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from evidence.vertical.data import Codes, Task


def one_hot(codes: Codes, sizes: list[int]) -> NDArray[np.float32]:
    """Return a column for each level."""
    return np.hstack(
        [
            np.eye(size, dtype=np.float32)[column]
            for size, column in zip(sizes, codes.T, strict=True)
        ]
    )


def predicted(task: Task, rows: Codes, *, alone: bool = False) -> dict[str, float]:
    """Return how well two classifiers trained on `rows` predict the label of the test rows.

    These are accuracies, and the trees' AUC. `alone` has the label owner's columns alone.
    """
    mine = task.owner_of[task.target]
    rest = [
        j
        for j, owner in enumerate(task.owner_of)
        if j != task.target and (owner == mine or not alone)
    ]
    labels, wanted = rows[:, task.target], task.test[:, task.target]
    if len(np.unique(labels)) == 1:
        same = float((wanted == labels[0]).mean())
        return {"linear": same, "trees": same, "auc": 0.5}
    sizes = [task.sizes[j] for j in rest]
    linear = LogisticRegression(max_iter=200)
    trees = HistGradientBoostingClassifier(
        max_iter=60,
        categorical_features=[not task.ordered[j] for j in rest],
        early_stopping=False,
        random_state=0,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the steps ended
        linear.fit(one_hot(rows[:, rest], sizes), labels)
        trees.fit(rows[:, rest], labels)
        return {
            "linear": float(linear.score(one_hot(task.test[:, rest], sizes), wanted)),
            "trees": float(trees.score(task.test[:, rest], wanted)),
            "auc": float(roc_auc_score(wanted, trees.predict_proba(task.test[:, rest])[:, 1])),
        }


def distances(task: Task, rows: Codes) -> dict[str, float]:
    """Return mean total variations of two-way tables to the test rows: within owners, across."""
    found: dict[str, list[float]] = {"within": [], "across": []}
    for i in range(len(task.sizes)):
        for j in range(i + 1, len(task.sizes)):
            size = task.sizes[i] * task.sizes[j]
            one, other = (
                np.bincount(c[:, i] * task.sizes[j] + c[:, j], minlength=size) / len(c)
                for c in (task.test, rows)
            )
            kind = "within" if task.owner_of[i] == task.owner_of[j] else "across"
            found[kind].append(float(np.abs(one - other).sum()) / 2)
    return {kind: float(np.mean(values)) for kind, values in found.items()}


def judged(task: Task, rows: Codes, *, alone: bool = False) -> dict[str, float]:
    """Return all measures."""
    return predicted(task, rows, alone=alone) | distances(task, rows)

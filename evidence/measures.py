"""What a summary is judged by, always on fresh points."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dpsumm
from dpsumm.kernels import mmd2
from evidence.data import Labelled, Problem
from evidence.methods import ORACLE, Method


def measured(
    name: str, method: Method, problem: Problem, size: int, seed: int, classify: bool
) -> dict[str, Any]:
    """Run a method and return its measures: columns of the table of results.

    MMD^2 is to the fresh points as they are, `fresh_noise` what their own sampling adds to it.
    """
    started = time.perf_counter()
    kernel, fresh = problem.kernel, problem.fresh
    weights = None
    if name == ORACLE:
        made, accesses = problem.oracle, len(problem.oracle.labels)
    else:
        made, weights, accesses = _summarized(method, problem, size, seed)
    row: dict[str, Any] = {"seconds": time.perf_counter() - started}
    row |= {"points": len(made.labels), "accesses": accesses}
    row["mmd2"] = mmd2(made.points, fresh.points, kernel.gamma)
    row["fresh_noise"] = problem.fresh_noise
    if weights is not None:
        row["mmd2_weighted"] = mmd2(made.points, fresh.points, kernel.gamma, weights)
    if classify:
        for model in ("svm", "trees"):
            row[model] = accuracy(model, made.points, made.labels, None, fresh.points, fresh.labels)
        if weights is not None:
            kept = np.flatnonzero(weights > 0)
            some, sample_weight = made.take(kept), weights[kept] * len(weights)
            row["svm_weighted"] = accuracy(
                "svm", some.points, some.labels, sample_weight, fresh.points, fresh.labels
            )
    return row


def _summarized(
    method: Method, problem: Problem, size: int, seed: int
) -> tuple[Labelled, NDArray[np.float64], int]:
    """Return the summary with its labels, its weights and the points accessed."""
    owners = problem.owners
    if method.owners is not None:
        owners = tuple(owners[i] for i in method.owners(problem, size, seed))
    summary = dpsumm.summarize(
        [owner.points for owner in owners],
        problem.target,
        size=size,
        kernel=problem.kernel,
        protocol=method.protocol(size),  # type: ignore[misc, arg-type]
        epsilon=method.epsilon,
        delta=1e-5,
        seed=seed,
    )
    labels = [owners[i].labels[j] for i, j in zip(summary.owner, summary.index, strict=True)]
    points = np.asarray(summary.points, np.float32)
    return Labelled(points, np.array(labels)), summary.weights, summary.accesses


def accuracy(
    model: str,
    points: NDArray[Any],
    labels: NDArray[Any],
    weights: NDArray[np.float64] | None,
    fresh: NDArray[Any],
    fresh_labels: NDArray[Any],
) -> float:
    """Return the accuracy on fresh points of a model trained on the summary.

    `model`: "svm", a linear support vector machine as in the paper, or "trees", gradient-boosted.
    With one class only in the summary both predict it.
    """
    if len(np.unique(labels)) == 1:
        return float((fresh_labels == labels[0]).mean())
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.svm import LinearSVC

    if model == "svm":
        made = LinearSVC(random_state=0)
    else:
        made = HistGradientBoostingClassifier(
            max_iter=20, min_samples_leaf=5, max_features=0.3, random_state=0
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        made.fit(points, labels, sample_weight=weights)
    return float((made.predict(fresh) == fresh_labels).mean())

"""What a summary is judged by, always on fresh points."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dpsumm
from dpsumm.kernels import mmd2
from evidence.baselines import importance
from evidence.methods import ORACLE, Method
from evidence.problem import Labelled, Problem

Weights = NDArray[np.float64]

MODELS = ("logistic", "svm", "trees")
# Accuracy, and the area under the ROC curve; with equal weights, and with weights.
MEASURES = tuple(
    f"{model}{what}{w}" for model in MODELS for what in ("", "_auc") for w in ("", "_weighted")
)


def measured(
    name: str,
    method: Method,
    problem: Problem,
    size: int,
    seed: int,
    classify: bool,
    weigh: bool,
) -> dict[str, Any]:
    """Run a method and return its measures: columns of the table of results.

    MMD^2 is to the fresh points as they are, `fresh_noise` what their own sampling adds to it;
    baselines, of many times more points, have none. `means` is the mean distance between
    coordinates' means. Tables by a schema, whose labels are
    two, get all models and weights; images the svm and the trees.
    """
    started = time.perf_counter()
    kernel = problem.kernel
    fresh = Labelled(problem.seen(problem.fresh.points), problem.fresh.labels)
    weights = None
    if name == ORACLE:
        made, accesses = problem.oracle, len(problem.oracle.labels)
        made = Labelled(problem.seen(made.points), made.labels)
    elif method.baseline is not None:
        made, accesses = method.baseline(problem, method.epsilon, seed), 0
        weights = importance(made.points, problem.seen(problem.target))
    else:
        made, summary = _summarized(method, problem, size, seed)
        accesses, weights = summary.accesses, summary.weights if weigh else None
    row: dict[str, Any] = {"seconds": time.perf_counter() - started}
    row |= {"points": len(made.labels), "accesses": accesses}
    row["fresh_noise"] = problem.fresh_noise
    row["means"] = _distance_of_means(made.points, None, fresh.points)
    judges = fresh.points.astype(made.points.dtype)
    if method.baseline is None:
        row["mmd2"] = mmd2(made.points, judges, kernel.gamma)
    if weights is not None:
        row["means_weighted"] = _distance_of_means(made.points, weights, fresh.points)
        if method.baseline is None:
            row["mmd2_weighted"] = mmd2(made.points, judges, kernel.gamma, weights)
    if classify:
        table = problem.schema is not None
        for model in MODELS if table else ("svm", "trees"):
            if method.fit:
                own = problem.oracle.points, problem.oracle.labels
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # of solvers that stop early
                    fitted = summary.fit(_estimator(model), own=own).estimator
                row |= _scored(model, fitted, fresh)
                continue
            row |= judged(model, made, None, fresh)
            if table and weights is not None:
                row |= judged(model, made, weights, fresh)
    return row


def _distance_of_means(points: NDArray[Any], weights: Weights | None, fresh: NDArray[Any]) -> float:
    means = np.average(points, axis=0, weights=weights)
    return float(np.abs(means - fresh.mean(axis=0)).mean())


def _summarized(
    method: Method, problem: Problem, size: int, seed: int
) -> tuple[Labelled, dpsumm.summary.Summary]:
    """Return the summary's points as the kernel sees them, with their labels, and itself."""
    owners = problem.owners
    if method.owners is not None:
        owners = tuple(owners[i] for i in method.owners(problem, size, seed))
    schema = problem.schema
    if method.fit and schema is not None:
        schema = dpsumm.Schema([*schema.columns, dpsumm.Column("its label", "label")])
    summary = dpsumm.summarize(
        [(owner.points, owner.labels) if method.fit else owner.points for owner in owners],
        problem.target,
        size=size,
        schema=schema,
        kernel=problem.kernel,
        protocol=method.protocol(size),  # type: ignore[misc, arg-type]
        epsilon=method.epsilon,
        delta=1e-5,
        seed=seed,
        allow_weak_privacy=True,
    )
    labels = [owners[i].labels[j] for i, j in zip(summary.owner, summary.index, strict=True)]
    points = summary.scaled if problem.schema else np.asarray(summary.points, np.float32)
    return Labelled(points, np.array(labels)), summary


def judged(
    model: str, made: Labelled, weights: Weights | None, fresh: Labelled
) -> dict[str, float]:
    """Return accuracy and, if there are two labels, AUC on fresh points of a model trained on some.

    `model`: "logistic" regression; "svm", a linear support vector machine as in the paper; "trees",
    gradient-boosted. With one label only in the summary all predict it, and rank nothing.
    """
    suffix = "" if weights is None else "_weighted"
    names = (f"{model}{suffix}", f"{model}_auc{suffix}")
    two = len(np.unique(fresh.labels)) == 2
    if len(np.unique(made.labels)) == 1:
        accuracy = float((fresh.labels == made.labels[0]).mean())
        return dict(zip(names, (accuracy, 0.5)[: 1 + two], strict=False))
    from sklearn.exceptions import ConvergenceWarning

    trained = _estimator(model)
    kept = slice(None) if weights is None else weights > 0
    sample = None if weights is None else weights[kept] * len(weights)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        trained.fit(made.points[kept], made.labels[kept], sample_weight=sample)
    return _scored(model, trained, fresh, suffix)


def _estimator(model: str) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import LinearSVC

    return {
        "logistic": LogisticRegression(max_iter=300),
        "svm": LinearSVC(random_state=0),
        "trees": HistGradientBoostingClassifier(
            max_iter=20, min_samples_leaf=5, max_features=0.3, random_state=0
        ),
    }[model]


def _scored(model: str, trained: Any, fresh: Labelled, suffix: str = "") -> dict[str, float]:
    from sklearn.metrics import roc_auc_score

    found = {f"{model}{suffix}": float((trained.predict(fresh.points) == fresh.labels).mean())}
    if len(np.unique(fresh.labels)) == len(trained.classes_) == 2:
        scores = trained.decision_function(fresh.points)
        found[f"{model}_auc{suffix}"] = float(roc_auc_score(fresh.labels, scores))
    return found

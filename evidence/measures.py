"""What a summary is judged by beside MMD^2, always on fresh points."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray


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

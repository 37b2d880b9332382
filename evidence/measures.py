"""What a summary is judged by, always on fresh points."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray


def accuracies(
    points: NDArray[Any],
    labels: NDArray[Any],
    weights: NDArray[np.float64] | None,
    fresh: NDArray[Any],
    fresh_labels: NDArray[Any],
) -> dict[str, float]:
    """Return the accuracy on fresh points of models trained on the summary.

    A linear support vector machine, as in the paper, and gradient-boosted trees. With a single class
    in the summary both predict it.
    """
    if len(np.unique(labels)) == 1:
        right = float((fresh_labels == labels[0]).mean())
        return {"svm": right, "trees": right}
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.svm import LinearSVC

    models = {
        "svm": LinearSVC(random_state=0),
        "trees": HistGradientBoostingClassifier(
            max_iter=40, min_samples_leaf=5, max_features=0.3, random_state=0
        ),
    }
    out = {}
    for name, model in models.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(points, labels, sample_weight=weights)
        out[name] = float((model.predict(fresh) == fresh_labels).mean())
    return out

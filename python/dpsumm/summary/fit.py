"""A model for the target, trained on the owners' points and on the target's own labels.

It is trained on raw records after everything was sent. So nothing is charged, nothing of it is
protected, and it is for curator and consumer alone.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsumm.basics.checks import check_installed
from dpsumm.data.column import Column
from dpsumm.data.extract import Source
from dpsumm.data.inputs import read_every_row, read_target
from dpsumm.data.kinds.label import labels_of
from dpsumm.data.schema import Schema
from dpsumm.errors import InvalidParameterError
from dpsumm.summary.kernel import FloatArray
from dpsumm.summary.likeness import Estimate
from dpsumm.summary.pool import PointsRead
from dpsumm.summary.protocols.curator import equal_rows

# Parts of the cross-validation, and own labels that it takes at least.
FOLDS, FEWEST = 5, 20
# A probability that the loss takes for this one if it is less.
LEAST_CHANCE = 1e-3
# What a model is trained on. From how many standard errors on the others are better than all.
ALL, SUMMARY, OWN = "all points", "summary", "own labels"
CLEARLY = 1.64

Labelled = tuple[FloatArray, NDArray[Any]]


@dataclass(frozen=True, eq=False, repr=False)
class FittedModel:
    """A model of the target that `Summary.fit` trained. Do not show it to owners or to others.

    Attributes
    ----------
    estimator
        The fitted estimator. It takes points of the kernel's space, as `Summary.scaled` has them.
    trained_on
        ``"all points"``: all that the curator received. ``"summary"``: those that were picked.
        Either with the own labels, if there are some. ``"own labels"``: these alone, because the
        owners' points made predictions of them clearly worse.
    n_own
        Number of own labels that it was trained on.
    gain
        By how much the owners' points lower the loss of the own labels, against a model of the own
        labels alone, negative if they raise it. The loss is the mean logarithmic one of classifiers
        with probabilities, else the share of errors, and of regressors the mean squared error.
        Cross-validated. None with fewer than 20 own labels, or 5 in each of two classes.
    losses
        The loss of the best candidate on each of the three, by the names in `trained_on`. Empty
        without a `gain`.
    schema
        Columns of the data that it predicts.

    See Also
    --------
    dpsumm.summary.Summary.fit : Makes one.

    Examples
    --------
    >>> import numpy as np, dpsumm
    >>> from sklearn.linear_model import LogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> def records(n):
    ...     points = rng.normal(size=(n, 2))
    ...     return points, (points.sum(axis=1) > 0).astype(int)
    >>> summary = dpsumm.summarize([records(500)], records(40), size=30, kernel=dpsumm.RBF(0.25))
    >>> model = summary.fit(LogisticRegression())
    >>> model.predict(np.array([[2.0, 2.0], [-2.0, -2.0]])).tolist()
    [1, 0]
    """

    estimator: Any
    trained_on: str
    n_own: int
    gain: Estimate | None
    losses: Mapping[str, Estimate]
    schema: Schema

    def __repr__(self) -> str:
        own = "" if self.trained_on == OWN or not self.n_own else f" and {self.n_own:,} own labels"
        gain = self.gain and f", gain={self.gain.value:.3g} ± {self.gain.error:.2g}"
        return f"FittedModel({self.estimator!r}, trained on {self.trained_on}{own}{gain or ''})"

    def predict(self, data: Source) -> NDArray[Any]:
        """Return the prediction (n,) for each record of an array, a frame or a file.

        Raises
        ------
        InvalidDataError
            The data do not fit the schema, or a row lacks a value and the schema drops such rows.
        """
        predicted: NDArray[Any] = self.estimator.predict(self._points(data))
        return predicted

    def predict_proba(self, data: Source) -> NDArray[np.float64]:
        """Return the probability (n, K) of each of ``estimator.classes_``, see `predict`."""
        chances: NDArray[np.float64] = self.estimator.predict_proba(self._points(data))
        return chances

    def _points(self, data: Source) -> FloatArray:
        table = read_every_row(data, name="data", schema=self.schema)
        return table.scaled.astype(np.float64, copy=False)


def fit(
    estimator: Any,
    pool: PointsRead,
    own: Source | None,
    target: tuple[FloatArray, NDArray[Any] | None],
    *,
    but: FloatArray | None,
) -> FittedModel:
    """Return a model for the target, as `Summary.fit` does.

    Parameters
    ----------
    but
        Points of the owners that equal one of these are left out.
    """
    check_installed("sklearn", "training a model needs", "learn")
    if pool.labels is None:
        raise InvalidParameterError(
            "estimator needs labels, and none travelled with the points. Name the owners' column "
            "of labels in the run, by label= or in the schema"
        )
    points, labels = target
    if own is not None:
        table = read_target(own, _labelled(pool.schema, own), name="own")
        points, labels = table.scaled, table.labels
        if labels is None:
            raise InvalidParameterError(
                "own has no labels. Give (X, y), or a frame with the label's column"
            )
    kept = np.ones(len(pool), dtype=np.bool_)
    if but is not None:
        kept = ~equal_rows(pool.scaled, but)
    read = pool.scaled[kept], pool.labels[kept]
    picks = (np.cumsum(kept) - 1)[pool.picks]
    mine = None
    if labels is not None:
        there = np.array([label is not None for label in labels.tolist()])
        mine = (points[there], labels[there]) if there.any() else None
    return _fitted(estimator, read, picks, mine, pool.schema.for_target())


def _fitted(
    estimators: Any, pool: Labelled, picks: NDArray[np.int64], own: Labelled | None, schema: Schema
) -> FittedModel:
    """Return the best of some estimators, trained on the points that go with the own labels.

    All points are the choice of the first resort, because in tables they are worth most. The
    others take their place if the own labels are clearly predicted better: where records like the
    target's are rare, most points are of no use.
    """
    from sklearn.base import clone

    candidates = list(estimators) if isinstance(estimators, Sequence) else [estimators]
    classify = _are_classifiers(candidates)
    pool, own = _typed(pool, own, classify)
    summary = pool[0][picks], pool[1][picks]
    if own is None or not _comparable(own[1], classify):
        if len(candidates) > 1:
            raise InvalidParameterError(
                f"estimator is a list, which needs {FEWEST} own labels to choose from it, of a "
                f"classifier {FOLDS} in each of two classes. Give own=(X, y), or one estimator"
            )
        data, n_own = _joined(summary, own), 0 if own is None else len(own[1])
        if classify and len(np.unique(data[1])) == 1:
            raise InvalidParameterError(
                "estimator needs two classes, and the summary has one. Give own=(X, y)"
            )
        model = clone(candidates[0]).fit(*data)
        return FittedModel(model, SUMMARY, n_own, None, {}, schema)
    sets: dict[str, Labelled | None] = {ALL: pool, SUMMARY: summary, OWN: None}
    best, losses = {}, {}
    for name, others in sets.items():
        found = [_losses(one, others, own, classify) for one in candidates]
        best[name] = int(np.argmin([loss.mean() for loss in found]))
        losses[name] = found[best[name]]
    better = {name: _mean(losses[ALL] - losses[name]) for name in (SUMMARY, OWN)}
    clear = {name: m.value for name, m in better.items() if m.value > CLEARLY * m.error}
    chosen = max(clear, key=clear.__getitem__, default=ALL)
    nearest = min((ALL, SUMMARY), key=lambda name: losses[name].mean())
    return FittedModel(
        clone(candidates[best[chosen]]).fit(*_joined(sets[chosen], own)),
        chosen,
        len(own[1]),
        _mean(losses[OWN] - losses[nearest if chosen == OWN else chosen]),
        {name: _mean(loss) for name, loss in losses.items()},
        schema,
    )


def _mean(values: NDArray[np.float64]) -> Estimate:
    return Estimate(float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values))))


def _labelled(schema: Schema, own: Source) -> Schema:
    """Return the schema with a label, which a summary of pairs (points, labels) does without."""
    if schema.label is not None or not isinstance(own, tuple):
        return schema
    name = "label"
    while name in (column.name for column in schema.columns):
        name += "_"
    return Schema([*schema.columns, Column(name, "label")])


def _are_classifiers(candidates: list[Any]) -> bool:
    """Return whether they are classifiers. Regressors if not."""
    from sklearn.base import is_classifier, is_regressor

    try:
        kinds = {(is_classifier(one), is_regressor(one)) for one in candidates}
    except (AttributeError, TypeError):  # of what is no estimator
        kinds = set()
    if kinds not in ({(True, False)}, {(False, True)}):
        raise InvalidParameterError(
            "estimator must be a classifier or a regressor as scikit-learn's are, or a list of "
            "classifiers or of regressors"
        )
    return kinds == {(True, False)}


def _typed(
    pool: Labelled, own: Labelled | None, classify: bool
) -> tuple[Labelled, Labelled | None]:
    """Return both with labels of one type, in which 1 and "1" are the same."""
    labels = labels_of([*pool[1].tolist(), *([] if own is None else own[1].tolist())])
    if not classify and labels.dtype.kind not in "biuf":
        raise InvalidParameterError("estimator must be a classifier, because some labels are text")
    if labels.dtype.kind == "O":
        raise InvalidParameterError(
            "labels are written in two ways, as text and as numbers. Write each class in one way"
        )
    theirs, ours = labels[: len(pool[1])], labels[len(pool[1]) :]
    if own is None:
        return (pool[0], theirs), None
    if classify and len(np.unique(ours)) == 1:
        raise InvalidParameterError(
            "own has labels of one class, which a model cannot be tested on. Give labels of two "
            "classes, or train an estimator on summary.pool"
        )
    if classify and not np.isin(ours, theirs).any():
        raise InvalidParameterError(
            "own has no label that the owners have. Write the classes as the owners do"
        )
    return (pool[0], theirs), (own[0], ours)


def _comparable(labels: NDArray[Any], classify: bool) -> bool:
    """Return whether there are labels enough to compare models by."""
    counts = np.sort(np.unique(labels, return_counts=True)[1])
    return len(labels) >= FEWEST and not (classify and counts[-2] < FOLDS)


def _joined(pool: Labelled | None, own: Labelled | None) -> Labelled:
    sets = [one for one in (pool, own) if one is not None]
    return np.concatenate([one[0] for one in sets]), np.concatenate([one[1] for one in sets])


def _losses(
    estimator: Any, pool: Labelled | None, own: Labelled, classify: bool
) -> NDArray[np.float64]:
    """Return the loss (n,) of each own label when its fold is left out of the training."""
    from sklearn.base import clone
    from sklearn.model_selection import KFold, StratifiedKFold

    points, labels = own
    folds = (StratifiedKFold if classify else KFold)(FOLDS, shuffle=True, random_state=0)
    found = np.empty(len(labels))
    with warnings.catch_warnings():
        # A class with fewer labels than folds is missing in some, which is no fault.
        warnings.simplefilter("ignore", UserWarning)
        splits = list(folds.split(points, labels))
    for rest, fold in splits:
        model = clone(estimator).fit(*_joined(pool, (points[rest], labels[rest])))
        found[fold] = _loss(model, points[fold], labels[fold], classify)
    return found


def _loss(
    model: Any, points: FloatArray, labels: NDArray[Any], classify: bool
) -> NDArray[np.float64]:
    if not classify:
        return np.asarray(np.square(model.predict(points) - labels))
    if not hasattr(model, "predict_proba"):
        return np.asarray(model.predict(points) != labels, dtype=np.float64)
    chances = np.zeros(len(labels))
    for column, label in zip(model.predict_proba(points).T, model.classes_, strict=True):
        chances[labels == label] = column[labels == label]
    return -np.log(np.maximum(chances, LEAST_CHANCE))

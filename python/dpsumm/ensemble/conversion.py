"""scikit-learn's fitted classifiers as plain numbers: declared classifiers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsumm.data.kinds.label import places_of
from dpsumm.ensemble.declared import MOST_BYTES, Array, Declared, Forest, GaussianBayes, Linear
from dpsumm.ensemble.terms import Label
from dpsumm.errors import InvalidParameterError


def declare(
    classifiers: Sequence[Any],
    classes: Sequence[Label],
    name: str,
    n_columns: int,
    kind: str | None = None,
) -> Declared:
    """Return fitted classifiers of scikit-learn as numbers, one for each shard.

    Parameters
    ----------
    classifiers
        All of one kind: linear (logistic regression, ridge, linear SVM, perceptron, SGD, linear
        discriminants), trees and forests, naive Bayes (Gaussian, Bernoulli, multinomial). An
        integer in place of one is the class it always votes for, or -1 if it abstains.
    classes
        The public ones. Other classes of a classifier are left out.
    kind
        Class of the learner, which is public. Without it the classifiers say it: those that stand
        as integers for all shards then have the form of linear ones.

    Returns
    -------
    Declared
        A classifier with infinite numbers, and a forest of more than 16 MiB over the number of
        shards or of more than 16,384 levels in all, abstains, since each may depend on one record.
    """
    kinds = {type(one).__name__ for one in classifiers if not isinstance(one, int)}
    # Whether any shard knows two classes hangs on records: the form must not, where it is known.
    kinds |= {kind} if kind else set()
    kind = kinds.pop() if kinds else "LogisticRegression"
    if kinds or kind not in _KINDS or not all(map(_is_sklearn, classifiers)):
        raise InvalidParameterError(
            f"{name!r}: {kind} cannot be sent as plain numbers. With points_are='consumer' use "
            f"scikit-learn's {', '.join(sorted(_KINDS))}, one kind for all shards. Anything else "
            "would be code of another party"
        )
    share = MOST_BYTES // max(len(classifiers), 1)
    with np.errstate(all="ignore"):  # a warning of a logarithm would tell of a record
        kept = [
            one if _is_sendable(one, kind, classes, n_columns, share) else -1 for one in classifiers
        ]
        made = _made(kept, kind, classes, n_columns)
    # Public where the kind is, since only a forest's size hangs on records.
    if made.n_bytes > MOST_BYTES:
        raise InvalidParameterError(
            f"{name!r}: its classifiers are {made.n_bytes} bytes, at most {MOST_BYTES} are sent. "
            "Use fewer columns or shards"
        )
    return made


def _made(
    classifiers: Sequence[Any], kind: str, classes: Sequence[Label], n_columns: int
) -> Declared:
    known = np.zeros((len(classifiers), len(classes)), dtype=bool)
    places = []
    for shard, one in enumerate(classifiers):
        if isinstance(one, int):
            place = np.array([one] if one >= 0 else [], dtype=np.int64)
        else:
            place = places_of(np.asarray(one.classes_), classes)
        known[shard, place[place >= 0]] = True
        places.append(place)
    made: Declared = _KINDS[kind](classifiers, places, known, n_columns)
    return made


def _is_sendable(one: Any, kind: str, classes: Sequence[Label], n_columns: int, share: int) -> bool:
    """Return whether a classifier holds finite numbers, and a forest no more bytes than its share.

    Both may hang on one record, so they are judged for each shard by itself.
    """
    trees = [tree.tree_ for tree in getattr(one, "estimators_", [one]) if hasattr(tree, "tree_")]
    if 8 * len(classes) * sum(tree.node_count for tree in trees) > share:  # before it is made
        return False
    made = _made([one], kind, classes, n_columns)
    return made.fits(n_columns) and not (isinstance(made, Forest) and made.n_bytes > share)


def _is_sklearn(one: Any) -> bool:
    # A subclass may predict in its own way.
    return isinstance(one, int) or type(one).__module__.split(".")[0] == "sklearn"


def _rows(
    table: Any, place: NDArray[np.int64], n_classes: int, empty: float, n_columns: int
) -> Array:
    """Return a classifier's rows, (c, d), in the order of all classes."""
    rows = np.full((n_classes, n_columns), empty)
    listed = np.flatnonzero(place >= 0)
    table = np.asarray(table, dtype=np.float64)
    if table.shape != (len(place), n_columns):
        raise InvalidParameterError(f"a classifier is not of {n_columns} columns")
    rows[place[listed]] = table[listed]
    return rows


def _linear(
    classifiers: Sequence[Any],
    places: Sequence[NDArray[np.int64]],
    known: NDArray[np.bool_],
    n_columns: int,
) -> Linear:
    k = known.shape[1]
    weights, bias = [], np.zeros(known.shape)
    above, softmax = None, True
    for shard, (one, place) in enumerate(zip(classifiers, places, strict=True)):
        if isinstance(one, int):
            weights.append(np.zeros((k, n_columns)))
            continue
        if hasattr(one, "feature_log_prob_"):
            table = np.asarray(one.feature_log_prob_, dtype=np.float64)
            first = np.asarray(one.class_log_prior_, dtype=np.float64)
            if type(one).__name__ == "BernoulliNB":
                absent = np.log1p(-np.exp(table))
                first, table = first + absent.sum(1), table - absent
                above = None if one.binarize is None else float(one.binarize)
        else:
            table = np.atleast_2d(np.asarray(one.coef_, dtype=np.float64))
            first = np.broadcast_to(np.asarray(one.intercept_, dtype=np.float64), len(table))
            if len(table) == 1:  # two classes, one score
                table = np.vstack([np.zeros_like(table), table])
                first = np.r_[0.0, first]
            softmax = softmax and _has_softmax(one, k)
        weights.append(_rows(table, place, k, 0.0, n_columns))
        bias[shard, place[place >= 0]] = first[place >= 0]
    return Linear(known, np.vstack(weights), bias, above, softmax)


def _has_softmax(one: Any, n_classes: int) -> bool:
    if type(one).__name__ == "LogisticRegression":
        return n_classes == 2 or one.solver != "liblinear"  # by the public classes, not those met
    return type(one).__name__ == "LinearDiscriminantAnalysis"


def _gaussian(
    classifiers: Sequence[Any],
    places: Sequence[NDArray[np.int64]],
    known: NDArray[np.bool_],
    n_columns: int,
) -> GaussianBayes:
    k = known.shape[1]
    mean, variance, prior = [], [], np.zeros(known.shape)
    for shard, (one, place) in enumerate(zip(classifiers, places, strict=True)):
        constant = isinstance(one, int)
        given = (
            (np.zeros((len(place), n_columns)), np.ones((len(place), n_columns)))
            if constant
            else (one.theta_, one.var_)
        )
        mean.append(_rows(given[0], place, k, 0.0, n_columns))
        variance.append(_rows(given[1], place, k, 1.0, n_columns))
        if not constant:
            prior[shard, place[place >= 0]] = np.log(one.class_prior_)[place >= 0]
    return GaussianBayes(known, np.vstack(mean), np.vstack(variance), prior)


def _forest(
    classifiers: Sequence[Any],
    places: Sequence[NDArray[np.int64]],
    known: NDArray[np.bool_],
    n_columns: int,
) -> Forest:
    k = known.shape[1]
    shards, roots, parts, n = [], [], [], 0
    for shard, (one, place) in enumerate(zip(classifiers, places, strict=True)):
        if isinstance(one, int):
            # A leaf alone.
            values = np.zeros((1, k))
            values[0, place] = 1.0
            leaf = np.full(1, -1)
            trees = [(leaf, leaf, leaf * 0, np.zeros(1), values)] if len(place) else []
        else:
            if one.n_features_in_ != n_columns:
                raise InvalidParameterError(f"a classifier is not of {n_columns} columns")
            listed = place >= 0
            trees = []
            for tree in [e.tree_ for e in getattr(one, "estimators_", [one])]:
                given = tree.value[:, 0, :]
                values = np.zeros((len(given), k))
                values[:, place[listed]] = (given / given.sum(1, keepdims=True))[:, listed]
                trees.append(
                    (
                        tree.children_left,
                        tree.children_right,
                        np.maximum(tree.feature, 0),
                        tree.threshold,
                        values,
                    )
                )
        for left, right, feature, threshold, values in trees:
            shards.append(shard)
            roots.append(n)
            moved = [np.where(child >= 0, child + n, -1) for child in (left, right)]
            parts.append((*moved, feature, threshold, values))
            n += len(left)
    none = (np.empty(0), np.empty(0), np.empty(0), np.empty(0), np.empty((0, k)))
    columns = [np.concatenate(column) for column in zip(*(parts or [none]), strict=True)]
    left, right, feature = (column.astype(np.int32) for column in columns[:3])
    return Forest(
        known,
        np.array(shards, dtype=np.int32),
        np.array(roots, dtype=np.int32),
        left,
        right,
        feature,
        columns[3].astype(np.float64),
        columns[4].astype(np.float64),
    )


_KINDS: dict[str, Any] = {
    **dict.fromkeys(
        (
            "LogisticRegression",
            "RidgeClassifier",
            "LinearSVC",
            "Perceptron",
            "SGDClassifier",
            "LinearDiscriminantAnalysis",
            "BernoulliNB",
            "MultinomialNB",
        ),
        _linear,
    ),
    "GaussianNB": _gaussian,
    **dict.fromkeys(
        (
            "DecisionTreeClassifier",
            "ExtraTreeClassifier",
            "RandomForestClassifier",
            "ExtraTreesClassifier",
        ),
        _forest,
    ),
}

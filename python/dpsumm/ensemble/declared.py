"""Classifiers as plain numbers: what may leave a party when the points may not come to it.

No code travels and nothing is unpickled. Whatever the numbers are, a declared classifier votes
within the bounds of any other: reading checks shapes, ranges and that trees end.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsumm.data.labels import places_of
from dpsumm.ensemble.rows import grid_votes, hard_votes
from dpsumm.ensemble.terms import Label, Terms
from dpsumm.errors import InvalidParameterError
from dpsumm.exchange.fields import is_array

Array = NDArray[np.float64]
MOST_BYTES = 2**24
# Levels of all trees of one classifier: the steps that it takes to vote on a point.
MOST_STEPS = 2**14


@dataclass(frozen=True, eq=False)
class Declared(ABC):
    """Classifiers of one kind, one for each of J shards, as arrays.

    Attributes
    ----------
    known : (J, K) bool
        Which classes each can vote for; one that knows none abstains.
    """

    known: NDArray[np.bool_] = field(repr=False)

    @property
    def probabilities(self) -> bool:
        """Whether `log_chances` are those of probabilities: only these can fill a grid above 1."""
        return True

    @abstractmethod
    def log_chances(self, points: Array, shard: int) -> Array:
        """Return scores of the classes at (N, d) points, (N, K); the largest known one wins."""

    @abstractmethod
    def fits(self, n_columns: int) -> bool:
        """Return whether every array has its type, shape and range; fields can hold anything."""

    def votes(self, points: Array, terms: Terms) -> NDArray[np.int64]:
        """Return the votes of all shards together, (N, K)."""
        total = np.zeros((terms.n_points, terms.n_classes), dtype=np.int64)
        for shard in range(terms.shards):
            known = self.known[shard]
            if not known.any():
                continue
            with np.errstate(all="ignore"):
                scores = np.where(known, self.log_chances(points, shard), -np.inf)
                scores = np.where(np.isnan(scores), -np.inf, scores)
                if terms.grid == 1:
                    # All weight on a class that is not listed: it abstains.
                    some = np.isfinite(scores.max(1))
                    total += hard_votes(np.where(some, scores.argmax(1), -1), terms)
                else:
                    total += grid_votes(np.exp(scores - scores.max(1, keepdims=True)), terms)
        return total

    @property
    def shards(self) -> int:
        """J."""
        return len(self.known)

    @property
    def n_bytes(self) -> int:
        """Size of the arrays."""
        return sum(value.nbytes for value in vars(self).values() if isinstance(value, np.ndarray))


@dataclass(frozen=True, eq=False)
class Linear(Declared):
    """Scores ``x @ weights + bias``: linear classifiers, multinomial and Bernoulli naive Bayes.

    Attributes
    ----------
    weights : (J K, d)
    bias : (J, K)
    above
        Columns are first replaced by whether they are above this, if it is finite.
    softmax
        Whether the softmax of the scores are the classifier's probabilities.
    """

    weights: Array = field(repr=False)
    bias: Array = field(repr=False)
    above: float | None
    softmax: bool

    @property
    def probabilities(self) -> bool:
        """See `Declared.probabilities`."""
        return self.softmax

    def log_chances(self, points: Array, shard: int) -> Array:
        """See `Declared.log_chances`."""
        k = self.bias.shape[1]
        if self.above is not None:
            points = (points > self.above).astype(np.float64)
        return np.asarray(points @ self.weights[shard * k : (shard + 1) * k].T + self.bias[shard])

    def fits(self, n_columns: int) -> bool:
        """See `Declared.fits`."""
        return (
            _is_finite(self.weights, (self.known.size, n_columns))
            and _is_finite(self.bias, self.known.shape)
            and (self.above is None or (type(self.above) is float and np.isfinite(self.above)))
            and type(self.softmax) is bool
        )


@dataclass(frozen=True, eq=False)
class GaussianBayes(Declared):
    """Gaussian naive Bayes.

    Attributes
    ----------
    mean, variance : (J K, d)
    log_prior : (J, K)
    """

    mean: Array = field(repr=False)
    variance: Array = field(repr=False)
    log_prior: Array = field(repr=False)

    def log_chances(self, points: Array, shard: int) -> Array:
        """See `Declared.log_chances`."""
        k = self.log_prior.shape[1]
        scores = np.empty((len(points), k))
        for place in range(k):
            mean, variance = self.mean[shard * k + place], self.variance[shard * k + place]
            scores[:, place] = -0.5 * (np.log(2 * np.pi * variance)).sum()
            scores[:, place] -= 0.5 * ((points - mean) ** 2 / variance).sum(1)
        return np.asarray(scores + self.log_prior[shard])

    def fits(self, n_columns: int) -> bool:
        """See `Declared.fits`."""
        rows = (self.known.size, n_columns)
        return (
            _is_finite(self.mean, rows)
            and _is_finite(self.variance, rows)
            and bool((self.variance > 0).all())
            and _is_finite(self.log_prior, self.known.shape)
        )


@dataclass(frozen=True, eq=False)
class Forest(Declared):
    """Trees and forests: the mean of the leaves' shares.

    Attributes
    ----------
    tree_shard : (t,) int32
        Shard of each tree, ascending.
    roots : (t,) int32
        First node of each tree, ascending.
    left, right : (n,) int32
        Children: later nodes. -1 for a leaf.
    feature : (n,) int32
        Column that is compared.
    threshold : (n,) float64
        At most this, in single precision, goes to the left.
    values : (n, K) float64
        Shares of the classes.
    """

    tree_shard: NDArray[np.int32] = field(repr=False)
    roots: NDArray[np.int32] = field(repr=False)
    left: NDArray[np.int32] = field(repr=False)
    right: NDArray[np.int32] = field(repr=False)
    feature: NDArray[np.int32] = field(repr=False)
    threshold: Array = field(repr=False)
    values: Array = field(repr=False)

    def log_chances(self, points: Array, shard: int) -> Array:
        """See `Declared.log_chances`."""
        with np.errstate(over="ignore"):
            single = points.astype(np.float32)
        total = np.zeros((len(points), self.values.shape[1]))
        for root in self.roots[self.tree_shard == shard]:
            node = np.full(len(points), root)
            inside = np.flatnonzero(self.left[node] >= 0)
            while len(inside):
                at = node[inside]
                goes_left = single[inside, self.feature[at]] <= self.threshold[at]
                node[inside] = np.where(goes_left, self.left[at], self.right[at])
                inside = inside[self.left[node[inside]] >= 0]
            total += self.values[node]
        return np.asarray(np.log(total))

    def fits(self, n_columns: int) -> bool:
        """See `Declared.fits`."""
        n, t = len(self.left), len(self.roots)
        own = np.arange(n)
        leaf = self.left == -1
        return (
            all(is_array(x, 1, "i4") and len(x) == n for x in (self.left, self.right, self.feature))
            and all(is_array(x, 1, "i4") and len(x) == t for x in (self.tree_shard, self.roots))
            and bool((np.diff(self.tree_shard) >= 0).all() and (np.diff(self.roots) > 0).all())
            and _is_finite(self.threshold, (n,))
            and _is_finite(self.values, (n, self.known.shape[1]))
            and bool((self.values >= 0).all())
            and bool(((self.roots >= 0) & (self.roots < n)).all())
            # Children come later, and before the next tree: every way down ends.
            and bool(((self.left > own) & (self.left < self._ends(n)) | leaf).all())
            and bool(((self.right > own) & (self.right < self._ends(n)) | leaf).all())
            and bool(((self.feature >= 0) & (self.feature < n_columns) | leaf).all())
            and self._are_shallow()
            and bool(((self.tree_shard >= 0) & (self.tree_shard < self.shards)).all())
        )

    def _ends(self, n: int) -> NDArray[np.int64]:
        """Return for each of n nodes where the next tree begins, (n,)."""
        after = np.searchsorted(self.roots, np.arange(n), side="right")
        return np.append(self.roots, n).astype(np.int64)[after]

    def _are_shallow(self) -> bool:
        """Return whether these are trees, no node a child twice, of few levels in all."""
        level, steps = self.roots, 0
        children = np.concatenate([side[side >= 0] for side in (self.left, self.right)])
        if len(np.unique(children)) < len(children):
            return False
        while len(level):
            steps += len(np.unique(np.searchsorted(self.roots, level, side="right")))
            if steps > MOST_STEPS * self.shards:
                return False
            inside = level[self.left[level] >= 0]
            level = np.concatenate([self.left[inside], self.right[inside]])
        return True


def is_declared(value: Any, n_columns: int) -> bool:
    """Return whether a value from a message is such classifiers, of so many columns."""
    return (
        isinstance(value, Declared)
        and is_array(value.known, 2, "?")
        and value.fits(n_columns)
        and value.n_bytes <= MOST_BYTES
    )


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
        integer in place of one: the class it always votes for, or -1 if it abstains.
    classes
        The public ones; what a classifier knows besides is left out.
    name
        Of the party, for messages.
    n_columns
        d.
    kind
        Class of the learner, which is public. Without it the classifiers say it: those that stand
        as integers for all shards then have the form of linear ones.

    Returns
    -------
    Declared
        A classifier with infinite numbers, and a forest of more than 16 MiB over the number of
        shards or of more than 16,384 levels in all, abstains: each may hang on a single record.

    Raises
    ------
    InvalidParameterError
        Another kind, or several kinds: these would have to travel as code; another number of
        columns than `n_columns`, or a linear one of too many.
    """
    kinds = {type(one).__name__ for one in classifiers if not isinstance(one, int)}
    # Whether any shard knows two classes hangs on records: the form must not, where it is known.
    kinds |= {kind} if kind else set()
    kind = kinds.pop() if kinds else "LogisticRegression"
    if kinds or kind not in _KINDS or not all(map(_is_sklearn, classifiers)):
        raise InvalidParameterError(
            f"{name!r}: {kind} cannot be sent as plain numbers; auxiliary_is='consumer' takes "
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
            f"{name!r}: its classifiers are {made.n_bytes} bytes, at most {MOST_BYTES} are sent; "
            "use fewer columns or shards"
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
    made = _made([one], kind, classes, n_columns)
    return made.fits(n_columns) and not (isinstance(made, Forest) and made.n_bytes > share)


def _is_finite(value: Any, shape: tuple[int, ...]) -> bool:
    return (
        is_array(value, len(shape), "f8")
        and value.shape == shape
        and bool(np.isfinite(value).all())
    )


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

"""Classifiers become votes, which are integers that no party can stretch.

Everything here happens at the party, on its own data. Nothing here is private by itself.
"""

from __future__ import annotations

import random
import secrets
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpsumm.basics.checks import check_installed
from dpsumm.data.kinds.items import text_of
from dpsumm.data.kinds.label import places_of
from dpsumm.ensemble.rows import Ballot, grid_votes, hard_votes
from dpsumm.ensemble.terms import Label, Terms
from dpsumm.errors import InvalidDataError, InvalidParameterError
from dpsumm.privacy.seeds import derived_seed

# Beyond, liblinear never ends: then one record would decide whether anybody's run does.
FAR = 1e30
# By a word, the default first. Their parameters are the same for all data.
LEARNERS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "logistic": ("sklearn.linear_model", "LogisticRegression", {"C": 10.0, "max_iter": 200}),
    "tree": ("sklearn.tree", "DecisionTreeClassifier", {"max_depth": 6}),
    "forest": ("sklearn.ensemble", "RandomForestClassifier", {"n_estimators": 50}),
    "bayes": ("sklearn.naive_bayes", "GaussianNB", {}),
}


def classifier_ballot(classifier: Any, seed: int | None = None, use: str = "") -> Ballot:
    """Return how a fitted classifier votes: `predict`, or `predict_proba` if the grid is above 1.

    A class that is not listed gets no vote. The classifier abstains at such a point, or its
    probability is left out. One that fails, or does not answer for every point, abstains. That may
    depend on a single record, and stopping would tell everybody. `seed` and `use` are of its coins.
    """

    def ballot(points: NDArray[np.float64], terms: Terms) -> NDArray[np.int64]:
        nothing = np.zeros((len(points), terms.n_classes), dtype=np.int64)
        with warnings.catch_warnings(), own_coins(seed, f"{use}/votes"):
            # They may depend on the party's records, and nobody but the party may see them.
            warnings.simplefilter("ignore")
            try:
                return _votes(classifier, points, terms)
            except Exception:
                return nothing

    return ballot


def _votes(classifier: Any, points: NDArray[np.float64], terms: Terms) -> NDArray[np.int64]:
    if terms.grid == 1:
        labels = np.asarray(classifier.predict(points))
        if labels.shape != (len(points),):
            raise ValueError("one label for each point")
        return hard_votes(places_of(labels, terms.classes), terms)
    chances = np.asarray(classifier.predict_proba(points), dtype=np.float64)
    places = places_of(np.asarray(classifier.classes_), terms.classes)
    if chances.shape != (len(points), len(places)):
        raise ValueError("a column for each class")
    listed = np.zeros((len(points), terms.n_classes))
    listed[:, places[places >= 0]] = chances[:, places >= 0]
    return grid_votes(listed, terms)


def ballot_of(classifier: Any, seed: int | None = None, use: str = "") -> Ballot:
    """Return how one votes that `train` made: a classifier, or the place of its only class."""
    if isinstance(classifier, int):
        return constant_ballot(classifier)
    return classifier_ballot(classifier, seed, use)


def constant_ballot(place: int) -> Ballot:
    """Return the ballot of one who knows a single class, or none (-1)."""

    def ballot(points: NDArray[np.float64], terms: Terms) -> NDArray[np.int64]:
        return hard_votes(np.full(len(points), place), terms)

    return ballot


def given_votes(votes: ArrayLike, name: str, terms: Terms) -> NDArray[np.int64]:
    """Return votes that were made elsewhere, (N, K) integers in the order of the classes."""
    array = np.asarray(votes)
    wanted = (terms.n_points, terms.n_classes)
    if array.dtype.kind not in "iub" or array.shape != wanted:
        raise InvalidDataError(
            f"{name!r}: labels are missing, if these are records (give a pair of points and "
            "labels). An array alone is votes, and votes must be an array of integers of shape "
            f"{wanted}, a column for each class in ascending order, got {array.dtype} of shape "
            f"{array.shape}"
        )
    array = array.astype(np.int64)
    sums = array.sum(1)
    if (array < 0).any() or (sums > terms.total).any() or (sums % terms.grid).any():
        raise InvalidDataError(
            f"{name!r}: a point's votes must be whole numbers from 0 up that add up to "
            f"{terms.grid} for each of {terms.shards} shards, or to 0 where one abstains. "
            "Probabilities need grid=, and votes times it"
        )
    return array


def train(
    points: NDArray[Any],
    labels: NDArray[Any],
    rows: NDArray[np.int64],
    *,
    learner: Any,
    classes: Sequence[Label],
    shards: int,
    name: str,
    least: int = 1,
    seed: int | None = None,
) -> list[Any]:
    """Return classifiers that a party trains on disjoint shards of its records.

    In place of one that knows a single class stands the class's place. Of one that knows none,
    whose learner failed, or that has a value beyond 1e30, -1.

    Parameters
    ----------
    points : (n, d)
    labels : (n,)
        Rows whose label is not listed are left out.
    rows : (n,) int64
        Places of the records in the party's data. Record i goes to shard i modulo `shards`.
        So one record replaced changes one classifier.
    learner
        Estimator with ``fit(points, labels)``, cloned for each shard. Where it has a
        ``random_state`` without a value, the copy gets coins of its own.
    least
        Records with a listed label that a shard must hold, or it abstains. A class with less than a
        quarter of it is left out. Anyone who names the classes could else choose single
        records: a classifier of two records is these records.
    """
    places = places_of(labels, classes)
    listed = fit_labels(classes)
    trained: list[Any] = []
    for shard in range(shards):
        mine = np.flatnonzero((places >= 0) & (rows % shards == shard))
        enough = 4 * np.bincount(places[mine], minlength=len(listed)) >= least
        mine = mine[enough[places[mine]]]
        known = np.unique(places[mine] if len(mine) >= least else [])
        if len(known) < 2:
            trained.append(int(known[0]) if len(known) else -1)
            continue
        own = np.asarray(points[mine], dtype=np.float64)
        if np.abs(own).max() > FAR:
            trained.append(-1)
            continue
        try:
            one = fitted(learner, own, listed[places[mine]], seed, f"{name}/{shard}")
        except Exception:  # may hang on one record, so everybody would learn of it
            one = -1
        trained.append(one)
    return trained


def fit_labels(classes: Sequence[Label]) -> NDArray[Any]:
    """Return classes as learners take them: fractions as text, which they would take for a scale.

    `places_of` knows every answer of a classifier then as a class.
    """
    labels = np.array(classes)
    if labels.dtype.kind == "f" and (labels % 1 != 0).any():
        return np.array([text_of(label) for label in labels.tolist()])
    return labels


def fitted(
    learner: Any, points: NDArray[np.float64], labels: NDArray[Any], seed: int | None, use: str
) -> Any:
    """Return a copy of a learner, with coins of its own, fitted without a word."""
    from sklearn.base import clone

    # An estimator may say that its clone is itself: then all parties would share what it learns.
    copy = deepcopy(clone(learner))
    _give_coins(copy, seed, use)
    with warnings.catch_warnings(), own_coins(seed, use):
        warnings.simplefilter("ignore")
        copy.fit(points, labels)
    return copy


def learner_of(learner: Any, grid: int) -> Any:
    """Return the learner of raw data, which is an estimator, a word of `LEARNERS` or None."""
    check_installed("sklearn", "training parties' classifiers needs", "learn")
    if learner is None or isinstance(learner, str):
        word = learner or next(iter(LEARNERS))
        if word not in LEARNERS:
            raise InvalidParameterError(f"learner must be {' or '.join(LEARNERS)}, got {word!r}")
        module, kind, given = LEARNERS[word]
        return getattr(import_module(module), kind)(**given)
    methods = ("fit", "predict", "get_params") + ("predict_proba",) * (grid > 1)
    if isinstance(learner, type) or not all(hasattr(learner, method) for method in methods):
        raise InvalidParameterError(
            f"learner must be a scikit-learn classifier with {', '.join(methods)}, got {learner!r}"
        )
    return learner


def facts_of(learner: Any, grid: int) -> str:
    """Return a text that is the same for equal learners, in any process: kind and parameters."""
    made = learner_of(learner, grid)
    given = {
        # Of what has no plain value the kind: its repr may hold an address.
        key: value if isinstance(value, (bool, int, float, str, type(None))) else type(value)
        for key, value in sorted(made.get_params(deep=True).items())
    }
    return repr((type(made), given))


def _give_coins(learner: Any, seed: int | None, use: str) -> None:
    """Set every random state that is None: a shared generator would tie parties together."""
    for key, value in learner.get_params(deep=True).items():
        if value is None and key.split("__")[-1] == "random_state":
            learner.set_params(**{key: _coins(seed, f"{use}/{key}")})


@contextmanager
def own_coins(seed: int | None, use: str) -> Iterator[None]:
    """Give a classifier coins of its own from the global generators, and put these back.

    How many it takes may depend on its records: without this, all parties after it would have
    others. Such are a splitter's, which shows no random state.
    """
    before, others = np.random.get_state(), random.getstate()  # noqa: NPY002
    coins = _coins(seed, f"{use}/global")
    np.random.seed(coins)  # noqa: NPY002
    random.seed(coins)
    try:
        yield
    finally:
        np.random.set_state(before)  # noqa: NPY002
        random.setstate(others)


def _coins(seed: int | None, use: str) -> int:
    return (secrets.randbits(32) if seed is None else derived_seed(seed, use)) % 2**32

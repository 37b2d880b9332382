"""Data of the evidence for `learn`: who has which records, which points are public.

A third of the parties each have logistic regression, a tree and naive Bayes, with hard votes.

    Adult    32,561 rows dealt to M parties, 8000 unlabelled points of the test part, the rest to
             judge by.
    MNIST    50,000 images dealt to M parties, 10,000 unlabelled ones, whose 50 principal components
             all use, 10,000 to judge by.
    digits   scikit-learn's: 900, 600 and 297. No choice of the package was made on them.
    shift    Adult again: parties have people under 60, the test points are 60 and over; public
             points are 2000 of the target's people, or 2000 of the parties' kind.
"""

from __future__ import annotations

import gzip
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import BernoulliNB, GaussianNB
from sklearn.tree import DecisionTreeClassifier

from dpsumm.data.kinds.label import places_of
from dpsumm.ensemble.ballots import hard_votes
from dpsumm.ensemble.terms import Terms
from evidence.ensemble import baselines
from evidence.ensemble.baselines import Held
from evidence.tables import read_adult

TRAIN = 32_561
OLD = 60
Floats = NDArray[np.float64]
Parts = tuple[Floats, NDArray[Any]]


@dataclass(frozen=True)
class Task:
    """Parties' data, the public points, and points to judge by.

    Attributes
    ----------
    parties
        How many there may be.
    truths
        Whether naive Bayes sees truth values.
    """

    points: Floats
    labels: NDArray[Any]
    public_points: Floats
    test: Floats
    test_labels: NDArray[Any]
    truths: bool = False


def adult(folder: Path) -> Task:
    """Census records."""
    points, labels, _ = _adult(folder)
    rest = TRAIN + np.random.default_rng(100).permutation(len(labels) - TRAIN)
    used, judges = rest[:8000], rest[8000:]
    return Task(
        points[:TRAIN], labels[:TRAIN], points[used], points[judges], labels[judges], truths=True
    )


def shift(folder: Path, target: bool) -> Task:
    """Census records of the young, for the old; public points of the old, or of the young."""
    points, labels, ages = _adult(folder)
    rng = np.random.default_rng(11)
    old, young = (rng.permutation(np.flatnonzero(who)) for who in (ages >= OLD, ages < OLD))
    used, owned = (old if target else young)[:2000], young[2000:]
    judges = old[2000:]
    return Task(
        points[owned], labels[owned], points[used], points[judges], labels[judges], truths=True
    )


@cache
def _adult(folder: Path) -> tuple[Floats, NDArray[Any], Floats]:
    """Return points, labels and ages; numbers by public bounds, categories one-hot, norm 1."""
    table = read_adult(folder)
    number = {
        name: table[name].astype(float)
        for name in ("age", "education-num", "capital-gain", "capital-loss", "hours-per-week")
    }
    columns = [
        (number["age"] - 17) / 73,
        (number["education-num"] - 1) / 15,
        np.log1p(number["capital-gain"]) / np.log(1e5),
        np.log1p(number["capital-loss"]) / np.log(4357),
        (number["hours-per-week"] - 1) / 98,
        ((number["age"] - 45) / 30) ** 2,
    ]
    for name in ("workclass", "marital-status", "occupation", "relationship", "race", "sex"):
        columns += [(table[name] == level) * 1.0 for level in np.unique(table[name])]
    columns += [(table["native-country"] == "United-States") * 1.0, np.ones(len(table["age"]))]
    points = np.stack(columns, axis=1)
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    labels = (np.char.rstrip(table["income"], ".") == ">50K").astype(int)
    return points, labels, number["age"]


def mnist(folder: Path) -> Task:
    """Digits by the principal components of the public images, within the unit ball."""

    def images(part: str) -> Parts:
        with gzip.open(folder / "mnist" / f"{part}-images-idx3-ubyte.gz") as file:
            pixels = np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, 784) / 255
        with gzip.open(folder / "mnist" / f"{part}-labels-idx1-ubyte.gz") as file:
            return pixels, np.frombuffer(file.read(), np.uint8, offset=8).astype(int)

    (train, labels), (test, test_labels) = images("train"), images("t10k")
    order = np.random.default_rng(200).permutation(len(train))
    public, private = order[:10_000], order[10_000:]
    mean = train[public].mean(0)
    _, vectors = np.linalg.eigh(np.cov(train[public].T))
    parts = [(part - mean) @ vectors[:, ::-1][:, :50] for part in (train, test)]
    radius = np.quantile(np.linalg.norm(parts[0][public], axis=1), 0.95)
    points, test = (p / np.maximum(radius, np.linalg.norm(p, axis=1, keepdims=True)) for p in parts)
    return Task(points[private], labels[private], points[public], test, test_labels)


def digits(folder: Path) -> Task:
    """Small digits; none of the package's constants was chosen on them."""
    pixels, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(300).permutation(len(labels))
    points, labels = pixels[order] / 16, labels[order]
    return Task(points[:900], labels[:900], points[900:1500], points[1500:], labels[1500:])


TASKS: dict[str, Callable[[Path], Task]] = {
    "Adult": adult,
    "MNIST": mnist,
    "digits": digits,
    "shift, target's points": lambda folder: shift(folder, True),
    "shift, other points": lambda folder: shift(folder, False),
}


def dealt(task: Task, n_parties: int) -> Iterator[Parts]:
    """Yield the records of each party."""
    order = np.random.default_rng(0).permutation(len(task.points))
    for rows in np.array_split(order, n_parties):
        yield task.points[rows], task.labels[rows]


def held(task: Task, n_parties: int) -> Held:
    """Return all votes on public and test points."""
    terms = Terms.of(task.public_points, np.unique(task.labels), n_parties)
    both = np.vstack([task.public_points, task.test])
    all_terms = Terms.of(both, terms.classes, n_parties)
    places = places_of(task.test_labels, terms.classes)
    n, right = terms.n_points, []
    total = np.zeros((len(both), terms.n_classes), dtype=np.int64)
    for j, (x, y) in enumerate(dealt(task, n_parties)):
        seen, at = x, both
        if task.truths and j % 3 == 2:
            seen, at = (x > 0.15) * 1.0, (both > 0.15) * 1.0
        learner = (
            LogisticRegression(C=10.0, max_iter=200),
            DecisionTreeClassifier(max_depth=10, min_samples_leaf=2, random_state=0),
            BernoulliNB() if task.truths else GaussianNB(var_smoothing=0.05),
        )[j % 3]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            said = learner.fit(seen, y).predict(at) if len(set(y)) > 1 else np.full(len(at), y[0])
        theirs = places_of(said, terms.classes)
        total += hard_votes(theirs, all_terms)
        right.append((theirs[n:] == places).mean())
    counts = total[:n]
    return Held(
        terms=terms,
        points=task.public_points,
        counts=counts[:, 1:] - counts[:, :1] if terms.columns == 1 else counts,
        test=task.test,
        places=places,
        test_votes=total[n:],
        alone=float(np.mean(right)),
    )


def parameters(task: Task, given: Held) -> Floats:
    """Return parameters of all parties' own regressions, of at most 2000 records each."""
    records = (
        (x[:2000], places_of(y[:2000], given.terms.classes))
        for x, y in dealt(task, given.terms.n_parties)
    )
    return baselines.parameters(records, given.terms.n_classes, given.radius)

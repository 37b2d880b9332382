"""Data of the scenarios: owners with shifted data, a target, and fresh points like the target.

Splits are functions of a seed. Points are in the kernel's space; scales and categories are public
facts, not taken from the data. No point is in two of owners, target and fresh.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dpsumm import RBF
from evidence import tables
from evidence.problem import Labelled, Problem, split
from evidence.tables import read_adult


def skewed(everything: Labelled, n_owners: int, rng: np.random.Generator) -> list[Labelled]:
    """Give the rows of each label to owners by Dirichlet(0.3) shares."""
    owner = np.empty(len(everything.labels), int)
    for label in np.unique(everything.labels):
        rows = np.flatnonzero(everything.labels == label)
        owner[rows] = rng.choice(n_owners, len(rows), p=rng.dirichlet([0.3] * n_owners))
    parts = [everything.take(np.flatnonzero(owner == i)) for i in range(n_owners)]
    return [part for part in parts if len(part.labels)]


@cache
def read_mnist(folder: Path, part: str) -> Labelled:
    """Read images, averaged over blocks of 2 x 2 pixels: (n, 196) from 0 to 1."""
    with gzip.open(folder / "mnist" / f"{part}-images-idx3-ubyte.gz") as file:
        pixels = np.frombuffer(file.read(), np.uint8, offset=16)
    with gzip.open(folder / "mnist" / f"{part}-labels-idx1-ubyte.gz") as file:
        labels = np.frombuffer(file.read(), np.uint8, offset=8)
    blocks = pixels.reshape(-1, 14, 2, 14, 2).mean(axis=(2, 4)) / 255
    return Labelled(blocks.reshape(-1, 196).astype(np.float32), labels)


def mnist(
    folder: Path,
    seed: int,
    m: int,
    size: int,
    digits: Sequence[int] = (0, 3, 5, 8),
    share: float | None = None,
    owners: int = 10,
) -> Problem:
    """Owners of 20,000 training digits with skewed labels; target: some of the test digits.

    `share`: so much of the owners' data are digits of the target; as it comes by default.
    """
    rng = np.random.default_rng(seed)
    train, test = read_mnist(folder, "train"), read_mnist(folder, "t10k")
    rows = rng.permutation(len(train.labels))
    if share is not None:
        like = np.isin(train.labels[rows], digits)
        n_like = round(20_000 * share)
        rows = np.concatenate([rows[like][:n_like], rows[~like][: 20_000 - n_like]])
    parts = skewed(train.take(rows[:20_000]), owners, rng)
    like_target = test.take(np.flatnonzero(np.isin(test.labels, digits)))
    return split(parts, like_target, m, size, RBF.for_unit_box(196), rng)


def mnist_pairs(folder: Path, seed: int, m: int, size: int) -> Problem:
    """5 owners with 4,000 training digits of two kinds each; target: half 3, half 8."""
    rng = np.random.default_rng(seed)
    train, test = read_mnist(folder, "train"), read_mnist(folder, "t10k")
    owners = [
        train.take(rng.permutation(np.flatnonzero(train.labels // 2 == pair))[:4000])
        for pair in range(5)
    ]
    like = [rng.permutation(np.flatnonzero(test.labels == digit))[:970] for digit in (3, 8)]
    like_target = test.take(np.concatenate(like))
    return split(owners, like_target, m, size, RBF.for_unit_box(196), rng)


# Public: what the census form allows.
_ADULT_BOUNDS = {"age": (17, 90), "education-num": (1, 16), "hours-per-week": (1, 99)}
_ADULT_CATEGORIES = ("marital-status", "occupation", "relationship", "race", "sex")


def adult_points(folder: Path, without: str) -> tuple[Labelled, int]:
    """Encode: numbers by public bounds, gains as whether there are any, categories one-hot.

    Two different categories have the squared distance 1, as the ends of a bounded number. Returns
    the points and the number of columns before encoding.
    """
    table = read_adult(folder)
    columns = [
        np.clip((table[name].astype(float) - low) / (high - low), 0, 1)
        for name, (low, high) in _ADULT_BOUNDS.items()
    ]
    columns += [
        (table[name].astype(float) > 0).astype(float) for name in ("capital-gain", "capital-loss")
    ]
    names = [name for name in _ADULT_CATEGORIES if name != without]
    for name in names:
        columns += [(table[name] == level) / np.sqrt(2) for level in np.unique(table[name])]
    points = np.stack(columns, axis=1).astype(np.float32)
    income = np.char.rstrip(table["income"], ".")
    return Labelled(points, (income == ">50K").astype(int)), 5 + len(names)


def _adult_problem(
    folder: Path,
    seed: int,
    m: int,
    size: int,
    by: str,
    owners: Sequence[Sequence[str]],
    target: str,
) -> Problem:
    rng = np.random.default_rng(seed)
    everything, n_columns = adult_points(folder, without=by)
    group = read_adult(folder)[by]
    parts = [rng.permutation(np.flatnonzero(np.isin(group, names)))[:5000] for names in owners]
    like_target = everything.take(np.flatnonzero(group == target))
    kernel = RBF.for_unit_box(n_columns)
    return split([everything.take(rows) for rows in parts], like_target, m, size, kernel, rng)


def adult_workplaces(folder: Path, seed: int, m: int, size: int) -> Problem:
    """4 kinds of employers, at most 5,000 people each; target: federal government."""
    owners = [["Private"], ["Self-emp-inc", "Self-emp-not-inc"], ["Local-gov"], ["State-gov"]]
    return _adult_problem(folder, seed, m, size, "workclass", owners, "Federal-gov")


def adult_occupations(folder: Path, seed: int, m: int, size: int) -> Problem:
    """The 8 most frequent occupations; target: technical support."""
    names = (
        "Prof-specialty Craft-repair Exec-managerial Adm-clerical Sales Other-service "
        "Machine-op-inspct Transport-moving"
    ).split()
    return _adult_problem(folder, seed, m, size, "occupation", [[n] for n in names], "Tech-support")


def adult_ages(folder: Path, seed: int, m: int, size: int) -> Problem:
    """People under 60 at random among 6 owners; target: those of 60 and more."""
    rng = np.random.default_rng(seed)
    everything, n_columns = adult_points(folder, without="")
    old = read_adult(folder)["age"].astype(int) >= 60
    young = rng.permutation(np.flatnonzero(~old))[:20_000]
    owners = [everything.take(rows) for rows in np.array_split(young, 6)]
    like_target = everything.take(np.flatnonzero(old))
    return split(owners, like_target, m, size, RBF.for_unit_box(n_columns), rng)


_HEART = "age sex cp trestbps chol fbs restecg thalach exang oldpeak slope ca thal num".split()
_HEART_BOUNDS = {
    "age": (20, 90),
    "sex": (0, 1),
    "cp": (1, 4),
    "trestbps": (80, 200),
    "restecg": (0, 2),
    "thalach": (60, 210),
    "exang": (0, 1),
    "oldpeak": (-3, 7),
}


def heart(folder: Path, seed: int, m: int, size: int, parts: int = 1) -> Problem:
    """Hospitals in Cleveland, Hungary, Switzerland, each in `parts`; target: Long Beach (VA).

    Rows complete on the eight columns that all measured.
    """
    rng = np.random.default_rng(seed)
    low, high = np.array(list(_HEART_BOUNDS.values()), dtype=float).T
    hospitals = []
    for name in ("cleveland", "hungarian", "switzerland", "va"):
        path = folder / "heart" / f"processed.{name}.data"
        table = np.genfromtxt(path, delimiter=",", missing_values="?")
        points = table[:, [_HEART.index(column) for column in _HEART_BOUNDS]]
        points[points[:, 3] == 0, 3] = np.nan  # no blood pressure is 0
        whole = np.isfinite(points).all(axis=1)
        scaled = (np.clip(points[whole], low, high) - low) / (high - low)
        disease = (table[whole, -1] > 0).astype(int)
        hospitals.append(Labelled(scaled.astype(np.float32), disease))
    owners = [
        hospital.take(rows)
        for hospital in hospitals[:3]
        for rows in np.array_split(rng.permutation(len(hospital.labels)), parts)
    ]
    return split(owners, hospitals[3], m, size, RBF.for_unit_box(8), rng)


def digits(folder: Path, seed: int, m: int, size: int) -> Problem:
    """scikit-learn's 1,797 digits of 8 x 8 pixels: 8 owners, skewed labels; target: 1, 4 and 7."""
    from sklearn.datasets import load_digits

    rng = np.random.default_rng(seed)
    points, labels = load_digits(return_X_y=True)
    everything = Labelled((points / 16).astype(np.float32), labels)
    rows = rng.permutation(len(labels))
    like = np.isin(labels[rows], (1, 4, 7))
    # Two thirds of the target's digits are the target's population, a third are at the owners.
    n_like = 2 * like.sum() // 3
    owners = skewed(everything.take(np.concatenate([rows[like][n_like:], rows[~like]])), 8, rng)
    like_target = everything.take(rows[like][:n_like])
    return split(owners, like_target, m, size, RBF.for_unit_box(64), rng)


def synthetic(
    folder: Path, seed: int, m: int, size: int, owners: int, share: float, n: int = 20_000
) -> Problem:
    """Mixture of 12 normal clusters in 10 dimensions; the target has 3 of them.

    `share`: part of the owners' data from the target's clusters; the smaller, the harder the shift.
    Labels are a linear rule, the same everywhere.
    """
    rng = np.random.default_rng(seed)
    centres = rng.normal(0, 2, (12, 10))
    rule = rng.normal(0, 1, 10)

    def draw(weights: NDArray[np.float64], count: int) -> Labelled:
        cluster = rng.choice(12, count, p=weights)
        points = centres[cluster] + rng.normal(0, 1, (count, 10))
        noisy = points @ rule + rng.normal(0, 1, count)
        return Labelled(points.astype(np.float32), (noisy > 0).astype(int))

    def skewed() -> NDArray[np.float64]:
        return np.concatenate(
            [share * rng.dirichlet([0.3] * 3), (1 - share) * rng.dirichlet([0.3] * 9)]
        )

    parts = [draw(skewed(), n // owners) for _ in range(owners)]
    wanted = np.concatenate([rng.dirichlet([2.0] * 3), np.zeros(9)])
    like_target = draw(wanted, m + size + 3000)
    # The clusters' width is public: 1 in each of 10 dimensions, so points lie at about 2 * 10.
    return split(parts, like_target, m, size, RBF(1 / 40), rng)


SOURCES: dict[str, Callable[..., Problem]] = {
    function.__name__: function
    for function in (
        mnist,
        mnist_pairs,
        adult_workplaces,
        adult_occupations,
        adult_ages,
        heart,
        digits,
        synthetic,
        tables.adult_by,
        tables.adult_countries,
        tables.adult_old,
        tables.heart_hospitals,
    )
}
BUILT_IN = ("digits", "synthetic")  # need no folder

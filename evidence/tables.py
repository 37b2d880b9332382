"""Tables of mixed columns by a public schema: numbers, counts, categories, missing values.

Unlike in `evidence.data` the points are raw values, and bandwidth and encoding follow from the
schema, as users get them.
"""

from __future__ import annotations

import csv
import gzip
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dpsumm import RBF, Column, Schema
from evidence.problem import Labelled, Problem, split

# Most rows of one owner.
MOST = 5000
ADULT = (
    "age workclass fnlwgt education education-num marital-status occupation relationship race sex "
    "capital-gain capital-loss hours-per-week native-country income"
).split()
# Public: what the census form allows, and how its categories are coded.
_NUMBERS = {
    "age": (17, 90),
    "education-num": (1, 16),
    "capital-gain": (0, 100_000),
    "capital-loss": (0, 5000),
    "hours-per-week": (1, 99),
}
_CATEGORIES = (
    "workclass",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "native-country",
)
# What else must not be a column when owners differ by one.
_TWINS = {"education": "education-num"}
_HEART = {
    "age": (20, 90),
    "sex": 2,
    "cp": (1, 2, 3, 4),
    "trestbps": (80, 200),
    "chol": (100, 600),
    "fbs": 2,
    "restecg": 3,
    "thalach": (60, 210),
    "exang": 2,
    "oldpeak": (-3, 7),
    "slope": (1, 2, 3),
    "ca": (0, 3),
    "thal": (3, 6, 7),
}
_HOSPITALS = ("cleveland", "hungarian", "switzerland", "va")
_COUNTRIES = {
    "United-States": ("United-States",),
    "Mexico": ("Mexico",),
    "Latin America": tuple(
        "Puerto-Rico El-Salvador Cuba Jamaica Dominican-Republic Guatemala Columbia Haiti "
        "Nicaragua Peru Ecuador Trinadad&Tobago Honduras".split()
    ),
    "Asia": tuple(
        "Philippines India China South Japan Vietnam Taiwan Iran Thailand Hong Cambodia "
        "Laos".split()
    ),
    "Europe and Canada": tuple(
        "Germany Canada England Italy Poland Portugal Greece France Ireland Yugoslavia Scotland "
        "Hungary Holand-Netherlands".split()
    ),
}


@cache
def read_adult(folder: Path) -> dict[str, NDArray[np.str_]]:
    """Read both files: name -> column."""
    rows: list[list[str]] = []
    for part in ("adult.data.gz", "adult.test.gz"):
        with gzip.open(folder / "adult" / part, "rt") as file:
            lines = csv.reader(file, skipinitialspace=True)
            rows += [line for line in lines if len(line) == len(ADULT)]
    return {
        name: np.array(column) for name, column in zip(ADULT, zip(*rows, strict=True), strict=True)
    }


@cache
def adult(folder: Path, without: str) -> tuple[Schema, Labelled]:
    """Return all rows by a schema of 11 or 12 columns; labels: an income above 50,000."""
    table = read_adult(folder)
    columns, values = [], []
    for name, bounds in _NUMBERS.items():
        if _TWINS.get(without, without) != name:
            columns.append(Column(name, bounds=bounds, whole=True))
            values.append(table[name].astype(float))
    for name in _CATEGORIES:
        if name != without:
            levels = [level for level in np.unique(table[name]) if level != "?"]
            codes = {level: float(code) for code, level in enumerate(levels)}
            rule = "encode" if "?" in table[name] else "refuse"
            columns.append(Column(name, categories=tuple(codes.values()), when_missing=rule))
            values.append(np.array([codes.get(level, np.nan) for level in table[name]]))
    rich = (np.char.rstrip(table["income"], ".") == ">50K").astype(int)
    return Schema(columns), Labelled(np.stack(values, axis=1), rich)


def adult_by(
    folder: Path,
    seed: int,
    m: int,
    size: int,
    by: str,
    target: str,
    owners: Sequence[Sequence[str]],
) -> Problem:
    """Owners that differ by one column, at most 5,000 people each; target: another value of it."""
    schema, everything = adult(folder, by)
    group = read_adult(folder)[by]
    rng = np.random.default_rng(seed)
    parts = [rng.permutation(np.flatnonzero(np.isin(group, names)))[:MOST] for names in owners]
    return _split(schema, everything, parts, np.flatnonzero(group == target), m, size, rng)


def adult_countries(folder: Path, seed: int, m: int, size: int, target: str) -> Problem:
    """Owners by where people were born; target: one of these regions."""
    schema, everything = adult(folder, "native-country")
    group = read_adult(folder)["native-country"]
    rng = np.random.default_rng(seed)
    rows = {
        name: rng.permutation(np.flatnonzero(np.isin(group, names)))
        for name, names in _COUNTRIES.items()
    }
    parts = [mine[:MOST] for name, mine in rows.items() if name != target]
    return _split(schema, everything, parts, rows[target], m, size, rng)


def adult_old(folder: Path, seed: int, m: int, size: int, owners: int) -> Problem:
    """8,000 people under 60 at random among some owners; target: those of 60 and over."""
    schema, everything = adult(folder, "")
    old = read_adult(folder)["age"].astype(int) >= 60
    rng = np.random.default_rng(seed)
    parts = np.array_split(rng.permutation(np.flatnonzero(~old))[:8000], owners)
    return _split(schema, everything, parts, np.flatnonzero(old), m, size, rng)


@cache
def _heart(folder: Path) -> tuple[Schema, tuple[Labelled, ...]]:
    """Read the four hospitals with all 13 columns; labels: disease."""
    columns, recoded = [], {}
    for name, known in _HEART.items():
        if isinstance(known, tuple) and len(known) == 2:
            columns.append(Column(name, bounds=known, when_missing="encode"))
        else:
            levels = tuple(map(float, known if isinstance(known, tuple) else range(known)))
            codes = tuple(map(float, range(len(levels))))
            columns.append(Column(name, categories=codes, when_missing="encode"))
            recoded[name] = levels
    names, found = list(_HEART), []
    for hospital in _HOSPITALS:
        path = folder / "heart" / f"processed.{hospital}.data"
        table = np.genfromtxt(path, delimiter=",", missing_values="?")
        points = table[:, :13]
        for name in ("trestbps", "chol"):  # neither is ever 0
            points[points[:, names.index(name)] == 0, names.index(name)] = np.nan
        for name, levels in recoded.items():
            cells = points[:, names.index(name)]
            present = ~np.isnan(cells)
            cells[present] = np.searchsorted(levels, cells[present])
        found.append(Labelled(points, (table[:, 13] > 0).astype(int)))
    return Schema(columns), tuple(found)


def heart_hospitals(folder: Path, seed: int, m: int, size: int, target: str) -> Problem:
    """Three hospitals; target: the fourth. All 13 columns, with what was not measured."""
    schema, hospitals = _heart(folder)
    rng = np.random.default_rng(seed)
    owners = [h for h, name in zip(hospitals, _HOSPITALS, strict=True) if name != target]
    like_target = hospitals[_HOSPITALS.index(target)]
    return split(owners, like_target, m, size, RBF.for_schema(schema), rng, schema)


def _split(
    schema: Schema,
    everything: Labelled,
    owners: Sequence[NDArray[np.integer]],
    like_target: NDArray[np.integer],
    m: int,
    size: int,
    rng: np.random.Generator,
) -> Problem:
    parts = [everything.take(rows) for rows in owners]
    kernel = RBF.for_schema(schema)
    return split(parts, everything.take(like_target), m, size, kernel, rng, schema)

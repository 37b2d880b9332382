"""Witnesses that one record changes how another is read, or what another's features are.

Every claim sums integers over records and charges for the contribution of one record. That is sound
only if a record's integers depend on that record and on public facts alone. The checks here replace
one record and compare all others to the bit, over the way from a CSV file to the kernel's space and
from there to the integers.
"""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsumm import kernels
from dpsumm.audit.witness import Search
from dpsumm.data.column import Column
from dpsumm.data.kinds.label import places_of
from dpsumm.data.schema import Schema
from dpsumm.data.table import read_table
from dpsumm.kernels.features import FeatureKind
from dpsumm.summary.kernel import FloatArray
from dpsumm.summary.release import LEVELS

Points = NDArray[np.float32] | NDArray[np.float64]
Reader = Callable[[Path, Schema], Points]

# Fields that a reader which looks at whole columns may take for a reason to read all others anew.
_TEXTS = (
    *("02139", "2139", "2139.0", "1", "1.0", "01", "1e0", "+1", "-0", "0", "1_000", "0x1"),
    *("A", "K1A 0B1", "true", "1.5", "1e400", "inf", "2020-01-01", "\u0661", "", "NA", "nan"),
)
_NUMBERS = ("1", "1.0", "1e0", "50", "0.5", "1e15", "-3", "", "NA")
_DATES = ("2020-01-31", "2021-12-01", "1999-05-05", "", "NA")
_LABELS = (
    *("02139", "2139", "2139.0", "1", "1.0", "01", "1e0", "+1", "-0", "0", "1_000", "0x1"),
    *("A", "K1A 0B1", "true", "True", "1.5", "2020-01-01", "\u0661", "123456789012345679"),
)
# What the other records hold, alike in every row of a file, as real columns are.
_USUAL = (
    ("02139", "02140", "02141"),
    ("1", "2", "3"),
    ("1.0", "2.0", "3.0"),
    ("123456789012345678", "123456789012345679"),
    ("true", "false"),
    ("a", "b"),
)


def read_csv(path: Path, schema: Schema) -> Points:
    """Return a file's points in the kernel's space, as an owner reads them, and its labels.

    Labels as a last column: the place of each among the first column's categories, or -1.
    """
    table = read_table(path, name="made up", schema=schema)
    assert table.labels is not None
    places = places_of(table.labels, schema.kernel[0].categories)
    return np.column_stack([table.scaled, places])


@dataclass(frozen=True)
class ReadAlone(Search):
    """Reading a CSV file under a schema: one record replaced, all others equal to the bit.

    Labels among them: a library holds these, too, as numbers or as text depending on all.

    Attributes
    ----------
    read
        The real reader, or a broken twin.
    """

    read: Reader = read_csv

    claim = "one record changes its own point and label only"

    def find(self, rng: np.random.Generator, trials: int) -> str | None:
        """Return how many others changed in one of `trials` pairs of files, or None."""
        with tempfile.TemporaryDirectory() as folder:
            for trial in range(trials):
                changed = self._pair(rng, trial, Path(folder))
                if changed:
                    return f"one record changed the points or labels of {changed} others"
        return None

    def _pair(self, rng: np.random.Generator, trial: int, folder: Path) -> int:
        usual = _USUAL[trial % len(_USUAL)]
        schema = Schema(
            [
                Column("code", categories=usual, other="elsewhere", when_missing="encode"),
                Column("number", bounds=(0, 100), when_missing="encode"),
                Column("day", kind="date", bounds=_RANGE, when_missing="encode"),
                Column("answer", "label"),
            ]
        )
        n = int(rng.integers(2, 40))
        rows = [
            [
                str(rng.choice(usual)),
                str(rng.integers(100)),
                f"2020-01-{rng.integers(1, 29):02}",
                str(rng.choice(usual)),
            ]
            for _ in range(n)
        ]
        row = int(rng.integers(n))
        new = [str(rng.choice(fields)) for fields in (_TEXTS, _NUMBERS, _DATES, _LABELS)]
        worlds = []
        for world in (rows, [*rows[:row], new, *rows[row + 1 :]]):
            path = folder / "made-up.csv"
            with path.open("w", newline="", encoding="utf-8") as file:
                csv.writer(file).writerows([_HEADER, *world])
            worlds.append(np.delete(self.read(path, schema), row, axis=0))
        return int((worlds[0] != worlds[1]).any(axis=1).sum())


_RANGE = (date(2020, 1, 1), date(2020, 12, 31))
_HEADER = ("code", "number", "day", "answer")


class Features:
    """What of the features leaves a party, as integers of each record."""

    def __init__(self, core: kernels.RandomFeatures) -> None:
        self.core = core

    def bids(self, points: FloatArray) -> NDArray[np.int64]:
        """Return (n, d) integers that bids are made of."""
        return self.core.on_grid(points).astype(np.int64)

    def total(self, points: FloatArray) -> NDArray[np.int64]:
        """Return the (d,) sum that a release adds noise to."""
        return self.core.sum_on_grid(points, LEVELS)


@dataclass(frozen=True)
class FeaturesAlone(Search):
    """From points to integers: one record replaced by a far one, all others' integers equal.

    The others are points at which a last bit of a feature decides an integer, found by bisection.

    Attributes
    ----------
    dtype
        Precision of the points.
    features
        The real ones, or a broken twin.
    """

    dtype: type[np.float32] | type[np.float64]
    features: Callable[[kernels.RandomFeatures], Features] = Features

    claim = "one record changes its own integers only"

    def find(self, rng: np.random.Generator, trials: int) -> str | None:
        """Return what moved in one of `trials` pairs of blocks, or None."""
        for trial in range(trials):
            kind: FeatureKind = "phase" if trial % 2 else "paired"
            core = kernels.RandomFeatures(1, 2, gamma=0.1, seed=int(rng.integers(2**32)), kind=kind)
            made = self.features(core)
            ask = made.bids if trial % 4 < 2 else lambda p, made=made: _each(made, p)
            n = int(rng.integers(2, 100))  # blocks of the core have 48 rows
            points = self._edges(ask, rng, n)
            row = int(rng.integers(n))
            far = points.copy()
            far[row] = rng.choice([-1.0, 1.0]) * 10 ** rng.uniform(3, 14)
            worlds = [_others(made, world, row) for world in (points, far)]
            moved = int(np.abs(worlds[0] - worlds[1]).max())
            if moved:
                return f"one record moved the integers of others by {moved}"
        return None

    def _edges(
        self, ask: Callable[[FloatArray], NDArray[np.int64]], rng: np.random.Generator, n: int
    ) -> NDArray[Any]:
        """Return (n, 1) points next to which the first integer changes."""
        low: NDArray[Any] = rng.uniform(-3, 3, (n, 1)).astype(self.dtype)
        high: NDArray[Any] = (low + self.dtype(0.05)).astype(self.dtype)
        start = ask(low)[:, 0]
        while True:
            middle = (low + (high - low) / 2).astype(self.dtype)
            if ((middle == low) | (middle == high)).all():
                break
            same = ask(middle)[:, :1] == start[:, None]
            low, high = np.where(same, middle, low), np.where(same, high, middle)
        return np.where(rng.random((n, 1)) < 0.5, low, high)


def _each(made: Features, points: FloatArray) -> NDArray[np.int64]:
    """Return (n, d) integers of points asked for one by one."""
    return np.array([made.total(point[None]) for point in points])


def _others(made: Features, points: FloatArray, row: int) -> NDArray[np.int64]:
    """Return the integers of all records but one, and their sum as a release has it."""
    alone = made.total(points[row : row + 1])
    bids = np.delete(made.bids(points), row, axis=0)
    return np.concatenate([bids.ravel(), made.total(points) - alone])

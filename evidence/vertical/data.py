"""Tables whose columns several owners hold: as data frames, as levels, and rows to judge by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dpsumm import Column, Schema
from dpsumm.data.extract import Wanted
from dpsumm.data.kinds.kind import Kind
from dpsumm.data.table import usable
from dpsumm.vertical.agreed import public_levels
from dpsumm.vertical.grid import Counted, Grid
from dpsumm.vertical.levels import Bins
from evidence.tables import read_adult

Codes = NDArray[np.int64]
# Numbers, days since 1970 and positions of categories, NaN where missing. (n, columns)
Values = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Task:
    """Owners' records, and other records to judge by.

    Attributes
    ----------
    owners, schemas
        By name. The columns of all owners in order are those of `train` and `test`.
    bins, levels
        Bins made by hand, and the levels that they give each column.
    label
        Name of the column that is predicted: two categories.
    real, held_out
        The owners' records, and those that no method sees.
    """

    name: str
    owners: Mapping[str, pl.DataFrame]
    schemas: Mapping[str, Schema]
    bins: Bins
    label: str
    real: Values
    held_out: Values
    levels: tuple[Counted, ...]
    owner_of: tuple[int, ...]

    @classmethod
    def of(
        cls,
        name: str,
        train: pl.DataFrame,
        test: pl.DataFrame,
        holds: Mapping[str, Sequence[Column]],
        bins: Bins,
        label: str,
    ) -> Task:
        """Split a table's columns among owners."""
        schemas = {owner: Schema(columns) for owner, columns in holds.items()}
        levels = public_levels(schemas, bins, None).values()
        return cls(
            name,
            {owner: _part(train, schema) for owner, schema in schemas.items()},
            schemas,
            bins,
            label,
            values_of(train, schemas),
            values_of(test, schemas),
            tuple(one for part in levels for one in part),
            tuple(p for p, part in enumerate(levels) for _ in part),
        )

    def values(self, table: pl.DataFrame) -> Values:
        """Return records of all columns as numbers."""
        return values_of(table, self.schemas)

    def codes(self, values: Values) -> Codes:
        """Return the levels of records in the bins made by hand, (n, columns)."""
        columns = zip(self.levels, values.T, strict=True)
        return np.stack([one.encode(column) for one, column in columns], axis=1).astype(np.int64)

    def decoded(self, codes: Codes, seed: int) -> Values:
        """Return records of levels, (n, columns): of a bin any value, one as likely as another."""
        rng, columns = np.random.default_rng(seed), zip(self.levels, codes.T, strict=True)
        drawn = [
            one.value(column)
            if isinstance(one, Grid)
            else one.decode(column.astype(np.uint32), rng)
            for one, column in columns
        ]
        return np.stack(drawn, axis=1)

    @cached_property
    def train(self) -> Codes:
        """The owners' records as levels."""
        return self.codes(self.real)

    @cached_property
    def test(self) -> Codes:
        """The records to judge by as levels."""
        return self.codes(self.held_out)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Levels of each column."""
        return tuple(one.size for one in self.levels)

    @property
    def ordered(self) -> tuple[bool, ...]:
        """Which columns have numbers or dates."""
        return tuple(one.column.kind is not Kind.CATEGORY for one in self.levels)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of all columns."""
        return tuple(one.name for one in self.levels)

    @property
    def target(self) -> int:
        """Position of the label."""
        return self.columns.index(self.label)


def values_of(table: pl.DataFrame, schemas: Mapping[str, Schema]) -> Values:
    """Return records of all these columns as numbers."""
    parts = [
        usable(_part(table, schema), owner, Wanted(schema=schema), "").values
        for owner, schema in schemas.items()
    ]
    return np.hstack(parts).astype(np.float64)


def _part(table: pl.DataFrame, schema: Schema) -> pl.DataFrame:
    return table.select(column.name for column in schema.columns)


# Records of the rarer class that `adult_rare` keeps.
RARE = 0.15
_REGISTRY = ("age", "education-num", "marital-status", "relationship", "race", "sex")
_ADULT = {
    2: {
        "registry": (*_REGISTRY, "native-country"),
        "bank": (
            *("workclass", "occupation", "capital-gain", "capital-loss", "hours-per-week"),
            "income",
        ),
    },
    3: {
        "registry": (*_REGISTRY, "native-country"),
        "employer": ("workclass", "occupation", "hours-per-week"),
        "bank": ("capital-gain", "capital-loss", "income"),
    },
}
_BOUNDS = {
    "age": (17, 91),
    "education-num": (1, 16),
    "capital-gain": (0, 100_000),
    "capital-loss": (0, 5000),
    "hours-per-week": (0, 100),
}
_BINS: dict[str, Any] = {
    "age": tuple(np.linspace(17, 91, 17).tolist()),
    "capital-gain": (0, 1, 1000, 2000, 4000, 8000, 16_000, 32_000, 100_000),
    "capital-loss": (0, 1, 1000, 1500, 2000, 2500, 5000),
    "hours-per-week": tuple(np.linspace(0, 100, 17).tolist()),
}


@cache
def adult(folder: Path, owners: int) -> Task:
    """Census records without a missing value: 30,162 to learn from, 15,060 to judge by."""
    table = {name: column.copy() for name, column in read_adult(folder).items()}
    table["income"] = np.char.rstrip(table["income"], ".")
    wanted = [name for names in _ADULT[owners].values() for name in names]
    data, columns = {}, {}
    for name in wanted:
        if name in _BOUNDS:
            data[name] = table[name].astype(float).astype(int)
            columns[name] = Column(name, bounds=_BOUNDS[name], whole=True)
        else:
            data[name] = table[name]
            levels = tuple(str(level) for level in np.unique(table[name]) if level != "?")
            columns[name] = Column(name, categories=levels)
    whole = ~np.any([column == "?" for column in table.values()], axis=0)
    first = np.arange(len(whole)) < 32_561
    frame = pl.DataFrame(data)
    parts = [frame.filter(pl.Series(whole & where)) for where in (first, ~first)]
    holds = {owner: [columns[name] for name in names] for owner, names in _ADULT[owners].items()}
    return Task.of(f"Adult, {owners} owners", parts[0], parts[1], holds, _BINS, "income")


@cache
def adult_rare(folder: Path) -> Task:
    """Adult of two owners, with three of twenty records of the rarer class, which are 5 % then."""
    task = adult(folder, 2)
    rng, rich = np.random.default_rng(0), task.columns.index(task.label)
    kept, judges = (
        (part[:, rich] == 0) | (rng.random(len(part)) < RARE) for part in (task.real, task.held_out)
    )
    return replace(
        task,
        name="Adult, rare label",
        owners={name: frame.filter(pl.Series(kept)) for name, frame in task.owners.items()},
        real=task.real[kept],
        held_out=task.held_out[judges],
    )


@cache
def clinic(seed: int = 1) -> Task:
    """Made up: stays in a clinic, and what an insurer paid; 20,000 to learn from and to judge by.

    Numbers and dates, missing values. Seed 0 is for choosing parameters.
    """
    rng = np.random.default_rng(seed)
    n = 40_000
    severity = rng.gamma(2.0, 1.0, n)
    age = np.clip(np.rint(45 + 9 * severity + rng.normal(0, 16, n)), 0, 100).astype(int)
    season = rng.beta(2.0, 3.5, n)
    start, last = date(2023, 1, 1).toordinal(), date(2024, 3, 31).toordinal()
    admitted = start + (season * 364).astype(int)
    nights = np.rint(rng.gamma(1.5 + severity, 1.6)).astype(int)
    discharged = np.minimum(admitted + nights, last)
    ward = np.digitize(severity + rng.normal(0, 0.7, n), (0.6, 1.3, 2.0, 3.2, 4.5))
    pressure = 118 + 0.35 * (age - 45) + rng.normal(0, 13, n)
    score = 0.9 * severity + 0.03 * (age - 60) + 0.5 * (season < 0.3) + rng.logistic(0, 1, n)
    again = score > 2.6
    cost = 900 * np.exp(0.35 * severity + rng.normal(0, 0.4, n)) + 420 * nights
    plan = np.digitize(rng.normal(0, 1, n) + 0.02 * (age - 50), (-0.6, 0.4, 1.4))
    visits = rng.poisson(1 + severity + 2 * again)
    table = pl.DataFrame(
        {
            "age": age,
            "admitted": [date.fromordinal(int(day)) for day in admitted],
            "ward": [f"w{w}" for w in ward],
            "pressure": np.where(rng.random(n) < 0.08, np.nan, pressure),
            "discharged": [date.fromordinal(int(day)) for day in discharged],
            "cost": cost,
            "plan": [f"p{p}" for p in plan],
            "visits": visits,
            "readmitted": np.where(again, "yes", "no"),
        }
    ).with_columns(pl.col("pressure").fill_nan(None))
    year = (date(2023, 1, 1), date(2024, 3, 31))
    holds = {
        "clinic": [
            Column("age", bounds=(0, 100), whole=True),
            Column("admitted", bounds=year),
            Column("ward", categories=tuple(f"w{w}" for w in range(6))),
            Column("pressure", bounds=(70, 220), when_missing="encode"),
        ],
        "insurer": [
            Column("discharged", bounds=year),
            Column("cost", bounds=(0, 30_000)),
            Column("plan", categories=("p0", "p1", "p2", "p3")),
            Column("visits", bounds=(0, 20), whole=True),
            Column("readmitted", categories=("no", "yes")),
        ],
    }
    return Task.of("Clinic, 2 owners", table[: n // 2], table[n // 2 :], holds, 16, "readmitted")

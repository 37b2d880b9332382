"""Two owners of different columns of the same people: schemas and records."""

from datetime import date

import numpy as np
import polars as pl

from dpsumm import Column, Schema

REGISTRY = Schema([
    Column("person", "ignore"),
    Column("age", bounds=(18, 90), whole=True),
    Column("moved", bounds=(date(2020, 1, 1), date(2023, 12, 31)), when_missing="encode"),
])  # fmt: skip
BANK = Schema([
    Column("person", "ignore"),
    Column("income", bounds=(0, 200)),
    Column("status", categories=("single", "married"), other="else", when_missing="encode"),
    Column("kind", categories=("person",)),
])  # fmt: skip
SCHEMAS = {"registry": REGISTRY, "bank": BANK}


def frames(n=4000, seed=0):
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 91, n)
    status = np.where(rng.random(n) < (age - 18) / 72, "married", "single").astype(object)
    status[rng.random(n) < 0.1] = None
    days = rng.integers(0, 1461, n)
    first = date(2020, 1, 1).toordinal()
    moved = [date.fromordinal(first + d) if d % 5 else None for d in days.tolist()]
    person = [f"p{i}" for i in range(n)]
    registry = pl.DataFrame({"person": person, "age": age, "moved": moved})
    income = age + rng.normal(0, 10, n)
    bank = pl.DataFrame(
        {"person": person, "income": income, "status": list(status), "kind": ["person"] * n}
    )
    return {"registry": registry, "bank": bank}

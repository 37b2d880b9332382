"""Which mistakes of an owner a summary's notes name: planted in one owner's rows, one at a time.

    python -m evidence.mistakes --data FOLDER [--seeds 4] [--each]

In tables of real records and in two invented ones, an owner in the middle gets a mistake. Counted
are runs in which a note names that owner and the column, and notes that name an owner of the same
worlds without any mistake. Prints a table in Markdown.
"""

from __future__ import annotations

import argparse
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl

import dpsumm
from dpsumm import Column, Schema
from dpsumm.report.notes import Severity
from evidence.problem import Floats
from evidence.runner import SCENARIOS, scenarios

Generator = np.random.Generator
SIZE, EPSILON = 200, 1.0
# Columns of the tables, and what another unit of each would be.
UNITS = {
    "age": lambda x: 12 * x,  # months
    "hours-per-week": lambda x: np.round(x / 5),  # a day
    "thalach": lambda x: x / 60,  # a second
    "chol": lambda x: x / 38.67,  # mmol/l
    "temperature": lambda x: 1.8 * x + 32,
    "wind": lambda x: 3.6 * x,
    "glucose": lambda x: x / 18.016,
    "creatinine": lambda x: 88.4 * x,
}
PAIRS = (("temperature", "dew point"), ("systolic", "pulse"), ("age", "hours-per-week"),
         ("trestbps", "thalach"), ("humidity", "wind"))  # fmt: skip


class World:
    """A schema, each owner's rows, and the target's."""

    def __init__(self, schema: Schema, owners: list[Floats], target: Floats) -> None:
        """Keep them; rows (n, c) as `Schema.encode` takes them."""
        self.schema, self.owners, self.target = schema, owners, target
        self.names = [column.name for column in schema.kernel]

    def changed(self, rows: Floats) -> World:
        """Return the same with other rows of the owner in the middle."""
        owners = list(self.owners)
        owners[self.place] = rows
        return World(self.schema, owners, self.target)

    @property
    def place(self) -> int:
        """Which owner has mistakes."""
        return len(self.owners) // 2


def weather(rng: Generator) -> World:
    """Five stations of other climates; the target's is between two of them."""
    schema = Schema([
        Column("month", bounds=(1, 12), whole=True),
        *(Column(name, bounds=bounds) for name, bounds in (
            ("temperature", (-40, 120)), ("dew point", (-40, 120)), ("pressure", (900, 1100)),
            ("humidity", (0, 100)), ("wind", (0, 150)))),
    ])  # fmt: skip

    def station(mean: float, n: int) -> Floats:
        month = rng.integers(1, 13, n)
        warm = mean - 9 * np.cos(2 * np.pi * (month - 1) / 12) + rng.normal(0, 4, n)
        dew = warm - rng.gamma(2, 3, n)
        humid = np.clip(100 - 5 * (warm - dew) + rng.normal(0, 4, n), 5, 100)
        rest = [rng.normal(1013, 8, n), humid, rng.gamma(2, 2.5, n)]
        return np.column_stack([month, warm, dew, *rest]).round(1)

    return World(schema, [station(t, 1500) for t in (4, 8, 12, 16, 20)], station(14, 200))


def clinic(rng: Generator) -> World:
    """Four clinics whose patients are of other ages."""
    schema = Schema([Column(name, bounds=bounds) for name, bounds in (
        ("age", (0, 110)), ("systolic", (40, 250)), ("pulse", (30, 220)), ("glucose", (0, 500)),
        ("creatinine", (0, 200)), ("weight", (20, 250)))])  # fmt: skip

    def patients(middle: float, n: int) -> Floats:
        age = np.clip(rng.normal(middle, 14, n), 18, 99).round()
        systolic = rng.normal(100 + 0.5 * age, 14)
        pulse, glucose = rng.normal(76, 11, n), 70 + rng.gamma(2, 14, n) + 0.3 * age
        weight = np.clip(rng.normal(76, 15, n), 40, 180)
        creatinine = np.exp(rng.normal(-0.1 + age / 300, 0.25))
        return np.column_stack([age, systolic, pulse, glucose, creatinine, weight]).round(2)

    return World(schema, [patients(a, 1200) for a in (35, 45, 55, 65)], patients(60, 200))


def worlds(folder: Path, seed: int) -> Iterator[tuple[str, World]]:
    """Yield all, by name."""
    for name, scenario in scenarios(SCENARIOS).items():
        if "tables" in scenario.groups:
            problem = scenario.problem(folder, seed)
            assert problem.schema is not None
            owners = [owner.points for owner in problem.owners]
            yield name, World(problem.schema, owners, problem.target)
    yield "weather", weather(np.random.default_rng(seed))
    yield "clinic", clinic(np.random.default_rng(seed))


def planted(world: World, rng: Generator) -> Iterator[tuple[str, tuple[str, ...], World]]:
    """Yield what can be planted in a world: the mistake, columns that it is in, and the world."""
    rows, names = world.owners[world.place], world.names
    numbers = [column.name for column in world.schema.kernel if not column.categories]

    def with_column(name: str, change: Callable[[Floats], Floats]) -> World:
        changed = rows.astype(float)
        changed[:, names.index(name)] = change(changed[:, names.index(name)])
        return world.changed(changed)

    for name in numbers[:2]:
        some = rng.random(len(rows)) < 0.2
        middle = float(np.nanquantile(rows[:, names.index(name)], 0.5, method="lower"))
        for what, which, value in (
            ("-9999 in 20 %", some, -9999.0),
            ("one value for all", np.ones(len(rows), np.bool_), middle),
        ):
            yield what, (name,), with_column(name, partial(np.where, which, value))
        place, everywhere = names.index(name), [rows.astype(float) for rows in world.owners]
        for one in everywhere:
            one[rng.random(len(one)) < 0.2, place] = -9999
        marked = World(world.schema, everywhere, world.target)
        yield "-9999 in 20 % at all owners", (name,), marked
    for name in sorted(set(numbers) & set(UNITS)):
        yield "another unit", (name,), with_column(name, UNITS[name])
    for one, other in PAIRS:
        if {one, other} <= set(numbers):
            changed, pair = rows.copy(), [names.index(one), names.index(other)]
            changed[:, pair] = rows[:, pair[::-1]]
            yield "two columns exchanged", (one, other), world.changed(changed)
    if "month" in numbers:
        yield "months from 0", ("month",), with_column("month", lambda x: x - 1)
    yield "one row", (), world.changed(rows[:1])


def told(world: World, seed: int) -> list[str]:
    """Return the warnings of a run."""
    found = dpsumm.summarize(
        {name_of(i): frame(world, rows) for i, rows in enumerate(world.owners)},
        frame(world, world.target),
        size=SIZE,
        schema=world.schema,
        epsilon=EPSILON,
        delta=1e-5,
        seed=seed,
    )
    return [one for one in found.notes if one.severity is not Severity.INFO]


def name_of(owner: int) -> str:
    """Return an owner's name, which is in no other's."""
    return f"site{owner:02}"


def frame(world: World, rows: Floats) -> pl.DataFrame:
    """Return rows as a user has them, missing values as null."""
    return pl.DataFrame(
        {name: rows[:, j] for j, name in enumerate(world.names)}, nan_to_null=True
    )  # fmt: skip


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser("evidence.mistakes", description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--first", type=int, default=3000, help="the first seed")
    parser.add_argument("--only", nargs="*", help="names of worlds")
    parser.add_argument("--each", action="store_true", help="print each run, too")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    named, runs = Counter[str](), Counter[str]()
    for seed in range(given.first, given.first + given.seeds):
        for title, world in worlds(given.data, seed):
            if given.only and title not in given.only:
                continue
            rng = np.random.default_rng(seed)
            for what, columns, changed in [("none", (), world), *planted(world, rng)]:
                notes = told(changed, seed)
                # What is at all owners needs no name.
                who = "" if "all owners" in what else name_of(world.place)
                hit = any(who in one and all(c in one for c in columns) for one in notes)
                if what == "none":
                    hit = any("site" in one for one in notes)
                runs[what] += 1
                named[what] += hit
                if given.each:
                    print(seed, title, what, *columns, hit, notes, sep=" | ", flush=True)
    print("| Mistake at one owner | Runs | Owner and column named |")
    print("|---|---|---|")
    for what in runs:
        print(f"| {what} | {runs[what]} | {named[what]} |")


if __name__ == "__main__":
    main()

"""Rows of 60 columns: what a second round gains, and what naming the pairs that rows are for.

    python -m evidence.vertical.wide --data folder [--runs 3]

Adult's 13 columns, 16 noisy copies of some of them, in which half of the values are those of other
records, and 31 columns of chance. The pairs of a copy and its original are those that count. Prints
a table in Markdown.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations, product
from pathlib import Path

import numpy as np
import polars as pl

import dpsumm
from dpsumm import Column, Schema, Tables
from dpsumm.data.kinds.kind import Kind
from dpsumm.vertical import Synthetic
from dpsumm.vertical.plan import SEEN
from evidence.vertical.data import Task, adult, values_of
from evidence.vertical.score import pair_distances

COPIES, CHANCE, LEVELS = 16, 31, 8
Pairs = Sequence[tuple[str, str]]


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser("evidence.vertical.wide", description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--runs", type=int, default=3)
    given = parser.parse_args()
    task = adult(given.data, 2)
    owners, schemas, pairs = widened(task)
    others = [pair for pair in combinations(task.columns, 2) if task.label not in pair]
    print("| Rounds | Pairs named | Distance of copies | Distance of Adult's pairs | Seen |")
    print("|---|---|---|---|---|")
    real = pl.concat(list(owners.values()), how="horizontal")
    for coarse, named in product((0.0, Tables().coarse), ((), tuple(pairs))):
        found = []
        for _ in range(given.runs):
            protocol = Tables(pairs=named, coarse=coarse)
            made = dpsumm.synthesize(owners, schema=schemas, label=task.label, protocol=protocol)
            rows = made.sample(backend="polars")
            found.append(
                [
                    distance(real, rows, schemas, pairs),
                    distance(real, rows, schemas, others),
                    seen(made, pairs),
                ]
            )
        means = (f"{value:.3f}" for value in np.mean(found, axis=0))
        rounds = 2 if coarse else 1
        print(f"| {rounds} | {len(named)} of {len(pairs)} | {' | '.join(means)} |", flush=True)


def widened(task: Task) -> tuple[Mapping[str, pl.DataFrame], Mapping[str, Schema], Pairs]:
    """Return owners' data and schemas with the further columns, and each copy with its original."""
    rng = np.random.default_rng(0)
    owners = dict(task.owners)
    columns = {name: list(schema.columns) for name, schema in task.schemas.items()}
    names, pairs = list(owners), []
    originals = [
        (owner, column)
        for owner, schema in task.schemas.items()
        for column in schema.columns
        if column.name != task.label
    ]
    for i in range(COPIES + CHANCE):
        holder = names[rng.integers(len(names))]
        if i < COPIES:
            owner, column = originals[rng.integers(len(originals))]
            values = owners[owner][column.name].to_numpy()
            other = rng.random(len(values)) < 0.5
            values = np.where(other, values[rng.permutation(len(values))], values)
            column = replace(column, name=f"{column.name} {i}")
            pairs.append((column.name.rsplit(" ", 1)[0], column.name))
        else:
            values = rng.integers(0, LEVELS, owners[holder].height)
            column = Column(f"chance {i}", categories=tuple(range(LEVELS)))
        owners[holder] = owners[holder].with_columns(pl.Series(column.name, values.tolist()))
        columns[holder].append(column)
    return owners, {name: Schema(own) for name, own in columns.items()}, pairs


def distance(
    real: pl.DataFrame, rows: pl.DataFrame, schemas: Mapping[str, Schema], pairs: Pairs
) -> float:
    """Return the mean total variation of pairs, see `pair_distances`."""
    columns = [column for schema in schemas.values() for column in schema.columns]
    place = [column.name for column in columns].index
    ordered = [column.kind is not Kind.CATEGORY for column in columns]
    wanted = [(place(one), place(other)) for one, other in pairs]
    values = (values_of(frame, schemas) for frame in (real, rows))
    return float(np.mean(pair_distances(*values, ordered, wanted)))


def seen(made: Synthetic, pairs: Pairs) -> float:
    """Return the largest correlation of halves that noise may hide, see `PlannedTable`.

    Of two rounds, that of pairs which the second counted.
    """
    plan, place = made.tables.plan, made.columns.index
    wanted = {tuple(sorted(map(place, pair))) for pair in pairs}
    return max(
        SEEN * math.sqrt(plan.variance(index) * made.tables.pairs[pair].size) / made.n_records
        for index, pair in enumerate(plan.pairs)
        if pair in wanted
    )


if __name__ == "__main__":
    main()

"""Rows of tables of packages of R, with drafted schemas and default parameters.

    python -m evidence.vertical.unseen --tables folder [--records 500]

The folder has CSV files of packages of R as Rdatasets collects them (TABLES has their names). Of
each table 500 records are a public sample, which gives the schema. A fifth of the rest judges. The
columns go to two owners at random, of all other records or of as many as asked for. Prints a table
in Markdown, of means of three runs.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import numpy as np
import polars as pl

import dpsumm
from dpsumm import Column
from dpsumm.data.check import draft
from evidence.markdown import markdown
from evidence.vertical.data import Task
from evidence.vertical.score import distances, predicted

# Package, table, label, its value in the first of two classes, and columns that are left out.
TABLES: tuple[tuple[str, str, str, str, tuple[str, ...]], ...] = (
    ("Ecdat", "HI", "hhi", "no", ()),
    ("Ecdat", "BudgetFood", "sex", "man", ()),
    ("Ecdat", "VietNamI", "insurance", "0", ()),
    ("Ecdat", "OFP", "privins", "no", ()),
    ("Ecdat", "Benefits", "ui", "no", ()),
    ("survival", "flchain", "death", "0", ("futime", "chapter")),
    ("ggplot2", "diamonds", "cut", "Ideal", ()),
    ("ggplot2", "movies", "Drama", "0", ("title",)),
)
SAMPLE, RUNS = 500, 3


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser("evidence.vertical.unseen", description=__doc__)
    parser.add_argument("--tables", type=Path, required=True)
    parser.add_argument("--records", type=int, default=None)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = []
    for package, name, label, first, leave in TABLES:
        table = pl.read_csv(
            given.tables / package / f"{name}.csv", null_values=["NA"], infer_schema_length=None
        )
        table = table.drop("", "rownames", *leave, strict=False)
        lines.append(line(task_of(f"{name}, {label}", table, label, first, given.records)))
    head = ["table, label", "records", "AUC of rows", "foretold", "real rows", "one owner"]
    print(markdown([*head, "distance"], lines))


def task_of(
    name: str, table: pl.DataFrame, label: str, first: str, records: int | None = None
) -> Task:
    """Return a table with a drafted schema, its columns at two owners."""
    is_first = pl.col(label).cast(pl.String).eq(first)
    classes = pl.when(is_first).then(pl.lit("no")).otherwise(pl.lit("yes"))
    table = table.drop_nulls(label).with_columns(classes.alias(label))
    table = table.sample(fraction=1.0, shuffle=True, seed=1)
    sample, rest = table[:SAMPLE], table[SAMPLE:]
    columns = list(draft(sample.drop(label))[0].kernel)
    order = np.random.default_rng(2).permutation(len(columns))
    dealt = [columns[j] for j in order]
    half = len(dealt) // 2
    answer = Column(label, categories=("no", "yes"))
    holds = {"first": dealt[:half], "second": [*dealt[half:], answer]}
    cut = 4 * len(rest) // 5
    return Task.of(name, rest[:cut][:records], rest[cut:], holds, 12, label)


def line(task: Task) -> list[str]:
    """Return what rows are worth on a table, next to its records."""
    found = []
    for seed in range(RUNS):
        made = dpsumm.synthesize(task.owners, schema=task.schemas, label=task.label, seed=seed)
        assert made.label_score is not None
        rows = task.values(made.to_frame(backend="polars").select(task.columns))
        auc, across = predicted(task, rows)["auc"], distances(task, rows)["across"]
        found.append((auc, made.label_score.low, made.label_score.high, across))
    auc, low, high, across = np.mean(found, axis=0)
    real, alone = (predicted(task, task.real, alone=one)["auc"] for one in (False, True))
    shown = [f"{x:.3f}".lstrip("0") for x in (auc, real, alone, across)]
    ends = [f"{x:.2f}".lstrip("0") for x in (low, high)]
    return [task.name, f"{len(task.real):,}", shown[0], " to ".join(ends), *shown[1:]]


if __name__ == "__main__":
    main()

"""Runs whose notes are looked at."""

import polars as pl

import dpsumm
from dpsumm.data.column import Column
from dpsumm.data.schema import Schema
from dpsumm.report.notes import Severity

ALARM, WARNING, INFO = Severity
GREEDY = dpsumm.summary.Greedy()
AGE, BMI = Column("age", bounds=(18, 95)), Column("bmi", bounds=(15, 40))


def frame(rng, n=60, low=18.0, high=95.0):
    return pl.DataFrame({"age": rng.uniform(low, high, n), "bmi": rng.uniform(15, 40, n)})


def run(owners, target, **more):
    given = {"size": 10, "schema": {"age": (18, 95), "bmi": (15, 40)}, "protocol": GREEDY} | more
    return dpsumm.summarize(owners, target, **given)


def found(summary, text):
    """Return the severity of the note that has this text, None if there is none."""
    notes = [note for note in summary.notes if text in note]
    assert len(notes) <= 1, notes
    return notes[0].severity if notes else None


def with_columns(owners, target, *columns, **more):
    return run(owners, target, schema=Schema(columns), **more)

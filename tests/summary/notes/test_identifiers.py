"""Identifiers taken for numbers."""

import numpy as np
import polars as pl
import pytest
from tests.helpers.noted import AGE, WARNING, found, frame, with_columns

from dpsumm.data.column import Column

SAID = "looks like an identifier"


def told(rng, name, numbers):
    rows = frame(rng, len(numbers)).with_columns(pl.Series(name, np.asarray(numbers, float)))
    return found(with_columns([rows], rows[::-1], AGE, Column(name, bounds=(0, 10_000))), SAID)


@pytest.mark.parametrize("name", ["patient_id", "Nr", "case number"])
def test_numbers_that_never_repeat_under_such_a_name_are_told_of(rng, name):
    numbers = np.arange(50) * 7919 % 9973
    assert told(rng, name, numbers) is WARNING
    assert told(rng, name, [*numbers[:49], numbers[0]]) is None
    assert told(rng, name, numbers + 0.5) is None
    assert told(rng, name, numbers[:49]) is None


def test_identifiers_of_which_some_are_missing_are_told_of(rng):
    column = Column("id", bounds=(0, 10_000), when_missing="encode")
    rows = frame(rng, 60).with_columns(id=pl.Series([None, *map(float, range(59))]))
    assert found(with_columns([rows], rows, AGE, column), SAID) is WARNING


def test_numbers_that_only_rise_are_told_of_under_any_name(rng):
    falling = np.arange(60)[::-1] * 3  # the target is the rows in the opposite order
    assert told(rng, "visit", falling) is WARNING
    assert told(rng, "visit", falling[::-1]) is None


def test_a_date_that_only_rises_is_no_identifier(rng):
    days = pl.date_range(pl.date(2020, 1, 1), pl.date(2020, 2, 29), eager=True).alias("seen")
    rows = frame(rng, 60).with_columns(days)
    column = Column("seen", bounds=(days.min(), days.max()))
    assert found(with_columns([rows[::-1]], rows, AGE, column), SAID) is None

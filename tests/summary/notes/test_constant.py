"""A number that is one and the same at some owners."""

import polars as pl
import pytest
from tests.helpers.noted import AGE, BMI, WARNING, found, frame, with_columns

SAME = "at least nine in ten values of bmi are one and the same"


def filled(rows, value, count):
    first = pl.int_range(pl.len()) < count
    return rows.with_columns(bmi=pl.when(first).then(pl.lit(value)).otherwise("bmi"))


@pytest.mark.parametrize(
    ("count", "value", "told"),
    [(60, 22.0, True), (54, 22.0, True), (53, 22.0, False), (60, 99.0, False)],
)
def test_a_default_that_one_owner_filled_in_is_told_of(rng, count, value, told):
    """But not if it is outside the bounds: of that another note tells."""
    owners = {"north": frame(rng), "south": filled(frame(rng), value, count)}
    summary = with_columns(owners, frame(rng), AGE, BMI)
    assert found(summary, f"points read of 'south', {SAME}") is (WARNING if told else None)
    assert any("one and the same" in note for note in summary.warnings) is told
    assert (found(summary, "values of bmi lie outside its bounds") is None) is (value < 40)
    # One note about one thing.
    assert found(summary, "lie on one side of") is None


def test_several_owners_hide_nothing_from_each_other(rng):
    owners = {
        "north": filled(frame(rng), 22.0, 60),
        "south": filled(frame(rng), 30.0, 60),
        "west": frame(rng),
    }
    summary = with_columns(owners, frame(rng), AGE, BMI)
    assert found(summary, f"points read of 'north', 'south', {SAME}") is WARNING


@pytest.mark.parametrize("place", ["target", "other"])
def test_what_is_common_elsewhere_is_no_default(rng, place):
    common = filled(frame(rng), 22.0, 20)  # a third of the values
    target, other = (common, frame(rng)) if place == "target" else (frame(rng), common)
    owners = {"north": other, "south": filled(frame(rng), 22.0, 60)}
    assert found(with_columns(owners, target, AGE, BMI), SAME) is None


def test_few_points_and_few_records_tell_nothing(rng):
    owners = {"north": frame(rng), "south": filled(frame(rng, 15), 22.0, 15)}
    assert found(with_columns(owners, frame(rng), AGE, BMI), SAME) is None
    owners["south"] = filled(frame(rng, 16), 22.0, 16)
    assert found(with_columns(owners, frame(rng), AGE, BMI), SAME) is WARNING
    assert found(with_columns(owners, frame(rng, 19), AGE, BMI), SAME) is None

"""A number that is one and the same at some owners."""

import polars as pl
import pytest
from tests.helpers.noted import AGE, BMI, WARNING, found, frame, with_columns

from dpsumm.data.schema import Column

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


EVERYWHERE = "In the target and in all points read"


def test_a_column_of_one_value_everywhere_says_nothing(rng):
    same = [filled(frame(rng), 22.0, 60) for _ in range(3)]
    summary = with_columns(same[:2], same[2], AGE, BMI)
    assert found(summary, f"{EVERYWHERE} bmi is one and the same value") is WARNING
    assert found(summary, SAME) is None
    # One other value, in the target or at an owner, is another value.
    other = filled(frame(rng), 22.0, 59)
    assert found(with_columns(same[:2], other, AGE, BMI), EVERYWHERE) is None
    assert found(with_columns([same[0], other], same[2], AGE, BMI), EVERYWHERE) is None


@pytest.mark.parametrize("value", [15.0, 40.0])
def test_at_an_end_of_its_bounds_one_value_is_none(rng, value):
    """So is a count of what never came about; if clipped, another note tells of it."""
    same = [filled(frame(rng), value, 60) for _ in range(2)]
    assert found(with_columns(same[:1], same[1], AGE, BMI), EVERYWHERE) is None


@pytest.mark.parametrize(("constant", "told"), [(1, True), (2, True), (3, False)])
def test_many_columns_of_one_value_are_as_in_images(rng, constant, told):
    columns = [Column(f"x{i}", bounds=(0, 10)) for i in range(20)]

    def party():
        values = rng.uniform(0, 10, (30, 20))
        values[:, :constant] = 5.0
        return pl.DataFrame(values, schema=[column.name for column in columns])

    summary = with_columns([party()], party(), *columns)
    assert (found(summary, f"{EVERYWHERE} x0") is WARNING) is told

"""A number that is one and the same at some owners."""

from collections import Counter
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.helpers.effort import examples
from tests.helpers.noted import AGE, BMI, WARNING, found, frame, with_columns

from dpsumm.data.column import Column
from dpsumm.summary.notes.constant import _may_be_one_value
from dpsumm.summary.notes.numbers import Numbers

SAME = "at least nine in ten values of bmi are one and the same"
HALF = "more than half of the values of bmi are one and the same"


def filled(rows, value, count):
    first = pl.int_range(pl.len()) < count
    return rows.with_columns(bmi=pl.when(first).then(pl.lit(value)).otherwise("bmi"))


@pytest.mark.parametrize(
    ("count", "value", "same"),
    [
        (60, 22.0, SAME),
        (54, 22.0, SAME),
        (53, 22.0, HALF),
        (31, 22.0, HALF),
        (30, 22.0, None),
        (60, 99.0, None),
        (31, 99.0, None),
    ],
)
def test_a_default_that_one_owner_filled_in_is_told_of(rng, count, value, same):
    """But not if it is outside the bounds: of that another note tells."""
    owners = {"north": frame(rng), "south": filled(frame(rng), value, count)}
    summary = with_columns(owners, frame(rng), AGE, BMI)
    told = [note for note in summary.notes if "one and the same" in note]
    assert len(told) == (same is not None)
    assert same is None or found(summary, f"points read of 'south', {same}") is WARNING
    ruined = found(summary, "values of bmi lie outside its bounds") is not None
    assert ruined is (value > 40 and count > 54)
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


@pytest.mark.parametrize(
    ("common", "told"),
    [(1, HALF), (3, HALF), (4, None), (15, None)],  # of 60 values, one in 20 is 3
)
@pytest.mark.parametrize("place", ["target", "other"])
def test_half_of_an_owners_values_are_one_only_where_each_is_rare_elsewhere(
    rng, place, common, told
):
    rare = filled(frame(rng), 30.0, common)
    target, other = (rare, frame(rng)) if place == "target" else (frame(rng), rare)
    owners = {"north": other, "south": filled(frame(rng), 22.0, 40)}
    summary = with_columns(owners, target, AGE, BMI)
    assert found(summary, HALF) is (WARNING if told else None)
    # Of six values one is in a sixth of the rows, and half may be one.
    coarse = [
        rows.with_columns((pl.col("bmi") / 5).round() * 5) for rows in (target, *owners.values())
    ]
    assert found(with_columns(coarse[1:], coarse[0], AGE, BMI), HALF) is None


@given(st.integers(0, 2**32))
@examples(60)
def test_columns_that_are_passed_over_are_not_one_value(seed):
    rng = np.random.default_rng(seed)
    goal, *parts = (
        np.round(rng.normal(size=(rng.integers(16, 120), 5)), rng.integers(0, 5)) for _ in range(3)
    )
    parts[0] = np.where(rng.random(parts[0].shape) < rng.uniform(0.3, 1), 0.25, parts[0])
    for part in (goal, *parts):
        part[rng.random(part.shape) < rng.choice([0, 0.2])] = np.nan
    read = Numbers.parted(np.concatenate(parts).T.copy(), [len(part) for part in parts])
    target = Numbers.parted(goal.T.copy(), [len(goal)])
    may_be = _may_be_one_value(SimpleNamespace(target=target, read=read), [0, 1])
    for j in range(5):
        known = goal[~np.isnan(goal[:, j]), j]
        most = max(Counter(known.tolist()).values(), default=0)
        for i, part in enumerate(parts):
            own = part[~np.isnan(part[:, j]), j]
            majority = max(Counter(own.tolist()).values(), default=0) > len(own) / 2
            if len(own) >= 16 and majority and len(known) >= 20 and most <= len(known) / 4:
                assert i in may_be.get(j, [])
        if len(known) >= 20 and most > len(known) / 4:
            assert j not in may_be


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

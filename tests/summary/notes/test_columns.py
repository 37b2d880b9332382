"""Columns that bounds hide from the distance, and columns ruined at owners."""

import numpy as np
import polars as pl
import pytest
from tests.helpers.noted import ALARM, INFO, WARNING, found, frame, run

import dpsumm
from dpsumm.data.column import Column
from dpsumm.data.schema import Schema
from dpsumm.summary.by_column import not_followed


@pytest.mark.parametrize(("most", "far"), [(95.0, False), (95e4, True)])
def test_a_column_that_wide_bounds_hide_is_named(most, far):
    """Of the target, all are old; an owner's few are, and the rest of a record does not matter."""
    rng = np.random.default_rng(5)
    owner = pl.concat([frame(rng, 3000, 18, 60), frame(rng, 300, 60, 95)])
    summary = run([owner], frame(rng, 200, 60, 95), size=60,
                  schema={"age": (18, most), "bmi": (15, 40)})  # fmt: skip
    assert not_followed(summary) == ["age"] * far
    # However far its classifier, the words are those of the column or of the whole.
    assert (summary.verdict.severity is WARNING) == far


@pytest.mark.parametrize(("beyond", "far"), [(0.0, False), (0.1, False), (0.4, True), (1.0, True)])
def test_a_column_is_told_of_by_its_gap_not_by_chance(beyond, far):
    """A share of the target is older than anybody of the owner."""
    rng = np.random.default_rng(5)
    n = round(200 * beyond)
    target = pl.concat([frame(rng, 200 - n, 18, 60), frame(rng, n, 60.5, 95)])
    summary = run([frame(rng, 3000, 18, 60)], target, size=60, drop_target_copies=True)
    assert not_followed(summary) == ["age"] * far
    assert ("closer to your data, but not in age" in summary.verdict.text) == far


@pytest.mark.parametrize(("absent", "severity"), [(10, INFO), (35, WARNING), (60, WARNING)])
def test_a_target_without_values_of_a_column_is_told_of(rng, absent, severity):
    schema = Schema(
        [
            Column("age", bounds=(18, 95), when_missing="encode"),
            Column("bmi", bounds=(15, 40)),
        ]
    )
    target = frame(rng).with_columns(
        age=pl.when(pl.int_range(60) < absent).then(None).otherwise(pl.col("age"))
    )
    summary = run([frame(rng, 200)], target, schema=schema)
    assert found(summary, f"target: {absent} values of age were missing") is severity


def test_owners_in_other_units_are_an_alarm_after_everything_was_sent(rng):
    months = frame(rng).with_columns(age=pl.col("age") * 12)
    owners = {"north": months, "south": frame(rng), "west": months}
    summary = run(owners, frame(rng), protocol=None)
    said = "At 'north', 'west', at least nine in ten values of age lie outside the bounds"
    assert found(summary, said) is ALARM
    assert summary.notes[0].severity is ALARM
    everybody = run({"north": months}, frame(rng))
    said = "At all owners, at least nine in ten values of age lie outside"
    assert found(everybody, said) is ALARM


def test_a_column_that_is_ruined_at_one_owner_is_a_warning_that_names_both(rng):
    """Ages up to 50 are far from months clipped to 95, so that none of these is in the summary."""

    def owner(ages, sex):
        rows = frame(rng, high=50.0).with_columns(sex=pl.Series(sex * 20))
        return rows.with_columns(age=ages)

    schema = dpsumm.Schema([
        dpsumm.Column("age", bounds=(18, 95), when_missing="encode"),
        dpsumm.Column("bmi", bounds=(15, 40)),
        dpsumm.Column("sex", categories=("f", "m"), other="else"),
    ])  # fmt: skip
    usual, mixed = pl.col("age"), ["f", "m", "f"]
    half = pl.when(pl.int_range(60) < 50).then(None)
    owners = {
        "months": owner(half.otherwise(usual * 12), mixed),
        "empty": owner(pl.lit(None, pl.Float64), mixed),
        "french": owner(usual, ["homme", "femme", "femme"]),
        "some": owner(half.otherwise(usual), ["f", "f", "else"]),
        "usual": owner(usual, mixed),
    }
    given = {"schema": schema}
    summary = run(owners, owner(usual, mixed), **given)
    said = {
        "At 'months', at least nine in ten values of age lie outside the bounds": WARNING,
        "At 'empty', no record that was read has a value of age": WARNING,
        "At 'french', at least nine in ten values of sex are in no category": WARNING,
    }
    assert {text: found(summary, text) for text in said} == said
    assert not any(
        name in note for note in summary.notes for name in ("'some'", "'usual'", "of bmi")
    )
    # Of the ten values that it has, all are clipped: no share of its sixty rows.
    assert found(summary, "months: 10 values of age were clipped") is WARNING
    assert not any(note.severity is ALARM for note in summary.notes)
    # Where most of the summary comes from such an owner, it means nothing.
    alone = run({name: owners[name] for name in ("french", "usual")}, owner(usual, mixed), **given)
    assert found(alone, "At 'french', at least nine in ten values of sex") is ALARM


def test_a_pool_of_one_point_is_an_alarm(rng):
    same = pl.DataFrame({"age": [30.0] * 20, "bmi": [20.0] * 20})
    assert found(run([same], frame(rng)), "All points read are one point") is ALARM
    assert found(run([frame(rng)], frame(rng)), "All points read") is None

"""Columns that the distance hardly sees, and a kernel that takes all for alike."""

from datetime import date, timedelta

import polars as pl
import pytest
from tests.helpers.noted import AGE, ALARM, BMI, WARNING, found, frame, run, with_columns

import dpsumm
from dpsumm.data.column import Column

HIDDEN, LIGHT = "take up a small part of the bounds of", "The distance hardly sees"


@pytest.mark.parametrize(
    ("most", "severity"), [(95, None), (1000, None), (2000, WARNING), (1e6, ALARM)]
)
def test_bounds_far_wider_than_the_values_are_told_of(rng, most, severity):
    age = Column("age", bounds=(0, most))
    summary = with_columns([frame(rng, 200)], frame(rng), age, BMI)
    assert found(summary, f"{HIDDEN} age (") is severity
    assert found(summary, "of bmi") is None
    # A bandwidth as much smaller sees the column again.
    sharp = dpsumm.RBF(3 * (most / 20) ** 2)
    summary = with_columns([frame(rng, 200)], frame(rng), age, BMI, kernel=sharp)
    assert found(summary, HIDDEN) is None


@pytest.mark.parametrize(("apart", "severity"), [(0, WARNING), (1900, None)])
def test_target_and_points_read_fill_bounds_together(rng, apart, severity):
    age = Column("age", bounds=(0, 2000))
    summary = with_columns([frame(rng, 200, apart, 20 + apart)], frame(rng, 60, 0, 20), age, BMI)
    assert (found(summary, f"{HIDDEN} age (") is None) == (severity is None)


def test_dates_up_to_the_year_9999_are_an_alarm_whatever_a_few_marks_are(rng):
    def dated(n):
        days = [date(2024, 1, 1) + timedelta(int(i)) for i in rng.integers(0, 365, n)]
        return frame(rng, n).with_columns(day=pl.Series([date(9999, 12, 31), *days[1:]]))

    for last, severity in ((9999, ALARM), (2026, None)):
        day = Column("day", bounds=(date(2023, 1, 1), date(last, 12, 31)))
        summary = with_columns([dated(300)], dated(100), AGE, BMI, day)
        assert found(summary, f"{HIDDEN} day (") is severity


def test_a_column_of_one_value_is_not_told_of(rng):
    def nearly(n):
        return frame(rng, n).with_columns(age=pl.when(pl.int_range(n) < 1).then(90).otherwise(18))

    assert found(run([nearly(200)], nearly(100)), HIDDEN) is None


ALIKE = "takes the target's records for alike"


@pytest.mark.parametrize(("wider", "severity"), [(1, None), (2, None), (8, WARNING), (30, ALARM)])
@pytest.mark.parametrize("by_gamma", [False, True])
def test_a_kernel_that_tells_no_records_apart_is_told_of(rng, wider, severity, by_gamma):
    bounds = {"age": (18, 18 + 77 * wider), "bmi": (15, 15 + 25 * wider)}
    given = {"schema": bounds}
    if by_gamma:
        given = {"kernel": dpsumm.RBF(3 / wider**2)}
    owners, target = [frame(rng, 200), frame(rng, 200)], frame(rng, 300)
    summary = run(owners, target, **given)
    assert found(summary, ALIKE) is severity
    # One note about one thing.
    assert sum(ALIKE in note or HIDDEN in note for note in summary.notes) == bool(severity)
    assert (found(summary, HIDDEN) is ALARM) == (wider == 30 and not by_gamma)
    assert summary.verdict.text.startswith("check: read the warnings first") == (severity is ALARM)
    # Without bounds, in the data's own units.
    free = run(owners, target, schema=None, kernel=dpsumm.RBF(3 / (77 * wider) ** 2))
    assert found(free, ALIKE) is severity


def test_a_narrow_target_and_equal_records_are_told_apart(rng):
    """A kernel that sees owners' points far from a narrow target, or a few among copies, works."""
    narrow = frame(rng, 200, 40, 41).with_columns(bmi=20 + pl.col("bmi") / 100)
    assert found(run([frame(rng, 200)], narrow), ALIKE) is None
    assert found(run([narrow], narrow.reverse()), ALIKE) is ALARM
    copies = pl.concat([frame(rng, 10), *[frame(rng, 1)] * 990])
    assert found(run([copies], copies), ALIKE) is None

"""An owner whose column is elsewhere."""

import numpy as np
import polars as pl
import pytest
from tests.helpers.noted import ALARM, WARNING, found, frame, run, with_columns

import dpsumm
from dpsumm.data.schema import Column

ELSEWHERE = "far from the target's and from every other owner's"


@pytest.mark.parametrize(
    ("factor", "told"), [(1, False), (10, True), (1 / 18, True), (2.54, False), (2.2046, False)]
)
@pytest.mark.parametrize("bounds", [(0, 500), None])
def test_one_owner_in_other_units_inside_the_bounds_is_named(rng, factor, told, bounds):
    other = frame(rng, 200).with_columns(bmi=factor * pl.col("bmi"))
    owners = {"north": frame(rng, 200), "south": other, "west": frame(rng, 200)}
    given = {} if bounds else {"kernel": dpsumm.RBF(1e-3)}
    columns = (Column("age", bounds=bounds), Column("bmi", bounds=bounds))
    summary = with_columns(owners, frame(rng), *columns, **given)
    said = f"values of bmi in the points read of 'south' lie {ELSEWHERE}"
    assert found(summary, said) is (WARNING if told else None)
    assert sum(ELSEWHERE in note for note in summary.warnings) == told


OUTSIDE = "points of the summary have values of bmi far outside the target's"


@pytest.mark.parametrize(("slips", "severity"), [(0, None), (2, None), (3, ALARM), (30, ALARM)])
def test_points_in_other_units_at_several_owners_are_counted(rng, slips, severity):
    """A pool that is the summary: so many points are far outside, at two owners of three."""
    part = frame(rng, 10)
    far = pl.when(pl.int_range(10) < slips / 2).then(88 * pl.col("bmi")).otherwise("bmi")
    near = pl.when(pl.int_range(10) < slips // 2).then(88 * pl.col("bmi")).otherwise("bmi")
    owners = [part.with_columns(bmi=far), part.with_columns(bmi=near), frame(rng, 10)]
    given = {"size": 30, "bounds": {"age": (18, 95), "bmi": (0, 4000)}}
    summary = run(owners, frame(rng), **given)
    assert found(summary, f"{min(slips, 20)} of the 30 {OUTSIDE}") is severity
    assert found(summary, OUTSIDE) is severity


def test_an_owner_in_other_units_who_fills_the_summary_is_one_alarm(rng):
    other = frame(rng, 60).with_columns(bmi=88 * pl.col("bmi"))
    owners = {"north": frame(rng, 20), "south": other}
    summary = run(owners, frame(rng), size=80, bounds={"age": (18, 95), "bmi": (0, 4000)})
    assert found(summary, f"of 'south' lie {ELSEWHERE}") is ALARM
    assert found(summary, OUTSIDE) is None


def test_owners_of_other_populations_are_not_in_other_units(rng):
    owners = [rng.normal(shift, 1, (500, 2)) for shift in (-3, 0, 3)]
    summary = run(owners, rng.normal(2, 1, (300, 2)), bounds=None, kernel=dpsumm.RBF(0.25))
    assert found(summary, ELSEWHERE) is found(summary, "far outside the target's") is None
    # Nor is one of a column that is mostly 0, as pixels are.
    dark = np.where(rng.random((4, 200, 1)) < 0.05, rng.uniform(0, 1, (4, 200, 1)), 0.0)
    lit = [*dark[:2], 9 + dark[2]]
    summary = run(lit, dark[3], bounds=None, kernel=dpsumm.RBF(0.25))
    assert found(summary, ELSEWHERE) is None

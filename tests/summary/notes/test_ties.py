"""Points that do not differ in what is compared."""

import polars as pl
import pytest
from tests.helpers.noted import ALARM, WARNING, found, run

from dpsumm.data.column import Column
from dpsumm.data.schema import Schema

TIES = "so what an owner is worth says nothing"


def counts(rng, most):
    return pl.DataFrame({"a": rng.integers(0, most, 60), "b": rng.integers(0, 2, 60)})


@pytest.mark.parametrize(("most", "severity"), [(4, WARNING), (20, None)])
def test_fewer_different_points_than_the_summary_has_say_nothing_of_owners(rng, most, severity):
    owners = {"north": counts(rng, most), "south": counts(rng, most)}
    bounds = {"a": (0, most), "b": (0, 2)}
    assert found(run(owners, counts(rng, most), size=12, schema=bounds), TIES) is severity
    one = run({"north": owners["north"]}, counts(rng, most), size=12, schema=bounds)
    assert found(one, TIES) is None  # has nobody to be compared with


def test_one_and_the_same_point_is_an_alarm_of_its_own(rng):
    schema = Schema([Column("sex", categories=("f", "m"))])
    same = pl.DataFrame({"sex": ["f"] * 60})
    target = pl.DataFrame({"sex": ["f", "m"] * 30})
    summary = run({"north": same, "south": same}, target, schema=schema)
    assert found(summary, "All points read are one point for the kernel") is ALARM
    assert found(summary, TIES) is None

"""Levels of columns: what each value counts as, and values drawn from levels."""

from datetime import date

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsumm import Column
from dpsumm.errors import InvalidParameterError
from dpsumm.vertical.levels import Levels

AGE = Column("age", bounds=(18, 90), whole=True, when_missing="encode")
PAY = Column("pay", bounds=(0.5, 100.5))
BORN = Column("born", bounds=(date(2000, 1, 1), date(2001, 12, 31)))
SEX = Column("sex", categories=("f", "m"), other="x", when_missing="encode")


def test_bins_are_equal_and_hold_their_ends():
    levels = Levels.of(PAY, 4)
    np.testing.assert_allclose(levels.edges, [0.5, 25.5, 50.5, 75.5, 100.5])
    values = np.array([-9, 0.5, 25.4, 25.5, 75.5, 100.5, 1e300])
    assert levels.encode(values).tolist() == [0, 0, 0, 1, 3, 3, 3]


@pytest.mark.parametrize("bins", [1, 2, 7, 16, 72, 73, 500])
def test_bins_of_whole_numbers_have_as_many_values_as_can_be(bins):
    levels = Levels.of(AGE, bins)
    codes = levels.encode(np.arange(18, 91).astype(float))
    assert levels.size == min(bins, 73) + 1
    counts = np.bincount(codes)
    assert len(counts) == min(bins, 73)
    assert counts.max() - counts.min() <= 1
    assert levels.encode(np.array([np.nan])).tolist() == [levels.size - 1]


@pytest.mark.parametrize("column", [AGE, PAY, BORN, SEX], ids=lambda column: column.name)
@pytest.mark.parametrize("bins", [3, 16])
def test_values_drawn_from_a_level_have_that_level(rng, column, bins):
    levels = Levels.of(column, bins)
    codes = rng.integers(levels.size, size=3000).astype(np.uint32)
    values = levels.decode(codes, rng)
    np.testing.assert_array_equal(levels.encode(values), codes)
    known = values[~np.isnan(values)]
    if column.limits:
        assert column.limits[0] <= known.min() <= known.max() <= column.limits[1]
    if column in (AGE, BORN):
        np.testing.assert_array_equal(known, np.floor(known))


def test_every_whole_number_of_a_bin_is_drawn_as_often(rng):
    levels = Levels.of(Column("n", bounds=(0, 11), whole=True), 3)
    assert levels.edges[:3].tolist() == [0, 4, 8]
    values = levels.decode(np.full(60_000, 2, np.uint32), rng)
    counts = np.bincount(values.astype(int), minlength=12)[8:]
    assert (abs(counts - 15_000) < 800).all()  # seven standard deviations


def test_edges_may_be_given():
    levels = Levels.of(Column("gain", bounds=(0, 10**6)), {"gain": (0, 1, 1000, 10**6)})
    assert levels.encode(np.array([0, 0.5, 1, 999, 1000, 10**6])).tolist() == [0, 0, 1, 1, 2, 2]
    first, last = BORN.bounds
    dates = Levels.of(BORN, {"born": (first, date(2001, 1, 1), last)})
    assert dates.level_of(date(2000, 12, 31)) == 0
    assert dates.level_of(date(2001, 1, 1)) == 1
    assert Levels.of(PAY, {"other": 3}).size == 16


@pytest.mark.parametrize(
    ("column", "edges", "named"),
    [
        (AGE, (-50, 40, 500), "go from -50 to 500, its bounds from"),
        (AGE, (AGE.bounds[0] + 1, AGE.bounds[1]), "begin and end with the bounds"),
        (BORN, (date(1800, 1, 1), BORN.bounds[1]), "go from 1800-01-01 to "),
        (SEX, (0, 1), "has categories"),
        (SEX, 3, "has categories"),
    ],
)
def test_bins_that_contradict_the_schema_are_refused(column, edges, named):
    with pytest.raises(InvalidParameterError, match=named):
        Levels.of(column, {column.name: edges})


@given(st.lists(st.floats(allow_infinity=False), min_size=2, max_size=30), st.data())
def test_a_value_counts_the_same_whatever_the_others_are(values, data):
    levels = Levels.of(AGE, 10)
    codes = levels.encode(np.array(values))
    place = data.draw(st.integers(0, len(values) - 1))
    changed = np.array(values)
    changed[place] = data.draw(st.floats(allow_infinity=False))
    again = levels.encode(changed)
    np.testing.assert_array_equal(np.delete(again, place), np.delete(codes, place))


def test_levels_of_values_as_users_have_them():
    sex = Levels.of(SEX, 16)
    assert [sex.level_of(v) for v in ("f", "m", "x", None)] == [0, 1, 2, 3]
    assert Levels.of(AGE, 73).level_of(20) == 2


@pytest.mark.parametrize(
    ("levels", "value"),
    [(SEX, "male"), (SEX, 0), (PAY, None), (PAY, "1"), (PAY, 200.0), (PAY, True), (BORN, 3.0)],
)
def test_a_value_that_a_column_has_not_is_refused(levels, value):
    with pytest.raises(InvalidParameterError, match="given: column"):
        Levels.of(levels, 16).level_of(value)


@pytest.mark.parametrize(
    ("column", "bins", "message"),
    [
        (Column("x"), 16, "column 'x' needs public bounds"),
        (Column("x", bounds=(0, 1), when_missing="drop"), 16, "drops rows.*encode"),
        (PAY, 0, "bins must be from 1 to 1024"),
        (PAY, {"pay": [1]}, "edges"),
        (PAY, {"pay": [1, 1]}, "edges"),
        (PAY, {"pay": [1, np.inf]}, "edges"),
        (PAY, {"pay": "ab"}, "edges"),
        (PAY, {"pay": True}, "edges"),
        (Column("x", bounds=(0.2, 0.8), whole=True), 16, "no whole number"),
    ],
)
def test_what_makes_no_levels_is_refused(column, bins, message):
    with pytest.raises(InvalidParameterError, match=message):
        Levels.of(column, bins)

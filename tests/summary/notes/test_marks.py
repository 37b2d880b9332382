"""Marks of no value that nobody listed."""

import itertools
from datetime import date

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.helpers.noted import AGE, INFO, WARNING, found, frame, run, with_columns

from dpsumm.data.column import Column
from dpsumm.data.schema import Schema
from dpsumm.summary.notes.marks import mark_notes

MARK = "Several rows have one and the same value, far from all others"
YEARS = (date(2018, 1, 1), date(2024, 1, 1))


def marked(rows, name, mark, count):
    first = pl.int_range(pl.len()) < count
    return rows.with_columns(pl.when(first).then(pl.lit(mark)).otherwise(name).alias(name))


@pytest.mark.parametrize(
    ("mark", "count", "told"),
    [(-1, 3, True), (999, 3, True), (999, 2, False), (97, 5, False)],
)
def test_one_value_outside_the_bounds_in_several_rows_is_a_warning(rng, mark, count, told):
    """Beside ages from 18 to 95, whole years each, a mark is far from all; the age of 97 is not."""
    years = pl.Series("age", np.resize(np.arange(18.0, 96), 200))
    south = marked(frame(rng, 200).with_columns(years), "age", mark, count)
    owners = {"north": frame(rng, 200), "south": south}
    summary = run(owners, frame(rng))
    assert found(summary, MARK) is (WARNING if told else None)
    assert found(summary, f"{MARK}, in age of 'south'.") is (WARNING if told else None)


def test_parties_and_columns_are_named_in_one_note(rng):
    owners = {"north": frame(rng, 80), "south": marked(frame(rng, 80), "age", 999.0, 4)}
    both = marked(marked(frame(rng, 80), "age", -9999.0, 4), "bmi", -9999.0, 4)
    summary = run(owners, both)
    assert found(summary, f"{MARK}, in age of 'south', 'target'; bmi of 'target'. ") is WARNING
    # What target and owners have may be a value.
    summary = run(owners, marked(frame(rng, 80), "age", 999.0, 4))
    assert found(summary, f"{MARK}, in age of 'south', 'target'. ") is INFO


@pytest.mark.parametrize("mark", [-1, -9, 60_500])
def test_a_mark_in_wide_bounds_is_told_of_if_it_alone_is_outside(mark):
    """A tenth of the bounds is 6,000 km; the others lie within them, and closer together."""
    km = np.linspace(2400, 58_000, 400)
    schema = Schema([Column("km", bounds=(0, 60_000))])

    def told(*more):
        return mark_notes({"north": np.concatenate([km, *more])[:, None]}, schema)

    assert told([mark] * 3)
    assert not told([mark] * 2)
    assert not told([mark] * 3, [mark + (0.5 if mark < 0 else 9)] * 3)  # two values are no mark


@pytest.mark.parametrize(("first", "told"), [(90, False), (89, False), (88, True)])
def test_people_just_above_a_round_bound_are_no_mark(first, told):
    """Ages end at 91, which several people are, and others are near: or nobody from 89 to 90."""
    ages = np.concatenate([np.repeat(np.arange(18, first + 1), 3), [91] * 4])
    schema = Schema([Column("age", bounds=(18, 90))])
    assert bool(mark_notes({"north": ages[:, None].astype(float)}, schema)) is told


@pytest.mark.parametrize(
    ("last", "bounds", "mark", "told"),
    [
        (7, (1, 7), 8, False),
        (7, (1, 7), 9, False),
        (7, (1, 7), 0, False),
        (8, (1, 7), 9, False),  # as a few are 8
        (7, (1, 7), 10, False),
        (7, (1, 7), 99, True),
        (7, (1, 7), -9, True),
        (5, (1, 5), 9, True),
        (5, (1, 5), 6, False),
        (2, (1, 2), 9, True),
        (2, (1, 2), 3, False),
        (1, (0, 5), 2, False),  # all others are 1
        (1, (0, 5), 99, True),
    ],
)
def test_beside_counts_the_next_ones_are_no_mark(last, bounds, mark, told):
    """Bounds that were drafted from a public sample end where its counts did."""
    counts = np.concatenate([np.repeat(np.arange(1, last + 1), 40), [last] * 9, [mark] * 4])
    schema = Schema([Column("residents", bounds=bounds)])
    assert bool(mark_notes({"north": counts[:, None].astype(float)}, schema)) is told


def test_a_mark_beyond_others_that_are_outside_as_well():
    """Ages of 18 to 95 of adults, with some of 17, and -1; or 16 beside them, which is one less."""
    ages = np.concatenate([np.repeat(np.arange(17, 96), 3), [-1] * 3]).astype(float)
    schema = Schema([Column("age", bounds=(18, 95))])
    assert mark_notes({"north": ages[:, None]}, schema)
    assert not mark_notes({"north": np.where(ages < 0, 16, ages)[:, None]}, schema)
    # Most have none, so that the steps on that side are not known.
    gain = np.concatenate([np.zeros(60), np.linspace(5000, 9000, 40), [-9999] * 4])
    assert mark_notes({"north": gain[:, None]}, Schema([Column("x", bounds=(0, 10_000))]))


@pytest.mark.parametrize("bounds", [(0, 2000), None])
@pytest.mark.parametrize(("mark", "told"), [(999, True), (160, False)])
def test_inside_the_bounds_a_mark_is_beyond_all_others_by_their_range(bounds, mark, told):
    """Values from 18 to 95."""
    values = np.concatenate([np.linspace(18, 95, 90), np.full(5, mark)])[:, None]
    notes = mark_notes({"north": values}, Schema([Column("age", bounds=bounds)]))
    assert bool(notes) is told


@pytest.mark.parametrize("day", [date(1900, 1, 1), date(9999, 12, 31)])
def test_dates_have_marks_too(rng, day):
    days = [date(2019, 1, 1 + i % 28) for i in range(60)]
    target = frame(rng).with_columns(seen=pl.Series([day] * 3 + days[3:]))
    owner = frame(rng).with_columns(seen=pl.Series(days))
    columns = (AGE, Column("seen", bounds=YEARS))
    assert found(with_columns([owner], target, *columns), f"{MARK}, in seen of 'target'") is WARNING
    assert found(with_columns([owner], owner[::-1], *columns), MARK) is None


def test_what_most_rows_have_is_no_mark():
    """A gain that most lack; a dose of a few values; ages all of which are outside the bounds."""
    gain = np.concatenate([np.zeros(60), np.linspace(5000, 9000, 40)])
    dose = np.repeat([0.0, 5, 10, 200], 25)
    ages = np.repeat([30.0, 40, 50, 99], 25)
    for values, bounds in ((gain, (0, 10_000)), (dose, (0, 500)), (ages, (0, 1))):
        schema = Schema([Column("x", bounds=bounds)])
        assert mark_notes({"north": values[:, None]}, schema) == []
    # With as many of each a mark it is.
    half = np.concatenate([np.zeros(40), np.linspace(5000, 9000, 60)])
    assert mark_notes({"north": half[:, None]}, Schema([Column("x", bounds=(0, 10_000))]))


@given(
    st.lists(st.integers(0, 10), min_size=25, max_size=60),
    st.integers(0, 9),
    st.integers(-60, 60),
)
def test_a_mark_is_found_as_a_slow_search_finds_it(inside, count, mark):
    values = np.array([*inside, *[mark] * count], float)
    told = mark_notes({"n": values[:, None]}, Schema([Column("x", bounds=(0, 10))]))

    def is_mark(one):
        others = [x for x in values if x != one]
        times = len(values) - len(others)
        if not others or times < 3 or times > len(values) / 2 or min(others) < one < max(others):
            return False
        gap, width = min(abs(x - one) for x in others), max(others) - min(others)
        within = sum(0 <= x <= 10 for x in others) >= 0.9 * len(others)
        many = len(set(others)) >= 10
        outside = not 0 <= one <= 10 and within and is_far(one, others, gap, many)
        return outside or (gap > width and many)

    def is_far(one, others, gap, many):
        side = 1 if one < 0 else -1
        alone = all(side * x >= min(side * 0, side * 10) for x in others)
        middle = np.median(others)
        near = sorted({x for x in others if side * x <= side * middle})
        if many and len(near) > 1:
            gaps = [b - a for a, b in itertools.pairwise(near)]
            return gap > 2 * np.quantile(gaps, 0.99) and (alone or gap > 1)
        steps = [b - a for a, b in itertools.pairwise(sorted(set(others)))] or [1]
        inside = [x for x in others if 0 <= x <= 10]
        return gap > max(1, (max(inside) - min(inside)) / 2, 2 * np.median(steps))

    assert bool(told) == any(is_mark(one) for one in set(values))


def test_of_many_rows_some_are_looked_at(monkeypatch):
    values = np.linspace(18, 95, 100_000)
    values[::10] = 999
    monkeypatch.setattr("dpsumm.summary.notes.marks.MOST_CELLS", 1000)
    schema = Schema([Column("age", bounds=(18, 95))])
    assert mark_notes({"north": values[:, None]}, schema)
    assert mark_notes({"north": np.linspace(18, 95, 100_000)[:, None]}, schema) == []

"""Records that are there twice but for one column are told of, and coincidences are not."""

import numpy as np
import polars as pl
import pytest
from tests.helpers.noted import WARNING, found, run

import dpsumm
from dpsumm.summary.notes import copies

BOUNDS = {"age": (18, 95), "bmi": (15, 40), "dose": (0, 9), "day": (0, 2000)}
AT_OWNER = "equal a target record in every column but day"
AT_TWO = "held by two owners ('a', 'b'), equal in every column but day"
AGAIN = "equal another one of the same owner ('a') in every column but day"
IN_TARGET = "records equal another one in every column but day"


def people(rng, n=60):
    """Return people as hospitals write them: whole numbers and tenths."""
    return pl.DataFrame(
        {
            "age": rng.integers(18, 95, n) * 1.0,
            "bmi": rng.uniform(15, 40, n).round(1),
            "dose": rng.uniform(0, 9, n).round(1),
            "day": rng.integers(0, 1000, n) * 1.0,
        }
    )


def later(rows, days=3):
    return rows.with_columns(day=pl.col("day") + days)


def told(owners, target, **more):
    summary = run(owners, target, schema=BOUNDS, **more)
    said = [text for text in (AT_OWNER, AT_TWO, AGAIN, IN_TARGET) if found(summary, text)]
    assert all(found(summary, text) is WARNING for text in said)
    assert bool(said) == any("every column but" in note for note in summary.notes)
    return said


def test_rows_that_are_equal_but_for_a_date_are_told_of():
    rng = np.random.default_rng(7)
    a, b, target = people(rng), people(rng), people(rng)
    assert told({"a": a, "b": b}, target) == []
    assert told({"a": later(target), "b": b}, target) == [AT_OWNER]
    assert told({"a": a, "b": later(a)}, target) == [AT_TWO]
    assert told({"a": pl.concat([a, later(a), later(a, 9)]), "b": b}, target) == [AGAIN]
    assert told({"a": a, "b": b}, pl.concat([target, later(target)])) == [IN_TARGET]
    # A file among which the copies are a third is found, too; a few equal rows are chance.
    third = people(rng, 120)
    assert told({"a": pl.concat([third, later(target)]), "b": b}, target) == [AT_OWNER]
    assert told({"a": pl.concat([third, later(target[:4])]), "b": b}, target) == []


def test_rows_that_are_equal_in_all_columns_are_not_told_of_twice():
    rng = np.random.default_rng(8)
    target, b = people(rng), people(rng)
    assert told({"a": target, "b": b}, target) == []
    assert told({"a": target, "b": b}, target, drop_target_copies=True) == []
    mixed = pl.concat([target[:5], later(target[5:])])
    assert told({"a": mixed, "b": b}, target, drop_target_copies=True) == [AT_OWNER]


def test_few_columns_and_one_constant_row_say_nothing():
    rng = np.random.default_rng(9)
    target, b = people(rng), people(rng)
    few = [rows.drop("dose") for rows in (later(target), b, target)]
    bounds = {name: limits for name, limits in BOUNDS.items() if name != "dose"}
    assert not any("every column but" in note for note in run(few[:2], few[2], schema=bounds).notes)
    same = pl.concat([target[:1]] * 40).with_columns(day=pl.int_range(40) * 1.0)
    assert told({"a": same, "b": b}, target) == []


@pytest.mark.parametrize("rate", [0.5, 0.1, 0.02])
@pytest.mark.parametrize("columns", [4, 6, 20, 40])
def test_a_wide_table_of_zeros_and_ones_is_equal_by_chance(columns, rate):
    """Most rows have no one at all, or a single one: neither copies nor nearly."""
    rng = np.random.default_rng([columns, int(100 * rate)])
    owners = [(rng.random((300, columns)) < rate) * 1.0 for _ in range(3)]
    target = (rng.random((150, columns)) < rate) * 1.0
    for protocol in (dpsumm.Pool(), dpsumm.summary.Greedy()):
        summary = run(
            owners, target, schema=None, kernel=dpsumm.RBF(0.1), protocol=protocol, seed=1
        )
        assert found(summary, "equal") is None


def test_whole_numbers_and_categories_are_equal_by_chance():
    rng = np.random.default_rng(10)

    def coarse(n):
        return np.column_stack([rng.integers(0, k, n) for k in (3, 3, 4, 5, 40)]) * 1.0

    owners, target = [coarse(400) for _ in range(3)], coarse(200)
    assert found(run(owners, target, schema=None, kernel=dpsumm.RBF(0.1)), "equal") is None


def test_most_rows_of_a_large_table_are_enough(monkeypatch):
    monkeypatch.setattr(copies, "MOST_VALUES", 800)
    rng = np.random.default_rng(11)
    target, a = people(rng, 200), people(rng, 200)
    assert told({"a": later(target), "b": a}, target) == [AT_OWNER]

"""What an owner sees in its own data at home."""

import numpy as np
import polars as pl
import pytest
from evidence.mistakes import clinic, weather

from dpsumm.data.check import check, draft
from dpsumm.data.column import Column
from dpsumm.data.lint import RULES, Hint, identifies
from dpsumm.data.schema import Schema

N = 400


def strange(frame, *columns):
    """The hints on a frame, as pairs of a column and a rule."""
    found = check(frame, Schema(columns)).hints
    return {(name, hint.rule) for hint in found for name in hint.columns or ("",)}


def usual(rng, n=N):
    return pl.DataFrame({"age": rng.integers(20, 90, n), "bmi": rng.uniform(15, 40, n)})


AGE, BMI = Column("age", bounds=(18, 95)), Column("bmi", bounds=(15, 40))


@pytest.mark.parametrize(
    ("values", "column", "rule"),
    [
        (lambda rng: np.arange(N) * 3, Column("x", bounds=(0, 1200)), "identifier"),
        (lambda rng: rng.permutation(N), Column("nr", bounds=(0, 400)), "identifier"),
        (lambda rng: rng.permutation(N), Column("x", bounds=(0, 400)), None),
        (lambda rng: np.full(N, 3), Column("x", bounds=(0, 9)), "constant"),
        (lambda rng: np.where(np.arange(N) < 380, 3, rng.integers(0, 60, N)),
         Column("x", bounds=(0, 60)), "common"),
        (lambda rng: np.where(np.arange(N) < 20, -9999, rng.integers(0, 60, N)),
         Column("x", bounds=(0, 60)), "mark"),
        (lambda rng: np.where(np.arange(N) < 2, -9999, rng.integers(0, 60, N)),
         Column("x", bounds=(0, 60)), None),
        (lambda rng: np.where(np.arange(N) < 20, 999, rng.integers(0, 60, N)),
         Column("x", bounds=(0, 1000)), "mark"),
        (lambda rng: rng.integers(0, 12, N), Column("month", bounds=(1, 12)), "counts"),
        (lambda rng: rng.integers(1, 13, N), Column("month", bounds=(1, 12)), None),
        (lambda rng: rng.uniform(0, 1, N) * 12, Column("x", bounds=(0, 5)), "clipped"),
        (lambda rng: rng.integers(1, 5, N), Column("x", bounds=(1, 4)), "codes"),
        (lambda rng: rng.choice(["a", "b", "c"], N),
         Column("x", categories=("a", "b"), other="other"), "unknown"),
        (lambda rng: rng.choice(["a", "b"], N), Column("x", categories=("a", "b")), None),
    ],
)  # fmt: skip
def test_a_column_that_is_strange_is_asked_about(rng, values, column, rule):
    frame = usual(rng).with_columns(pl.Series(column.name, values(rng)))
    assert strange(frame, AGE, BMI, column) == ({(column.name, rule)} if rule else set())
    few = frame.head(19)
    assert strange(few, AGE, BMI, column) == set()


def test_columns_that_tell_the_label_and_rows_that_are_there_twice(rng):
    frame = usual(rng).with_columns(y=pl.Series(rng.choice(["no", "yes"], N)))
    frame = frame.with_columns(leak=pl.col("y").replace({"no": "a", "yes": "b"}))
    columns = (AGE, BMI, Column("leak", categories=("a", "b")), Column("y", kind="label"))
    assert strange(frame, *columns) == {("leak", "leak")}
    twice = pl.concat([frame, frame[:40]])
    assert strange(twice, *columns) == {("leak", "leak"), ("", "copies")}


@pytest.mark.parametrize("gap", [None, float("nan")])
def test_rows_without_a_label_tell_nothing_of_it(rng, gap):
    frame = usual(rng, 50)
    columns = (AGE, BMI, Column("y", kind="label"))
    for some in (50, 30):  # without a label
        labels = pl.Series("y", [gap] * some + [1.0, 2.0] * ((50 - some) // 2), strict=False)
        assert strange(frame.with_columns(labels), *columns) == set()


def test_each_rule_is_a_sentence_without_a_value(rng):
    frame = usual(rng).with_columns(x=pl.when(pl.int_range(N) < 20).then(-8765).otherwise("age"))
    found = check(frame, Schema([AGE, BMI, Column("x", bounds=(0, 95))])).hints
    (hint,) = found
    assert str(hint) == f"x: {RULES['mark']}"
    assert "8765" not in str(hint)


@pytest.mark.parametrize("world", [weather, clinic])
def test_tables_without_a_mistake_and_drafts_of_them_have_no_hint(world, rng):
    made = world(rng)
    frame = pl.DataFrame(dict(zip(made.names, made.owners[0].T, strict=True)))
    assert check(frame, made.schema).hints == ()
    schema, _ = draft(frame)
    assert check(frame, schema).hints == ()


def test_of_many_rows_some_are_looked_at(rng, monkeypatch):
    monkeypatch.setattr("dpsumm.data.lint.MOST_ROWS", 100)
    frame = usual(rng, 3000).with_columns(x=3)
    assert strange(frame, AGE, BMI, Column("x", bounds=(0, 9))) == {("x", "constant")}
    assert identifies("nr", list(range(20)))


def test_a_hint_names_a_few_of_many_columns():
    said = str(Hint("constant", tuple(f"x{i}" for i in range(14))))
    assert said.startswith("x0, x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11 and 2 more: all")
    assert str(Hint("copies")).startswith("all columns: ")


def test_data_that_a_run_refuses_as_a_whole_are_not_accepted():
    schema = Schema([Column("x", bounds=(0, 9), when_missing="drop"), Column("y", bounds=(0, 9))])
    some = check(pl.DataFrame({"x": [1.0, None], "y": [1.0, 2.0]}), schema)
    assert some.accepted
    assert some.usable is not None
    assert some.usable.rows.tolist() == [0]
    none = check(pl.DataFrame({"x": [None, None], "y": [1.0, 2.0]}), schema)
    assert [one.refused for one in none.columns] == [(), ()]
    assert not none.accepted
    assert none.usable is None
    assert "A run would refuse the data: 'data': no row is complete" in str(none)

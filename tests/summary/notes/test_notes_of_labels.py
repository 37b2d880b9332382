"""Labels of one class, spelled otherwise, or said by a column."""

import numpy as np
import polars as pl
import pytest
from tests.helpers.noted import (
    AGE,
    ALARM,
    BMI,
    WARNING,
    found,
    frame,
    run,
    with_columns,
)

import dpsumm
from dpsumm.data.column import Column


def test_labels_of_one_class_or_other_shares_are_said(rng):
    def labelled(shift, label, n=60):
        return rng.normal(shift, 0.1, (n, 1)), np.full(n, label)

    kernel = {"schema": None, "kernel": dpsumm.RBF(1.0)}
    target = rng.normal(0, 0.1, (60, 1))
    far = {"a": labelled(0, "x"), "b": labelled(9, "y")}
    assert found(run(far, target, **kernel), "have the same label, one of 2") is ALARM
    alone = run({"a": labelled(0, "x")}, target, **kernel)
    assert found(alone, "All records that were read have the same label") is WARNING
    listed = dpsumm.Schema([
        dpsumm.Column("x", bounds=(-1, 1)), dpsumm.Column("y", kind="label", categories=("x", "y"))
    ])  # fmt: skip
    one = pl.DataFrame({"x": rng.uniform(-1, 1, 60), "y": ["x"] * 60})
    of_one = run({"a": one}, one.select("x") * 0.9, schema=listed)
    assert found(of_one, "All records that were read have the same label") is ALARM


def test_labels_that_one_owner_spells_otherwise_are_told_of(rng):
    def of(*labels):
        return frame(rng).with_columns(y=pl.Series(list(labels) * (60 // len(labels))))

    target, said = frame(rng), "labels are no other owner's"
    schema = dpsumm.Schema([
        dpsumm.Column("age", bounds=(18, 95)), dpsumm.Column("bmi", bounds=(15, 40)),
        dpsumm.Column("y", kind="label"),
    ])  # fmt: skip
    given = {"schema": schema, "size": 40}
    usual = {"a": of("yes", "no"), "b": of("yes", "no")}
    assert found(run({**usual, "c": of("yes")}, target, **given), said) is None
    for own, severity in (
        (of("1", "0"), ALARM),
        (of("Yes", "No "), ALARM),
        (of("maybe", "later"), WARNING),
    ):
        summary = run({**usual, "c": own}, target, **given)
        assert found(summary, f"At 'c', {said}") is severity


ABSENT = "At 'b', no record that was read has a class that most others have"
REPLACED = "At 'b', labels are no other owner's, and a class that others have is absent"
FOUR = ["w", "x", "y", "y"]  # y is half of a usual owner's
MANY = [*"wxyy" * 39, "u", "v", "u", "v"]  # u and v are too few to be missed


@pytest.mark.parametrize(
    ("labels", "of_others", "absent", "replaced"),
    [
        (FOUR, FOUR, None, None),
        (["w", "x"], FOUR, WARNING, None),
        (["w", "x", "z"], FOUR, None, WARNING),  # one note, the one that says more
        (["w", "x", "Y ", "Y "], FOUR, None, ALARM),
        (["w", "x", "y", "y", "z", "z"], FOUR, None, None),  # nothing is absent beside it
        (["w", "x", *"yyyy" * 2], FOUR, None, None),
        ([*["w", "x"] * 28, "z", "z", "z", "z"], FOUR, WARNING, None),  # too few of its own
        ([*["w", "x"] * 29, "y", "y"], FOUR, None, None),  # not absent
        (FOUR, MANY, None, None),
    ],
)
def test_a_class_of_others_that_an_owner_lacks_is_told_of(rng, labels, of_others, absent, replaced):
    def of(labels):
        n = len(labels) * -(-60 // len(labels))
        return frame(rng, n).with_columns(y=pl.Series(list(labels) * (n // len(labels))))

    owners = {"a": of(of_others), "b": of(labels), "c": of(of_others)}
    summary = with_columns(owners, frame(rng), AGE, BMI, Column("y", kind="label"))
    assert found(summary, ABSENT) is absent
    assert found(summary, REPLACED) is replaced
    assert not any("'z'" in note or "'y'" in note.casefold() for note in summary.notes)


def test_what_one_of_two_others_has_or_few_points_have_is_not_missed(rng):
    def of(*labels, n=60):
        return frame(rng, n).with_columns(y=pl.Series(list(labels) * (n // len(labels))))

    def told(**owners):
        summary = with_columns(owners, frame(rng), AGE, BMI, Column("y", kind="label"))
        return found(summary, "a class that most others have")

    two = {"a": of("x", "y"), "b": of("x", "y")}
    assert told(**two, c=of("x", "y", "z")) is None
    assert told(a=of("x", "y"), b=of("x", "y", "z")) is WARNING
    # A fifth of five points is one: 0.8**60 is 1.5e-6, but one in 65 is there by chance.
    assert told(a=of("x", "y"), b=of("x", "x", "y", "y", "z", n=5)) is None


@pytest.mark.parametrize(
    ("values", "told"),
    [
        (lambda y, rng: y * 3.0, True),
        (lambda y, rng: (y == 1) * 2.0, True),
        (lambda y, rng: y + rng.uniform(0, 0.9, len(y)), True),
        (lambda y, rng: np.where(y == 0, np.nan, 1.0), True),
        (lambda y, rng: rng.uniform(0, 3, len(y)), False),
        (lambda y, rng: np.where(np.arange(len(y)) == 7, 1 - y, y), False),
    ],
)
def test_a_column_that_says_the_label_is_told_of(rng, values, told):
    y = np.arange(300) % 2
    rows = frame(rng, 300).with_columns(y=pl.Series(y), leak=pl.Series(values(y, rng)))
    rows = rows.with_columns(leak=pl.col("leak").fill_nan(None))
    columns = (AGE, BMI, Column("leak", bounds=(-1, 3), when_missing="encode"))
    label = Column("y", kind="label")
    summary = with_columns([rows], rows.drop("y").reverse(), *columns, label)
    said = "One column alone tells the label of all records that were read: 'leak'"
    assert found(summary, said) is (WARNING if told else None)
    few = with_columns([rows.head(49)], rows.drop("y"), *columns, label)
    assert found(few, "tells the label") is None


@pytest.mark.parametrize(
    ("labels", "told"),
    [
        ([f"N{i:04}" for i in range(60)], True),
        (range(1000, 1060), True),
        ([f"N{max(i, 7):04}" for i in range(60)], False),  # 53 of 60
        ([*range(59), 58], False),
        ([i + 0.5 for i in range(60)], False),
        (["yes", "no"] * 30, False),
    ],
)
def test_a_label_that_is_an_identifier_is_told_of(rng, labels, told):
    rows = frame(rng).with_columns(y=pl.Series(list(labels)))
    summary = with_columns([rows], frame(rng), AGE, BMI, Column("y", kind="label"))
    assert found(summary, "The 60 labels that were read have") is (WARNING if told else None)
    few = with_columns([rows[:15]], frame(rng), AGE, BMI, Column("y", kind="label"))
    assert found(few, "identifier") is None


def test_an_owner_of_one_class_is_told_of_if_that_is_no_chance(rng):
    def of(*labels, n=60):
        return frame(rng, n).with_columns(y=pl.Series(list(labels) * (n // len(labels))))

    def told(**owners):
        summary = with_columns(owners, frame(rng), AGE, BMI, Column("y", kind="label"))
        return found(summary, "At 'b', no record that was read has a class")

    usual = {"a": of("yes", "no"), "c": of("no", "yes")}
    assert told(**usual, b=of("yes")) is WARNING
    assert told(**usual, b=of("yes", n=16)) is WARNING  # 2**-16 is 1.5e-5
    assert told(**usual, b=of("yes", n=15)) is None
    assert told(**usual, b=of("no", *["yes"] * 59)) is None
    assert told(a=of("no"), b=of("yes"), c=of("no")) is None
    rare = {"a": of("no", *["yes"] * 9), "c": of("yes")}
    summary = with_columns(
        {**rare, "b": of("yes")}, frame(rng), AGE, BMI, Column("y", kind="label")
    )
    assert found(summary, "a class that most others have") is None  # 0.95**60 is 0.05


SAYS_NONE = "that were read have a label that says no value"


@pytest.mark.parametrize(
    ("labels", "told"),
    [
        (["yes", "no", "unknown"], True),
        (["yes", "no", " N/A "], True),
        (["yes", "no", "Missing"], True),
        (["yes", "no", "-"], True),
        (["+", "-", "-"], False),
        (["+", "-", "?"], True),
        (["none", "minor", "major"], False),
        (["no", "yes", "not known to us"], False),
        ([0, 1, 2], False),
    ],
)
def test_a_class_whose_name_is_no_value_is_asked_about(rng, labels, told):
    rows = frame(rng).with_columns(y=pl.Series(labels * 20))
    plain = Column("y", kind="label", missing=())
    summary = with_columns([rows], rows.drop("y"), AGE, BMI, plain, size=40)
    assert found(summary, f"20 of 60 records {SAYS_NONE}") is (WARNING if told else None)
    assert found(summary, SAYS_NONE) is (WARNING if told else None)
    if told:
        # What the schema lists was meant; a mark is no label.
        meant = Column("y", kind="label", categories=tuple(x.strip() for x in labels), missing=())
        summary = with_columns([rows], rows.drop("y"), AGE, BMI, meant, size=40)
        assert found(summary, SAYS_NONE) is None
        marked = Column("y", kind="label", missing=(labels[-1],), when_missing="drop")
        summary = with_columns([rows], rows.drop("y"), AGE, BMI, marked, size=30)
        assert found(summary, SAYS_NONE) is None

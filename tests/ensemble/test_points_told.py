"""Public points, and rows to predict, that the schema cuts off or of which few differ."""

import warnings

import numpy as np
import polars as pl
import pytest

import dpsumm
from dpsumm import Column, Schema, Voting
from dpsumm.data.table import read_table
from dpsumm.ensemble import Spectral, load_model
from dpsumm.ensemble.points import points_notes, rows_notes
from dpsumm.report.notes import Severity

SCHEMA = Schema(
    [
        Column("age", bounds=(0, 100), when_missing="encode"),
        Column("heating", "category", categories=("gas", "oil", "wood"), other="other"),
    ]
)


def rows(clipped=0, unknown=0, missing=0, n=1000):
    """The first rows have values outside, the last are missing."""
    rng = np.random.default_rng(3)
    age = rng.uniform(0, 100, n).tolist()
    age[:clipped] = [321.0] * clipped
    age[n - missing :] = [None] * missing
    heating = rng.choice(["gas", "oil", "wood"], n).tolist()
    heating[:unknown] = ["Gas"] * unknown
    return pl.DataFrame({"age": age, "heating": heating})


@pytest.mark.parametrize("notes_of", [points_notes, rows_notes])
@pytest.mark.parametrize(
    ("outside", "missing", "severity"),
    [
        (99, 0, None),
        (100, 0, Severity.WARNING),
        (899, 0, Severity.WARNING),
        (900, 0, Severity.ALARM),
        (49, 500, None),  # shares are of the values that are there
        (50, 500, Severity.WARNING),
        (450, 500, Severity.ALARM),
    ],
)
def test_a_tenth_cut_off_is_a_warning_and_nine_tenths_an_alarm(
    notes_of, outside, missing, severity
):
    clipped = read_table(rows(outside, 0, missing), name="x", schema=SCHEMA)
    notes = notes_of(clipped)
    assert [note.severity for note in notes] == ([] if severity is None else [severity])
    assert all("of age were clipped to the public bounds" in note for note in notes)
    if not missing:
        notes = notes_of(read_table(rows(0, outside), name="x", schema=SCHEMA))
        assert [note.severity for note in notes] == ([] if severity is None else [severity])
        assert all("of heating are in no category" in note for note in notes)


def test_no_value_stands_in_a_note_and_columns_come_worst_first():
    width = 20
    schema = Schema([Column(f"c{j}", bounds=(0, 1)) for j in range(width)])
    values = np.full((200, width), 0.5)
    for j in range(width):
        values[: 20 + 5 * j, j] = 777.25
    [note] = rows_notes(read_table(values, name="x", schema=schema))
    assert note.startswith("Of the rows' values 57% of c19, 55% of c18, ")
    assert "of c8 and 8 more columns were clipped" in note
    assert "777" not in note


@pytest.mark.parametrize(("different", "told"), [(6, True), (299, True), (300, False)])
def test_points_that_repeat_are_told_below_half(rng, different, told):
    """By a count that is the twin's."""
    points = rng.normal(size=(different, 3))
    points = np.concatenate([points, points[rng.integers(0, different, 600 - different)]])
    assert len(np.unique(points, axis=0)) == different
    notes = points_notes(read_table(rng.permutation(points), name="x"))
    assert len(notes) == told
    if told:
        assert notes[0].startswith(f"Of the 600 public points only {different} differ ")
        assert notes[0].severity is Severity.WARNING
    assert rows_notes(read_table(points, name="x")) == []


@pytest.mark.parametrize("rare", [0.02, 0.1, 0.5])
@pytest.mark.parametrize("columns", [2, 6, 12])
def test_coarse_points_are_equal_by_chance(rng, columns, rare):
    coarse = (rng.random((2000, columns)) < rare).astype(float)
    assert points_notes(read_table(coarse, name="x")) == []
    # Half of the columns follow one, but for a tenth of the rows; one has ten values.
    same = np.where(rng.random((2000, columns)) < 0.1, coarse, coarse[:, :1])
    ten = rng.integers(0, 10, (2000, 1))
    assert points_notes(read_table(np.hstack([coarse, same, ten]), name="x")) == []


def learnt(public_points):
    ballots = [np.eye(2, dtype=int)[(public_points["age"] > 50).cast(int).to_numpy()]] * 60
    return dpsumm.learn(
        ballots, public_points, classes=["no", "yes"], schema=SCHEMA,
        protocol=Voting(student=Spectral(("linear",))),
        epsilon=4,
    )  # fmt: skip


def test_learn_warns_and_keeps_it_and_predict_warns_whoever_calls(tmp_path):
    with pytest.warns(UserWarning, match="^learn: Of the public points' values") as told:
        model = learnt(rows(unknown=1000))
    assert [one.filename for one in told] == [__file__]
    alarm = model.notes[0]
    assert alarm.severity is Severity.ALARM
    assert alarm.startswith("Of the public points' values 100% of heating")
    assert model.verdict.text == "read the warnings first"
    good = learnt(rows())
    good.save(tmp_path / "m")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        good.predict(rows())
    saved = load_model(tmp_path / "m")
    for call in (
        good.predict,
        good.predict_proba,
        saved.predict,
        saved.predict_proba,
        lambda given: saved.save_predictions(given, tmp_path / "p.csv"),
    ):
        with pytest.warns(UserWarning, match="^Of the rows' values 50% of age were") as told:
            call(rows(clipped=500))
        assert [one.filename for one in told] == [__file__]

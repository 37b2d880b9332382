"""A model's file: the same predictions, and nothing else than numbers is read."""

import pickle
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

import dpsumm
from dpsumm import Voting
from dpsumm.data.inputs import read_table
from dpsumm.data.schema_toml import to_toml
from dpsumm.ensemble import SavedModel, Spectral, load_model, saved
from dpsumm.ensemble.certainty import FULL, Certainty
from dpsumm.ensemble.inputs import float64
from dpsumm.ensemble.students.bases import Random
from dpsumm.ensemble.students.plain import Plain
from dpsumm.errors import InvalidDataError, InvalidParameterError


def made(rng, classes, **more):
    k = len(classes)
    votes = rng.integers(0, k, (30, 400))
    centres = rng.normal(0, 3, (k, 3))
    points = np.concatenate([c + rng.normal(size=(400 // k, 3)) for c in centres])
    ballots = [np.eye(k, dtype=int)[v[: len(points)]] for v in votes]
    frame = pl.DataFrame(points, schema=["a", "b", "c"])
    known = {"a": (-20, 20), "b": "number", "c": "number"}
    with pytest.warns(UserWarning, match="few"):
        model = dpsumm.learn(ballots, frame, classes=classes, epsilon=8, schema=known, **more)
    return model, frame


@pytest.mark.parametrize("classes", [["no", "yes"], [0, 1, 2, 3]], ids=str)
@pytest.mark.parametrize(
    "student",
    [Spectral(("linear",)), Spectral(("features",)), Spectral(("graph",))],
    ids=repr,
)
def test_the_file_predicts_the_same(classes, student, rng, tmp_path):
    model, frame = made(rng, classes, protocol=Voting(student=student))
    model.save(tmp_path / "model")
    again = load_model(tmp_path / "model")
    np.testing.assert_allclose(
        again.predict_proba(frame), model.predict_proba(frame), rtol=1e-6, atol=1e-7
    )
    assert again.classes_.tolist() == model.classes_.tolist() == classes
    assert again.columns == ("a", "b", "c")
    assert (again.predict(frame) == model.predict(frame)).mean() > 0.99
    assert again.statements == tuple(model.privacy.statements())
    assert (again.run, again.student) == (model.votes.run, model.student)
    assert again.certainty == model.certainty
    assert again.certainty.factor < 1


def told(path, *, validated):
    return sum("validation points" in text for text in load_model(path).statements) == validated


def test_every_file_says_whether_labelled_points_chose_the_student(rng, tmp_path):
    """One label may choose another one, which is another file: what stands in it tells so."""
    model, frame = made(rng, [0, 1], protocol=Voting(student=Spectral(("linear",))))
    points, path = frame[:9], tmp_path / "model"
    model.save(path)
    assert told(path, validated=False)
    for labels in (np.zeros(9, int), model.predict(points), 1 - model.predict(points)):
        chosen = model.refit(
            [Spectral(("linear",)), Spectral(("features",))], validation=(points, labels)
        )
        for one in (chosen, chosen.refit(Spectral(("linear",)))):  # which uses them again
            one.save(path)
            assert told(path, validated=True)
            assert any("validation points" in text for text in one.record.statements)
            one.save_predictions(tmp_path / "rows.csv")
            assert "validation points" in (tmp_path / "rows.csv.json").read_text()
    asked, _ = made(
        rng, [0, 1], protocol=Voting(student=Spectral(("linear",))), validation=(points, labels)
    )
    asked.save(path)
    assert told(path, validated=True)
    assert any("validation points" in text for text in asked.record.statements)


def test_a_pickle_leaves_the_labelled_points_at_home(rng):
    model, frame = made(rng, [0, 1], protocol=Voting(student=Spectral(("linear",))))
    points = rng.normal(size=(9, 3)) + 1000 / 3
    chosen = model.refit(validation=(points, np.arange(9) % 2))
    assert chosen.verdict.text
    given = float64(read_table(points, name="own", schema=model._space.schema))
    assert given[0].tobytes() in pickle.dumps(chosen._validation)  # power
    data = pickle.dumps(chosen)
    assert not any(row.tobytes() in data for row in given)
    again = pickle.loads(data)
    np.testing.assert_array_equal(again.predict(frame), chosen.predict(frame))
    assert again.privacy.validated
    assert not again.refit().privacy.validated


def test_what_may_not_leave_and_what_would_be_code_is_not_written(rng, tmp_path):
    model, frame = made(rng, [0, 1], protocol=Voting(student=DecisionTreeClassifier(max_depth=2)))
    with pytest.raises(InvalidParameterError, match="saved as code"):
        model.save(tmp_path / "model")
    model.refit(Spectral(("linear",))).save(tmp_path / "model")
    with pytest.warns(UserWarning, match="few"):
        hidden = dpsumm.learn(
            [GaussianNB().fit(frame.to_numpy(), np.arange(400) % 2) for _ in range(20)],
            frame.to_numpy(),
            classes=[0, 1],
            epsilon=8,
            protocol=Voting(points_are="consumer", student=Spectral(("linear",))),
        )
    with pytest.raises(InvalidParameterError, match="without any guarantee"):
        hidden.save(tmp_path / "hidden")
    assert not (tmp_path / "hidden").exists()


def with_certainty(model, factor, shares):
    """A file that `save` would refuse to write."""
    other = replace(model.to_save(), certainty=Certainty(factor, shares))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(saved, "_is_certainty", lambda *_: True)
        return saved.CODEC.encode(other)


def test_a_damaged_file_is_refused(rng, tmp_path):
    model, _ = made(rng, [0, 1], protocol=Voting(student=Spectral(("graph",))))
    path = tmp_path / "model"
    model.save(path)
    good = path.read_bytes()
    for bad in (
        b"",
        good[:-1],
        good + b"x",
        good.replace(b'"Plain"', b'"Plaim"'),
        good.replace(b"[columns.c]", b"[columns.d]\n[columns.c]"),
        good.replace(b"columns.c", b"columns.b"),
        b"\x80\x04pickle",
        with_certainty(model, 0.5, (0.5,)),
        with_certainty(model, -0.1, (0.5, 0.5)),
        with_certainty(model, 0.5, (0.5, 1.5)),
        model.votes.to_bytes(),
    ):
        path.write_bytes(bad)
        with pytest.raises(InvalidDataError, match="not a model of this version"):
            load_model(path)
    with pytest.raises(InvalidParameterError, match="cannot be read"):
        load_model(tmp_path / "none")


def test_a_small_file_cannot_ask_for_a_large_map(monkeypatch, tmp_path):
    """1 MB of weights and columns for 21 GB of random features, as soon as it predicts."""
    columns = 20_000
    schema = to_toml(dpsumm.Schema.numbers([f"x{i}" for i in range(columns)]).columns)
    learnt = Plain(Random(1.0, columns, 2**17), np.zeros((2**17 + 1, 1)), softmax=False)
    model = SavedModel("r", (0, 1), schema, "s", learnt, FULL, ())
    with monkeypatch.context() as patch:
        patch.setattr(saved, "MOST_MAP", 2**40)
        model.save(tmp_path / "model")
    assert (tmp_path / "model").stat().st_size < 3e6
    with pytest.raises(InvalidDataError, match="is not a model"):
        load_model(tmp_path / "model")


def test_predictions_in_blocks_are_those_of_all_rows(rng, monkeypatch):
    for student in (Spectral(("features",)), Spectral(("graph",))):
        model, frame = made(rng, [0, 1, 2], protocol=Voting(student=student))
        for one in (model, model.to_save()):
            # Before they are made less sure, which jumps where two classes tie.
            whole = one._chances(frame)
            with monkeypatch.context() as patch:
                patch.setattr("dpsumm.ensemble.students.student._ROWS", 7)
                np.testing.assert_allclose(one._chances(frame), whole, rtol=1e-6, atol=1e-9)

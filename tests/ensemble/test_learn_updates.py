"""`learn` by private updates: who is asked, what comes out, what is refused and told."""

import warnings

import numpy as np
import polars as pl
import pytest
from sklearn.naive_bayes import GaussianNB

import dpsumm
from dpsumm import Column, Schema, Updates, Voting
from dpsumm.ensemble import Model, load_model
from dpsumm.ensemble.updates.model import UpdatesModel
from dpsumm.ensemble.updates.party import Updater
from dpsumm.errors import InvalidDataError, InvalidParameterError
from dpsumm.privacy import Unit

RECORD = "replace one record"


def people(rng, n, classes=3):
    x = rng.normal(size=(n, 4))
    scores = x @ np.random.default_rng(5).normal(size=(4, classes))
    return x, scores.argmax(1)


def learn(parties, points, **given):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "learn: ")
        return dpsumm.learn(parties, points, **{"classes": [0, 1, 2]} | given)


@pytest.fixture
def parties(rng):
    return {f"p{i}": people(rng, 30) for i in range(120)}


@pytest.fixture
def points(rng):
    return rng.normal(size=(1200, 4))


@pytest.mark.same_draws
@pytest.mark.parametrize("unit", [Unit.WHOLE_OWNER.value, RECORD])
def test_it_learns_and_says_what_it_cost(parties, points, unit, rng, tmp_path):
    told = []
    model = learn(parties, points, unit=unit, epsilon=3, progress=lambda *what: told.append(what))
    assert isinstance(model, Model)
    x, y = people(rng, 2000)
    chances = model.predict_proba(x)
    np.testing.assert_allclose(chances.sum(1), 1)
    assert (model.predict(x) == y).mean() > 0.8
    assert np.array_equal(model.classes_[chances.argmax(1)], model.predict(x))
    assert 2.99 < model.privacy.epsilon() <= 3.0
    assert 2.99 < model.privacy.epsilon(1e-5, unit=RECORD) <= 3.0
    assert model.privacy.epsilon(unit=Unit.WHOLE_OWNER) == (
        np.inf if unit == RECORD else pytest.approx(3, abs=0.01)
    )
    assert len(model.privacy.charges) == 8
    assert model.verdict.good
    assert "the updates tell points apart" in model.verdict.text
    assert "(3" in model.privacy.statements()[0]
    assert model.record.protocol == "Private updates"
    assert told[-1] == ("release", 1, 1)
    assert "noisy updates of 120 parties in 8 rounds" in repr(model)
    model.save(tmp_path / "m.dpsumm")
    read = load_model(tmp_path / "m.dpsumm")
    np.testing.assert_allclose(read.predict_proba(x), chances, atol=1e-12)
    model.save_predictions(tmp_path / "p.csv")
    assert len(model.to_frame()) == len(points)
    page = model.report(tmp_path / "page.html").html
    assert "Length over noise alone" in page
    # Rounds that are alike are one bar and one line.
    assert page.count("each of 8 rounds") == 2
    assert "round 1 of 8" not in page
    for call in (model.refit, lambda: model.strength):
        with pytest.raises(InvalidParameterError, match="updates"):
            call()


def test_frames_with_a_schema_and_two_classes(rng):
    schema = Schema(
        [Column("a", bounds=(-4, 4)), Column("b", categories=("u", "v")), Column("y", "label")]
    )

    def frame(n):
        a, b = rng.normal(size=n), rng.choice(["u", "v"], n)
        y = np.where(a + (b == "u") > 0.5, "yes", "no")
        return pl.DataFrame({"a": a, "b": b, "y": y})

    owners = {f"p{i}": frame(40) for i in range(60)}
    test = frame(1000)
    model = learn(owners, frame(800).drop("y"), classes=["no", "yes"], schema=schema, epsilon=4)
    assert isinstance(model, UpdatesModel)
    assert (model.predict(test.drop("y")) == test["y"].to_numpy()).mean() > 0.8


def test_records_are_updates_and_all_else_is_votes(parties, points):
    few = dict(list(parties.items())[:4])
    fitted = {name: GaussianNB().fit(*one) for name, one in few.items()}
    quick = {"allow_weak_privacy": True, "epsilon": 1.0}
    assert isinstance(learn(few, points, **quick), UpdatesModel)
    judged = learn(few, points, validation=few["p0"], **quick)
    assert isinstance(judged, UpdatesModel)
    assert judged.accuracy == (judged.predict(few["p0"][0]) == few["p0"][1]).mean()
    for one, more in (
        (fitted, {}),
        ({**few, "p0": fitted["p0"]}, {}),
        (few, {"protocol": "votes"}),
        (few, {"protocol": Voting(models_per_owner=2), "unit": RECORD}),
    ):
        assert not isinstance(learn(one, points, **more, **quick), UpdatesModel)
    for more, why in (
        ({"protocol": "both"}, "protocol must be"),
        ({"protocol": Updates(records_per_owner=0)}, "records_per_owner"),
    ):
        with pytest.raises(InvalidParameterError, match=why):
            learn(few, points, **more, **quick)
    with pytest.raises(InvalidParameterError, match="gives no records"):
        learn(fitted, points, protocol="updates", **quick)
    with pytest.raises(InvalidDataError, match="labels are numbers"):
        learn(few, points, **quick | {"classes": ["a", "b"]})


def test_a_seed_repeats_it_and_promises_nothing(parties, points):
    one, two, other = (learn(parties, points, seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(one.votes.sums, two.votes.sums)
    assert not np.array_equal(one.votes.sums, other.votes.sums)
    assert len({tuple(row - row % 4) for row in one.votes.sums}) == 8
    assert one.privacy.epsilon() == np.inf
    assert "seed" in one.verdict.text


def test_a_resumed_run_says_so_and_is_not_charged_again(parties, points, tmp_path):
    dpsumm.Ledger.create(tmp_path / "l.db").close()
    book = {"ledger": tmp_path / "l.db", "run": "r"}
    one, two = (learn(parties, points, **book) for _ in range(2))
    assert np.array_equal(one.votes.sums, two.votes.sums)
    np.testing.assert_array_equal(one.predict_proba(points), two.predict_proba(points))
    assert two.privacy.charges == one.privacy.charges
    assert any("resumed" in note for note in two.foreseen)
    for change in ({"epsilon": 0.5}, {"classes": [0, 1, 2, 3]}, {"protocol": "votes"}):
        with pytest.raises(InvalidParameterError):
            learn(parties, points, **book, **change)


def test_a_run_that_died_between_rounds_is_resumed(parties, points, tmp_path, monkeypatch):
    """By the call itself, whose parties are new ones."""
    dpsumm.Ledger.create(tmp_path / "l.db").close()
    book = {"ledger": tmp_path / "l.db", "run": "r"}
    whole, asked = Updater._vector, []

    def dies(self, task):
        asked.append(task.step.number)
        if asked[-1] == 4:
            raise KeyboardInterrupt
        return whole(self, task)

    with monkeypatch.context() as patch:
        patch.setattr(Updater, "_vector", dies)
        with pytest.raises(KeyboardInterrupt):
            learn(parties, points, **book)
    model = learn(parties, points, **book)
    assert len(model.privacy.charges) == 8
    assert any("resumed" in note for note in model.foreseen)
    again = learn(parties, points, **book)
    assert np.array_equal(again.votes.sums, model.votes.sums)


@pytest.mark.same_draws
def test_with_little_noise_a_model_is_not_too_sure(rng):
    """Records that are cut are its confident mistakes: .035 too sure if each round cut them."""

    def patients(n):
        x = rng.normal(size=(n, 4))
        return x, (rng.random(n) < 1 / (1 + np.exp(-x @ [2, -1, 0.5, 0]))).astype(int)

    parties = {f"p{i}": patients(500) for i in range(20)}
    excess = []
    for _ in range(4):
        model = learn(parties, patients(1500)[0], classes=[0, 1], unit=RECORD)
        x, y = patients(20_000)
        chances = model.predict_proba(x)
        excess.append(chances.max(1).mean() - (chances.argmax(1) == y).mean())
    assert abs(np.mean(excess)) < 0.02


@pytest.mark.same_draws
def test_points_unlike_the_records_are_told_of(rng):
    def around(middle, n):
        x = rng.normal(size=(n, 4)) + middle
        return x, (x[:, 0] * x[:, 1] > middle**2).astype(int)

    parties = {f"p{i}": around(-1.5, 50) for i in range(120)}
    given = {"classes": [0, 1], "unit": RECORD, "epsilon": 3}
    alike = learn(parties, around(-1.5, 1000)[0], **given)
    assert not any("unlike" in note for note in alike.notes)
    model = learn(parties, around(1.5, 1000)[0], **given)
    assert not model.verdict.good
    assert (
        "Do not use this model: the public points are unlike the parties' records"
        in (model.notes[0])
    )
    assert "protocol='votes'" in model.notes[0]


@pytest.mark.same_draws
def test_nothing_but_noise_is_said(points, rng):
    owners = {f"p{i}": people(rng, 5) for i in range(5)}
    model = learn(owners, points, epsilon=0.1, allow_weak_privacy=True)
    assert not model.verdict.good
    assert any("the noise hides what the updates say" in note for note in model.notes)


@pytest.mark.parametrize("protocol", ["votes", "updates"])
def test_public_points_that_are_all_the_same_are_refused(protocol, rng):
    owners = {f"p{i}": people(rng, 5) for i in range(5)}
    same = np.tile(rng.normal(size=owners["p0"][0].shape[1]), (30, 1))
    with pytest.raises(InvalidParameterError, match="must not all be the same"):
        learn(owners, same, classes=[0, 1], protocol=protocol, allow_weak_privacy=True)


def test_strange_tables_end_without_a_warning_that_tells(rng):
    """More columns than points, columns that do not vary, a class that nobody has."""
    for points in (
        rng.normal(size=(25, 60)),
        np.eye(30, 3),
        rng.normal(size=(40, 2)) * [1e-9, 1e9],
    ):
        d = points.shape[1]
        owners = {f"p{i}": (rng.normal(size=(6, d)), np.full(6, i % 2)) for i in range(6)}
        owners["p0"] = (rng.normal(size=(6, d)) * 1e14, np.zeros(6, int))
        for classes in ([0, 1], [0, 1, 2, 3, 4]):
            model = learn(owners, points, classes=classes, allow_weak_privacy=True)
            assert np.isfinite(model.predict_proba(points)).all()

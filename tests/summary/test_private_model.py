"""Models that may be shown: which summaries, what is charged, and what they predict."""

import math
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import dpsumm
from dpsumm import RBF, Ledger, Offers, Pool
from dpsumm.errors import BudgetExceededError, InvalidDataError, InvalidParameterError
from dpsumm.papers import Auction
from dpsumm.privacy import Approximate, Observer, Protected
from dpsumm.summary import Greedy, Protocol, Uniform
from dpsumm.summary.models import model as models
from dpsumm.summary.models import perturbation
from dpsumm.summary.models.objective import Objective
from helpers.transcripts import setting_of

BOUNDS = {"x0": (-1, 1), "x1": (-1, 1)}


def population(rng, n, n_classes=2):
    points = rng.uniform(-1, 1, (n, 2))
    return points, np.digitize(points @ [2, 1], np.linspace(-2, 2, n_classes + 1)[1:-1])


def summary_of(rng, protocol, size=300, *, n_classes=2, **more):
    owners = {name: population(rng, 400, n_classes) for name in "abc"}
    given = {"schema": BOUNDS, "size": size, "protocol": protocol, "allow_weak_privacy": True}
    return dpsumm.summarize(owners, population(rng, 100)[0], **given, **more)


# --- which summaries ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("protocol", "reason"),
    [
        (Offers(n_features=32), "under Offers an owner's points are chosen together"),
        (Auction(), "chose again from all received points"),
        (Pool(), "from a larger pool by the greedy"),
        (Greedy(), "from a larger pool by the greedy"),
    ],
)
def test_unstable_summaries_are_refused_with_the_reason_and_the_ways_out(protocol, reason, rng):
    summary = summary_of(rng, protocol, 30)
    with pytest.raises(InvalidParameterError) as error:
        summary.private_model([0, 1])
    assert reason in str(error.value)
    assert r"Auction(reselect=False)" in str(error.value)
    assert all(charge.observer is Observer.OWNER for charge in summary.privacy.charges)


def test_protocols_say_how_many_points_one_record_changes():
    setting = setting_of(np.zeros((5, 1)), {"a": 20, "b": 30}, None, size=40)
    for protocol, points in (
        (Uniform(), 1),
        (Pool(reads_per_record=1), 1),
        (Pool(reads_per_record=1.1), None),
        (Greedy(), None),
        (Offers(), None),
        (Auction(), None),
        (Auction(reselect=False), 2),
    ):
        stability = protocol.stability(setting)
        assert stability.points == points, protocol
    everything = replace(setting, size=50)
    for protocol in (Greedy(), Pool(reads_per_record=4)):
        assert protocol.stability(everything).points == 1

    class Own(Protocol):
        name, owners_argument = "own", "None."

        def curator(self, setting):
            raise NotImplementedError

    assert Own().stability(setting).points is None


@pytest.mark.parametrize(
    ("protocol", "more"),
    [
        (Auction(reselect=False, requests="winner"), {}),
        (Auction(reselect=False, requests="published", batch=1, n_features=16), {}),
        (Auction(reselect=False), {"seed": 3}),
    ],
)
def test_a_run_without_a_guarantee_for_the_owners_has_no_private_model(protocol, more, rng):
    summary = summary_of(rng, protocol, 20, **more)
    with pytest.raises(InvalidParameterError, match="no guarantee for the owners' records"):
        summary.private_model([0, 1])


def test_what_was_spent_before_is_part_of_epsilon(rng):
    summary = summary_of(rng, Auction(reselect=False, epsilon_owners=1.0))
    said = r"was spent before this model, at delta 5e-06, which .* run's 1e-05. Ask for more, or"
    with pytest.raises(InvalidParameterError, match=said):
        summary.private_model([0, 1], epsilon=0.9)
    model = summary.private_model([0, 1], epsilon=2.0)
    assert 1.99 < model.privacy.epsilon(protected="owners") <= 2.0
    assert summary.privacy is model.privacy


def test_an_epsilon_that_promises_nothing_is_refused_before_it_is_charged(rng):
    summary = summary_of(rng, Uniform())
    with pytest.raises(InvalidParameterError, match="epsilon 50 promises next to nothing"):
        summary.private_model([0, 1], epsilon=50.0)
    assert summary.privacy.charges == ()
    assert summary.notes == ()
    summary.private_model([0, 1], epsilon=50.0, allow_weak_privacy=True)
    assert summary.notes[0].startswith(
        "Epsilon 50, of the owners' records towards everyone, promises next to nothing"
    )
    assert summary.notes[0].severity.name == "ALARM"


# --- charges ------------------------------------------------------------------------------------


def public(report):
    return [charge for charge in report.charges if charge.observer is Observer.PUBLIC]


def test_a_model_is_charged_for_everyone_and_reported(rng):
    summary = summary_of(rng, Uniform())
    before = summary.privacy.epsilon()
    model = summary.private_model([0, 1], epsilon=0.7)
    (charge,) = public(model.privacy)
    assert charge.protected is Protected.OWNERS
    assert isinstance(charge.event, Approximate)
    assert 0.699 < model.privacy.epsilon(protected="owners") <= 0.7
    assert model.privacy.epsilon() == before == 0
    text = " ".join(summary.privacy.statements())
    assert "Each owner's records towards everyone: (0.7, 1e-05)-differential" in text
    assert "May be shown to everyone: weights of a model of 2 classes, 300 points" in text
    assert "or another model trained on it" in text
    assert repr(model) == "PrivateModel(classes=(0, 1), epsilon=0.7, columns=2)"
    # A second one is added up.
    with pytest.raises(InvalidParameterError, match="This summary has given a model"):
        summary.private_model([0, 1], epsilon=0.7, key="second")
    again = summary.private_model([0, 1], epsilon=1.5, key="second")
    assert len(public(again.privacy)) == 2
    assert 1.499 < again.privacy.epsilon(protected="owners") <= 1.5
    assert (again.layers[0] != model.layers[0]).any()


def test_once_a_model_may_be_shown_the_total_is_no_longer_called_between_owners(rng):
    summary = summary_of(rng, Uniform())
    between, everyone = "epsilon between owners", "epsilon of the owners, towards everyone"
    shown = "Anyone who guesses a fact about a record of an owner"
    assert between in summary._repr_html_()
    assert everyone not in summary._repr_html_()
    assert shown not in summary.report().html
    summary.private_model([0, 1], epsilon=0.7)
    assert everyone in summary._repr_html_()
    assert between not in summary._repr_html_()
    assert shown in summary.report().html


def test_the_books_have_the_model_and_give_it_again(tmp_path, rng):
    path = tmp_path / "books.db"
    Ledger.create(path, caps={"owners": (2.0, 1e-4)}).close()
    auction = Auction(reselect=False, epsilon_owners=0.5)
    summary = summary_of(rng, auction, ledger=path, run="first")
    model = summary.private_model([0, 1], epsilon=1.0)
    same = summary.private_model([0, 1], epsilon=1.0)
    assert (model.layers[0] == same.layers[0]).all()
    assert len(public(same.privacy)) == 1
    with Ledger(path) as book:
        assert book.spent("owners", run="first")[0] == model.privacy.epsilon(protected="owners")
    with pytest.raises(InvalidParameterError, match="made with other parameters"):
        summary.private_model([1, 0], epsilon=1.0)
    other = summary.private_model([1, 0], epsilon=1.6, key="other")
    assert (summary.private_model([0, 1], epsilon=1.0).layers[0] == model.layers[0]).all()
    assert other.privacy.epsilon(protected="owners") <= 1.6
    with pytest.raises(BudgetExceededError):
        summary.private_model([0, 1], epsilon=3.0, key="beyond")
    with Ledger(path) as book:
        assert book.spent("owners")[0] <= 1.6


def test_nothing_is_drawn_before_the_charge(rng, monkeypatch):
    summary = summary_of(rng, Uniform())

    def fail(*_):
        raise RuntimeError("drawn")

    monkeypatch.setattr(perturbation.Grid, "draw", fail)
    with pytest.raises(RuntimeError, match="drawn"):
        summary.private_model([0, 1])
    assert public(summary.privacy) == []


# --- the model itself ---------------------------------------------------------------------------


@pytest.mark.same_draws
@pytest.mark.parametrize("n_classes", [2, 4])
def test_a_model_of_many_points_is_like_the_one_without_noise(n_classes, rng):
    owners = [population(rng, 4000, n_classes) for _ in range(2)]
    target, fresh = population(rng, 50)[0], population(rng, 2000, n_classes)
    summary = dpsumm.summarize(owners, target, size=8000, protocol=Uniform(), schema=BOUNDS)
    names = list(range(n_classes))
    model = summary.private_model(names, epsilon=8.0)
    assert (model.predict(fresh[0]) == fresh[1]).mean() > 0.85
    chances = model.predict_proba(fresh[0])
    assert chances.shape == (2000, n_classes)
    np.testing.assert_allclose(chances.sum(axis=1), 1)
    assert (np.array(names)[chances.argmax(axis=1)] == model.predict(fresh[0])).all()
    rows = model.ball(summary.scaled)
    exact = Objective(rows, summary.labels, n_classes, model.noise.regularization)
    best = exact.minimise(np.zeros(exact.shape), 1e-9)
    # The slope's noise moves the minimiser by its norm over lambda at the most.
    moved = np.linalg.norm(model.layers[0] - best)
    assert (
        0 < moved < model.noise.slope_std * (math.sqrt(best.size) + 6) / model.noise.regularization
    )


def without_noise(monkeypatch):
    monkeypatch.setattr(
        perturbation.annex, "rounded_normal", lambda _, size: np.zeros(size, np.int64)
    )


def test_nothing_but_the_set_of_points_enters(rng, monkeypatch):
    without_noise(monkeypatch)
    summary = summary_of(rng, Uniform())
    first = summary.private_model([0, 1]).layers[0]
    order = rng.permutation(len(summary))
    mixed = replace(
        summary,
        scaled=summary.scaled[order],
        labels=summary.labels[order],
        target=summary.target + 1,
        run="another",
    )
    assert (mixed.private_model([0, 1], epsilon=2.0, regularization=0.1).layers[0] != first).any()
    mixed = replace(mixed, privacy=replace(mixed.privacy, charges=()))
    assert (mixed.private_model([0, 1]).layers[0] == first).all()


@pytest.mark.same_draws
def test_labels_that_are_texts_and_records_by_name(rng):
    polars = pytest.importorskip("polars")
    points, labels = population(rng, 3000)
    frame = polars.DataFrame(
        {"x0": points[:, 0], "x1": points[:, 1], "y": np.array(["no", "yes"])[labels]}
    )
    summary = dpsumm.summarize(
        {"a": frame},
        frame.select("x0", "x1")[:50],
        size=2500,
        schema=BOUNDS | {"y": "label"},
        protocol=Uniform(),
    )
    model = summary.private_model(("no", "yes"), epsilon=4.0)
    found = model.predict(frame.select("x1", "x0"))
    assert set(found) <= {"no", "yes"}
    assert (found == frame["y"].to_numpy()).mean() > 0.85


@pytest.mark.parametrize("classes", [[1, 2], ["1", "2"], ["1", "2", "x"]])
@pytest.mark.parametrize("field", ["2", "x", "01", "2020-01-01"])
def test_one_label_decides_nothing_about_how_others_are_read(classes, field, rng, tmp_path):
    """A file's labels are numbers unless one of them is none."""
    places = []
    for last in ("2", field):
        labels = ["1", "2"] * 60 + [last]
        rows = "".join(
            f"{x:.3f},{label}\n" for x, label in zip(rng.random(121), labels, strict=True)
        )
        (tmp_path / "a.csv").write_text("x,y\n" + rows)
        summary = dpsumm.summarize(
            {"a": tmp_path / "a.csv"},
            rng.random((30, 1)),
            size=121,
            schema={"x": (0, 1), "y": "label"},
            protocol=Pool(reads_per_record=1),
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a label that is not listed
            summary.private_model(classes, epsilon=2.0)
        answers = models.places_of(summary.labels, tuple(classes))
        places.append(dict(zip(summary.index.tolist(), answers.tolist(), strict=True)))
    assert {row for row in range(121) if places[0][row] != places[1][row]} <= {120}
    assert [places[0][row] for row in (0, 1)] == [0, 1]


def test_a_label_that_is_not_listed_counts_for_nothing_and_only_the_consumer_hears(
    rng, monkeypatch
):
    without_noise(monkeypatch)
    summary = summary_of(rng, Uniform(), n_classes=3)
    with pytest.warns(UserWarning, match="count for nothing"):
        model = summary.private_model([0, 2], epsilon=2.0)
    kept = summary.labels != 1
    rows = model.ball(summary.scaled)
    answers = np.where(kept, summary.labels // 2, -1)
    exact = Objective(rows, answers, 2, model.noise.regularization)
    best = exact.minimise(np.zeros(exact.shape), 1e-9)
    np.testing.assert_allclose(model.layers[0], best, atol=1e-5)
    assert "1" not in repr(model.classes)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"classes": [0]}, "classes must list"),
        ({"classes": [0, 0]}, "classes must list"),
        ({"classes": "01"}, "classes must list"),
        ({"classes": [0, "1"]}, "classes must list"),
        ({"epsilon": 0}, "epsilon must be"),
        ({"regularization": 0}, "regularization must be"),
        ({"norm": -1}, "norm must be"),
    ],
)
def test_parameters_out_of_range_are_refused(change, message, rng):
    summary = summary_of(rng, Uniform(), 20)
    with pytest.raises(InvalidParameterError, match=message):
        summary.private_model(**{"classes": [0, 1], **change})
    assert summary.privacy.charges == ()


def test_a_summary_without_labels_or_of_fewer_points_is_refused(rng):
    summary = summary_of(rng, Uniform(), 20)
    with pytest.raises(InvalidParameterError, match="no labels"):
        replace(summary, labels=None).private_model([0, 1])
    with pytest.raises(InvalidParameterError, match="fewer points"):
        replace(summary, size_requested=21).private_model([0, 1])
    owners = [population(rng, 30)]
    embedding = dpsumm.summary.Embedding.draw(RBF.for_unit_box(2), 2, 32)
    hidden = dpsumm.summarize(
        owners, owners[0][0], size=10, schema=BOUNDS, protocol=Uniform(), kernel=embedding
    )
    with pytest.raises(InvalidParameterError, match="secret map"):
        hidden.private_model([0, 1])


def test_a_row_that_the_schema_drops_has_no_prediction(rng):
    columns = [dpsumm.Column(name, bounds=(-1, 1), when_missing="drop") for name in ("x0", "x1")]
    owners = {name: population(rng, 400)[0] for name in "abc"}
    owners = {
        name: pd.DataFrame(points, columns=["x0", "x1"]).assign(y=(points[:, 0] > 0).astype(int))
        for name, points in owners.items()
    }
    target = pd.DataFrame(population(rng, 100)[0], columns=["x0", "x1"])
    schema = dpsumm.Schema([*columns, dpsumm.Column("y", "label")])
    summary = dpsumm.summarize(owners, target, size=300, schema=schema, protocol=Uniform())
    model = summary.private_model([0, 1])
    assert len(model.predict(target)) == 100
    target.loc[3, "x1"] = np.nan
    with pytest.raises(InvalidDataError, match="a row that is dropped has no prediction"):
        model.predict(target)

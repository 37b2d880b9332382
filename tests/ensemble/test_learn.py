"""The whole call: parties of every kind, public points, plans."""

import importlib.util

import numpy as np
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

import dpsumm
from dpsumm import Updates, Voting
from dpsumm.ensemble import Model, NoisyVotes, Spectral
from dpsumm.errors import (
    BudgetExceededError,
    InvalidParameterError,
    MissingExtraError,
    ProtocolError,
)
from helpers.learning import FAST, M, N, learn, people
from helpers.votes import one_hot


@pytest.mark.same_draws
def test_it_learns_what_the_parties_know(parties, public_points, rng):
    told = []
    model = dpsumm.learn(
        parties,
        public_points,
        classes=[1, 0],
        epsilon=4,
        protocol="votes",
        progress=lambda *what: told.append(what),
    )
    x, y = people(rng, 1000)
    assert (model.predict(x) == y).mean() > 0.85
    chances = model.predict_proba(x)
    assert chances.shape == (1000, 2)
    np.testing.assert_allclose(chances.sum(1), 1)
    assert model.classes_.tolist() == [0, 1]
    assert model.votes.counts.shape == (N, 1)
    assert 3.99 < model.privacy.epsilon() <= 4
    assert model.privacy.epsilon(protected="target") == 0
    assert model.privacy.epsilon(unit="replace one record") == model.privacy.epsilon()
    assert model.foreseen == ()
    said = "Model(2 classes from noisy votes of 60 parties on 1,200 points: student='"
    assert said in repr(model)
    assert told[-1] == ("release", 1, 1)
    assert ("votes", M, M) in told
    # Other students on the same release, and no other charge.
    again = model.refit(Spectral(("linear",)), validation=(x[:100], y[:100]))
    assert again.votes is model.votes
    assert again.candidates[0].accuracy > 0.8
    assert (again.predict(x) == y).mean() > 0.85
    assert again.refit([FAST, Spectral(("features",))]).student  # the validation set is kept
    sentences = "\n".join(model.privacy.statements())
    assert "differential privacy for all records of a party" in sentences
    assert "Not protected: anything of the parties towards the curator" in sentences


@pytest.mark.same_draws
def test_parties_of_every_kind(rng, public_points):
    frames = {
        f"f{i}": pl.DataFrame(people(rng, 30)[0], schema=["a", "b"]).with_columns(
            y=pl.when(pl.col("a") + pl.col("b") > 0).then(pl.lit("yes")).otherwise(pl.lit("no"))
        )
        for i in range(20)
    }
    fitted = {
        f"c{i}": kind.fit(*people(rng, 30, text=True))
        for i, kind in enumerate([LogisticRegression(), GaussianNB(), DecisionTreeClassifier()] * 7)
    }
    votes = {f"v{i}": one_hot((public_points.sum(1) > 0).astype(int), 2) for i in range(20)}
    model = learn(
        frames | fitted | votes,
        pl.DataFrame(public_points, schema=["a", "b"]),
        classes=["no", "yes"],
        schema={"a": "number", "b": "number", "y": "label"},
        epsilon=20,
        allow_weak_privacy=True,
    )
    x, y = people(rng, 500, text=True)
    frame = pl.DataFrame(x, schema=["a", "b"])
    assert (model.predict(frame.select("b", "a")) == y).mean() > 0.8
    assert model.predict(frame).dtype.kind == "U"


@pytest.mark.same_draws
def test_files_and_a_schema(rng, public_points, tmp_path):
    schema = dpsumm.Schema(
        [
            dpsumm.Column("a", bounds=(-4, 4)),
            dpsumm.Column("b", bounds=(-4, 4)),
            dpsumm.Column("y", "label"),
        ]
    )
    schema.save(tmp_path / "schema.toml")
    paths = {}
    for i in range(50):
        x, y = people(rng, 30)
        paths[f"p{i}"] = tmp_path / f"p{i}.csv"
        pl.DataFrame(x, schema=["a", "b"]).with_columns(y=y).write_csv(paths[f"p{i}"])
    pl.DataFrame(public_points, schema=["a", "b"]).write_parquet(tmp_path / "aux.parquet")
    dpsumm.Ledger.create(tmp_path / "books", caps={"owners": (8, 1e-4)}).close()
    given = {
        "parties": paths,
        "public_points": tmp_path / "aux.parquet",
        "schema": tmp_path / "schema.toml",
        "ledger": tmp_path / "books",
    }
    first = learn(**given, run="r")
    again = learn(**given, run="r")
    assert (first.votes.counts == again.votes.counts).all()
    assert "was resumed" in again.foreseen[0]
    assert [one.record.resumed for one in (first, again)] == [False, True]
    learn(**given, run="s", epsilon=3.9)
    with pytest.raises(BudgetExceededError, match="spent on the owners"):
        learn(**given, run="t")
    x, y = people(rng, 300)
    x = np.clip(x, -4, 4)
    assert (first.predict(pl.DataFrame(x, schema=["a", "b"])) == y).mean() > 0.8


def test_labels_that_are_not_listed_are_left_out(rng, public_points):
    """A party whose labels are all unknown abstains, one with a single class votes for it."""
    parties = {
        "unknown": (rng.normal(size=(9, 2)), np.full(9, 5)),
        "single": (rng.normal(size=(9, 2)), np.full(9, 1)),
    }
    with (
        pytest.warns(UserWarning, match="2 parties are few"),
        pytest.warns(UserWarning, match="such as 'unknown'"),
    ):
        model = learn(parties, public_points, classes=[0, 1, 2], epsilon=1e5, seed=0)
    wanted = one_hot(np.ones(N, int), 3)
    assert abs(model.votes.counts - wanted).max() <= 6 * model.votes.noise_std + 1


@pytest.mark.same_draws
def test_probabilities_on_a_grid(parties, public_points, rng):
    model = learn(parties, public_points, grid=100, epsilon=3)
    assert model.votes.terms.total == 100
    x, y = people(rng, 500)
    assert (model.predict(x) == y).mean() > 0.85
    with pytest.raises(InvalidParameterError, match="predict_proba"):
        learn(
            parties,
            public_points,
            classes=[0, 1],
            grid=2,
            learner=type("L", (GaussianNB,), {"predict_proba": property()})(),
        )


def test_a_seed_repeats_and_guarantees_nothing(parties, public_points):
    given = {"seed": 3, "learner": DecisionTreeClassifier()}
    first, again = (learn(parties, public_points, **given) for _ in range(2))
    assert (first.votes.counts == again.votes.counts).all()
    assert first.privacy.epsilon() == first.privacy.epsilon(unit="replace one record") == np.inf
    assert "nothing is guaranteed" in first.privacy.statements()[0]
    assert first.verdict.text.startswith("not private (a seed was given); ")
    unseeded = learn(parties, public_points, **{**given, "seed": None})
    assert (unseeded.votes.counts != first.votes.counts).any()


def test_classes_are_by_default_the_categories_of_the_schemas_label(rng, parties, public_points):
    schema = {"a": (-5, 5), "b": (-5, 5), "y": {"kind": "label", "categories": ["no", "yes"]}}
    named = {
        name: pl.DataFrame({"a": x[:, 0], "b": x[:, 1], "y": np.array(["no", "yes"])[y]})
        for name, (x, y) in parties.items()
    }
    points = pl.DataFrame(public_points, schema=["a", "b"])
    given = {"schema": schema, "epsilon": 4, "protocol": "votes", "seed": 1}
    said = dpsumm.learn(named, points, classes=["no", "yes"], **given)
    found = dpsumm.learn(named, points, **given)
    assert found.classes_.tolist() == ["no", "yes"]
    np.testing.assert_array_equal(found.votes.counts, said.votes.counts)
    for lacking in (None, {**schema, "y": "label"}):
        with pytest.raises(InvalidParameterError, match="classes: list all labels"):
            dpsumm.learn(named, points, **given | {"schema": lacking})


def test_what_is_logged_is_the_same_whatever_the_records_are(parties, public_points, caplog):
    def spoken(held, run):
        caplog.clear()
        with caplog.at_level("DEBUG", "dpsumm"):
            learn(held, public_points, run=run)
        return [record.getMessage() for record in caplog.records]

    first = spoken(parties, "r")
    assert first == spoken({name: (-x, 1 - y) for name, (x, y) in parties.items()}, "r")
    assert any("noisy votes of 60 parties" in line for line in first)


def test_without_scikit_learn_votes_and_classifiers_still_work(public_points, parties, monkeypatch):
    find = importlib.util.find_spec
    hidden = "sklearn"
    monkeypatch.setattr("importlib.util.find_spec", lambda n: None if n == hidden else find(n))
    with pytest.raises(MissingExtraError, match=r"sklearn: pip install 'dpsumm\[learn\]'"):
        learn(parties, public_points, protocol=Voting())
    votes = [one_hot((public_points.sum(1) > 0).astype(int), 2)] * M
    model = learn(votes, public_points)
    assert isinstance(model, Model)
    with pytest.raises(MissingExtraError, match=r"dpsumm\[learn\]"):
        model.refit(LogisticRegression())
    hidden = "scipy"
    with pytest.raises(MissingExtraError, match="learn needs scipy: pip install"):
        learn(votes, public_points)


def test_noisy_votes_travel_and_predictions_need_no_curator(parties, public_points, rng):
    model = learn(parties, public_points)
    read = NoisyVotes.from_bytes(model.votes.to_bytes())
    assert (read.counts == model.votes.counts).all()
    with pytest.raises(ProtocolError):
        NoisyVotes.from_bytes(model.votes.to_bytes()[:-1])
    x = rng.normal(size=(50, 2))
    assert (model.predict(x) == model.refit(FAST).predict(x)).all()


def test_the_plan_is_the_warning(public_points):
    plan = dpsumm.plan_learning(10, 10_000, 10, protocol="votes")
    assert plan.ratio > 1
    assert "models_per_owner" in plan.notes[0]
    assert plan.verdict.level == "do not use"
    assert "The noise hides what the votes say." in str(plan)
    assert "next to nothing" not in str(plan)
    weak = dpsumm.plan_learning(10, 10_000, 10, epsilon=12, delta=0.2, protocol="votes")
    said = " ".join(str(weak).split())
    assert "Look at this first: Epsilon 12 promises next to nothing" in said
    assert "Look at this first: Delta 0.2 is not below 1 / 10, one over the protected" in said
    assert not any("romises" in note for note in weak.advice)
    good = dpsumm.plan_learning(
        10, 10_000, 10, protocol=Voting(models_per_owner=100), unit="replace one record"
    )
    assert good.notes == ()
    assert good.vote_noise == pytest.approx(
        dpsumm.plan_learning(1000, 10_000, 10, protocol="votes").vote_noise
    )
    for change in ({"n_parties": 1}, {"n_points": 10}, {"n_classes": 1}):
        given = {"n_parties": 10, "n_points": 1000, "n_classes": 2, **change}
        with pytest.raises(InvalidParameterError, match=next(iter(change))):
            dpsumm.plan_learning(**given)
    for protocol, why in (
        (Voting(models_per_owner=0), "models_per_owner"),
        (Updates(records_per_owner=0), "records_per_owner"),
        ("both", "protocol must be"),
    ):
        with pytest.raises(InvalidParameterError, match=why):
            dpsumm.plan_learning(10, 1000, 2, protocol=protocol)
    with pytest.raises(InvalidParameterError, match="points_are must be 'public' or 'consumer'"):
        Voting(points_are="mine")
    with pytest.raises(InvalidParameterError, match="times"):
        dpsumm.plan_learning(10, 10**6, 100)
    with pytest.raises(InvalidParameterError, match="unit"):
        dpsumm.plan_learning(10, 1000, 2, unit="a whim")


def test_the_plan_of_updates_is_a_range_and_the_warning(rng):
    plan = dpsumm.plan_learning(4, 500, 10, protocol=Updates(records_per_owner=50), epsilon=0.3)
    assert plan.kept[1] < 0.05
    assert "Expect 0% of" in plan.notes[0]
    assert "500 public points are few" in plan.notes[1]
    assert plan.verdict.level == "do not use"
    assert all(f"Check this: {note}" in " ".join(str(plan).split()) for note in plan.notes)
    records = dpsumm.plan_learning(
        4,
        5000,
        10,
        protocol=Updates(records_per_owner=5000),
        unit="replace one record",
        n_columns=50,
    )
    assert records.kept[0] > 0.9
    assert records.notes == ()
    assert records.verdict.level == "useful"
    assert dpsumm.plan_learning(200, 5000, 10).verdict.level == "check"
    assert records.features == 100
    parties, points = [people(rng, 50) for _ in range(4)], rng.normal(size=(1500, 2))
    given = {"classes": range(10), "epsilon": 0.3, "protocol": Updates(records_per_owner=50)}
    with pytest.warns(UserWarning, match="learn: Noise over signal is .*Expect 0% of"):
        model = dpsumm.learn(parties, points, **given)
    assert model.plan.ratio == plan.ratio
    # Two classes of so few records can be easy to tell apart, or not.
    few = dpsumm.plan_learning(
        3, 500, 2, protocol=Updates(records_per_owner=20), unit="replace one record"
    )
    assert few.kept[0] < 0.05
    assert few.kept[1] > 0.9
    assert few.verdict.level == "check"
    with pytest.raises(InvalidParameterError, match="n_columns"):
        dpsumm.plan_learning(10, 1000, 2, n_columns=0)


@pytest.mark.filterwarnings("ignore:learn. Noise over signal")
def test_parties_may_be_the_files_of_a_folder_or_a_pattern(tmp_path, rng):
    (tmp_path / "sites").mkdir()
    for name in ("north", "south", "east"):
        x, y = people(rng, 30)
        frame = pl.DataFrame(x, schema=[f"x{j}" for j in range(x.shape[1])])
        frame.with_columns(y=pl.Series(y)).write_csv(tmp_path / "sites" / f"{name}.csv")
    sites = {name: tmp_path / "sites" / f"{name}.csv" for name in ("east", "north", "south")}
    public = pl.DataFrame(people(rng, N)[0], schema=frame.columns)
    schema = {**dict.fromkeys(frame.columns, (-9, 9)), "y": "label"}
    made = [
        dpsumm.learn(
            parties,
            public,
            schema=schema,
            classes=[0, 1],
            epsilon=4,
            protocol="votes",
            seed=1,
        ).votes.counts
        for parties in (sites, tmp_path / "sites", str(tmp_path / "sites" / "*.csv"))
    ]
    for counts in made[1:]:
        np.testing.assert_array_equal(counts, made[0])

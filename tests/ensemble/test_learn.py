"""The whole call: parties of every kind, what is refused, what is told, what leaks nothing."""

# ruff: noqa: NPY002

import importlib.util
import random
import warnings

import numpy as np
import polars as pl
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

import dpsumm
from dpsumm import Updates, Voting
from dpsumm.ensemble import Model, NoisyVotes, Spectral
from dpsumm.ensemble.ballots import ballot_of, train
from dpsumm.ensemble.curator import VoteCurator
from dpsumm.ensemble.terms import Terms
from dpsumm.errors import (
    BudgetExceededError,
    InvalidDataError,
    InvalidParameterError,
    MissingExtraError,
    ProtocolError,
)
from helpers.votes import by_votes, one_hot

M, N = 60, 1200


def people(rng, n, text=False):
    x = rng.normal(size=(n, 2))
    y = (x[:, 0] + x[:, 1] > 0).astype(int)
    return x, np.array(["no", "yes"])[y] if text else y


@pytest.fixture
def parties(rng):
    return {f"p{i}": people(rng, 25) for i in range(M)}


@pytest.fixture
def public_points(rng):
    return rng.normal(size=(N, 2))


FAST = Spectral(("linear",))


def learn(parties, public_points, **given):
    """The call, with what is quick and whose noise is small by default."""
    given = by_votes(given, learner=GaussianNB(), student=FAST)
    return dpsumm.learn(parties, public_points, **({"classes": [0, 1], "epsilon": 4} | given))


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


def test_a_reused_run_of_other_public_settings_is_refused_and_of_other_data_says_so(
    parties, public_points, tmp_path, rng, caplog
):
    caplog.set_level("INFO", "dpsumm")
    books = tmp_path / "books"
    dpsumm.Ledger.create(books).close()

    def again(held=parties, **given):
        return learn(held, public_points, **({"ledger": books, "run": "r"} | given))

    first = again(learner=LogisticRegression(C=2.0))
    assert "noisy votes of" in caplog.text
    for other in (
        {"learner": LogisticRegression(C=3.0)},
        {"learner": "tree"},
        {"points_are": "consumer"},
    ):
        caplog.clear()
        with pytest.raises(
            InvalidParameterError, match=r"other parameters \(learner, schema or points_are\)"
        ):
            again(**({"learner": LogisticRegression(C=2.0)} | other))
        assert "noisy votes of" not in caplog.text  # no party was asked
    for other in (
        {"classes": [0, 2]},
        {"epsilon": 3.0},
        {"held": dict(list(parties.items())[:-1])},
    ):
        with pytest.raises(InvalidParameterError, match="of run 'r' was made with other param"):
            again(**({"learner": LogisticRegression(C=2.0)} | other))
    # Whether records are those of then, nobody learns: the same votes, and the same warnings.
    equal = again(learner=LogisticRegression(C=2.0))
    others = again({name: people(rng, 5) for name in parties}, learner=LogisticRegression(C=2.0))
    assert first.votes.to_bytes() == equal.votes.to_bytes() == others.votes.to_bytes()
    assert equal.foreseen == others.foreseen
    assert "If parties' data are not those of its first part" in others.foreseen[-1]
    assert others.notes == equal.notes
    with dpsumm.Ledger(books) as book:
        assert len(book.charges()) == 1
        assert book.spent("owners") == (first.privacy.epsilon(), 1e-5)


def test_a_run_that_died_before_its_release_does_not_say_that_it_was_resumed(
    parties, public_points, tmp_path, monkeypatch
):
    books = tmp_path / "books"
    dpsumm.Ledger.create(books, caps={"owners": (1, 1e-4)}).close()
    given = {"ledger": books, "run": "r"}
    with pytest.raises(BudgetExceededError):
        learn(parties, public_points, **given, epsilon=4)
    # Nothing was released, so nothing binds it.
    model = learn(parties, public_points, **given, epsilon=1, learner="tree")
    assert not any("resumed" in note for note in model.foreseen)


@pytest.mark.parametrize("n", [60, 3])
def test_one_record_changes_one_shards_classifier(n, rng):
    """Every record alone, from the party's data to votes: whatever the replaced record is.

    Of three records two shards have none.
    """
    classes, shards = (0, 1), 5
    points = rng.normal(size=(40, 2))
    terms = Terms.of(points, classes, 2, shards=shards)
    x, y = people(rng, n)
    x, y = np.round(x, 1), y.astype(float)
    replacements = [(np.array([9.0, 9.0]), 0.0), (x[0], 7.0), (x[1], np.nan), (x[2], 1.0)]

    def votes(x, y):
        trained = train(
            x,
            y,
            np.arange(n),
            learner=DecisionTreeClassifier(max_features=1),  # with coins
            classes=classes,
            shards=shards,
            name="p",
            seed=4,
        )
        return [ballot_of(one)(points, terms) for one in trained]

    base = votes(x, y)
    for row in {0, n // 8, n // 3, n - 1}:
        for value, label in replacements:
            other_x, other_y = x.copy(), y.copy()
            other_x[row], other_y[row] = value, label
            moved = [
                shard
                for shard, (a, b) in enumerate(zip(base, votes(other_x, other_y), strict=True))
                if (a != b).any()
            ]
            assert set(moved) <= {row % shards}


def test_shards_protect_records_with_less_noise(parties, public_points):
    model = learn(parties, public_points, models_per_owner=3, unit="replace one record")
    record, owner = (
        model.privacy.epsilon(unit=u) for u in ("replace one record", "one whole owner")
    )
    assert 3.99 < record <= 4
    multiplier = model.votes.noise_multiplier
    assert owner == pytest.approx(
        dpsumm.privacy.accounting.compose([(dpsumm.privacy.Gaussian(multiplier / 3), 1)], 1e-5),
        rel=1e-6,
    )
    whole = learn(parties, public_points, models_per_owner=3)
    assert whole.votes.noise_std == pytest.approx(3 * model.votes.noise_std)
    assert model.privacy.statements()[0].count("differential privacy for") == 2


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


class Talkative(LogisticRegression):
    def fit(self, x, y):
        if len(y) > 20:
            warnings.warn(f"secret {x[0, 0]}", ConvergenceWarning, stacklevel=2)
        np.random.seed(0)
        return super().fit(x, y)


def test_no_party_speaks_through_warnings(parties, public_points):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learn(parties, public_points, learner=Talkative())


class Failing(BaseEstimator, ClassifierMixin):
    def fit(self, x, y):
        raise ValueError(f"cannot fit {x[0, 0]}")

    def predict(self, x):
        return np.zeros(len(x))


class Broken(Failing):
    def predict(self, x):
        raise KeyError(f"secret {x[0, 0]}")


class Short(Failing):
    def predict(self, x):
        return [0]


class Picky(LogisticRegression):
    """Fails where a party has a certain record, as some learners do."""

    def fit(self, x, y):
        if (np.asarray(x) == 7).any():
            raise ValueError(f"secret {x[0, 0]}")
        return super().fit(x, y)


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


@pytest.mark.parametrize("classifier", [Broken(), Short()])
def test_a_classifier_that_fails_abstains(parties, public_points, classifier):
    """To stop would tell everybody what may hang on one record; a zero row is within the bound."""
    terms = Terms.of(public_points, [0, 1], 2)
    assert not ballot_of(classifier)(public_points, terms).any()
    model = learn({**parties, "p0": classifier}, public_points)
    assert model.votes.counts.shape == (len(public_points), 1)


@pytest.mark.same_draws  # nine records of a shard with one label would never reach fit
@pytest.mark.parametrize(
    ("learner", "kept"),
    [(Picky(), True), (KNeighborsClassifier(9), False)],
    ids=["fit fails", "predict fails"],
)
def test_a_record_that_fails_a_learner_moves_its_shard_s_votes_alone(learner, kept, rng):
    """No error, which all parties and the consumer would see: its classifier abstains."""
    points = rng.normal(size=(40, 2))
    terms = Terms.of(points, (0, 1), 2, shards=3)
    x, y = people(rng, 27)  # nine records a shard: as many neighbours as the learner wants
    votes = []
    for odd in (False, True):
        other_x, other_y = x.copy(), y.copy()
        if odd and kept:
            other_x[1] = 7
        elif odd:
            other_y[1] = 5  # not listed
        trained = train(
            other_x,
            other_y,
            np.arange(27),
            learner=learner,
            classes=(0, 1),
            shards=3,
            name="p",
        )
        votes.append([ballot_of(one)(points, terms) for one in trained])
    for shard in (0, 2):
        np.testing.assert_array_equal(votes[0][shard], votes[1][shard])
    assert (votes[0][1].sum(1) == 1).all()
    assert not votes[1][1].any()


class TakesCoins(ClassifierMixin, BaseEstimator):
    """Draws from the global generators, when it is fitted and when it votes, by its records."""

    def fit(self, x, y):
        self.classes_ = np.unique(y)
        self.taken_ = int(y.sum())
        np.random.random(self.taken_)
        self.coin_ = np.random.random() + random.random()
        return self

    def predict(self, x):
        np.random.random(self.taken_)
        # Other coins are other votes on half of the points.
        return np.floor(1e6 * (x[:, 0] + self.coin_ + np.random.random())).astype(int) % 2


def test_no_record_decides_another_s_coins(parties, public_points, rng, monkeypatch):
    """The global generators give a classifier its own coins, and are as they were."""
    seen = []
    receive = VoteCurator.receive

    def noted(curator, name, answer):
        seen[-1][name] = answer.votes.copy()
        receive(curator, name, answer)

    monkeypatch.setattr(VoteCurator, "receive", noted)
    for odd in (False, True):
        given = dict(parties)
        if odd:
            x, y = parties["p0"]
            given["p0"] = x, np.where(np.arange(len(y)) == y.argmin(), 1, y)
        seen.append({})
        np.random.seed(3)
        random.seed(3)
        learn(given, public_points, learner=TakesCoins(), seed=1)
        after = np.random.random(), random.random()
        np.random.seed(3)
        random.seed(3)
        assert after == (np.random.random(), random.random())
    changed = [name for name in parties if (seen[0][name] != seen[1][name]).any()]
    assert changed == ["p0"]


def test_votes_have_the_coins_of_a_seed_or_fresh_ones(parties, public_points):
    np.random.seed(3)
    terms = Terms.of(public_points, (0, 1), M)
    x, y = parties["p1"]

    def votes(seed):
        (one,) = train(
            x, y, np.arange(len(x)), learner=TakesCoins(), classes=(0, 1), shards=1, name="p",
            seed=seed,
        )  # fmt: skip
        return one.coin_, ballot_of(one, seed, "p")(public_points, terms).sum(0).tolist()

    assert votes(1) == votes(1)
    assert len({votes(None)[0] for _ in range(3)}) == 3


REFUSED = [
    # The parties hold 1,500 records, which are what is protected.
    (
        {"unit": "replace one record", "delta": 1 / 1400},
        InvalidParameterError,
        "not below 1 / 1,500",
    ),
    ({"epsilon": 0}, InvalidParameterError, "epsilon"),
    ({"delta": 1}, InvalidParameterError, "delta"),
    ({"unit": "add or remove one record"}, InvalidParameterError, "unit must be 'one whole owner'"),
    ({"seed": -1}, InvalidParameterError, "seed must be a whole number"),
    ({"seed": 1, "ledger": "books"}, InvalidParameterError, "Leave out one of the two"),
    ({"classes": [0, 0]}, InvalidParameterError, "listed twice"),
    ({"classes": ["a", "b"]}, InvalidDataError, "'p0': labels are numbers, the classes text"),
    ({"parties": {"a": (np.zeros((3, 2)), [0, 1, 1])}}, InvalidParameterError, "at least 2"),
    ({"parties": 3}, InvalidParameterError, "parties must be a dict"),
    ({"learner": Failing()}, InvalidParameterError, "learner: it failed with ValueError"),
    ({"learner": Short()}, InvalidParameterError, "learner"),
    (
        {"learner": LogisticRegression(solver="liblinear"), "classes": [0, 1, 2]},
        InvalidParameterError,
        "failed with ValueError on made-up points .* 3 classes",
    ),
    ({"learner": Failing}, InvalidParameterError, "learner must be a scikit-learn classifier"),
    ({"learner": "oracle"}, InvalidParameterError, "learner must be logistic or tree"),
    ({"student": "tree"}, InvalidParameterError, "student must be"),
    (
        {"student": [FAST, FAST]},
        InvalidParameterError,
        "list needs .* as validation",
    ),
    ({"validation": np.zeros((3, 2))}, InvalidParameterError, "validation must be a pair"),
    (
        {"validation": (np.zeros((3, 2)), [0, 1])},
        InvalidParameterError,
        "3 points need as many labels",
    ),
    ({"validation": (np.zeros((3, 5)), [0, 1, 1])}, InvalidDataError, "validation"),
    ({"public_points": np.full((N, 2), np.nan)}, InvalidDataError, "'public_points'"),
]


@pytest.mark.parametrize(
    ("change", "error", "match"), REFUSED, ids=[f"{next(iter(c))} {m[:20]}" for c, _, m in REFUSED]
)
def test_what_is_refused_is_refused_before_anything_is_spent(
    parties, public_points, change, error, match, monkeypatch
):
    def never(*given, **named):
        raise AssertionError("released")

    monkeypatch.setattr("dpsumm.privacy.release.noise.rounded_normal", never)
    given = {"parties": parties, "public_points": public_points, **change}
    with pytest.raises(error, match=match) as caught:
        learn(**given)
    assert "cannot fit" not in str(caught.value)


@pytest.mark.parametrize(
    ("party", "more", "match"),
    [
        (np.full((N, 2), 0.5), {}, "labels are missing.* votes must be an array of integers"),
        (np.zeros((N, 3), int), {}, "votes must be an array of integers of shape"),
        (one_hot(np.zeros(N, int), 2, 2), {}, "add up to 1 for each of 1 shards"),
        (one_hot(np.zeros(N, int), 2) * [[-1, 2]], {}, "whole numbers from 0 up"),
        (
            LogisticRegression().fit([[0.0, 0], [1, 1]], [0, 1]),
            {"models_per_owner": 2},
            "1 classifiers",
        ),
        (Failing(), {"grid": 3}, "needs classifiers with predict_proba"),
        ((np.zeros((5, 2)), np.zeros(4)), {}, "one label per row"),
        (np.zeros((5, 2)).tolist(), {}, "p0"),
        (pl.DataFrame({"x0": [1.0], "x1": [1.0]}), {}, "label"),
    ],
)
def test_a_party_that_cannot_vote_is_refused_before_anything_is_spent(
    parties, public_points, party, more, match
):
    with pytest.raises((InvalidDataError, InvalidParameterError), match=match):
        learn({**parties, "p0": party}, public_points, **more)


def test_a_classifier_with_another_class_abstains_there(parties, public_points):
    odd = LogisticRegression().fit([[-9.0, 0], [0, 0], [9, 0]], [0, 1, 7])
    learn({**parties, "p0": odd}, public_points)
    learn({**parties, "p0": odd}, public_points, grid=9)


@pytest.mark.parametrize("grid", [1, 9])
def test_a_class_that_a_party_does_not_know_gets_no_vote(rng, grid):
    points = rng.normal(size=(40, 2))
    terms = Terms.of(points, [0, 1, 2], 2, grid=grid)
    votes = ballot_of(GaussianNB().fit(*people(rng, 30)))(points, terms)
    assert (votes[:, 2] == 0).all()
    assert (votes.sum(1) == grid).all()
    stranger = GaussianNB().fit(points, np.arange(40) % 2 + 7)
    assert (ballot_of(stranger)(points, terms) == 0).all()


WARNED = [
    ({"parties": 10}, "10 parties are few to protect all records of one .*models_per_owner"),
    ({"epsilon": 0.05}, "Noise over signal is .*, above 1. .*larger epsilon"),
    ({"public_points": 100}, "100 public points are few .*Give more"),
]


@pytest.mark.parametrize(("change", "match"), WARNED, ids=[m[:20] for _, m in WARNED])
def test_warnings_come_before_anything_is_spent(parties, public_points, change, match, monkeypatch):
    """From public numbers: the same words whatever the records are."""
    if "parties" in change:
        change, parties = {"epsilon": 10}, dict(list(parties.items())[:10])
    if "public_points" in change:
        change, public_points = {}, public_points[:100]
    spoken = []
    for held in (parties, {name: (-x, 1 - y) for name, (x, y) in parties.items()}):
        with pytest.warns(UserWarning, match=match) as caught:
            model = learn(held, public_points, **change)
        spoken.append([str(one.message) for one in caught])
        assert [f"learn: {note}" for note in model.foreseen] == spoken[-1]
    assert spoken[0] == spoken[1]

    def refuse(*given, **named):
        raise RuntimeError("drawn")

    monkeypatch.setattr("dpsumm.privacy.release.noise.rounded_normal", refuse)
    with pytest.warns(UserWarning, match=match), pytest.raises(RuntimeError, match="drawn"):
        learn(parties, public_points, **change)


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
    assert "Expect at most" in plan.notes[0]
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
    with pytest.warns(UserWarning, match="learn: Noise over signal is .*Expect at most"):
        model = dpsumm.learn(parties, points, **given)
    assert model.plan.ratio == plan.ratio
    with pytest.raises(InvalidParameterError, match="n_columns"):
        dpsumm.plan_learning(10, 1000, 2, n_columns=0)


@pytest.mark.parametrize("gone", [0, 5, 11])
def test_a_record_that_is_left_out_moves_no_other_to_another_shard(gone, rng, public_points):
    """Whether a record is incomplete is its own affair: it changes one classifier."""
    x, y = people(rng, 60)
    terms = Terms.of(public_points, (0, 1), M, shards=4)
    votes = []
    for rows in (np.arange(60), np.delete(np.arange(60), gone)):
        made = train(
            x[rows], y[rows], rows, learner=DecisionTreeClassifier(random_state=0), classes=(0, 1),
            shards=4, name="p",
        )  # fmt: skip
        votes.append([ballot_of(one)(public_points, terms) for one in made])
    for shard in range(4):
        if shard != gone % 4:
            np.testing.assert_array_equal(votes[0][shard], votes[1][shard])

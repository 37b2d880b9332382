"""How classifiers are trained: by shards, apart from each other, failing ones without a vote."""

# ruff: noqa: NPY002

import random
import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

import dpsumm
from dpsumm.ensemble.ballots import ballot_of, train
from dpsumm.ensemble.curator import VoteCurator
from dpsumm.ensemble.terms import Terms
from helpers.learning import Failing, M, Short, learn, people


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


class Broken(Failing):
    def predict(self, x):
        raise KeyError(f"secret {x[0, 0]}")


class Picky(LogisticRegression):
    """Fails where a party has a certain record, as some learners do."""

    def fit(self, x, y):
        if (np.asarray(x) == 7).any():
            raise ValueError(f"secret {x[0, 0]}")
        return super().fit(x, y)


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

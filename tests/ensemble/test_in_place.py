"""Classifiers, learners and students that work in place: they change nobody else's points."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import dpsumm
from dpsumm.ensemble import Argmax, Spectral
from dpsumm.ensemble.curator import VoteCurator
from helpers.votes import by_votes

M, N = 12, 60


def in_place():
    return make_pipeline(StandardScaler(copy=False), LogisticRegression())


def records(party, far=False):
    rng = np.random.default_rng(party)
    x = rng.normal(size=(30, 2))
    return (50 * x + 500 if far else x), (x[:, 0] > 0).astype(int)


def classifiers(far):
    fitted = {f"p{i}": GaussianNB().fit(*records(i)) for i in range(M)}
    x, y = records(0, far)
    return {**fitted, "p0": in_place().fit(x.copy(), y)}, None


def learner(far):
    return {f"p{i}": records(i, far and i == 0) for i in range(M)}, in_place()


class Shared(GaussianNB):
    """Its clone is itself, and it goes on learning from where it is."""

    def __sklearn_clone__(self):
        return self

    def fit(self, x, y):
        return self.partial_fit(x, y, classes=[0, 1])


def shared(far):
    return learner(far)[0], Shared()


@pytest.fixture
def points():
    # As the caller has them: whole, of float64, so that no conversion copies them.
    return np.random.default_rng(99).normal(size=(N, 2))


def votes_of(monkeypatch, parties, points, **given):
    """Every party's votes, as the curator receives them, and the model."""
    seen, receive = {}, VoteCurator.receive

    def noted(curator, name, answer):
        receive(curator, name, answer)
        seen[name] = answer.votes.astype(np.int64)

    with monkeypatch.context() as patch:
        patch.setattr(VoteCurator, "receive", noted)
        given = by_votes(given, student=Spectral(("linear",)))
        model = dpsumm.learn(parties, points, **({"classes": [0, 1], "epsilon": 1.0} | given))
    return seen, model


@pytest.mark.parametrize("kind", [classifiers, learner, shared])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_one_party_moves_its_own_votes_alone(monkeypatch, points, kind):
    before = points.copy()
    worlds = []
    for far in (False, True):
        parties, common = kind(far)
        worlds.append(votes_of(monkeypatch, parties, points, learner=common)[0])
        np.testing.assert_array_equal(points, before)  # the caller's own array
    first, second = worlds
    assert [name for name in first if (first[name] != second[name]).any()] == ["p0"]
    # It votes, and does not abstain because its copy could not be written to.
    assert all(votes.any() for votes in (first["p0"], second["p0"]))


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_party_votes_as_if_it_had_been_asked_first(monkeypatch, points):
    parties, _ = classifiers(far=True)
    given = votes_of(monkeypatch, parties, points)[0]
    for name, votes in votes_of(monkeypatch, dict(reversed(parties.items())), points)[0].items():
        np.testing.assert_array_equal(votes, given[name])


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_student_in_place_changes_neither_points_nor_other_candidates(monkeypatch, points):
    before, labelled = points.copy(), records(77)
    own = [part.copy() for part in labelled]
    parties, _ = classifiers(far=False)
    students = [Argmax(in_place()), in_place(), Spectral(("linear",))]
    _, model = votes_of(monkeypatch, parties, points, student=students, validation=labelled, seed=1)
    model.predict_proba(points)
    np.testing.assert_array_equal(points, before)
    np.testing.assert_array_equal(labelled[0], own[0])
    alone = model.refit(Spectral(("linear",)), validation=labelled)
    assert model.candidates[2:] == alone.candidates


@pytest.mark.parametrize("protocol", [dpsumm.Offers(), dpsumm.Pool(), dpsumm.papers.Auction()])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_summarize_leaves_the_arrays_it_is_given(points, protocol):
    owners = {f"o{i}": np.random.default_rng(i).normal(size=(80, 2)) for i in range(3)}
    before = {name: own.copy() for name, own in owners.items()}
    target = points.copy()
    dpsumm.summarize(owners, points, size=10, protocol=protocol, kernel=dpsumm.RBF(0.5))
    np.testing.assert_array_equal(points, target)
    for name, own in owners.items():
        np.testing.assert_array_equal(own, before[name])

"""Students: Stein's estimate against the truth, bases, extensions to new points, choices."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from dpsumm.ensemble import Argmax, Spectral
from dpsumm.ensemble.consumer import Consumer
from dpsumm.ensemble.students import Candidate
from dpsumm.ensemble.students.bases import (
    Basis,
    Linear,
    feature_basis,
    graph_basis,
    squared_scale,
)
from dpsumm.ensemble.students.choose import Validation, choose, students_of
from dpsumm.ensemble.students.student import Fitted, chances_of, simplex
from dpsumm.ensemble.terms import Terms
from dpsumm.errors import InvalidParameterError
from helpers.votes import noisy


def blobs(rng, n, n_classes=3):
    place = rng.integers(n_classes, size=n)
    angle = 2 * np.pi * place / n_classes
    return np.c_[np.cos(angle), np.sin(angle)] * 3 + rng.normal(size=(n, 2)), place


def shares_of(place, n_classes, rng, right=0.8):
    shares = rng.dirichlet(np.ones(n_classes), len(place)) * (1 - right)
    shares[np.arange(len(place)), place] += right
    return shares


def test_golden_estimate():
    """Q, Y, f and the noise of a worked example, to the last digit."""
    q = np.array([[0.5, 0.5], [0.5, -0.5]] * 2)
    basis = Basis("q", q, {"f": np.array([1.0, 0.5])}, np.zeros((2, 2)), Linear())
    votes = noisy(np.zeros((4, 2)) + 0.5, 10, 1e-9, np.random.default_rng(0))
    # Y = .9 .2 .7 .4: of ten parties 8 -6 4 -2; noise .1 in a share is 2 in a count.
    object.__setattr__(votes, "counts", np.array([[8], [-6], [4], [-2]]))
    object.__setattr__(votes, "noise_std", 2.0)
    np.testing.assert_allclose(votes.shares[:, 0], [0.9, 0.2, 0.7, 0.4])
    assert votes.share_noise == pytest.approx(0.1)
    (found,) = (one.candidate for one in Spectral.smoothed([basis], votes))
    theta = np.array([1.1, 0.5])
    np.testing.assert_allclose(found.fitted.coefficients[:, 0], theta * [1, 0.5])
    # The constant, with f = 1, is the same for all candidates, so it is left out of the estimate.
    constant = (-(1.1**2) + 2 * 0.1**2) / 4
    assert constant - found.sure == pytest.approx(-0.341875, abs=1e-12)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_the_estimate_is_unbiased(n_classes, rng):
    """The mean over fresh noise of each candidate's estimate is its true fit."""
    points, place = blobs(rng, 300, n_classes)
    truth = shares_of(place, n_classes, rng)
    quiet = noisy(truth, 10**6, 1e-6, rng)
    a = quiet.shares
    bases = Spectral(("linear", "features")).made(points)
    wanted, got = [], []
    for _ in range(150):
        votes = noisy(truth, 10**6, 2e5, rng)
        for one in Spectral.smoothed(bases, votes):
            c = one.candidate
            f = c.fitted.basis.vectors @ c.fitted.coefficients
            matched = ((f - f.mean(0)) * (a - a.mean(0))).sum()
            size = ((f - f.mean(0)) ** 2).sum()
            wanted.append(
                (2 * matched - size) / len(a) if n_classes == 2 else matched / np.sqrt(size)
            )
            got.append(c.sure)
    wanted = np.array(wanted).reshape(150, -1)
    got = np.array(got).reshape(150, -1)
    error = (got - wanted).std(0) / np.sqrt(150) + 1e-12
    assert (abs((got - wanted).mean(0)) / error).max() < 6
    # It has power: an estimate that takes noise for signal is far off.
    assert (abs((1.1 * got - wanted).mean(0)) / error).max() > 6


@pytest.mark.same_draws
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_default_student_learns_from_noise_above_single_votes(n_classes, rng):
    points, place = blobs(rng, 1500, n_classes)
    votes = noisy(shares_of(place, n_classes, rng), 100, 150.0, rng)
    assert votes.share_noise > 0.7  # a vote alone says little
    consumer = Consumer(points, votes.terms)
    consumer.receive(votes)
    used, judged = consumer.fit([Spectral()])
    fresh, right = blobs(rng, 500, n_classes)
    assert (chances_of(used.fitted.shares(fresh)).argmax(1) == right).mean() > 0.85
    assert {one.accuracy for one in judged} == {None}


def test_bases_are_orthonormal_and_extend_to_new_points(rng):
    points, _ = blobs(rng, 500)
    for basis in Spectral().made(points):
        q = basis.vectors
        np.testing.assert_allclose(q.T @ q, np.eye(q.shape[1]), atol=1e-7)
        np.testing.assert_allclose(q[:, 0], abs(q[0, 0]) * np.sign(q[0, 0]), rtol=1e-9)
        if basis.name != "graph":
            np.testing.assert_allclose(basis.at(points), q, atol=1e-6)
        else:  # a point is near its neighbours' mean
            low = basis.at(points)[:, 1:6]
            for j in range(5):
                assert np.corrcoef(low[:, j], q[:, 1 + j])[0, 1] > 0.95
        for factors in basis.filters.values():
            assert factors.shape == (q.shape[1],)
            assert factors[0] == 1
            assert ((factors >= 0) & (factors <= 1)).all()


def test_a_graph_in_pieces_is_left_out(rng):
    far = rng.normal(size=(600, 2)) + 1000 * np.arange(30).repeat(20)[:, None]
    assert graph_basis(far) is None
    assert graph_basis(np.zeros((600, 2))) is None  # duplicates only
    assert graph_basis(rng.normal(size=(100, 2))) is None  # too few
    assert [b.name for b in Spectral(("graph",)).made(far)] == ["linear"]


def test_a_graph_of_two_pieces_has_the_constant_and_what_parts_them(rng):
    points = np.r_[rng.normal(size=(300, 2)), rng.normal(size=(300, 2)) + 100]
    basis = graph_basis(points)
    np.testing.assert_allclose(basis.vectors[:, 0], basis.vectors[0, 0])
    side = np.sign(np.arange(600) - 299.5)
    leading = basis.vectors[:, :3]
    assert np.linalg.norm(leading.T @ side) / np.linalg.norm(side) > 0.99


def test_a_column_that_never_changes_and_one_point_repeated(rng):
    flat = feature_basis("linear", Linear(), np.ones((50, 3)))
    assert flat.vectors.shape == (50, 1)
    assert squared_scale(np.ones((50, 3))) == 1.0
    votes = noisy(np.full((50, 2), 0.5), 100, 1.0, rng)
    (first, *_) = Spectral.smoothed([flat], votes)
    assert np.isfinite(first.sure)
    assert first.candidate.fitted.shares(np.zeros((2, 3))).shape == (2, 1)


@pytest.mark.same_draws
@pytest.mark.parametrize(
    "student",
    [
        Ridge(),
        KNeighborsRegressor(60),
        RandomForestClassifier(20, min_samples_leaf=40, random_state=0),
        KNeighborsClassifier(80),
        Argmax(RandomForestClassifier(20, min_samples_leaf=40, random_state=0)),
    ],
    ids=lambda s: repr(s)[:30],
)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_other_students_learn_too(student, n_classes, rng):
    points, place = blobs(rng, 800, n_classes)
    votes = noisy(shares_of(place, n_classes, rng), 100, 60.0, rng)
    consumer = Consumer(points, votes.terms)
    consumer.receive(votes)
    used, _ = consumer.fit(students_of(student))
    fresh, right = blobs(rng, 300, n_classes)
    chances = chances_of(used.fitted.shares(fresh))
    assert chances.shape == (300, n_classes)
    np.testing.assert_allclose(chances.sum(1), 1, atol=1e-9)
    assert (chances.argmax(1) == right).mean() > 0.75


class Fixed(Fitted):
    def __init__(self, place):
        self.place = place

    def shares(self, points):
        return np.tile(np.eye(3)[self.place], (len(points), 1))


def test_validation_chooses_and_without_it_the_estimate():
    several = [
        Candidate("a", Fixed(0), 0.5),
        Candidate("b", Fixed(1), 0.7),
        Candidate("c", Fixed(2)),
    ]
    assert choose(several, None)[0].name == "b"
    labels = Validation(np.zeros((4, 1)), np.array([0, 0, 2, -1]))
    used, judged = choose(several, labels)
    assert used.name == "a"
    assert [one.accuracy for one in judged] == [0.5, 0.0, 0.25]
    # Ties by the estimate.
    assert choose(several, Validation(np.zeros((1, 1)), np.array([-1])))[0].name == "b"


@pytest.mark.parametrize(
    ("student", "match"),
    [
        (Spectral(()), "bases must be some of"),
        (Spectral(("linear", "trees")), "bases must be some of"),
        ([], "the list is empty"),
        ("spectral", "student must be Spectral"),
        (KNeighborsClassifier, "student must be Spectral"),
        (Argmax(Ridge()), "Argmax needs a classifier"),
    ],
)
def test_students_that_are_none(student, match):
    with pytest.raises(InvalidParameterError, match=match):
        students_of(student)


def test_the_simplex_is_the_nearest_point(rng):
    rows = rng.normal(0, 2, (200, 4))
    found = simplex(rows)
    np.testing.assert_allclose(found.sum(1), 1)
    assert (found >= 0).all()
    for other in (rng.dirichlet(np.ones(4), 200), np.eye(4)[rng.integers(4, size=200)]):
        assert (((rows - found) ** 2).sum(1) <= ((rows - other) ** 2).sum(1) + 1e-12).all()


def test_centred_shares_add_up_whoever_came(rng):
    terms = Terms((0, 1, 2), 30, 10, 1, 1, "0" * 64)
    votes = noisy(np.full((30, 3), 0.2), 10, 5.0, rng)  # four of ten did not come
    assert votes.terms == terms
    np.testing.assert_allclose(votes.shares.sum(1), 1)

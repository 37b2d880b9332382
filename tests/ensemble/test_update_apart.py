"""Updates whose public points are unlike the records: two rounds tell where these are."""

import html
import warnings

import numpy as np
import pytest

import dpsumm
from dpsumm.ensemble.students.whitened import whitened
from dpsumm.ensemble.updates import apart, course
from dpsumm.ensemble.updates.apart import Apart, around, linear, widened
from dpsumm.report.notes import Severity


@pytest.mark.parametrize("classes", [2, 3, 7])
def test_rounds_of_two_constant_models_tell_the_middle(rng, classes):
    a = np.hstack([np.ones((50, 1)), rng.normal(np.arange(4), size=(50, 4))])
    y = np.eye(classes)[rng.integers(0, classes, 50)]
    found = Apart(np.full(classes, 1 / classes), (5, classes), whole=True)
    for number in range(2):
        assert not found.near
        step = found.step(number, 2.0)
        powers = np.exp(step.weights[0] - step.weights[0].max())
        # A hundredth of the noise that the rounds are said to have.
        noise = 1e-5 * rng.normal(size=(5, classes))
        found.take(a.T @ (y - powers / powers.sum()) / 50 + noise, np.full(5, 1e-6))
    np.testing.assert_allclose(found.middle, a.mean(0), atol=1e-3)
    around = a - np.r_[0.0, a.mean(0)[1:]]
    np.testing.assert_allclose(found.moments, around.T @ (y - 1 / classes) / 50, atol=1e-3)
    assert found.near == (np.linalg.norm(a.mean(0)[1:]) < 4)


def test_a_middle_that_noise_hides_is_nought(rng):
    found = Apart(np.array([0.5, 0.5]), (30, 2), whole=False)
    for _ in range(2):
        found.take(0.5 * rng.normal(size=(30, 2)), np.full(30, 1.0))
    assert np.abs(found.middle[1:]).max() < 0.3
    assert [found.pays(*few) for few in ((5, 0.1), (4, 0.1), (5, 1.0))] == [True, False, False]


def test_a_linear_basis_is_of_columns_alone_and_goes_around_any_middle(rng):
    points = rng.normal(size=(400, 3)) * [3, 1, 0.5]
    like = whitened(points, dimensions=20, waves=30)
    basis = linear(points, like)
    assert len(basis.spread) == len(like.spread) > 3
    near = points / 20  # where none is pulled in
    a = basis.of(near)
    assert not a[:, 3:].any()
    # The lesser columns are whitened as if they had six tenths of the largest.
    np.testing.assert_allclose(20 * a.std(0)[:3], [1, 1 / 1.8, 0.5 / 1.8], rtol=0.2)
    middle = np.r_[0.2, -0.1, 0.05, np.zeros(len(basis.spread) - 3)]
    np.testing.assert_allclose(around(basis, middle).of(near), a - middle, atol=1e-9)


def test_stand_ins_vary_as_much_as_records_may(rng):
    a = np.hstack([np.ones((3000, 1)), rng.normal(size=(3000, 3)) * [2.0, 0.1, 0.0]])
    wide = widened(a)
    np.testing.assert_array_equal(wide[:, [0, 1, 3]], a[:, [0, 1, 3]])
    assert wide[:, 2].std() == pytest.approx(1, rel=0.1)
    np.testing.assert_array_equal(wide, widened(a))  # whoever asks, and whenever


def test_a_step_that_turns_back_is_halved_and_one_that_goes_on_is_longer():
    found, nought = Apart(np.full(2, 0.5), (3, 2), whole=True), np.zeros((3, 2))
    first = np.array([[1.0, -1.0], [2.0, -2.0], [3.0, -3.0]])
    end, begun = found.go(nought, first, nought, False)
    assert (end == first).all()
    assert (begun == first).all()
    fitted = first * [[1.5], [0.5], [1.0]]
    end, begun = found.go(first, fitted, first, False)
    assert end.tolist() == [[1.5, -1.5], [1.5, -1.5], [3.0, -3.0]]
    assert begun.tolist() == [[2.0, -2.0], [1.5, -1.5], [3.0, -3.0]]
    end, begun = found.go(begun, begun + 1, end, True)
    assert (begun == end).all()


def people(rng, n, shift):
    x = rng.normal([shift, -shift, 0, 0, 0, 0], size=(n, 6))
    scores = x @ [1.5, 1.0, -1.0, 0.5, 0, 0]
    return x, (scores + rng.logistic(size=n) > 0).astype(int)


@pytest.mark.same_draws
@pytest.mark.parametrize("unit", ["one whole owner", "replace one record"])
def test_a_model_of_other_people_reaches_the_points(rng, unit, monkeypatch):
    parties = [people(rng, 50, 1.5) for _ in range(300)]
    points, (x, y) = people(rng, 1000, 0)[0], people(rng, 4000, 0)
    best = max((people(rng, 4000, 0)[0] @ [1.5, 1.0, -1.0, 0.5, 0, 0] > 0).mean(), 0.5)
    assert best < 0.6  # one label for all

    def learnt():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return dpsumm.learn(parties, points, classes=[0, 1], epsilon=4, unit=unit)

    def right(model):
        return float((model.predict(x) == y).mean())

    model = learnt()
    assert model.verdict.severity is Severity.WARNING
    assert "the public points are unlike the parties' records" in model.verdict.text
    assert "extended to the points; about 200 labelled points of your own" in model.verdict.text
    assert right(model) > 0.74  # 80 are possible
    assert "Give public points like the parties' records." in str(model.notes[0])
    assert "is for public points like the parties' records" in html.unescape(model.report().html)
    monkeypatch.setattr(apart, "_LOUD", 0.0)  # as if noise hid the middle
    skipped = learnt()
    assert skipped.verdict.severity is Severity.ALARM
    monkeypatch.setattr(course, "LEAST_ROUNDS", 99)
    without = learnt()
    assert right(without) < min(right(model), right(skipped)) - 0.03
    for other in (skipped, without):
        assert "or ask for protocol='votes'" in str(other.notes[0])

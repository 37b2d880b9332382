"""A model of votes is no surer than its noise lets it be, and predicts the same."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import dpsumm
from dpsumm.ensemble.certainty import FULL, Certainty


@st.composite
def probabilities(draw):
    n, k = draw(st.integers(1, 8)), draw(st.integers(2, 6))
    weights = draw(arrays(np.float64, (n + 1, k), elements=st.integers(0, 9)))
    weights += (weights.sum(1) == 0)[:, None]
    chances = weights / weights.sum(1, keepdims=True)
    return chances[1:], tuple(chances[0].tolist())


@given(probabilities(), st.floats(0, 1))
def test_predictions_stay_and_probabilities_move_towards_the_shares(given_, factor):
    chances, shares = given_
    found = Certainty(factor, shares).of(chances)
    assert (found >= -1e-12).all()
    assert found.sum(1) == pytest.approx(1)
    assert (found.argmax(1) == chances.argmax(1)).all()
    before, after = (np.abs(p - np.array(shares)).max(1) for p in (chances, found))
    assert (after <= before + 1e-12).all()


def test_nothing_is_left_without_signal_and_all_without_noise(rng):
    chances, shares = rng.dirichlet(np.ones(3), 50), (1 / 3, 1 / 3, 1 / 3)
    assert Certainty(0.0, shares).of(chances) == pytest.approx(1 / 3, abs=2e-3)
    assert FULL.of(chances) is chances
    half = Certainty(0.5, shares).of(chances)
    assert half == pytest.approx((chances + 1 / 3) / 2)


@pytest.mark.filterwarnings("ignore:learn")  # of all that noise
def test_noise_alone_makes_no_model_sure(rng):
    """Four clusters of points, and votes that are the same whatever the point: all is noise."""
    points = np.concatenate([rng.normal(8 * i, 1, (100, 2)) for i in range(4)])
    ballots = [np.eye(4, dtype=int)[rng.integers(0, 4, 400)] for _ in range(20)]
    given = {"classes": [0, 1, 2, 3], "epsilon": 0.3, "protocol": "votes"}
    sure, before = [], []
    for _ in range(4):
        model = dpsumm.learn(ballots, points, allow_weak_privacy=True, **given)
        chances = model.predict_proba(points)
        assert (chances.argmax(1) == model.places).all()
        sure.append(chances.max(1).mean())
        before.append(model._used.fitted.chances(points).max(1).mean())
    assert np.mean(sure) < np.mean(before) - 0.2

"""A model of votes is no surer than its noise lets it be, and predicts the same."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import dpsumm
from dpsumm.ensemble.certainty import FULL, Certainty, certainty_of


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


@pytest.mark.filterwarnings("ignore:learn")  # of little noise
def test_a_fit_that_is_sharper_than_the_votes_is_made_less_sure(rng):
    """Labels are hardly clearer than chance, and so is a party. Clusters of its votes look clear.

    Votes and fit are regressed with a plain loop, as an oracle of the factor.
    """
    centres = rng.normal(0, 4, (5, 3))
    kind = rng.integers(5, size=600)
    points = centres[kind] + rng.normal(size=(600, 3))
    votes = [np.where(rng.random(600) < 0.6, rng.integers(5, size=600), kind) for _ in range(300)]
    ballots = [np.eye(5, dtype=int)[vote] for vote in votes]
    model = dpsumm.learn(
        ballots,
        points,
        classes=list(range(5)),
        epsilon=9,
        protocol=dpsumm.Voting(student=dpsumm.ensemble.Spectral(("graph",))),
    )
    assert model.student.endswith("sharpened")
    raw = model._used.fitted.chances(points)
    assert raw.max(1).mean() > 0.9  # power
    assert np.mean([vote == kind for vote in votes]) == pytest.approx(0.52, abs=0.02)
    found, middle = model.certainty, model.certainty.shares
    agree = sum(
        (share - m) * (chance - m)
        for row, fit in zip(model.votes.shares, raw, strict=True)
        for share, chance, m in zip(row, fit, middle, strict=True)
    ) / sum((chance - m) ** 2 for fit in raw for chance, m in zip(fit, middle, strict=True))
    assert 0.3 < agree < 0.5  # 0.4 of a party's votes are no coins
    assert found.factor == pytest.approx(model.strength.certainty * agree**0.5)
    assert 0.6 < model.predict_proba(points).max(1).mean() < 0.8


@pytest.mark.parametrize("k", [2, 5])
def test_shares_of_classes_are_as_uneven_as_their_noise_lets_one_see(k, rng):
    true = np.r_[0.96 - 0.02 * (k - 2), np.full(k - 1, 0.02)]
    true[1] += 1 - true.sum()
    chances = np.tile(true, (100, 1))
    columns = slice(1, None) if k == 2 else slice(None)

    def away(noise):
        shares = chances[:, columns] + noise * rng.normal(size=chances[:, columns].shape)
        votes = SimpleNamespace(shares=shares, share_noise=noise)
        middle = np.array(certainty_of(votes, chances, 1.0).shares)
        assert middle.sum() == pytest.approx(1)
        return np.abs(middle - 1 / k).sum() / np.abs(true - 1 / k).sum()

    assert away(0.0) == pytest.approx(1)
    assert away(0.05) == pytest.approx(1, abs=0.1)
    # A mean of noise alone is most often a single class, as far off as the true shares.
    assert np.mean([away(50.0) for _ in range(100)]) < 0.5

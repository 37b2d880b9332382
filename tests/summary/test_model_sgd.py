"""DP-SGD: its noise, what a row can add to a sum, and the network where its libraries are."""

import importlib.util
import math

import numpy as np
import pytest
from scipy import stats

import dpsumm
from dpsumm import Offers
from dpsumm.errors import InvalidParameterError, MissingExtraError
from dpsumm.papers import Auction
from dpsumm.privacy import Gaussian
from dpsumm.privacy.accounting import compose
from dpsumm.privacy.release import PaidNoise
from dpsumm.summary import DpSgd, Uniform
from dpsumm.summary.models import sgd
from dpsumm.summary.models.training import Examples, parts
from helpers.chance import FALSE_ALARM

BOUNDS = {"x0": (-1, 1), "x1": (-1, 1)}
with_jax = pytest.mark.skipif(
    importlib.util.find_spec("jax_privacy") is None, reason="without the extra sgd: make sgd-test"
)


def population(rng, n):
    """Two classes that no line tells apart."""
    points = rng.uniform(-1, 1, (n, 2))
    return points, (points[:, 0] * points[:, 1] > 0).astype(int)


def summary_of(rng, protocol, size, **more):
    owners = [population(rng, size // 2) for _ in range(3)]
    target = population(rng, 50)[0]
    return dpsumm.summarize(owners, target, size=size, schema=BOUNDS, protocol=protocol, **more)


# --- noise and sums: without the libraries ------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
@pytest.mark.parametrize("steps", [1, 60, 2000])
def test_all_steps_together_cost_what_is_said(epsilon, steps):
    noise = sgd.SgdNoise.of(epsilon, 1e-6, steps=steps, changed=2)
    spent = compose([(Gaussian(noise.query.multiplier), steps)], 1e-6)
    assert 0.9999 * epsilon < spent <= epsilon
    # Two points out and two in; a twin that counts one of them would cost twice as much and more.
    assert noise.query.noise_std >= 4 * sgd.GRID * noise.query.multiplier
    half = sgd.SgdNoise.of(epsilon, 1e-6, steps=steps, changed=1).query.noise_std / (4 * sgd.GRID)
    assert compose([(Gaussian(half), steps)], 1e-6) > 2 * epsilon


def test_no_row_adds_more_than_its_length_whatever_the_library_returns(rng):
    rows = rng.normal(size=(200, 7)) * rng.choice([0.01, 1, 100], (200, 1))
    rows[:7] = [
        *([x] * 7 for x in (math.nan, math.inf, -math.inf, 1e300, 0.0)),
        [1.0, *[0.0] * 6],
        [-0.6, 0.8, *[0.0] * 5],
    ]
    for clip in (0.5, 1.0, 3.0):
        for row in rows:
            for dtype in (np.float64, np.float32, np.float16):
                with np.errstate(over="ignore"):
                    gradient = (row[None] * clip).astype(dtype)
                found = sgd.sum_of([gradient], clip)
                assert sum(int(x) ** 2 for x in found) <= sgd.GRID**2
    short = [row for row in rows[7:] if np.linalg.norm(row) < 1]
    assert len(short) > 20
    np.testing.assert_allclose(sgd.sum_of([np.array(short)], 1.0) / sgd.GRID, sum(short), atol=1e-3)
    # The longest is kept whole, and nothing of one that is too long.
    assert sgd.sum_of([rows[5:6]], 1.0)[0] == sgd.GRID
    assert not sgd.sum_of([rows[3:4]], 1.0).any()
    both = sgd.sum_of([rows[:100], rows[100:]], 1.0)
    assert (both == sgd.sum_of([rows], 1.0)).all()


def test_two_replaced_points_move_a_sum_by_no_more_than_is_hidden():
    """Both worlds' first steps: gradients as far apart as they can be."""
    moved = []
    for sign in (1.0, -1.0):
        gradients = np.zeros((50, 3))
        gradients[:2, 1] = sign
        moved.append(sgd.sum_of([gradients], 1.0))
    sensitivity = np.linalg.norm(moved[0] - moved[1])
    noise = sgd.SgdNoise.of(1.0, 1e-5, steps=10, changed=2)
    assert sensitivity == 4 * sgd.GRID
    assert noise.query.noise_std / sensitivity >= noise.query.multiplier


@pytest.mark.parametrize(
    ("method", "message"),
    [
        ("adam", "method must be 'objective', 'sgd' or"),
        (DpSgd(steps=0), "steps must be"),
        (DpSgd(hidden=-1), "hidden must be"),
        (DpSgd(clip=0), "clip must be"),
        (DpSgd(rate=math.nan), "rate must be"),
    ],
)
def test_methods_out_of_range_are_refused(method, message, rng):
    summary = summary_of(rng, Uniform(), 20)
    with pytest.raises(InvalidParameterError, match=message):
        summary.private_model([0, 1], method=method)
    with pytest.raises(InvalidParameterError, match="regularization means nothing"):
        summary.private_model([0, 1], method=DpSgd(), regularization=0.1)
    assert summary.privacy.charges == ()


def test_without_the_libraries_nothing_is_charged(rng, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    summary = summary_of(rng, Uniform(), 20)
    with pytest.raises(MissingExtraError, match=r"pip install 'dpsumm\[sgd\]'"):
        summary.private_model([0, 1], method="sgd")
    assert summary.privacy.charges == ()


# --- with them ----------------------------------------------------------------------------------


@pytest.mark.same_draws
@with_jax
def test_a_network_learns_what_a_linear_model_cannot(rng):
    summary = summary_of(rng, Uniform(), 1500)
    points, labels = population(rng, 1000)
    model = summary.private_model(
        [0, 1], epsilon=20.0, method=DpSgd(rate=0.3, steps=40), allow_weak_privacy=True
    )
    assert (model.predict(points) == labels).mean() > 0.8
    assert [layer.shape for layer in model.layers] == [(3, 16), (17, 1)]
    assert 19.99 < model.privacy.epsilon(protected="owners") <= 20
    (charge,) = model.privacy.charges
    assert charge.event.epsilon == model.noise.epsilon


@with_jax
def test_the_auction_counts_two_points_and_offers_are_refused(rng):
    auction = Auction(reselect=False, epsilon_owners=1.0)
    summary = summary_of(rng, auction, 200)
    model = summary.private_model([0, 1], epsilon=2.0, method=DpSgd(steps=3, hidden=0))
    noise = model.noise
    assert noise.epsilon < 1.01
    assert noise.query.noise_std >= 4 * sgd.GRID * noise.query.multiplier
    assert 1.99 < model.privacy.epsilon(protected="owners") <= 2
    assert model.layers[0].shape == (3, 1)
    offers = summary_of(rng, Offers(n_features=32), 20)
    with pytest.raises(InvalidParameterError, match="under Offers an owner's points are chosen"):
        offers.private_model([0, 1], method="sgd")


@with_jax
def test_the_books_have_a_network_and_give_it_again(rng, tmp_path):
    dpsumm.Ledger.create(tmp_path / "books.db").close()
    summary = summary_of(rng, Uniform(), 100, ledger=tmp_path / "books.db", run="first")
    method = DpSgd(steps=2, hidden=4)
    first, again = (
        summary.private_model([0, 1], method=method, epsilon=1.0, key="net") for _ in range(2)
    )
    assert all((a == b).all() for a, b in zip(first.layers, again.layers, strict=True))
    with pytest.raises(InvalidParameterError, match="made with other parameters"):
        summary.private_model([0, 1], method=DpSgd(steps=3, hidden=4), key="net")


@with_jax
@pytest.mark.parametrize("n_classes", [2, 3])
def test_gradients_are_those_of_each_row_alone_and_right(n_classes, rng):
    from dpsumm.summary.models.network import Network

    n, d, hidden = 300, 3, 4
    rows = rng.normal(size=(n, d))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    answers = rng.integers(-1, n_classes, n)
    columns = 1 if n_classes == 2 else n_classes
    shapes = ((d, hidden), (hidden + 1, columns))
    weights = rng.normal(size=d * hidden + (hidden + 1) * columns)
    network = Network(shapes, rows, answers, 1e3)
    found = np.concatenate(list(network.gradients(weights)))[:n]
    # A row's gradient is the same, to the last bit, at another place and among other rows.
    place = 17
    others = rng.normal(size=(n, d))
    others[place], moved = rows[3], answers.copy()
    moved[place] = answers[3]
    there = np.concatenate(list(Network(shapes, others, moved, 1e3).gradients(weights)))
    assert (there[place] == found[3]).all()
    # Against differences of a loss written down anew.
    for i in (0, 1, 2, 3):
        by_hand = np.zeros_like(weights)
        for j in range(len(weights)):
            step = np.zeros_like(weights)
            step[j] = 1e-5
            ends = [
                _loss(parts(w, shapes), rows[i], answers[i])
                for w in (weights + step, weights - step)
            ]
            by_hand[j] = (ends[0] - ends[1]) / 2e-5
        np.testing.assert_allclose(found[i], by_hand, atol=1e-4)
    # Clipped, each by itself.
    short = np.concatenate(list(Network(shapes, rows, answers, 0.1).gradients(weights)))[:n]
    lengths = np.linalg.norm(short.astype(float), axis=1)
    assert lengths.max() <= 0.1
    assert lengths[answers >= 0].max() > 0.0999
    assert not short[answers < 0].any()


def _loss(layers, x, answer):
    if answer < 0:
        return 0.0
    first, last = layers
    scores = np.append(np.tanh(x @ first), 1.0) @ last
    if len(scores) == 1:
        return np.logaddexp(0, scores[0]) - (answer == 1) * scores[0]
    return np.log(np.exp(scores).sum()) - scores[answer]


@with_jax
def test_noise_is_drawn_as_it_is_charged(rng, monkeypatch):
    """Without rows that pull, what comes of a step is its noise: its law is tested as charged."""
    from dpsumm.summary.models import network

    taken = []
    monkeypatch.setattr(network.Steps, "take", lambda self, g: taken.append(g))
    monkeypatch.setattr(network.Steps, "mean", np.zeros(1))
    examples = Examples(np.zeros((40, 3)), np.full(40, -1), 2, 2, 1.0, 1e-5)
    trainer = sgd.SgdTrainer(examples, DpSgd(hidden=20, steps=30))
    trainer.draw(PaidNoise([trainer.noise.query]))
    drawn = np.concatenate(taken) * 40 * sgd.GRID
    assert len(drawn) == 30 * (3 * 20 + 21)
    drawn /= trainer.noise.query.noise_std
    assert stats.kstest(drawn, "norm").pvalue > FALSE_ALARM
    # A fifth more or less lies twelve standard deviations of the sum of squares away.
    for factor, right in ((1.0, True), (0.8, False), (1.25, False)):
        below = stats.chi2.cdf(np.sum((drawn / factor) ** 2), len(drawn))
        assert bool(min(below, 1 - below) > FALSE_ALARM / 2) is right

"""The tilted draw against its twin in NumPy, its degenerate cases, and the law of the draw."""

import numpy as np
import pytest

from dpsumm import kernels
from dpsumm.errors import InvalidDataError, InvalidParameterError
from reference import tilt as twin


def case(n, c, d, noise, seed=0, dtype=np.float64, scale=0.6):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n, c)).astype(dtype)
    target = (rng.normal(size=(150, c)) * scale + 0.5).astype(dtype)
    features = kernels.RandomFeatures(c, d, gamma=1 / (2 * c), seed=1)
    goal = features.transform(target).mean(axis=0) + noise * rng.normal(size=d)
    return features, points, goal.astype(np.float64)


@pytest.mark.parametrize("least", [0.0, 0.3])
@pytest.mark.parametrize(
    ("n", "c", "d", "noise", "dtype"),
    [
        (2, 1, 2, 0.1, np.float64),
        (7, 3, 64, 0.05, np.float64),
        (127, 5, 64, 0.0, np.float64),
        (129, 2, 100, 0.01, np.float64),
        (300, 5, 256, 0.01, np.float32),
        (511, 11, 512, 0.05, np.float64),
        (512, 20, 512, 0.3, np.float32),
    ],
)
def test_equals_the_twin(n, c, d, noise, dtype, least):
    features, points, goal = case(n, c, d, noise, dtype=dtype)
    found = features.scores(points, kernels.tilt(features, points, goal, noise=noise, least=least))
    slow = twin.tilt(features.transform(points).astype(np.float64), goal, noise, least)
    np.testing.assert_allclose(found, features.scores(points, slow), atol=1e-4)


def test_moves_the_samples_mean_to_the_goal():
    features, points, goal = case(512, 3, 256, 0.0)
    ratio = np.exp(features.scores(points, kernels.tilt(features, points, goal, noise=0.002)))
    h = features.transform(points)
    before = np.linalg.norm(h.mean(axis=0) - goal)
    assert np.linalg.norm(ratio @ h / ratio.sum() - goal) < before / 5


@pytest.mark.parametrize("noise", [0.0, 0.02, 1e9])
@pytest.mark.parametrize(
    "points",
    [np.zeros((1, 3)), np.full((400, 3), 0.1), np.full((400, 3), 0.1, np.float32)],
    ids=["one row", "equal rows", "equal rows in float32"],
)
def test_equal_rows_have_equal_ratios(points, noise):
    features, _, goal = case(9, 3, 64, 0.0)
    assert not kernels.tilt(features, points, goal, noise=noise).any()


def test_noise_that_hides_everything_gives_equal_ratios():
    features, points, goal = case(400, 3, 64, 0.0)
    log_ratio = features.scores(points, kernels.tilt(features, points, goal, noise=1e3))
    assert np.ptp(log_ratio) < 1e-3


@pytest.mark.parametrize("scale", [0.0, 1.0, 1e8])
@pytest.mark.parametrize("least", [0.02, 0.5, 1.0])
def test_the_effective_size_is_kept_wherever_the_goal_lies(least, scale):
    features, points, goal = case(500, 2, 64, 0.0)
    direction = kernels.tilt(features, points, 40 * scale * goal, noise=0.0, least=least)
    log_ratio = features.scores(points, direction)
    ratio = np.exp(log_ratio - log_ratio.max())
    assert ratio.sum() ** 2 / (ratio**2).sum() >= 500 * least * (1 - 1e-6)


def test_duplicated_rows_change_nothing():
    features, points, goal = case(64, 3, 128, 0.02)
    # The sample's own error is smaller with more rows, so noise must be what decides.
    once, often = (
        features.scores(points, kernels.tilt(features, rows, goal, noise=0.5))
        for rows in (points, np.tile(points, (3, 1)))
    )
    np.testing.assert_allclose(once, often, atol=0.05)


def test_the_same_bits_with_any_number_of_threads():
    features, points, goal = case(512, 4, 512, 0.02)
    found = []
    for n_threads in (1, 2, 5):
        kernels.set_threads(n_threads)
        found.append(kernels.tilt(features, points, goal, noise=0.02, least=0.1))
    kernels.set_threads(0)
    assert found[0].any()
    assert all((other == found[0]).all() for other in found)


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"noise": -1.0}, InvalidParameterError),
        ({"noise": np.inf}, InvalidParameterError),
        ({"least": 1.1}, InvalidParameterError),
        ({"least": np.nan}, InvalidParameterError),
        ({"goal": np.zeros(63)}, InvalidParameterError),
        ({"goal": np.full(64, np.nan)}, InvalidDataError),
        ({"sample": np.zeros((0, 3))}, InvalidParameterError),
        ({"sample": np.zeros((4, 2))}, InvalidParameterError),
        ({"sample": np.full((4, 3), np.inf)}, InvalidDataError),
    ],
)
def test_what_is_wrong_is_refused_by_name(wrong, error):
    features, sample, goal = case(9, 3, 64, 0.0)
    given = {"sample": sample, "goal": goal, "noise": 0.1, "least": 0.1} | wrong
    with pytest.raises(error, match=next(iter(wrong))):
        kernels.tilt(features, given.pop("sample"), given.pop("goal"), **given)


def test_draws_are_in_proportion_to_the_rates(rng):
    rates = np.array([1.0, 2.0, 4.0, 8.0])
    first = np.zeros(4)
    pair = np.zeros((4, 4))
    n = 40_000
    for coins in rng.random((n, 4)):
        order = np.argsort(kernels.arrivals(np.log(rates), coins))
        first[order[0]] += 1
        pair[order[0], order[1]] += 1
    expected = rates / rates.sum()
    assert (np.abs(first / n - expected) < 6 * np.sqrt(expected / n)).all()
    left = expected[:, None] * rates / (rates.sum() - rates[:, None])
    np.fill_diagonal(left, 0)
    assert (np.abs(pair / n - left) <= 6 * np.sqrt(left / n)).all()


def test_arrivals_are_logarithms_of_exponential_times():
    coins = np.array([0.0, 1e-300, 0.3, 1 - 2**-53])
    rates = np.array([0.0, -700.0, 2.0, 700.0])
    found = kernels.arrivals(rates, coins)
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found[2:], np.log(-np.log(coins[2:])) - rates[2:], rtol=1e-14)


@pytest.mark.parametrize(
    ("rates", "coins", "error", "name"),
    [
        ([0.0], [0.5, 0.5], InvalidParameterError, "uniform"),
        ([0.0], [1.0], InvalidParameterError, "uniform"),
        ([0.0], [-0.1], InvalidParameterError, "uniform"),
        ([0.0], [np.nan], InvalidParameterError, "uniform"),
        ([np.inf], [0.5], InvalidDataError, "log_rates"),
    ],
)
def test_arrivals_refuse_what_is_no_coin(rates, coins, error, name):
    with pytest.raises(error, match=name):
        kernels.arrivals(rates, coins)

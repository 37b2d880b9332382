"""Laws of the noise, for any seed: false alarm 1e-6, and the helpers' power to see a wrong one."""

import numpy as np
import pytest
from scipy import stats

from dpsumm import kernels
from helpers.chance import FALSE_ALARM
from reference import laws

DRAWS = 200_000


def quantile_edges(quantile, scale):
    """Integers that cut a law into about 40 bins, tails included."""
    chances = np.concatenate([[1e-3, 1e-2], np.linspace(0.03, 0.97, 36), [0.99, 0.999]])
    return np.unique(np.floor(quantile(chances) * scale))


NORMAL = (kernels.rounded_normal, laws.rounded_normal_cdf, stats.norm.ppf)
LAPLACE = (kernels.discrete_laplace, laws.discrete_laplace_cdf, stats.laplace.ppf)


@pytest.mark.parametrize("scale", [0.3, 1.0, 7.3, 100.0, 7.8e6, 2.0**39])
@pytest.mark.parametrize("law", [NORMAL, LAPLACE], ids=["normal", "laplace"])
def test_noise_has_its_law_and_the_test_sees_a_scale_off_by_a_tenth(law, scale):
    draw, cdf, quantile = law
    draws = draw(scale, DRAWS)
    assert draws.dtype == np.int64
    edges = quantile_edges(quantile, scale)
    assert laws.integer_fits(draws, cdf(scale), edges, FALSE_ALARM)
    for wrong in (0.9, 1 / 0.9):
        assert not laws.integer_fits(draws, cdf(scale * wrong), edges, FALSE_ALARM)


def test_the_helper_sees_a_double_zero_cut_tails_and_a_shift(rng):
    scale = 3.0
    edges = np.arange(-12, 12)
    fits = lambda draws: laws.integer_fits(  # noqa: E731
        draws, laws.discrete_laplace_cdf(scale), edges, FALSE_ALARM
    )
    magnitude = rng.geometric(1 - np.exp(-1 / scale), DRAWS) - 1
    sign = rng.choice([-1, 1], DRAWS)
    assert not fits(magnitude * sign)  # both zeros kept
    right = (magnitude * sign)[(magnitude > 0) | (sign > 0)]
    assert fits(right)
    assert not fits(np.clip(right, -11, 11)[np.abs(right) < 11])
    assert not fits(right + rng.integers(0, 2, len(right)))


@pytest.mark.parametrize("epsilon", [0.01, 1.0])
def test_exponential_choice_has_its_law(epsilon):
    scores = np.array([0, 3, -100, 2, 3, 1, 150], dtype=np.int64) if epsilon < 1 else np.arange(7)
    chances = np.exp(epsilon * (scores - scores.max()))
    chances /= chances.sum()
    draws = [kernels.exponential_choice(scores, epsilon) for _ in range(40_000)]
    counts = np.bincount(draws, minlength=7)
    assert laws.fits(counts, chances, FALSE_ALARM)
    for factor in (0.7, 1.4):
        wrong = np.exp(factor * epsilon * (scores - scores.max()))
        assert not laws.fits(counts, wrong / wrong.sum(), FALSE_ALARM)


def test_exponential_choice_is_sure_of_a_score_far_above():
    scores = np.array([0, 2**60, -(2**60)], dtype=np.int64)
    assert {kernels.exponential_choice(scores, 1.0) for _ in range(100)} == {1}
    assert kernels.exponential_choice(np.array([-5]), 1.0) == 0


def test_random_rounding_has_no_bias():
    # One point many times, so that each coordinate's fraction of a step is fixed.
    features = kernels.RandomFeatures(3, 24, gamma=0.5, seed=1)
    n, steps = 200_000, 20
    point = np.array([[0.3, -1.1, 0.7]])
    exact = features.transform(point)[0] * np.sqrt(24 / 2) * steps
    sums = features.quantized_sum(np.repeat(point, n, axis=0), steps)
    # Hoeffding: each rounding lies in an interval of 2 units; 24 coordinates.
    bound = np.sqrt(2 * np.log(2 * 24 / FALSE_ALARM) / n)
    assert np.abs(sums / n - exact).max() < bound
    nearest = 2 * np.rint((exact + steps) / 2) - steps
    assert np.abs(nearest - exact).max() > 3 * bound  # what rounding to nearest would give


def test_unseeded_draws_differ():
    features = kernels.RandomFeatures(3, 64, gamma=0.5, seed=1)
    points = np.linspace(-1, 1, 300).reshape(100, 3)
    for draw in (
        lambda: kernels.rounded_normal(1e9, 8),
        lambda: kernels.discrete_laplace(1e9, 8),
        lambda: features.quantized_sum(points, 20),
    ):
        assert (draw() != draw()).any()


@pytest.mark.parametrize("call", [kernels.rounded_normal, kernels.discrete_laplace])
def test_seeded_draws_are_repeatable_and_of_their_own_stream(call):
    np.testing.assert_array_equal(call(1e6, 9, 5), call(1e6, 9, 5))
    assert (call(1e6, 9, 5) != call(1e6, 9, 6)).all()
    assert len(call(1e6, 0)) == 0


def test_noise_has_no_memory_and_no_mean():
    draws = kernels.rounded_normal(1000.0, DRAWS).astype(float)
    limit = stats.norm.isf(FALSE_ALARM / 4)
    assert abs(draws.mean()) < limit * 1000 / np.sqrt(DRAWS)
    lagged = (draws[1:] * draws[:-1]).mean() / 1e6
    assert abs(lagged) < limit / np.sqrt(DRAWS - 1)

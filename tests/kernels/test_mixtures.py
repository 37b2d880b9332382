"""The mixture's fit against its twin, and its samples against its shares."""

import numpy as np
import pytest
from scipy import stats

from dpsumm import kernels
from dpsumm.errors import InvalidDataError, InvalidParameterError
from dpsumm.kernels import fit_mixture, sample_mixture
from helpers.chance import FALSE_ALARM
from reference import laws
from reference.vertical import fit_mixture as plain_fit

SIZES = [3, 2, 5]
STARTS = np.cumsum([0, *SIZES[:-1]])


def truth(rng, components=2):
    """Return the weights and shares of a mixture, and its tables."""
    pi = rng.dirichlet(np.ones(components))
    theta = np.hstack([rng.dirichlet(np.ones(size), size=components) for size in SIZES])
    return pi, theta, theta.T @ (pi[:, None] * theta), pi @ theta


def weights_of(weight):
    block = np.repeat(np.arange(len(SIZES)), SIZES)
    return np.where(block[:, None] == block, 0.0, weight), np.full(sum(SIZES), weight)


def test_the_fit_takes_the_steps_of_its_twin(rng):
    _, _, pairs, singles = truth(rng)
    noise = rng.normal(0, 0.01, pairs.shape)
    pairs = pairs + noise + noise.T
    pair_weights, single_weights = weights_of(1 / 0.0002)
    seed, components, init, steps = 5, 6, 0.5, 30
    found = fit_mixture(
        SIZES,
        pairs,
        pair_weights,
        singles,
        single_weights,
        components=components,
        init=init,
        stop=1e-6,
        max_steps=steps,
        seed=seed,
    )
    # One step of size 0 shows the first values, up to a constant for each column.
    start = fit_mixture(
        SIZES,
        pairs,
        pair_weights,
        singles,
        single_weights,
        components=components,
        init=init,
        stop=1e6,
        max_steps=1,
        seed=seed,
    )
    assert start.steps == 0
    z = np.log(start.theta)
    pi, theta, taken, chi2 = plain_fit(
        SIZES, pairs, pair_weights, singles, single_weights, z, 0.06, 1e-6, steps
    )
    assert found.steps == taken == steps
    np.testing.assert_allclose(found.pi, pi, rtol=1e-7)
    np.testing.assert_allclose(found.theta, theta, rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(found.chi2, chi2, rtol=1e-7)


def test_first_values_are_normal_around_the_singles():
    singles = np.array([0.2, 0.3, 0.5])
    start = fit_mixture(
        [3], np.zeros((3, 3)), np.zeros((3, 3)), singles, np.ones(3), components=4000, init=0.25
    )
    # Differences within a column are free of its constant: variance 2 init^2.
    z = np.log(start.theta)
    difference = z[:, 0] - z[:, 1] - np.log(singles[0] / singles[1])
    assert stats.kstest(difference / (0.25 * np.sqrt(2)), "norm").pvalue > FALSE_ALARM


@pytest.mark.same_draws
def test_it_finds_a_mixture_and_leaves_the_noise(rng):
    sizes = [8] * 6
    pi = rng.dirichlet(np.full(2, 5.0))
    theta = np.hstack([rng.dirichlet(np.ones(8), size=2) for _ in sizes])
    pairs, records, noise_std = theta.T @ (pi[:, None] * theta), 10_000, 50.0
    block = np.repeat(np.arange(6), 8)
    counted = block[:, None] != block
    noise = np.triu(kernels.rounded_normal(noise_std, pairs.size).reshape(pairs.shape), 1) / records
    noise = np.where(counted, noise + noise.T, 0)
    weights = np.where(counted, (records / noise_std) ** 2, 0)
    fit = kernels.fit_mixture(sizes, pairs + noise, weights, pi @ theta, weights[0] + weights[-1])
    assert fit.chi2 <= 1
    assert fit.steps < 1000
    model = fit.theta.T @ (fit.pi[:, None] * fit.theta)
    # Much closer to the truth than the noisy tables are.
    assert np.abs(np.where(counted, model - pairs, 0)).sum() < 0.7 * np.abs(noise).sum()


def test_exact_tables_of_two_products_are_found():
    """Golden: of a million records with noise of 10, every share to 2e-5."""
    rng = np.random.default_rng(5)
    sizes, pi = [3, 4, 2], np.array([0.6, 0.4])
    theta = np.hstack([rng.dirichlet(np.ones(size), 2) for size in sizes])
    pairs, block = theta.T @ (pi[:, None] * theta), np.repeat(np.arange(3), sizes)
    counted = block[:, None] != block
    weights = np.where(counted, 1e10, 0.0)
    fit = fit_mixture(
        sizes, np.where(counted, pairs, 0), weights, pi @ theta, np.full(9, 1e10),
        components=8, stop=0.25, max_steps=4000,
    )  # fmt: skip
    model = fit.theta.T @ (fit.pi[:, None] * fit.theta)
    assert fit.chi2 <= 0.25
    assert np.abs(np.where(counted, model - pairs, 0)).max() < 2e-5


def test_samples_have_the_models_law(rng, seed):
    pi, theta, pairs, _ = truth(rng, 3)
    rows = sample_mixture(pi, theta, SIZES, 20_000, seed=seed)
    assert (rows.dtype, rows.shape) == (np.uint32, (20_000, 3))
    for i, j in [(0, 1), (0, 2), (1, 2)]:
        counts = np.zeros((SIZES[i], SIZES[j]))
        np.add.at(counts, (rows[:, i], rows[:, j]), 1)
        block = pairs[STARTS[i] :, STARTS[j] :][: SIZES[i], : SIZES[j]]
        assert laws.fits(counts.ravel(), block.ravel() / block.sum(), FALSE_ALARM / 3)
    np.testing.assert_array_equal(rows, sample_mixture(pi, theta, SIZES, 20_000, seed=seed))


def test_given_columns_choose_the_components(rng, seed):
    pi, theta, _, _ = truth(rng, 3)
    rows = sample_mixture(pi, theta, SIZES, 20_000, given=[1, None, 4], seed=seed)
    assert (rows[:, [0, 2]] == [1, 4]).all()
    chances = pi * theta[:, 1] * theta[:, STARTS[2] + 4]
    share = chances @ theta[:, STARTS[1]] / chances.sum()
    assert stats.binomtest(int((rows[:, 1] == 0).sum()), 20_000, share).pvalue > FALSE_ALARM


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"pairs": np.zeros((9, 10))}, InvalidParameterError, "pairs: must have sum"),
        ({"singles": np.full(10, np.nan)}, InvalidDataError, "singles"),
        ({"pair_weights": -np.ones((10, 10))}, InvalidParameterError, "pair_weights"),
        ({"sizes": [3, 0, 7]}, InvalidParameterError, "sizes"),
        ({"step": 0.0}, InvalidParameterError, "step"),
    ],
)
def test_a_fit_of_what_does_not_fit_is_refused(changes, error, message):
    right = {
        "sizes": SIZES,
        "pairs": np.zeros((10, 10)),
        "pair_weights": np.zeros((10, 10)),
        "singles": np.full(10, 0.1),
        "single_weights": np.ones(10),
    }
    fit_mixture(**right)
    with pytest.raises(error, match=message):
        fit_mixture(**right | changes)


@pytest.mark.parametrize(
    ("given", "message"),
    [([0], "given"), ([2, None], "given"), ([1, 0], "given: has no chance"), ([-1, None], "given")],
)
def test_what_cannot_be_given_is_refused(given, message):
    with pytest.raises(InvalidParameterError, match=message):
        sample_mixture([1.0], [[1.0, 0.0, 1.0]], [2, 1], 1, given=given)

"""The exponential mechanism and MWEM: seeds, states, and where little noise leads."""

import numpy as np
import pytest

from dpsumm import kernels
from helpers.chance import FALSE_ALARM
from reference import laws

SUMS = np.array([40, -10, 0])


def run(seed=None, theta=None, **changes):
    given = {"steps": 4, "iterations": 6, "epsilon_select": 0.5, "epsilon_measure": 0.5}
    return kernels.mwem(SUMS, 20, **given | changes, theta=theta, seed=seed)


def test_mwem_is_repeatable_with_a_seed_only_and_goes_on_from_its_state():
    one, two, three, four = (run(seed) for seed in (1, 1, 2, None))
    np.testing.assert_array_equal(one.means, two.means)
    np.testing.assert_array_equal(one.theta, two.theta)
    assert (one.means != three.means).any()
    assert (one.means != four.means).any()
    assert np.abs(one.means).max() <= 1
    np.testing.assert_array_equal(run(9, one.theta).means, run(9, list(two.theta)).means)
    assert (run(9, one.theta).means != run(9).means).any()
    np.testing.assert_array_equal(run(9, np.zeros(3)).means, run(9).means)


def test_the_state_that_is_given_is_not_changed():
    theta = np.ones(3)
    assert (run(1, theta).theta != 1).any()
    np.testing.assert_array_equal(theta, 1)


def test_mwem_finds_the_means_when_noise_is_small():
    steps, count = 20, 10_000
    wanted, theta = np.array([0.5, -0.8, 0.0, 0.95]), None
    sums = np.rint(wanted * steps * count).astype(np.int64)
    for _ in range(40):
        means, theta = kernels.mwem(
            sums,
            count,
            steps=steps,
            iterations=50,
            epsilon_select=1.0,
            epsilon_measure=1.0,
            theta=theta,
        )
    np.testing.assert_allclose(means, wanted, atol=0.01)


@pytest.mark.parametrize("epsilon", [0.02, 0.5])
def test_choices_have_their_law_and_the_test_sees_another_epsilon(epsilon):
    scores = np.array([3, 0, -4, 3, 7])
    counts = np.bincount(
        [kernels.exponential_choice(scores, epsilon) for _ in range(60_000)], minlength=5
    )

    def chances(epsilon):
        return np.exp(epsilon * scores) / np.exp(epsilon * scores).sum()

    assert laws.fits(counts, chances(epsilon), FALSE_ALARM)
    assert not laws.fits(counts, chances(2 * epsilon), FALSE_ALARM)


def test_choices_are_repeatable_with_a_seed_only():
    scores = np.zeros(2**20, np.int64)
    assert kernels.exponential_choice(scores, 1.0, 5) == kernels.exponential_choice(scores, 1.0, 5)
    assert len({kernels.exponential_choice(scores, 1.0) for _ in range(5)}) > 1

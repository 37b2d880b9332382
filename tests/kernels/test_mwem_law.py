"""MWEM in law against the version with every marginal written out."""

import numpy as np
import pytest

from dpsumm import kernels
from helpers.chance import FALSE_ALARM
from reference import laws, mwem

RUNS = 2500
STEPS = 10
COUNT = 40
# Sums in units of 1 / STEPS; far from each other, so that selection prefers some.
SUMS = np.array([300, -120, 20, 0])
SELECT, MEASURE = 0.08, 0.05


def run(iterations, theta, seed):
    return kernels.mwem(
        SUMS,
        COUNT,
        steps=STEPS,
        iterations=iterations,
        epsilon_select=SELECT,
        epsilon_measure=MEASURE,
        theta=theta,
        seed=seed,
    )


def fast(rng, iterations):
    runs = []
    for seed in rng.integers(2**63, size=RUNS):
        first = run(iterations, None, int(seed))
        # The second round starts from the first one's state.
        second = run(iterations, first.theta, int(seed) ^ 1)
        runs.append(np.concatenate([first.means, second.means]))
    return np.array(runs)


def slow(rng, iterations, select=SELECT, measure=MEASURE, warm=True):
    runs = []
    for _ in range(RUNS):
        first, state = mwem.mwem(SUMS, COUNT, STEPS, iterations, select, measure, rng)
        second, _ = mwem.mwem(
            SUMS, COUNT, STEPS, iterations, select, measure, rng, state if warm else None
        )
        runs.append(np.concatenate([first, second]))
    return np.array(runs)


def agree(a, b):
    """Whether each coordinate's law, and that of the sum of all, could be one."""
    # Means of untouched coordinates are 0 here and 5e-17 there: one atom, not two.
    a, b = a.round(9), b.round(9)
    tests = [*zip(a.T, b.T, strict=True), (a.sum(axis=1), b.sum(axis=1))]
    return all(laws.same_law(x, y, FALSE_ALARM / len(tests)) for x, y in tests)


@pytest.mark.parametrize("iterations", [1, 4])
def test_mwem_has_the_law_of_algorithm_2(rng, iterations):
    assert agree(fast(rng, iterations), slow(rng, iterations))


@pytest.mark.same_draws
@pytest.mark.parametrize(
    "wrong",
    [
        {"select": 2 * SELECT},
        {"select": SELECT / 3},
        {"measure": 2 * MEASURE},
        {"measure": MEASURE / 2},
        {"warm": False},
    ],
    ids=str,
)
def test_the_comparison_sees_a_wrong_law(rng, wrong):
    assert not agree(fast(rng, 1), slow(rng, 1, **wrong))


@pytest.mark.parametrize("steps", [1, 2, 20, 1000])
@pytest.mark.parametrize("tilt", [0.0, 1e-9, 1e-4, -0.3, 5.0, -200.0, 4000.0])
def test_mean_of_a_tilted_marginal(steps, tilt):
    # Enormous noise-free budget on a matching sum leaves the state where it is.
    grid = np.linspace(-1, 1, steps + 1)
    weights = np.exp(tilt * grid - np.abs(tilt))
    wanted = weights @ grid / weights.sum()
    count = 1000
    sums = [round(wanted * count * steps)]
    means, theta = kernels.mwem(
        sums,
        count,
        steps=steps,
        iterations=1,
        epsilon_select=1.0,
        epsilon_measure=1000.0,
        theta=[tilt],
        seed=3,
    )
    # One update moves the tilt by at most the rounding of the sum over 2 * count, plus noise.
    assert means[0] == pytest.approx(wanted, abs=2e-3)
    assert abs(theta[0] - tilt) < 2e-3

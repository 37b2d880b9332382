"""Objective and diagonal dominance against their definitions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_iris

from conftest import RELATIVE
from dpsumm import RBF, InvalidParameterError
from dpsumm.summary.metrics import diagonal_dominance, is_diagonally_dominant, mmd2, objective
from reference import dense


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("gamma", [0.01, 0.5, 20.0])
def test_objective_and_distance_are_their_definitions(rng, dtype, gamma):
    summary = rng.normal(size=(17, 4)).astype(dtype)
    target = rng.normal(0.5, 1, size=(29, 4)).astype(dtype)
    relative = RELATIVE if dtype is np.float64 else 1e-5
    exact = [part.astype(np.float64) for part in (summary, target)]
    assert objective(summary, target, RBF(gamma)) == pytest.approx(
        dense.objective(*exact, gamma), rel=relative, abs=relative
    )
    assert mmd2(summary, target, RBF(gamma)) == pytest.approx(
        dense.mmd2(*exact, gamma), rel=relative, abs=relative
    )


def test_objective_is_greatest_at_the_target_itself(rng):
    target = rng.normal(size=(20, 3))
    best = objective(target, target, RBF(0.3))
    assert best == pytest.approx(dense.kernel(target, target, 0.3).mean(), abs=1e-12)
    for _ in range(20):
        other = rng.normal(size=(rng.integers(1, 30), 3))
        assert objective(other, target, RBF(0.3)) < best


def off_diagonal(points, gamma):
    kernel = dense.kernel(points.astype(np.float64), points.astype(np.float64), gamma)
    return kernel[~np.eye(len(points), dtype=bool)].max()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [2, 3, 50, 1023, 1024, 1025])
def test_largest_value_off_the_diagonal(rng, n, dtype):
    points = rng.normal(size=(n, 3)).astype(dtype)
    largest, bound = diagonal_dominance(points, RBF(0.7))
    assert largest == pytest.approx(off_diagonal(points, 0.7), abs=1e-10)
    assert bound == 1 / (n**3 + 2 * n**2 - 2 * n - 3)


def test_largest_value_far_from_the_origin(rng):
    # Squared distances from norms would cancel here.
    points = rng.normal(size=(40, 3)) + 1e6
    largest, _ = diagonal_dominance(points, RBF(0.7))
    assert largest == pytest.approx(off_diagonal(points, 0.7), abs=1e-6)


@given(st.integers(2, 30), st.floats(0.01, 100), st.integers(0, 2**32 - 1))
def test_condition_holds_exactly_for_far_apart_points(n, gamma, seed):
    # Neighbours on a line at the distance where the kernel is the bound, and a little off it.
    bound = 1 / (n**3 + 2 * n**2 - 2 * n - 3)
    step = np.sqrt(-np.log(bound) / gamma)
    line = np.random.default_rng(seed).permutation(n)[:, None].astype(np.float64) * step
    assert is_diagonally_dominant(line * 1.001, RBF(gamma))
    assert not is_diagonally_dominant(line * 0.999, RBF(gamma))


def test_equal_rows_break_the_condition():
    points = np.array([[0.0], [1e6], [0.0]])
    assert diagonal_dominance(points, RBF(1.0))[0] == 1.0
    assert not is_diagonally_dominant(points, RBF(1.0))


def test_real_data_do_not_fulfil_it():
    flowers = load_iris().data
    largest, bound = diagonal_dominance(flowers, RBF.from_public(flowers))
    assert largest > 1000 * bound
    assert not is_diagonally_dominant(flowers, RBF.from_public(flowers))


def test_greedy_reaches_its_share_of_the_optimum_where_the_condition_holds(rng):
    # Theorem 1's conclusion, by trying all subsets: 1 - 1/e of the best set's objective, for
    # normalised J (the empty set is 0), on a set for which its condition holds.
    from itertools import combinations

    from dpsumm import _core

    points = rng.permutation(np.arange(9.0))[:, None] * 6.0
    target = points[:4]
    assert is_diagonally_dominant(points, RBF(1.0))
    attraction = _core.kernel_means(points, target, 1.0)
    picks = _core.greedy(points, attraction, 1.0, 4).rows
    best = max(dense.objective(points[list(s)], target, 1.0) for s in combinations(range(9), 4))
    reached = dense.objective(points[picks], target, 1.0)
    assert best > 0.2
    assert reached >= (1 - 1 / np.e) * best


@pytest.mark.parametrize("n", [0, 1])
def test_fewer_than_two_points_are_refused(n):
    with pytest.raises(InvalidParameterError, match=str(n)):
        diagonal_dominance(np.zeros((n, 2)), RBF(1.0))

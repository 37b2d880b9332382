"""Diagonal dominance against its definition, and what it promises of the greedy."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_iris

from dpsumm import RBF
from dpsumm.errors import InvalidParameterError
from dpsumm.kernels import diagonal_dominance, greedy, is_diagonally_dominant, kernel_means
from reference import dense


def off_diagonal(points, gamma):
    kernel = dense.kernel(points.astype(np.float64), points.astype(np.float64), gamma)
    return kernel[~np.eye(len(points), dtype=bool)].max()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [2, 3, 50, 1023, 1024, 1025])
def test_largest_value_off_the_diagonal(rng, n, dtype):
    points = rng.normal(size=(n, 3)).astype(dtype)
    largest, bound = diagonal_dominance(points, 0.7)
    assert largest == pytest.approx(off_diagonal(points, 0.7), abs=1e-10)
    assert bound == 1 / (n**3 + 2 * n**2 - 2 * n - 3)


def test_largest_value_far_from_the_origin(rng):
    # Squared distances from norms would cancel here.
    points = rng.normal(size=(40, 3)) + 1e6
    largest, _ = diagonal_dominance(points, 0.7)
    assert largest == pytest.approx(off_diagonal(points, 0.7), abs=1e-6)


@given(st.integers(2, 30), st.floats(0.01, 100), st.integers(0, 2**32 - 1))
def test_condition_holds_exactly_for_far_apart_points(n, gamma, seed):
    # Neighbours on a line at the distance where the kernel is the bound, and a little off it.
    bound = 1 / (n**3 + 2 * n**2 - 2 * n - 3)
    step = np.sqrt(-np.log(bound) / gamma)
    line = np.random.default_rng(seed).permutation(n)[:, None].astype(np.float64) * step
    assert is_diagonally_dominant(line * 1.001, gamma)
    assert not is_diagonally_dominant(line * 0.999, gamma)


def test_equal_rows_break_the_condition():
    points = np.array([[0.0], [1e6], [0.0]])
    assert diagonal_dominance(points, 1.0)[0] == 1.0
    assert not is_diagonally_dominant(points, 1.0)


def test_real_data_do_not_fulfil_it():
    flowers = load_iris().data
    largest, bound = diagonal_dominance(flowers, RBF.from_public(flowers).gamma)
    assert largest > 1000 * bound
    assert not is_diagonally_dominant(flowers, RBF.from_public(flowers).gamma)


def test_greedy_reaches_its_share_of_the_optimum_where_the_condition_holds(rng):
    # Theorem 1's conclusion, by trying all subsets: 1 - 1/e of the best set's objective, for
    # normalised J (the empty set is 0), on a set for which its condition holds.
    points = rng.permutation(np.arange(9.0))[:, None] * 6.0
    target = points[:4]
    assert is_diagonally_dominant(points, 1.0)
    attraction = kernel_means(points, target, 1.0)
    picks = greedy(points, attraction, 1.0, 4).rows
    best = max(dense.objective(points[list(s)], target, 1.0) for s in combinations(range(9), 4))
    reached = dense.objective(points[picks], target, 1.0)
    assert best > 0.2
    assert reached >= (1 - 1 / np.e) * best


@pytest.mark.parametrize("n", [0, 1])
def test_fewer_than_two_points_are_refused(n):
    with pytest.raises(InvalidParameterError, match=str(n)):
        diagonal_dominance(np.zeros((n, 2)), 1.0)

"""The greedy against brute force: every pick is best, ties go to the first row."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsumm import kernels
from reference import dense
from reference.tables import GAMMAS, exact, tables

# Two candidates closer than this are a tie that rounding may break either way.
TIE = 1e-12


@st.composite
def worlds(draw):
    """Return points, target and gamma; some points may be equal."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, m, width = draw(st.integers(1, 30)), draw(st.integers(1, 30)), draw(st.integers(1, 4))
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    points = rng.normal(size=(n, width)).astype(dtype)
    target = rng.normal(draw(st.sampled_from([0.0, 1.0, 6.0])), 1, (m, width)).astype(dtype)
    if draw(st.booleans()):
        points = points[rng.integers(n, size=n)]  # duplicates
    if draw(st.booleans()):
        points = points.round()  # many equal distances
    return points, target, draw(st.floats(0.02, 4))


@given(worlds(), st.integers(1, 30))
def test_greedy_picks_maximise_j(world, size):
    points, target, gamma = world
    size = min(size, len(points))
    attraction = kernels.kernel_means(points, target, gamma)
    picks = kernels.greedy(points, attraction, gamma, size)
    rows = picks.rows.tolist()
    assert len(set(rows)) == size
    wide, goal = points.astype(np.float64), target.astype(np.float64)
    for t, row in enumerate(rows):
        rest = [i for i in range(len(points)) if i not in rows[:t]]
        values = {i: dense.objective(wide[[*rows[:t], i]], goal, gamma) for i in rest}
        assert values[row] >= max(values.values()) - TIE
        assert abs(picks.objective[t] - values[row]) < 1e-11
        twins = [i for i in rest if (points[i] == points[row]).all()]
        assert row == min(twins)
    np.testing.assert_allclose(
        kernels.objective(points[rows], attraction[rows], gamma), picks.objective, atol=1e-12
    )


@given(worlds())
def test_greedy_equals_the_twin_where_no_two_candidates_are_equal(world):
    points, target, gamma = world
    points = points + np.arange(len(points), dtype=points.dtype)[:, None] * points.dtype.type(0.37)
    attraction = kernels.kernel_means(points, target, gamma)
    size = min(6, len(points))
    wide, goal = points.astype(np.float64), target.astype(np.float64)
    twin = dense.greedy(wide, goal, gamma, size)
    rows = kernels.greedy(points, attraction, gamma, size).rows.tolist()
    if rows != twin:  # then only because of a tie in the last bits
        first = next(t for t in range(size) if rows[t] != twin[t])
        ours, theirs = (dense.objective(wide[r[: first + 1]], goal, gamma) for r in (rows, twin))
        assert abs(ours - theirs) < TIE


@given(tables(1), GAMMAS)
def test_objective_is_j_of_every_prefix(a, gamma):
    (a,) = a
    target = a[::-1][: len(a) // 2 + 1].copy()
    attraction = kernels.kernel_means(a, target, gamma)
    wanted = [dense.objective(exact(a[:t]), exact(target), gamma) for t in range(1, len(a) + 1)]
    np.testing.assert_allclose(
        kernels.objective(a, attraction, gamma), wanted, rtol=1e-9, atol=1e-11
    )


@given(tables(3, max_rows=20), GAMMAS)
def test_marginal_gain_is_the_change_of_j(three, gamma):
    summary, candidates, target = (exact(table) for table in three)
    before = dense.objective(summary, target, gamma)
    for candidate in candidates:
        after = dense.objective(np.vstack([summary, candidate]), target, gamma)
        gain = dense.marginal_gain(summary, candidate, target, gamma)
        assert gain == pytest.approx(after - before, abs=1e-12)


def test_objective_is_greatest_at_the_target_itself(rng):
    target = rng.normal(size=(20, 3))

    def j(summary):
        return kernels.objective(summary, kernels.kernel_means(summary, target, 0.3), 0.3)[-1]

    best = j(target)
    assert best == pytest.approx(dense.kernel(target, target, 0.3).mean(), abs=1e-12)
    for _ in range(20):
        assert j(rng.normal(size=(rng.integers(1, 30), 3))) < best


def test_a_target_far_away_and_attraction_from_it_pick_the_same(rng):
    points, target = rng.normal(size=(400, 5)), rng.normal(0.5, 1, (90, 5))
    attraction = kernels.kernel_means(points, target, 0.2)
    one = kernels.greedy(points, attraction, 0.2, 30)
    other = kernels.greedy_towards(points, target, 0.2, 30)
    np.testing.assert_array_equal(one.rows, other.rows)
    np.testing.assert_array_equal(one.objective, other.objective)


def test_weights_have_the_least_distance_and_a_ridge_evens_them_out(rng):
    points, target = rng.normal(0, 2, (30, 2)), rng.normal(1, 1, (200, 2))
    attraction = kernels.kernel_means(points, target, 0.3)
    best = kernels.weights(points, attraction, 0.3)
    assert best.min() >= 0
    assert best.sum() == pytest.approx(1)
    gram = dense.kernel(points, points, 0.3)

    def loss(w):
        return w @ gram @ w - 2 * w @ attraction

    for _ in range(200):
        other = rng.dirichlet(np.full(30, 0.3))
        for share in (1.0, 1e-2, 1e-4):
            assert loss(best) <= loss((1 - share) * best + share * other) + 1e-8
    even = kernels.weights(points, attraction, 0.3, ridge=1e6)
    np.testing.assert_allclose(even, 1 / 30, atol=1e-4)

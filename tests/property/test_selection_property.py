"""Greedy and herding against brute force: every pick is best, ties go to the first row."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dpsumm import _core
from reference import dense

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
    attraction = _core.kernel_means(points, target, gamma)
    picks = _core.greedy(points, attraction, gamma, size)
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
        _core.objective(points[rows], attraction[rows], gamma), picks.objective, atol=1e-12
    )


@given(worlds())
def test_greedy_equals_the_twin_where_no_two_candidates_are_equal(world):
    points, target, gamma = world
    points = points + np.arange(len(points), dtype=points.dtype)[:, None] * points.dtype.type(0.37)
    attraction = _core.kernel_means(points, target, gamma)
    size = min(6, len(points))
    wide, goal = points.astype(np.float64), target.astype(np.float64)
    twin = dense.greedy(wide, goal, gamma, size)
    rows = _core.greedy(points, attraction, gamma, size).rows.tolist()
    if rows != twin:  # then only because of a tie in the last bits
        first = next(t for t in range(size) if rows[t] != twin[t])
        ours, theirs = (dense.objective(wide[r[: first + 1]], goal, gamma) for r in (rows, twin))
        assert abs(ours - theirs) < TIE


@given(
    worlds(),
    st.floats(0.01, 2),
    st.integers(0, 8),
    st.integers(1, 40),
)
def test_herding_takes_the_best_and_stops_at_half_the_mass(world, mass, at_least, at_most):
    points, target, gamma = world
    at_most = max(at_most, at_least)
    attraction = _core.kernel_means(points, target, gamma)
    rows = _core.herd(points, attraction, gamma, mass, at_least, at_most).rows.tolist()
    n = len(points)
    assert len(set(rows)) == len(rows)
    assert min(at_least, n) <= len(rows) <= min(at_most, n)
    gram = dense.kernel(points.astype(np.float64), points.astype(np.float64), gamma)
    for t in range(len(rows) + 1):
        score = attraction - mass * gram[:, rows[:t]].sum(axis=1)
        score[rows[:t]] = -np.inf
        if t == len(rows):
            if t < min(at_most, n):  # stopped although there was room
                assert score.max() <= mass / 2 + TIE
            continue
        assert score[rows[t]] >= score.max() - TIE * (1 + mass * t)
        if t >= at_least:
            assert score[rows[t]] > mass / 2 - TIE * (1 + mass * t)
        twins = [i for i in range(n) if score[i] > -np.inf and (points[i] == points[rows[t]]).all()]
        assert rows[t] == min(twins)


@given(worlds(), st.floats(0.01, 2))
def test_herding_equals_the_twin(world, mass):
    points, target, gamma = world
    attraction = _core.kernel_means(points, target, gamma)
    rows = _core.herd(points, attraction, gamma, mass, 2, 9).rows.tolist()
    twin = dense.herd(points.astype(np.float64), attraction, gamma, mass, 2, 9)
    gram = dense.kernel(points.astype(np.float64), points.astype(np.float64), gamma)
    for t, (a, b) in enumerate(zip(rows, twin, strict=False)):
        if a != b:
            score = attraction - mass * gram[:, rows[:t]].sum(axis=1)
            assert abs(score[a] - score[b]) < TIE * (1 + mass * t)
            return
    if len(rows) != len(twin):  # the stop itself was a tie
        t = min(len(rows), len(twin))
        score = attraction - mass * gram[:, rows[:t]].sum(axis=1)
        score[rows[:t]] = -np.inf
        assert abs(score.max() - mass / 2) < TIE * (1 + mass * t)

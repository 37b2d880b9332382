"""Every compiled kernel equals its slow twin, on whatever Hypothesis thinks of."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dpsumm import _core
from reference import dense

COORDINATES = st.floats(-8, 8, width=32)
GAMMAS = st.floats(1e-3, 8)


@st.composite
def tables(draw, count=1, max_rows=70):
    """Return tables of one width and precision: awkward sizes, repeated rows, any memory order."""
    width = draw(st.integers(1, 19))
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    layout = draw(st.sampled_from(["C", "F", "strided"]))
    offset = draw(st.sampled_from([0.0, 0.0, 1e4]))
    made = []
    for _ in range(count):
        n = draw(st.integers(1, max_rows))
        # A few distinct rows, dealt out: duplicates are the rule.
        kinds = draw(hnp.arrays(dtype, (draw(st.integers(1, 9)), width), elements=COORDINATES))
        seed = draw(st.integers(0, 2**32 - 1))
        rng = np.random.default_rng(seed)
        table = kinds[rng.integers(len(kinds), size=n)] + dtype(offset)
        if draw(st.booleans()):
            table = table + rng.normal(size=table.shape).astype(dtype)
        if layout == "F":
            table = np.asfortranarray(table)
        elif layout == "strided":
            wide = np.full((2 * n, 2 * width), np.nan, dtype)  # what lies between must not be read
            wide[::2, ::2] = table
            table = wide[::2, ::2]
        made.append(table)
    return made


def exact(table):
    return table.astype(np.float64)


@given(tables(2), GAMMAS)
def test_kernel_means_equal_the_definition(ab, gamma):
    a, b = ab
    means = _core.kernel_means(a, b, gamma)
    assert means.dtype == np.float64
    wanted = dense.kernel(exact(a), exact(b), gamma).mean(axis=1)
    np.testing.assert_allclose(means, wanted, rtol=1e-9, atol=1e-12)


@given(tables(2), GAMMAS)
def test_mmd2_equals_the_definition_and_is_a_squared_distance(ab, gamma):
    a, b = ab
    value = _core.mmd2(a, b, gamma)
    assert value == pytest.approx(dense.mmd2(exact(a), exact(b), gamma), rel=1e-9, abs=1e-12)
    assert value == pytest.approx(_core.mmd2(b, a, gamma), rel=1e-9, abs=1e-12)
    assert 0 <= value <= 2
    assert _core.mmd2(a, a[::-1], gamma) <= 1e-12
    # A sample and the same sample twice have one distribution.
    assert _core.mmd2(a, np.concatenate([a, a]), gamma) <= 1e-12


@given(tables(1), GAMMAS)
def test_mean_kernel_self_equals_the_definition(a, gamma):
    (a,) = a
    wanted = dense.kernel(exact(a), exact(a), gamma).mean()
    assert _core.mean_kernel_self(a, gamma) == pytest.approx(wanted, rel=1e-9)


@given(tables(1), GAMMAS, st.sampled_from(["paired", "phase"]), st.booleans(), st.integers(1, 40))
def test_features_and_scores_equal_the_definition(a, gamma, kind, orthogonal, half):
    (a,) = a
    n_features = 2 * half if kind == "paired" else half
    features = _core.RandomFeatures(kind, orthogonal, gamma, a.shape[1], n_features, 5)
    h = features.transform(a)
    assert h.shape == (len(a), n_features)
    assert h.dtype == a.dtype
    wanted = dense.features(features.omega, features.phase, exact(a), kind)
    reach = (
        1
        + np.abs(exact(a) @ features.omega.T).max()
        + a.shape[1] * (np.abs(features.omega).max() * np.abs(exact(a)).max())
    )
    tolerance = 4 * np.finfo(a.dtype).eps * reach
    np.testing.assert_allclose(h, wanted, rtol=0, atol=tolerance)
    norms = np.linalg.norm(exact(h), axis=1)
    assert norms.max() <= features.max_norm * (1 + 1e-6)
    if kind == "paired":
        np.testing.assert_allclose(norms, 1, atol=1e-6)
    direction = np.random.default_rng(1).normal(size=n_features)
    scores = features.scores(a, direction)
    assert scores.dtype == np.float64
    size = tolerance * np.abs(direction).sum()
    np.testing.assert_allclose(scores, wanted @ direction, rtol=0, atol=size + 1e-12)


@given(tables(1), GAMMAS, st.sampled_from(["paired", "phase"]), st.sampled_from([1, 7, 2**20]))
def test_grid_rows_keep_their_norm_and_their_sum_is_exact(a, gamma, kind, levels):
    (a,) = a
    features = _core.RandomFeatures(kind, True, gamma, a.shape[1], 24, 5)
    rows = np.array([features.sum_on_grid(a[i : i + 1], levels) for i in range(len(a))])
    limit = levels**2 * (1 if kind == "paired" else 2)
    assert max(sum(int(q) ** 2 for q in row) for row in rows) <= limit
    np.testing.assert_array_equal(features.sum_on_grid(a, levels), rows.sum(axis=0))
    np.testing.assert_array_equal(features.sum_on_grid(a[::-1], levels), rows.sum(axis=0))
    wanted = exact(features.transform(np.ascontiguousarray(a))) * levels
    # Rounded to nearest, then a long row takes single steps back; f32 features carry f32 errors.
    slack = 1.5 + levels * 4 * np.finfo(a.dtype).eps
    assert np.abs(rows - wanted).max() <= slack


@given(tables(1), GAMMAS, st.sampled_from(["paired", "phase"]))
def test_bid_features_are_rounded_features(a, gamma, kind):
    (a,) = a
    features = _core.RandomFeatures(kind, True, gamma, a.shape[1], 24, 5)
    grid = features.on_grid(a)
    assert grid.dtype == np.int16
    # The finest power of two at which the largest feature, sqrt(2/d), fits 16 bits.
    levels = 2 ** int(np.floor(np.log2(32767 * np.sqrt(24 / 2))))
    wanted = exact(features.transform(np.ascontiguousarray(a))) * levels
    assert np.abs(grid - wanted).max() <= 1.5 + levels * 4 * np.finfo(a.dtype).eps
    alone = np.concatenate([features.on_grid(a[i : i + 1]) for i in range(len(a))])
    np.testing.assert_array_equal(grid, alone)  # whoever holds the point gets the same bits


@given(tables(1), GAMMAS)
def test_objective_is_j_of_every_prefix(a, gamma):
    (a,) = a
    target = a[::-1][: len(a) // 2 + 1].copy()
    attraction = _core.kernel_means(a, target, gamma)
    wanted = [dense.objective(exact(a[:t]), exact(target), gamma) for t in range(1, len(a) + 1)]
    np.testing.assert_allclose(_core.objective(a, attraction, gamma), wanted, rtol=1e-9, atol=1e-11)


@given(tables(3, max_rows=20), GAMMAS)
def test_marginal_gain_is_the_change_of_j(three, gamma):
    summary, candidates, target = (exact(table) for table in three)
    before = dense.objective(summary, target, gamma)
    for candidate in candidates:
        after = dense.objective(np.vstack([summary, candidate]), target, gamma)
        gain = dense.marginal_gain(summary, candidate, target, gamma)
        assert gain == pytest.approx(after - before, abs=1e-12)

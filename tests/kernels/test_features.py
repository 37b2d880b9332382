"""Random features and their sums on grids equal their definitions."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsumm import kernels
from reference import dense
from reference.tables import GAMMAS, exact, table, tables


@pytest.fixture
def features():
    return kernels.RandomFeatures(3, 8, gamma=0.5, seed=1)


def test_transform_of_no_points_is_empty(features):
    assert features.transform(np.empty((0, 3))).shape == (0, 8)
    assert features.on_grid(np.empty((0, 3), np.float32)).shape == (0, 8)
    np.testing.assert_array_equal(features.sum_on_grid(np.empty((0, 3)), 8), np.zeros(8))
    assert kernels.kernel_means(np.empty((0, 3)), table(2), 1.0).shape == (0,)


def test_frequencies_follow_from_the_public_seed():
    def draw(seed, orthogonal=True):
        return kernels.RandomFeatures(3, 12, gamma=0.5, seed=seed, orthogonal=orthogonal).omega

    np.testing.assert_array_equal(draw(4), draw(4))
    assert (draw(4) != draw(5)).all()
    assert (draw(4, orthogonal=False) != draw(4)).any()
    # Blocks of `n_columns` frequencies are orthogonal.
    block = draw(4)[:3]
    products = block @ block.T
    assert np.abs(products - np.diag(np.diag(products))).max() < 1e-12 * products.max()
    assert kernels.RandomFeatures(3, 12, gamma=0.5, seed=2**64 - 1).n_features == 12


def test_ends_of_the_coarse_grid(features):
    # At the origin a cosine is 1, the last grid point, and a sine 0, the middle one: no coins.
    sums = features.quantized_sum(np.zeros((9, 3)), 20)
    np.testing.assert_array_equal(sums, [9 * 20] * 4 + [0] * 4)
    down = kernels.RandomFeatures.from_parts("phase", np.ones((2, 3)), np.array([np.pi, 0.0]))
    np.testing.assert_array_equal(down.quantized_sum(np.zeros((9, 3)), 7), [-63, 63])
    # One step: the grid {-1, 1}.
    assert set(np.unique(features.quantized_sum(table(1), 1, 5))) <= {-1, 1}


@given(tables(1), GAMMAS, st.sampled_from(["paired", "phase"]), st.booleans(), st.integers(1, 40))
def test_features_and_scores_equal_the_definition(a, gamma, kind, orthogonal, half):
    (a,) = a
    n_features = 2 * half if kind == "paired" else half
    features = kernels.RandomFeatures(
        a.shape[1], n_features, gamma=gamma, seed=5, kind=kind, orthogonal=orthogonal
    )
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
    features = kernels.RandomFeatures(a.shape[1], 24, gamma=gamma, seed=5, kind=kind)
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
    features = kernels.RandomFeatures(a.shape[1], 24, gamma=gamma, seed=5, kind=kind)
    grid = features.on_grid(a)
    assert grid.dtype == np.int16
    # The finest power of two at which the largest feature, sqrt(2/d), fits 16 bits.
    levels = 2 ** int(np.floor(np.log2(32767 * np.sqrt(24 / 2))))
    wanted = exact(features.transform(np.ascontiguousarray(a))) * levels
    assert np.abs(grid - wanted).max() <= 1.5 + levels * 4 * np.finfo(a.dtype).eps
    alone = np.concatenate([features.on_grid(a[i : i + 1]) for i in range(len(a))])
    np.testing.assert_array_equal(grid, alone)  # whoever holds the point gets the same bits


@pytest.mark.parametrize("kind", ["paired", "phase"])
def test_a_copy_gives_the_same_bits(kind):
    features = kernels.RandomFeatures(3, 10, gamma=0.5, seed=2, kind=kind)
    for again in (pickle.loads(pickle.dumps(features)), copy.deepcopy(features)):
        assert again.kind == kind
        np.testing.assert_array_equal(again.transform(table(7)), features.transform(table(7)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_transform_keeps_the_dtype_and_all_else_is_in_double_precision(dtype):
    features = kernels.RandomFeatures(3, 10, gamma=0.5, seed=2)
    points = table(7, dtype=dtype)
    assert features.transform(points).dtype == dtype
    assert features.scores(points, np.ones(10, np.float32)).dtype == np.float64
    assert features.sum_on_grid(points, 8).dtype == np.int64
    assert features.quantized_sum(points, 8).dtype == np.int64
    assert features.on_grid(points).dtype == np.int16


@pytest.mark.same_draws
def test_it_fits_a_pipeline_of_scikit_learn(rng):
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer
    from sklearn.svm import LinearSVC

    points = rng.normal(size=(300, 2))
    inside = (np.linalg.norm(points, axis=1) < 1.2).astype(int)  # no line separates these
    features = kernels.RandomFeatures(2, 128, gamma=0.5, seed=1)
    model = make_pipeline(FunctionTransformer(features.transform), LinearSVC(random_state=0))
    assert model.fit(points, inside).score(points, inside) > 0.9

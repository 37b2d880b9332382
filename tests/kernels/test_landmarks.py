"""Landmark features equal their definition, and no two points differ by more than is claimed."""

import copy
import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis import target as towards

from dpsumm import kernels
from dpsumm.errors import InvalidDataError, InvalidParameterError

LEVELS = 2**20
# An interval, a category of three, a position with a cell for what is missing.
REGION = [(1, 1.0), (3, 0.7), (1, 2.0), (1, 0.5)]
# No number of distinct value beyond these matters: rows are moved into the region.
ROW = st.lists(
    st.sampled_from([0.0, 0.3, 0.7, 1.0, 2.0, -1.0, 1e6, 1e300]) | st.floats(0, 2),
    min_size=6,
    max_size=6,
)


def points_of(rng, n):
    rows = np.zeros((n, 6))
    rows[:, 0] = rng.uniform(size=n)
    rows[np.arange(n), rng.integers(1, 4, n)] = 0.7
    rows[:, 4] = rng.uniform(0, 2, n)
    rows[:, 5] = rng.choice([0, 0.5], n)
    return rows


@pytest.fixture(scope="module")
def landmarks():
    return points_of(np.random.default_rng(0), 60)


@pytest.fixture(scope="module", params=[0.03, 0.4, 6.0])
def features(request, landmarks):
    return kernels.LandmarkFeatures(landmarks, gamma=request.param, region=REGION)


def slow(landmarks, gamma, points):
    """NumPy's own factor of the kernel matrix, and its linear solver."""

    def kernel(a, b):
        return np.exp(-gamma * ((a[:, None] - b[None]) ** 2).sum(axis=2))

    factor = np.linalg.cholesky(kernel(landmarks, landmarks) + 1e-3 * np.eye(len(landmarks)))
    return np.linalg.solve(factor, kernel(landmarks, points)).T


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_features_scores_and_sums_equal_the_definition(features, landmarks, dtype):
    points = points_of(np.random.default_rng(1), 101).astype(dtype)
    h = features.transform(points)
    assert h.dtype == dtype
    assert h.shape == (101, features.n_features) == (101, 60)
    wanted = slow(landmarks, features.gamma, points.astype(float))
    np.testing.assert_allclose(h, wanted, rtol=0, atol=1e-9 if dtype is np.float64 else 1e-6)
    direction = np.random.default_rng(2).normal(size=60)
    scores = features.scores(points, direction)
    assert scores.dtype == np.float64
    # Scores of float32 points have kernel values in float32, times numbers in the tens.
    atol = 1e-7 if dtype is np.float64 else 1e-4
    np.testing.assert_allclose(scores, wanted @ direction, rtol=0, atol=atol)
    total = features.sum_on_grid(points, LEVELS)
    assert total.dtype == np.int64
    np.testing.assert_array_equal(total, np.rint(h.astype(float) * LEVELS).sum(axis=0))
    for order in (np.asfortranarray(points), points[::-1][::-1]):
        np.testing.assert_array_equal(features.transform(order), h)
    assert features.transform(points[:0]).shape == (0, 60)


def test_products_are_near_the_kernel_at_the_landmarks(features, landmarks):
    h = features.transform(landmarks)
    # Row i of K (K + ridge)^-1 K: off by the ridge at the most.
    wanted = np.exp(-features.gamma * ((landmarks[:, None] - landmarks[None]) ** 2).sum(axis=2))
    assert np.abs(h @ h.T - wanted).max() < 1e-3


def apart(features, x, y, dtype=np.float64):
    rows = [np.array([row]).clip(-3e38, 3e38).astype(dtype) for row in (x, y)]
    first, second = (features.sum_on_grid(row, LEVELS) for row in rows)
    for total in (first, second):
        assert math.sqrt(int(sum(int(q) ** 2 for q in total))) <= features.grid_norm(LEVELS)
    return math.sqrt(sum(int(q) ** 2 for q in first - second))


@given(x=ROW, y=ROW, dtype=st.sampled_from([np.float32, np.float64]))
def test_no_pair_of_points_differs_by_more_than_is_claimed(x, y, dtype, features):
    moved = apart(features, x, y, dtype)
    towards(moved)  # hypothesis searches for pairs that are far apart
    assert moved <= features.grid_difference(LEVELS)
    assert apart(features, x, x, dtype) == 0


@pytest.mark.parametrize("gamma", [0.03, 0.4, 6.0])
def test_corners_nearly_reach_the_claim(gamma):
    corners = np.array([[0, 0.7, 0, 0, 0, 0], [1, 0, 0.7, 0, 2, 0.5]])
    features = kernels.LandmarkFeatures(corners, gamma=gamma, region=REGION)
    claim = features.grid_difference(LEVELS)
    assert 0.99 * claim < apart(features, *corners) <= claim
    square = 1 + 2 * 0.7**2 + 4 + 0.25
    assert claim == pytest.approx(LEVELS * math.sqrt(2 - 2 * math.exp(-gamma * square)), rel=1e-4)
    # Without a region it is that of points infinitely far apart.
    anywhere = kernels.LandmarkFeatures(corners, gamma=gamma)
    assert anywhere.grid_difference(LEVELS) == pytest.approx(LEVELS * math.sqrt(2), rel=1e-4)


def test_points_beyond_the_region_are_moved_into_it(features):
    inside = np.array([[1.0, 0, 0.7, 0, 2, 0.5]])
    outside = np.array([[7.0, -1, 0.7, 0, 1e300, 9]])
    near = features.transform(inside) - features.transform(outside)
    assert np.abs(near).max() < 1e-3


def test_a_record_is_treated_alone(features):
    points = points_of(np.random.default_rng(3), 97)
    h, total = features.transform(points), features.sum_on_grid(points, LEVELS)
    far = points.copy()
    far[50] = [1e300, -1e300, 0, 0, 5, 1e-300]
    changed = features.transform(far)
    np.testing.assert_array_equal(np.delete(h, 50, axis=0), np.delete(changed, 50, axis=0))
    moved = features.sum_on_grid(far, LEVELS) - total
    alone = [features.sum_on_grid(rows[50:51], LEVELS) for rows in (far, points)]
    np.testing.assert_array_equal(moved, alone[0] - alone[1])


def test_copies_are_equal(features, landmarks):
    points = points_of(np.random.default_rng(4), 5)
    for other in (copy.deepcopy(features), pickle.loads(pickle.dumps(features))):
        assert other.to_bytes() == features.to_bytes()
        np.testing.assert_array_equal(other.transform(points), features.transform(points))
    np.testing.assert_array_equal(features.landmarks, landmarks)
    others = [
        kernels.LandmarkFeatures(landmarks[::-1], gamma=features.gamma, region=REGION),
        kernels.LandmarkFeatures(landmarks, gamma=2 * features.gamma, region=REGION),
        kernels.LandmarkFeatures(landmarks, gamma=features.gamma),
    ]
    assert len({made.to_bytes() for made in (features, *others)}) == 4


@pytest.mark.parametrize(
    ("landmarks", "gamma", "region", "message"),
    [
        (np.zeros((0, 2)), 1.0, None, "landmarks"),
        (np.zeros((8193, 2)), 1.0, None, "landmarks"),
        (np.zeros((3, 2)), 0.0, None, "gamma"),
        (np.zeros((3, 2)), math.nan, None, "gamma"),
        (np.zeros((3, 2)), 1.0, [(1, 1.0)], "region"),
        (np.zeros((3, 2)), 1.0, [(0, 1.0), (2, 1.0)], "region"),
        (np.zeros((3, 2)), 1.0, [(1, 1.0), (1, math.inf)], "region"),
        (np.zeros((3, 2)), 1.0, [(1, 1.0), (1, -1.0)], "region"),
        (np.zeros((3, 2)), 1.0, [], "region"),
        (np.zeros((3, 2)), 1.0, 3, "region"),
        (np.zeros((3, 2)), 1.0, [1.0, 1.0], "region"),
        (np.zeros((3, 2)), 1.0, [(1, 1.0), (0.5, 1.0)], "region"),
        (np.zeros(3), 1.0, None, "landmarks"),
        # The accuracy of f64 ends, and so does the proof.
        (np.array([[1e10, 0.0], [-1e10, 3.0]]), 1.0, None, "landmarks"),
    ],
)
def test_what_cannot_be_vouched_for_is_refused(landmarks, gamma, region, message):
    with pytest.raises(InvalidParameterError, match=message):
        kernels.LandmarkFeatures(landmarks, gamma=gamma, region=region)


def test_wrong_points_are_refused(features):
    with pytest.raises(InvalidDataError, match="NaN"):
        features.transform(np.full((1, 6), np.nan))
    with pytest.raises(InvalidParameterError, match="columns"):
        features.sum_on_grid(np.zeros((1, 5)), LEVELS)
    with pytest.raises(InvalidParameterError, match="direction"):
        features.scores(np.zeros((1, 6)), np.zeros(59))
    with pytest.raises(InvalidParameterError, match="levels"):
        features.grid_norm(2**22 + 1)

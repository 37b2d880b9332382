"""What compiled kernels refuse: the class, the parameter, and no data value."""

import numpy as np
import pytest

from dpsumm import _core
from dpsumm.errors import InvalidDataError, InvalidParameterError

SECRET = 987654.321


@pytest.fixture
def features():
    return _core.RandomFeatures("paired", True, 0.5, 3, 8, 1)


def table(n, width=3, dtype=np.float64, seed=0):
    return np.random.default_rng(seed).normal(size=(n, width)).astype(dtype)


GOOD = table(5)
ONES = np.ones(5)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda f: _core.kernel_means(GOOD, GOOD.astype(np.float32), 1.0),
            InvalidParameterError,
            "same dtype.*astype",
        ),
        (
            lambda f: _core.mmd2(GOOD.astype(np.float32), GOOD, 1.0),
            InvalidParameterError,
            "same dtype.*astype",
        ),
        (lambda f: _core.mmd2(GOOD, GOOD[:, :2], 1.0), InvalidParameterError, "b: has 2 columns"),
        (
            lambda f: _core.kernel_means(GOOD, GOOD[:0], 1.0),
            InvalidParameterError,
            "others: has no rows",
        ),
        (lambda f: _core.mmd2(GOOD[:0], GOOD, 1.0), InvalidParameterError, "a: has no rows"),
        (
            lambda f: _core.mean_kernel_self(GOOD[:0], 1.0),
            InvalidParameterError,
            "points: has no rows",
        ),
        (lambda f: _core.mmd2(GOOD[:, :0], GOOD[:, :0], 1.0), InvalidParameterError, "no columns"),
        (lambda f: _core.kernel_means(GOOD, GOOD, 0.0), InvalidParameterError, "gamma"),
        (lambda f: _core.mmd2(GOOD, GOOD, -1.0), InvalidParameterError, "gamma"),
        (lambda f: _core.mean_kernel_self(GOOD, np.inf), InvalidParameterError, "gamma"),
        (lambda f: _core.greedy(GOOD, ONES, np.nan, 1), InvalidParameterError, "gamma"),
        (
            lambda f: _core.greedy(GOOD, ONES[:4], 1.0, 1),
            InvalidParameterError,
            "attraction: has 4",
        ),
        (lambda f: _core.greedy(GOOD, ONES, 1.0, 0), InvalidParameterError, "size"),
        (lambda f: _core.greedy(GOOD, ONES, 1.0, 6), InvalidParameterError, "size"),
        (lambda f: _core.greedy(GOOD, ONES * np.nan, 1.0, 1), InvalidDataError, "attraction"),
        (lambda f: _core.greedy_towards(GOOD, GOOD[:0], 1.0, 1), InvalidParameterError, "target"),
        (lambda f: _core.greedy_towards(GOOD, GOOD, 1.0, 6), InvalidParameterError, "size"),
        (lambda f: _core.greedy_towards(GOOD, GOOD, 0.0, 1), InvalidParameterError, "gamma"),
        (lambda f: _core.objective(GOOD, ONES[:1], 1.0), InvalidParameterError, "attraction"),
        (lambda f: _core.herd(GOOD, ONES, 1.0, 0.0, 0, 1), InvalidParameterError, "mass"),
        (lambda f: _core.herd(GOOD, ONES, 1.0, np.inf, 0, 1), InvalidParameterError, "mass"),
        (lambda f: _core.herd(GOOD, ONES, 1.0, 0.1, 3, 2), InvalidParameterError, "at_most"),
        (lambda f: f.transform(GOOD[:, :2]), InvalidParameterError, "points: has 2 columns"),
        (lambda f: f.scores(GOOD, np.ones(7)), InvalidParameterError, "direction"),
        (lambda f: f.scores(GOOD, np.full(8, np.inf)), InvalidDataError, "direction"),
        (
            lambda f: f.transform(np.full((1, 3), 1e308) * [1, -1, 1]),
            InvalidParameterError,
            "points|angle",
        ),
        (lambda f: f.sum_on_grid(GOOD, 0), InvalidParameterError, "levels"),
        (lambda f: f.sum_on_grid(GOOD, 2**22 + 1), InvalidParameterError, "levels"),
        (lambda f: f.quantized_sum(GOOD, 0), InvalidParameterError, "steps"),
        (
            lambda f: _core.RandomFeatures("paired", True, 1.0, 3, 7, 1),
            InvalidParameterError,
            "n_features",
        ),
        (
            lambda f: _core.RandomFeatures("phase", True, 1.0, 3, 0, 1),
            InvalidParameterError,
            "n_features",
        ),
        (lambda f: _core.RandomFeatures("sine", True, 1.0, 3, 8, 1), InvalidParameterError, "kind"),
        (
            lambda f: _core.RandomFeatures("paired", True, 0.0, 3, 8, 1),
            InvalidParameterError,
            "gamma",
        ),
        (
            lambda f: _core.RandomFeatures.from_parts("phase", GOOD, ONES[:2]),
            InvalidParameterError,
            "phase",
        ),
        (
            lambda f: _core.RandomFeatures.from_parts("paired", GOOD * np.nan, ONES[:0]),
            InvalidDataError,
            "omega",
        ),
        (lambda f: _core.rounded_normal(0.0, 1), InvalidParameterError, "noise_std"),
        (lambda f: _core.rounded_normal(np.nan, 1), InvalidParameterError, "noise_std"),
        (lambda f: _core.discrete_laplace(-1.0, 1), InvalidParameterError, "scale"),
        (lambda f: _core.discrete_laplace(np.inf, 1), InvalidParameterError, "scale"),
        (
            lambda f: _core.exponential_choice(np.zeros(0, np.int64), 1.0),
            InvalidParameterError,
            "scores",
        ),
        (
            lambda f: _core.exponential_choice(np.zeros(2, np.int64), 0.0),
            InvalidParameterError,
            "epsilon",
        ),
        (lambda f: _core.Bidder(np.ones((2, 0), np.int16)), InvalidParameterError, "n_features"),
        (
            lambda f: _core.Bidder(np.ones((2, 3), np.int16)).best(1, 1, 0),
            InvalidParameterError,
            "at least 1",
        ),
        (lambda f: _core.Bidder(np.ones((2, 3), np.int16)).remove(2), InvalidParameterError, "row"),
        (
            lambda f: _core.Bidder(np.ones((2, 3), np.int16)).set_target(np.ones(2, np.int64)),
            InvalidParameterError,
            "target",
        ),
        (
            lambda f: _core.Bidder(np.ones((2, 3), np.int16)).set_summary(np.full(3, 2**47)),
            InvalidParameterError,
            "summary",
        ),
        (
            lambda f: _core.Bidder(np.ones((2, 3), np.int16)).append(
                np.ones((1, 3), np.int16), np.array([1])
            ),
            InvalidParameterError,
            "ids",
        ),
        (lambda f: _core.Mwem(np.zeros(0), 20), InvalidParameterError, "n_coordinates"),
        (lambda f: _core.Mwem(np.zeros(2), 0), InvalidParameterError, "steps"),
        (
            lambda f: _core.Mwem(np.zeros(2), 2).run(np.zeros(3, np.int64), 1, 1, 1.0, 1.0),
            InvalidParameterError,
            "sums",
        ),
        (
            lambda f: _core.Mwem(np.zeros(2), 2).run(np.zeros(2, np.int64), 0, 1, 1.0, 1.0),
            InvalidParameterError,
            "count",
        ),
        (
            lambda f: _core.Mwem(np.zeros(2), 2).run(np.zeros(2, np.int64), 1, 0, 1.0, 1.0),
            InvalidParameterError,
            "iterations",
        ),
        (
            lambda f: _core.Mwem(np.zeros(2), 2).run(np.zeros(2, np.int64), 1, 1, 0.0, 1.0),
            InvalidParameterError,
            "epsilon_select",
        ),
    ],
)
def test_refusals_name_the_parameter(features, call, error, message):
    with pytest.raises(error, match=message):
        call(features)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("place", [0, -1])
def test_values_that_are_not_finite_are_refused_without_telling_any(features, bad, dtype, place):
    points = np.full((300, 3), SECRET, dtype)
    fine = points.copy()
    points.flat[place] = bad
    attraction = np.ones(300)
    for call in (
        lambda: features.transform(points),
        lambda: features.scores(points, np.ones(8)),
        lambda: features.sum_on_grid(points, 4),
        lambda: features.quantized_sum(points, 4),
        lambda: features.on_grid(points),
        lambda: _core.kernel_means(points, fine, 1.0),
        lambda: _core.kernel_means(fine, points, 1.0),
        lambda: _core.mmd2(points, fine, 1.0),
        lambda: _core.mean_kernel_self(points, 1.0),
        lambda: _core.greedy(points, attraction, 1.0, 2),
        lambda: _core.herd(points, attraction, 1.0, 0.1, 0, 2),
        lambda: _core.objective(points, attraction, 1.0),
    ):
        with pytest.raises(InvalidDataError, match="NaN or infinite") as caught:
            call()
        assert "98765" not in str(caught.value)


@pytest.mark.parametrize(
    "points",
    [
        np.ones(3),
        np.ones((1, 2, 3)),
        np.ones((2, 3), int),
        np.ones((2, 3), np.float16),
        np.ones((2, 3), ">f8"),
        [[1.0, 2.0, 3.0]],
        None,
    ],
)
def test_other_types_are_type_errors_that_say_what_is_wanted(features, points):
    with pytest.raises(TypeError, match=r"float32.*float64"):
        features.transform(points)


def test_appended_features_must_have_the_bidder_s_width():
    bidder = _core.Bidder(np.zeros((1, 6), np.int16))
    with pytest.raises(InvalidParameterError, match="features"):
        bidder.append(np.ones((3, 4), np.int16), np.array([5, 6]))  # 12 numbers are 2 rows of 6

"""What kernels take and what they refuse: the class, the parameter, and no data value."""

import numpy as np
import pytest

from dpsumm import kernels
from dpsumm.errors import InvalidDataError, InvalidParameterError
from reference.tables import table

SECRET = 987654.321


@pytest.fixture
def features():
    return kernels.RandomFeatures(3, 8, gamma=0.5, seed=1)


def mwem(**changes):
    right = {"sums": [0, 0], "count": 1, "steps": 2, "iterations": 1}
    return kernels.mwem(**right | {"epsilon_select": 1.0, "epsilon_measure": 1.0} | changes)


GOOD, ONES = table(5), np.ones(5)
BIDS = np.ones((2, 3), np.int16)
PAD, WORDS = kernels.Pad(2), np.ones((2, 3), np.uint32)
FEATURES = kernels.RandomFeatures(3, 8, gamma=0.5, seed=1)
LANDMARKS = kernels.LandmarkFeatures(GOOD, gamma=0.5)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda f: kernels.kernel_means(GOOD, GOOD.astype(np.float32), 1.0),
            InvalidParameterError,
            "same dtype.*astype",
        ),
        (
            lambda f: kernels.mmd2(GOOD.astype(np.float32), GOOD, 1.0),
            InvalidParameterError,
            "same dtype.*astype",
        ),
        (lambda f: kernels.mmd2(GOOD, GOOD[:, :2], 1.0), InvalidParameterError, "b: has 2 columns"),
        (
            lambda f: kernels.kernel_means(GOOD, GOOD[:0], 1.0),
            InvalidParameterError,
            "others: has no rows",
        ),
        (lambda f: kernels.mmd2(GOOD[:0], GOOD, 1.0), InvalidParameterError, "a: has no rows"),
        (
            lambda f: kernels.mean_kernel_self(GOOD[:0], 1.0),
            InvalidParameterError,
            "points: has no rows",
        ),
        (
            lambda f: kernels.mmd2(GOOD[:, :0], GOOD[:, :0], 1.0),
            InvalidParameterError,
            "no columns",
        ),
        (lambda f: kernels.nearest(GOOD, GOOD, 0), InvalidParameterError, "count: must be from 1"),
        (lambda f: kernels.nearest(GOOD, GOOD, 6), InvalidParameterError, "count: must be from 1"),
        (lambda f: kernels.nearest(GOOD, GOOD[:, :2], 1), InvalidParameterError, "others: has 2"),
        (lambda f: kernels.kernel_means(GOOD, GOOD, 0.0), InvalidParameterError, "gamma"),
        (lambda f: kernels.mmd2(GOOD, GOOD, -1.0), InvalidParameterError, "gamma"),
        (lambda f: kernels.mean_kernel_self(GOOD, np.inf), InvalidParameterError, "gamma"),
        (lambda f: kernels.greedy(GOOD, ONES, np.nan, 1), InvalidParameterError, "gamma"),
        (
            lambda f: kernels.greedy(GOOD, ONES[:4], 1.0, 1),
            InvalidParameterError,
            "attraction: has 4",
        ),
        (lambda f: kernels.greedy(GOOD, ONES, 1.0, 0), InvalidParameterError, "size"),
        (lambda f: kernels.greedy(GOOD, ONES, 1.0, 6), InvalidParameterError, "size"),
        (lambda f: kernels.greedy(GOOD, ONES * np.nan, 1.0, 1), InvalidDataError, "attraction"),
        (lambda f: kernels.greedy_towards(GOOD, GOOD[:0], 1.0, 1), InvalidParameterError, "target"),
        (lambda f: kernels.greedy_towards(GOOD, GOOD, 1.0, 6), InvalidParameterError, "size"),
        (lambda f: kernels.greedy_towards(GOOD, GOOD, 0.0, 1), InvalidParameterError, "gamma"),
        (lambda f: kernels.objective(GOOD, ONES[:1], 1.0), InvalidParameterError, "attraction"),
        (lambda f: f.transform(GOOD[:, :2]), InvalidParameterError, "points: has 2 columns"),
        (
            lambda f: f.transform(np.ma.masked_greater(GOOD, GOOD.mean())),
            InvalidDataError,
            "points holds masked values",
        ),
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
            lambda f: kernels.RandomFeatures(3, 7, gamma=1.0, seed=1),
            InvalidParameterError,
            "n_features",
        ),
        (
            lambda f: kernels.RandomFeatures(3, 0, gamma=1.0, seed=1, kind="phase"),
            InvalidParameterError,
            "n_features",
        ),
        (
            lambda f: kernels.RandomFeatures(3, 8, gamma=1.0, seed=1, kind="sine"),
            InvalidParameterError,
            "kind",
        ),
        (
            lambda f: kernels.RandomFeatures(3, 8, gamma=0.0, seed=1),
            InvalidParameterError,
            "gamma",
        ),
        (
            lambda f: kernels.RandomFeatures.from_parts("phase", GOOD, ONES[:2]),
            InvalidParameterError,
            "phase",
        ),
        (
            lambda f: kernels.RandomFeatures.from_parts("paired", GOOD * np.nan, ONES[:0]),
            InvalidDataError,
            "omega",
        ),
        (lambda f: kernels.rounded_normal(0.0, 1), InvalidParameterError, "noise_std"),
        (lambda f: kernels.rounded_normal(np.nan, 1), InvalidParameterError, "noise_std"),
        (lambda f: kernels.discrete_laplace(-1.0, 1), InvalidParameterError, "scale"),
        (lambda f: kernels.discrete_laplace(np.inf, 1), InvalidParameterError, "scale"),
        (
            lambda f: kernels.exponential_choice(np.zeros(0, np.int64), 1.0),
            InvalidParameterError,
            "scores",
        ),
        (
            lambda f: kernels.exponential_choice(np.zeros(2, np.int64), 0.0),
            InvalidParameterError,
            "epsilon",
        ),
        (lambda f: kernels.Bidder(np.ones((2, 0), np.int16)), InvalidParameterError, "n_features"),
        (
            lambda f: kernels.Bidder(np.ones((2, 3), np.int16)).best(1, 1, 0),
            InvalidParameterError,
            "count",
        ),
        (
            lambda f: kernels.Bidder(np.ones((2, 3), np.int16)).remove(2),
            InvalidParameterError,
            "row",
        ),
        (
            lambda f: kernels.Bidder(np.ones((2, 3), np.int16)).set_target(np.ones(2, np.int64)),
            InvalidParameterError,
            "target",
        ),
        (
            lambda f: kernels.Bidder(np.ones((2, 3), np.int16)).set_summary(np.full(3, 2**47)),
            InvalidParameterError,
            "summary",
        ),
        (
            lambda f: kernels.Bidder(np.ones((2, 3), np.int16)).append(
                np.ones((1, 3), np.int16), np.array([1])
            ),
            InvalidParameterError,
            "ids",
        ),
        (lambda f: mwem(sums=[]), InvalidParameterError, "sums"),
        (lambda f: mwem(steps=0), InvalidParameterError, "steps"),
        (lambda f: mwem(steps=2**40), InvalidParameterError, "steps"),
        (lambda f: mwem(theta=[0.0, 0.0, 0.0]), InvalidParameterError, "sums"),
        (lambda f: mwem(theta=[0.0, np.nan]), InvalidDataError, "theta"),
        (lambda f: mwem(count=0), InvalidParameterError, "count"),
        (lambda f: mwem(count=2**60), InvalidParameterError, "count"),
        (lambda f: mwem(iterations=0), InvalidParameterError, "iterations"),
        (lambda f: mwem(epsilon_select=0.0), InvalidParameterError, "epsilon_select"),
        (lambda f: mwem(epsilon_measure=np.nan), InvalidParameterError, "epsilon_measure"),
        (lambda f: kernels.set_threads(1025), InvalidParameterError, "n_threads"),
        (lambda f: kernels.diagonal_dominance(GOOD * np.nan, 1.0), InvalidDataError, "points"),
        (lambda f: kernels.diagonal_dominance(GOOD, -1.0), InvalidParameterError, "gamma"),
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
        lambda: kernels.kernel_means(points, fine, 1.0),
        lambda: kernels.kernel_means(fine, points, 1.0),
        lambda: kernels.mmd2(points, fine, 1.0),
        lambda: kernels.mean_kernel_self(points, 1.0),
        lambda: kernels.nearest(points, fine, 1),
        lambda: kernels.nearest(fine, points, 1),
        lambda: kernels.greedy(points, attraction, 1.0, 2),
        lambda: kernels.objective(points, attraction, 1.0),
    ):
        with pytest.raises(InvalidDataError, match="NaN or infinite") as caught:
            call()
        assert "98765" not in str(caught.value)


# Every kernel, by a call that is right; one argument is then made wrong.
CALLS = {
    kernels.RandomFeatures: {"n_columns": 3, "n_features": 8, "gamma": 0.5, "seed": 1},
    FEATURES.transform: {"points": GOOD},
    FEATURES.scores: {"points": GOOD, "direction": np.ones(8)},
    FEATURES.sum_on_grid: {"points": GOOD, "levels": 8},
    FEATURES.quantized_sum: {"points": GOOD, "steps": 8, "seed": 1},
    FEATURES.on_grid: {"points": GOOD},
    kernels.LandmarkFeatures: {"landmarks": GOOD, "gamma": 0.5},
    LANDMARKS.sum_on_grid: {"points": GOOD, "levels": 4},
    LANDMARKS.transform: {"points": GOOD},
    LANDMARKS.scores: {"points": GOOD, "direction": ONES},
    LANDMARKS.grid_norm: {"levels": 4},
    FEATURES.grid_norm: {"levels": 4},
    kernels.RandomFeatures.from_parts: {"kind": "paired", "omega": GOOD, "phase": []},
    kernels.kernel_means: {"points": GOOD, "others": GOOD, "gamma": 1.0},
    kernels.mean_kernel_self: {"points": GOOD, "gamma": 1.0},
    kernels.mmd2: {"a": GOOD, "b": GOOD, "gamma": 1.0, "weights": ONES / 5},
    kernels.nearest: {"points": GOOD, "others": GOOD, "count": 2},
    kernels.diagonal_dominance: {"points": GOOD, "gamma": 1.0},
    kernels.is_diagonally_dominant: {"points": GOOD, "gamma": 1.0},
    kernels.greedy: {"points": GOOD, "attraction": ONES, "gamma": 1.0, "size": 1},
    kernels.greedy_towards: {"points": GOOD, "target": GOOD, "gamma": 1.0, "size": 1},
    kernels.objective: {"points": GOOD, "attraction": ONES, "gamma": 1.0},
    kernels.tilt: {
        "features": FEATURES,
        "sample": GOOD,
        "goal": np.ones(8),
        "noise": 0.1,
        "least": 0.1,
    },
    kernels.Draws(bytes(32)).units: {"first": 0, "count": 1},
    kernels.Draws(bytes(32)).subset: {"total": 3, "count": 1},
    kernels.arrivals: {"log_rates": ONES, "uniform": ONES / 5},
    kernels.weights: {
        "points": GOOD,
        "attraction": ONES,
        "gamma": 1.0,
        "ridge": 0.1,
        "tolerance": 1e-6,
        "effective_size": 1.0,
    },
    kernels.rounded_normal: {"noise_std": 1.0, "size": 3, "seed": 1},
    kernels.discrete_laplace: {"scale": 1.0, "size": 3, "seed": 1},
    kernels.exponential_choice: {"scores": [1, 2], "epsilon": 1.0, "seed": 1},
    kernels.mwem: {
        "sums": [1, 2],
        "count": 3,
        "steps": 2,
        "iterations": 1,
        "epsilon_select": 1.0,
        "epsilon_measure": 1.0,
        "theta": [0.0, 0.0],
        "seed": 1,
    },
    kernels.Bidder: {"features": BIDS},
    kernels.Bidder(BIDS).append: {"features": BIDS, "ids": [7, 8]},
    kernels.Bidder(BIDS).set_target: {"target": [1, 2, 3]},
    kernels.Bidder(BIDS).set_summary: {"summary": [1, 2, 3]},
    kernels.Bidder(BIDS).remove: {"row": 0},
    kernels.Bidder(BIDS).best: {"target_factor": 1, "summary_factor": 1, "count": 1},
    kernels.set_threads: {"n_threads": 0},
    kernels.Pad: {"width": 2, "ring": 32},
    PAD.mask: {"codes": [[0], [1]], "first_row": 0},
    PAD.product: {"masked": WORDS, "first_row": 0},
    PAD.share: {"other_width": 3},
    kernels.one_hot_product: {"codes": [[0], [1]], "width": 2, "masked": WORDS},
    kernels.pair_counts: {"codes": [[0, 1]], "width": 2},
    kernels.fit_mixture: {
        "sizes": [1, 1],
        "pairs": np.ones((2, 2)),
        "pair_weights": np.ones((2, 2)),
        "singles": ONES[:2],
        "single_weights": ONES[:2],
        "components": 1,
        "step": 0.1,
        "init": 0.1,
        "stop": 1.0,
        "max_steps": 1,
        "seed": 1,
    },
    kernels.sample_mixture: {"pi": [1.0], "theta": [[1.0, 1.0]], "sizes": [1, 1], "n": 1},
    kernels.fit_softmax: {
        "codes": [[0]],
        "sizes": [1],
        "moments": [[0.5, 0.5]],
        "ridges": [[1.0, 1.0]],
        "start": [0.5, 0.5],
        "max_steps": 1,
    },
    kernels.softmax_shares: {
        "codes": [[0]],
        "sizes": [1],
        "weights": [[0.0, 0.0]],
        "start": [0.5, 0.5],
    },
}
NUMBERS = ["1", None, 10**400, [1.0], np.nan, np.inf, -np.inf, True, 1j]
WHOLE = ["1", None, 0.5, 1.0, True, -(2**63) - 1, 2**64, 2**200]
ARRAYS = [None, "points", [["a"]], [[1.0], [1.0, 2.0]], [[[1.0]]], 3.0, [[1j]], [[None]]]


def wrongs(right, name):
    """Values that no argument like `right` may have."""
    if isinstance(right, str):
        return ["sine", None, 3]
    if isinstance(right, int):
        return [value for value in WHOLE if not (name == "seed" and value is None)]
    if isinstance(right, float):
        return NUMBERS
    # None is a value of these: equal weights, a start at the uniform distribution.
    return [value for value in ARRAYS if not (name in ("weights", "theta") and value is None)]


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.__qualname__)
def test_whatever_is_wrong_is_refused_by_its_name(call):
    right = CALLS[call]
    call(**right)
    for name, value in right.items():
        for wrong in wrongs(value, name):
            with pytest.raises((InvalidParameterError, InvalidDataError), match=rf"\b{name}\b"):
                call(**right | {name: wrong})


def test_every_kernel_is_called_wrongly():
    names = {getattr(call, "__self__", call).__class__.__name__ for call in CALLS}
    names |= {call.__name__ for call in CALLS}
    assert set(kernels.__all__) - names == {"INSTRUCTIONS", "MixtureFit", "MwemRun", "Picks"}


@pytest.mark.parametrize("dtype", [int, np.float16, np.uint8, bool, ">f4", ">f8", np.longdouble])
def test_other_real_numbers_are_taken_and_float32_stays_so(features, dtype):
    points = (table(6) * 3).round().astype(dtype)
    single = np.dtype(dtype) == ">f4"
    wanted = features.transform(points.astype(np.float32 if single else np.float64))
    made = features.transform(points)
    assert made.dtype == wanted.dtype
    np.testing.assert_array_equal(made, wanted)
    np.testing.assert_array_equal(
        features.transform(points.tolist()), features.transform(points.astype(float))
    )


def test_integers_of_other_widths_are_taken_where_they_fit():
    for dtype in (np.uint64, np.int8, ">i8"):
        assert kernels.exponential_choice(np.array([0, 100], dtype), 1.0) == 1
    with pytest.raises(InvalidParameterError, match="scores"):
        kernels.exponential_choice(np.array([2**63], np.uint64), 1.0)
    with pytest.raises(InvalidParameterError, match="features"):
        kernels.Bidder([[40_000]])


def test_appended_features_must_have_the_bidder_s_width():
    bidder = kernels.Bidder(np.zeros((1, 6), np.int16))
    with pytest.raises(InvalidParameterError, match="features"):
        bidder.append(np.ones((3, 4), np.int16), np.array([5, 6]))  # 12 numbers are 2 rows of 6

"""Compiled kernels at their edges: shapes, memory orders, precisions, refusals, threads."""

import numpy as np
import pytest

from dpsumm import _core
from dpsumm.errors import InvalidParameterError
from reference import dense
from reference.everything import assert_identical, every_result


@pytest.fixture
def features():
    return _core.RandomFeatures("paired", True, 0.5, 3, 8, 1)


def table(n, width=3, dtype=np.float64, seed=0):
    return np.random.default_rng(seed).normal(size=(n, width)).astype(dtype)


# --- memory -----------------------------------------------------------------------------------


def fortran(a):
    return np.asfortranarray(a)


def strided(a):
    wide = np.full((2 * len(a), 3 * a.shape[1]), np.nan, a.dtype)
    wide[::2, ::3] = a
    return wide[::2, ::3]


def backwards(a):
    return np.ascontiguousarray(a[::-1, ::-1])[::-1, ::-1]


def read_only(a):
    a = a.copy()
    a.flags.writeable = False
    return a


def unaligned(a):
    raw = np.empty(a.nbytes + 1, np.uint8)
    made = raw[1:].view(a.dtype).reshape(a.shape)
    made[...] = a
    return made


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (7, 1), (50, 3), (333, 17)])
@pytest.mark.parametrize("layout", [fortran, strided, backwards, read_only])
def test_memory_order_changes_nothing(layout, shape, dtype):
    points, others = table(*shape, dtype), table(shape[0] + 4, shape[1], dtype, 1)
    wanted = every_result(points, others)
    assert_identical(every_result(layout(points), layout(others)), wanted)
    assert_identical(every_result(layout(points), others), wanted)


def test_memory_order_of_frequencies_and_bid_features():
    omega = table(6, 4)
    made = [
        _core.RandomFeatures.from_parts("paired", o, np.zeros(0)) for o in (omega, fortran(omega))
    ]
    points = table(9, 4)
    np.testing.assert_array_equal(made[0].transform(points), made[1].transform(points))
    grid = np.arange(12, dtype=np.int16).reshape(4, 3)
    direction = np.array([5, -1, 2])
    for layout in (fortran, strided_int):
        bidder = _core.Bidder(layout(grid))
        bidder.append(layout(grid), np.arange(4, 8))
        bidder.set_target(direction)
        assert bidder.best(1, 0, 1) == ([3], [int(grid[3] @ direction)])


def strided_int(a):
    wide = np.full((2 * len(a), 2 * a.shape[1]), 77, a.dtype)
    wide[::2, ::2] = a
    return wide[::2, ::2]


def test_strided_vectors():
    points, attraction = table(30), np.linspace(0, 1, 60)[::2]
    plain = _core.greedy(points, attraction.copy(), 0.5, 9)
    np.testing.assert_array_equal(_core.greedy(points, attraction, 0.5, 9).rows, plain.rows)
    np.testing.assert_array_equal(
        _core.objective(points, attraction[::-1], 0.5),
        _core.objective(points, attraction[::-1].copy(), 0.5),
    )


def test_inputs_are_not_changed():
    points, others = table(40), table(50, seed=1)
    before = points.copy(), others.copy()
    every_result(points, others)
    np.testing.assert_array_equal(points, before[0])
    np.testing.assert_array_equal(others, before[1])


# --- numbers ----------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 2, 47, 48, 49, 97, 257, 1025])
def test_sizes_around_blocks_equal_the_definition(n, dtype):
    points, others = table(n, 5, dtype), table(n + 1, 5, dtype, 1)
    wide = points.astype(float), others.astype(float)
    np.testing.assert_allclose(
        _core.kernel_means(points, others, 0.2), dense.kernel(*wide, 0.2).mean(axis=1), rtol=1e-12
    )
    assert _core.mmd2(points, others, 0.2) == pytest.approx(dense.mmd2(*wide, 0.2), abs=1e-14)


@pytest.mark.parametrize("offset", [1e3, 1e6, 1e9])
def test_a_huge_common_offset_costs_no_accuracy(offset):
    # Multiples of 1/64 stay exact at every offset, so the kernel must not see it.
    points, others = (np.round(table(60, seed=s) * 64) / 64 for s in (0, 1))
    near = _core.kernel_means(points, others, 0.5)
    far = _core.kernel_means(points + offset, others + offset, 0.5)
    np.testing.assert_allclose(far, near, rtol=1e-9)
    assert _core.mmd2(points + offset, others + offset, 0.5) == pytest.approx(
        _core.mmd2(points, others, 0.5), rel=1e-7
    )


@pytest.mark.parametrize("value", [0.0, -3.5, 1e15, 1e-300])
def test_constant_data(value):
    points = np.full((70, 4), value)
    np.testing.assert_array_equal(_core.kernel_means(points, points, 2.0), 1.0)
    assert _core.mmd2(points, points[:3], 2.0) == 0.0
    assert _core.mean_kernel_self(points, 2.0) == 1.0
    picks = _core.greedy(points, np.ones(70), 2.0, 70)
    np.testing.assert_array_equal(picks.rows, np.arange(70))  # all ties: the first row first
    np.testing.assert_allclose(picks.objective, 1.0, rtol=1e-14)
    np.testing.assert_array_equal(_core.herd(points, np.ones(70), 2.0, 0.25, 0, 70).rows, range(4))


def test_far_points_have_kernel_zero():
    a, b = np.zeros((3, 2)), np.full((4, 2), 1e100)
    np.testing.assert_array_equal(_core.kernel_means(a, b, 1e-3), 0.0)
    assert _core.mmd2(a, b, 1.0) == 2.0
    with pytest.raises(InvalidParameterError, match="distance"):
        _core.mmd2(a, np.full((4, 2), 1e200), 1.0)  # its square overflows: refused, not NaN


def test_herding_stops_when_the_best_is_at_half_the_mass():
    points = np.array([[0.0], [100.0], [200.0]])  # strangers: scores do not fall
    attraction = np.array([0.5, 0.2500001, 0.25])
    herd = lambda **k: _core.herd(points, attraction, 1.0, 0.5, **k).rows.tolist()  # noqa: E731
    assert herd(at_least=0, at_most=3) == [0, 1]  # 0.25 is half the mass, and no more
    assert herd(at_least=3, at_most=3) == [0, 1, 2]
    assert herd(at_least=0, at_most=1) == [0]
    assert _core.herd(points, np.full(3, -1.0), 1.0, 0.5, 0, 3).rows.tolist() == []
    # A picked point's own mass counts: 0.5 - 0.5 k(x, x) = 0 for its twin.
    assert _core.herd(np.zeros((2, 1)), np.full(2, 0.5), 1.0, 0.5, 0, 2).rows.tolist() == [0]


def test_transform_of_no_points_is_empty(features):
    assert features.transform(np.empty((0, 3))).shape == (0, 8)
    assert features.on_grid(np.empty((0, 3), np.float32)).shape == (0, 8)
    np.testing.assert_array_equal(features.sum_on_grid(np.empty((0, 3)), 8), np.zeros(8))
    assert _core.kernel_means(np.empty((0, 3)), table(2), 1.0).shape == (0,)


def test_frequencies_follow_from_the_public_seed():
    def draw(seed, orthogonal=True):
        return _core.RandomFeatures("paired", orthogonal, 0.5, 3, 12, seed).omega

    np.testing.assert_array_equal(draw(4), draw(4))
    assert (draw(4) != draw(5)).all()
    assert (draw(4, orthogonal=False) != draw(4)).any()
    # Blocks of `n_columns` frequencies are orthogonal.
    block = draw(4)[:3]
    products = block @ block.T
    assert np.abs(products - np.diag(np.diag(products))).max() < 1e-12 * products.max()
    assert _core.RandomFeatures("paired", True, 0.5, 3, 12, 2**64 - 1).n_features == 12


def test_ends_of_the_coarse_grid(features):
    # At the origin a cosine is 1, the last grid point, and a sine 0, the middle one: no coins.
    sums = features.quantized_sum(np.zeros((9, 3)), 20)
    np.testing.assert_array_equal(sums, [9 * 20] * 4 + [0] * 4)
    down = _core.RandomFeatures.from_parts("phase", np.ones((2, 3)), np.array([np.pi, 0.0]))
    np.testing.assert_array_equal(down.quantized_sum(np.zeros((9, 3)), 7), [-63, 63])
    # One step: the grid {-1, 1}.
    assert set(np.unique(features.quantized_sum(table(1), 1, 5))) <= {-1, 1}


# --- bids and MWEM ----------------------------------------------------------------------------


def test_equal_bids_go_to_the_smaller_id():
    bidder = _core.Bidder(np.zeros((0, 2), np.int16))
    bidder.append(np.ones((3, 2), np.int16), np.array([30, 10, 20]))
    assert bidder.best(1, 1, 3) == ([1, 2, 0], [0, 0, 0])
    bidder.remove(1)
    assert bidder.best(1, 1, 3)[0] == [2, 0]


def test_scores_are_exact_beyond_64_bits():
    bidder = _core.Bidder(np.full((1, 1), 32767, np.int16))
    bidder.set_target(np.array([2**47]))
    bidder.set_summary(np.array([-(2**47)]))
    factor = 2**62
    assert bidder.best(factor, factor, 1)[1] == [2 * factor * 32767 * 2**47]


def test_mwem_is_repeatable_with_a_seed_only_and_keeps_its_state():
    sums = np.array([40, -10, 0])
    fast = [_core.Mwem(np.zeros(3), 4) for _ in range(4)]
    one, two, three, four = (
        m.run(sums, 20, 6, 0.5, 0.5, s) for m, s in zip(fast, [1, 1, 2, None], strict=True)
    )
    np.testing.assert_array_equal(one, two)
    assert (one != three).any()
    assert (one != four).any()
    assert np.abs(one).max() <= 1
    again = _core.Mwem(fast[0].theta, 4)
    np.testing.assert_array_equal(
        again.run(sums, 20, 6, 0.5, 0.5, 9), fast[1].run(sums, 20, 6, 0.5, 0.5, 9)
    )


def test_mwem_finds_the_means_when_noise_is_small():
    steps, count = 20, 10_000
    wanted = np.array([0.5, -0.8, 0.0, 0.95])
    mwem = _core.Mwem(np.zeros(4), steps)
    for _ in range(40):
        means = mwem.run(np.rint(wanted * steps * count).astype(np.int64), count, 50, 1.0, 1.0)
    np.testing.assert_allclose(means, wanted, atol=0.01)

"""Memory orders: what an array looks like in memory changes no result."""

import numpy as np
import pytest

from dpsumm import kernels
from reference.everything import assert_identical, every_result
from reference.tables import table


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


def swapped(a):
    return a.astype(a.dtype.newbyteorder())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (7, 1), (50, 3), (333, 17)])
@pytest.mark.parametrize("layout", [fortran, strided, backwards, read_only, unaligned, swapped])
def test_memory_order_changes_nothing(layout, shape, dtype):
    points, others = table(*shape, dtype), table(shape[0] + 4, shape[1], dtype, 1)
    wanted = every_result(points, others)
    assert_identical(every_result(layout(points), layout(others)), wanted)
    assert_identical(every_result(layout(points), others), wanted)


def test_memory_order_of_frequencies_and_bid_features():
    omega = table(6, 4)
    made = [
        kernels.RandomFeatures.from_parts("paired", o, np.zeros(0)) for o in (omega, fortran(omega))
    ]
    points = table(9, 4)
    np.testing.assert_array_equal(made[0].transform(points), made[1].transform(points))
    grid = np.arange(12, dtype=np.int16).reshape(4, 3)
    direction = np.array([5, -1, 2])
    for layout in (fortran, strided_int):
        bidder = kernels.Bidder(layout(grid))
        bidder.append(layout(grid), np.arange(4, 8))
        bidder.set_target(direction)
        assert bidder.best(1, 0, 1) == ([3], [int(grid[3] @ direction)])


def strided_int(a):
    wide = np.full((2 * len(a), 2 * a.shape[1]), 77, a.dtype)
    wide[::2, ::2] = a
    return wide[::2, ::2]


def test_strided_vectors():
    points, attraction = table(30), np.linspace(0, 1, 60)[::2]
    plain = kernels.greedy(points, attraction.copy(), 0.5, 9)
    np.testing.assert_array_equal(kernels.greedy(points, attraction, 0.5, 9).rows, plain.rows)
    np.testing.assert_array_equal(
        kernels.objective(points, attraction[::-1], 0.5),
        kernels.objective(points, attraction[::-1].copy(), 0.5),
    )


def test_inputs_are_not_changed():
    points, others = table(40), table(50, seed=1)
    before = points.copy(), others.copy()
    every_result(points, others)
    np.testing.assert_array_equal(points, before[0])
    np.testing.assert_array_equal(others, before[1])

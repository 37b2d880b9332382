"""Kernel means and MMD^2 equal their definitions."""

import numpy as np
import pytest
from hypothesis import given

from dpsumm import kernels
from dpsumm.errors import InvalidParameterError
from reference import dense
from reference.tables import GAMMAS, exact, table, tables


@given(tables(2), GAMMAS)
def test_kernel_means_equal_the_definition(ab, gamma):
    a, b = ab
    means = kernels.kernel_means(a, b, gamma)
    assert means.dtype == np.float64
    wanted = dense.kernel(exact(a), exact(b), gamma).mean(axis=1)
    np.testing.assert_allclose(means, wanted, rtol=1e-9, atol=1e-12)


@given(tables(2), GAMMAS)
def test_mmd2_equals_the_definition_and_is_a_squared_distance(ab, gamma):
    a, b = ab
    value = kernels.mmd2(a, b, gamma)
    assert value == pytest.approx(dense.mmd2(exact(a), exact(b), gamma), rel=1e-9, abs=1e-12)
    assert value == pytest.approx(kernels.mmd2(b, a, gamma), rel=1e-9, abs=1e-12)
    assert 0 <= value <= 2
    assert kernels.mmd2(a, a[::-1], gamma) <= 1e-12
    # A sample and the same sample twice have one distribution.
    assert kernels.mmd2(a, np.concatenate([a, a]), gamma) <= 1e-12


@given(tables(1), GAMMAS)
def test_mean_kernel_self_equals_the_definition(a, gamma):
    (a,) = a
    wanted = dense.kernel(exact(a), exact(a), gamma).mean()
    assert kernels.mean_kernel_self(a, gamma) == pytest.approx(wanted, rel=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 2, 47, 48, 49, 97, 257, 1025])
def test_sizes_around_blocks_equal_the_definition(n, dtype):
    points, others = table(n, 5, dtype), table(n + 1, 5, dtype, 1)
    wide = points.astype(float), others.astype(float)
    np.testing.assert_allclose(
        kernels.kernel_means(points, others, 0.2), dense.kernel(*wide, 0.2).mean(axis=1), rtol=1e-12
    )
    assert kernels.mmd2(points, others, 0.2) == pytest.approx(dense.mmd2(*wide, 0.2), abs=1e-14)


@pytest.mark.parametrize("offset", [1e3, 1e6, 1e9])
def test_a_huge_common_offset_costs_no_accuracy(offset):
    # Multiples of 1/64 stay exact at every offset, so the kernel must not see it.
    points, others = (np.round(table(60, seed=s) * 64) / 64 for s in (0, 1))
    near = kernels.kernel_means(points, others, 0.5)
    far = kernels.kernel_means(points + offset, others + offset, 0.5)
    np.testing.assert_allclose(far, near, rtol=1e-9)
    assert kernels.mmd2(points + offset, others + offset, 0.5) == pytest.approx(
        kernels.mmd2(points, others, 0.5), rel=1e-7
    )


@pytest.mark.parametrize("value", [0.0, -3.5, 1e15, 1e-300])
def test_constant_data(value):
    points = np.full((70, 4), value)
    np.testing.assert_array_equal(kernels.kernel_means(points, points, 2.0), 1.0)
    assert kernels.mmd2(points, points[:3], 2.0) == 0.0
    assert kernels.mean_kernel_self(points, 2.0) == 1.0
    picks = kernels.greedy(points, np.ones(70), 2.0, 70)
    np.testing.assert_array_equal(picks.rows, np.arange(70))  # all ties: the first row first
    np.testing.assert_allclose(picks.objective, 1.0, rtol=1e-14)


def test_far_points_have_kernel_zero():
    a, b = np.zeros((3, 2)), np.full((4, 2), 1e100)
    np.testing.assert_array_equal(kernels.kernel_means(a, b, 1e-3), 0.0)
    assert kernels.mmd2(a, b, 1.0) == 2.0
    with pytest.raises(InvalidParameterError, match="distance"):
        kernels.mmd2(a, np.full((4, 2), 1e200), 1.0)  # its square overflows: refused, not NaN

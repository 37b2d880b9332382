"""The nearest rows are those that all distances say, and of each row alone."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsumm.kernels import nearest
from reference.tables import exact, table, tables


@given(tables(2), st.integers(1, 12))
def test_they_are_the_nearest(ab, count):
    a, b = ab
    count = min(count, len(b))
    places, squares = nearest(a, b, count)
    wide = exact(a), exact(b)
    away = ((wide[0][:, None] - wide[1]) ** 2).sum(2)
    scale = 1 + max(np.square(one - wide[1].mean(0)).sum(1).max() for one in wide)
    assert all(len(set(row)) == count for row in places.tolist())
    np.testing.assert_allclose(squares, np.take_along_axis(away, places, 1), atol=1e-9 * scale)
    np.testing.assert_allclose(squares, np.sort(away, axis=1)[:, :count], atol=1e-9 * scale)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_row_has_the_same_bits_whatever_is_beside_it(dtype):
    points, others = table(300, 7, dtype), table(90, 7, dtype, 1)
    places, squares = nearest(points, others, 5)
    for i in (0, 5, 47, 48, 191, 192, 299):
        one, away = nearest(points[i : i + 1], others, 5)
        assert np.array_equal(one[0], places[i])
        assert np.array_equal(away[0], squares[i])
    assert nearest(others, others, 1)[1].max() == 0

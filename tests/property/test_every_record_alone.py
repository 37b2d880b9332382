"""No record's values change what becomes of another record: neither its integers nor its bits.

Sensitivities rest on it. Far values among near ones, since kernels have fast ways for near ones.
"""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsumm import _core

LEVELS = 2**20
DTYPES = [np.float32, np.float64]
FAR = [1e5, -3e5, 1e7, 1e10, -1e12, 1e15, 1e30]


@st.composite
def worlds(draw):
    """Return features, and two tables that differ in one row; some rows of both may be far."""
    dtype = draw(st.sampled_from(DTYPES))
    # Blocks have 48 rows, parts of sums 512.
    n, width = draw(st.sampled_from([1, 2, 7, 48, 49, 100, 530])), draw(st.integers(1, 5))
    kind = draw(st.sampled_from(["paired", "phase"]))
    features = _core.RandomFeatures(
        kind, draw(st.booleans()), 0.2, width, draw(st.sampled_from([2, 16, 34])), 3
    )
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    first = rng.normal(0, 3, (n, width)).astype(dtype)
    changed = draw(st.integers(0, n - 1))
    second = first.copy()
    for table in (first, second):
        if draw(st.booleans()):
            table[changed, draw(st.integers(0, width - 1))] = draw(st.sampled_from(FAR))
    second[changed] += dtype(draw(st.floats(-5, 5)))
    for row, far in draw(
        st.lists(st.tuples(st.integers(0, n - 1), st.sampled_from(FAR)), max_size=3)
    ):
        if row != changed:
            first[row, 0] = second[row, 0] = far
    return features, first, second, changed


@given(worlds())
def test_a_table_is_treated_as_its_rows_one_by_one(world):
    features, table, _, _ = world
    direction = np.linspace(-1, 2, features.n_features)
    rows = [table[i : i + 1] for i in range(len(table))]
    for whole in (features.transform, features.on_grid, lambda x: features.scores(x, direction)):
        found, alone = whole(table), np.concatenate([whole(row) for row in rows])
        np.testing.assert_array_equal(found, alone)
    sums = sum(features.sum_on_grid(row, LEVELS) for row in rows)
    np.testing.assert_array_equal(features.sum_on_grid(table, LEVELS), sums)


@given(worlds())
def test_one_row_replaced_changes_its_integers_only(world):
    features, first, second, changed = world
    others = np.arange(len(first)) != changed
    grid, moved = features.on_grid(first), features.on_grid(second)
    np.testing.assert_array_equal(grid[others], moved[others])
    np.testing.assert_array_equal(
        features.sum_on_grid(second, LEVELS) - features.sum_on_grid(first, LEVELS),
        features.sum_on_grid(second[[changed]], LEVELS)
        - features.sum_on_grid(first[[changed]], LEVELS),
    )
    direction = np.arange(1, features.n_features + 1)
    bids = [_bids(table, direction) for table in (grid, moved)]
    assert {row: s for row, s in bids[0].items() if row != changed} == {
        row: s for row, s in bids[1].items() if row != changed
    }


def _bids(grid, direction):
    bidder = _core.Bidder(grid)
    bidder.set_target(direction)
    return dict(zip(*bidder.best(1, 0, len(grid)), strict=True))


@given(worlds(), st.integers(0, 2**32 - 1))
def test_a_randomly_rounded_sum_moves_the_same_whatever_the_others_are(world, seed):
    """Coins belong to places, so a replaced row moves the sum by its own integers' change."""
    features, first, second, changed = world
    steps = LEVELS

    def move(a, b):
        return features.quantized_sum(b, steps, seed) - features.quantized_sum(a, steps, seed)

    found = move(first, second)
    assert np.abs(found).max() <= 2 * steps
    for table in (first, second):
        table[np.arange(len(table)) != changed] = 0.25
    np.testing.assert_array_equal(found, move(first, second))


@pytest.mark.parametrize(
    ("dtype", "near", "far", "other"),
    [
        (np.float32, 9.5709810256958, 1043906.9375, 6.176876068115234),
        (np.float32, 19.1419620513916, 1027473.5625, -5.905008792877197),
        (np.float64, 16.749217389094003, 99999996255.4084, 2.519936778377027),
        (np.float64, 19.141962730393143, 99999996257.80115, 2.9757617650828436),
    ],
)
def test_a_far_record_moves_the_sum_by_no_more_than_the_sensitivity(dtype, near, far, other):
    """Opposite features, one record near and one far, among others close to a half-step.

    If the far one changed the others by a unit each, the sum would move by more than 2 R.
    """
    features = _core.RandomFeatures("paired", True, 0.1, 1, 2, 3)
    sums = []
    for record in (near, far):
        table = np.full((48, 1), other, dtype)
        table[0] = record
        sums.append(features.sum_on_grid(table, LEVELS))
    moved = [int(x) for x in sums[1] - sums[0]]
    assert math.isqrt(sum(x * x for x in moved)) > 1.9999 * LEVELS
    assert sum(x * x for x in moved) <= (2 * LEVELS) ** 2

"""A party's vector: never longer than is charged for, whatever records, model and clip are."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsumm.ensemble.updates import clipping
from dpsumm.ensemble.updates.clipping import (
    LEVELS,
    bound_of,
    owner_vector,
    records_vector,
    truncated,
)
from dpsumm.ensemble.updates.messages import Step
from dpsumm.privacy import Unit
from helpers.updates import slow_vector

M, K = 7, 4


def case(rng, n=30):
    """Features, labels, model, gains, clip, shares: any sizes, some records far out."""
    a = np.hstack([np.ones((n, 1)), rng.normal(size=(n, M))])
    a[0] *= 10.0 ** rng.integers(0, 8)
    places = rng.integers(-1, K, n)
    y = np.eye(K)[places] * (places >= 0)[:, None]
    weights = rng.normal(size=(M + 1, K)) * rng.choice([0, 0.1, 1, 10])
    gains, shares = rng.uniform(0, 2, M + 1), rng.dirichlet(np.ones(K))
    return a, places, y, weights, gains, float(10.0 ** rng.uniform(-4, 2)), shares


def length(vector):
    return sum(int(x) ** 2 for x in vector.ravel()) ** 0.5


def test_one_owner_is_never_longer_than_the_radius(rng):
    longest = 0
    for _ in range(300):
        a, _, y, weights, gains, clip, shares = case(rng)
        vector = owner_vector(a, y, weights, gains, clip, shares)
        longest = max(longest, sum(int(x) ** 2 for x in vector.ravel()))
    assert LEVELS**2 * 0.9 < longest <= LEVELS**2


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40), st.integers(1, 2**20))
def test_integers_cut_towards_zero_hold_the_length(entries, levels):
    cut = truncated(np.array(entries), levels)
    assert sum(int(x) ** 2 for x in cut) <= levels**2
    assert all(abs(int(x)) <= abs(y) for x, y in zip(cut, entries, strict=True))


def test_one_record_moves_the_sum_by_less_than_the_bound(rng):
    bound, worst = bound_of(Unit.REPLACE_RECORD, (M + 1) * K).norm, 0.0
    for trial in range(300):
        a, _, y, weights, gains, clip, _ = case(rng)
        other, label = a.copy(), y.copy()
        other[3] = -a[0] if trial % 2 else rng.normal(size=M + 1) * 1e9
        label[3] = np.roll(y[0], 1) * (trial % 3 > 0)
        one = records_vector(a, y, weights, gains, clip)
        two = records_vector(other, label, weights, gains, clip)
        worst = max(worst, length(one - two) / bound)
    assert 0.5 < worst <= 1


def test_the_bound_is_nearly_met(rng):
    """Two records of opposite features at a small clip: twice the radius, and no slack is lost."""
    a = np.r_["1", np.ones((1, 1)), rng.normal(size=(1, M)) * 1e3]
    y, gains, shares = np.eye(K)[[0]], np.ones(M + 1), np.full(K, 1 / K)
    weights = np.zeros((M + 1, K))
    one, two = (owner_vector(s * a, y, weights, gains, 1e-6, shares) for s in (1, -1))
    assert 1.999 * LEVELS < length(one - two) <= 2 * LEVELS
    assert bound_of(Unit.WHOLE_OWNER, 1).norm == 2 * LEVELS


@pytest.mark.parametrize("unit", [Unit.WHOLE_OWNER, Unit.REPLACE_RECORD])
def test_it_is_what_a_slow_twin_says(unit, rng):
    for _ in range(20):
        a, places, y, weights, gains, clip, shares = case(rng)
        if unit is Unit.WHOLE_OWNER:
            fast = owner_vector(a, y, weights, gains, clip, shares)
        else:
            fast = records_vector(a, y, weights, gains, clip)
        slow = slow_vector(a.tolist(), places, Step(0, clip, shares, weights), gains, unit)
        assert np.abs(fast - slow).max() <= 1


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_records_that_are_not_finite_are_left_out_and_nothing_is_the_zero_vector(bad, rng):
    a, _, y, weights, gains, clip, shares = case(rng)
    y = np.eye(K)[rng.integers(0, K, len(a))]
    hurt = a.copy()
    hurt[5, 2] = bad
    rest = np.arange(len(a)) != 5
    # A product's last bits may depend on its number of rows.
    one = owner_vector(hurt, y, weights, gains, clip, shares)
    two = owner_vector(a[rest], y[rest], weights, gains, clip, shares)
    assert np.abs(one - two).max() <= 1
    one = records_vector(hurt, y, weights, gains, clip)
    two = records_vector(a[rest], y[rest], weights, gains, clip)
    assert np.abs(one - two).max() <= 1
    for none in (np.full_like(a, bad), a[:0]):
        n = len(none)
        assert not owner_vector(none, y[:n], weights, gains, clip, shares).any()
        assert not records_vector(none, y[:n], weights, gains, clip).any()
    assert not records_vector(a, 0 * y, weights, gains, clip).any()
    # A party of none of the classes says that all are as likely, and not that the model is right.
    even = owner_vector(a, 0 * y, weights, gains, clip, shares)
    assert np.array_equal(even, owner_vector(a, 0 * y + 1 / K, weights, gains, clip, shares))
    assert even.any() == weights.any()
    far = np.where(weights > 0, 1e308, -1e308)
    assert length(owner_vector(a, y, far, gains, clip, shares)) <= LEVELS


def test_a_record_changes_its_own_block_alone(rng, monkeypatch):
    """So rounding errors of other blocks cannot add up, however many records a party has."""
    monkeypatch.setattr(clipping, "BLOCK", 4)
    a, _, y, weights, gains, clip, _ = case(rng, 40)
    parts = [slice(i, i + 4) for i in range(0, 40, 4)]
    whole = records_vector(a, y, weights, gains, clip)
    each = [records_vector(a[p], y[p], weights, gains, clip) for p in parts]
    assert np.array_equal(whole, sum(each))

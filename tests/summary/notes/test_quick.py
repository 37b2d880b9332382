"""What makes notes quick changes nothing of what they say."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.helpers.effort import examples

from dpsumm.summary.by_column import Marginal
from dpsumm.summary.notes.numbers import FEWEST_POINTS, quantiles
from dpsumm.summary.notes.places import Owners
from dpsumm.summary.notes.space import remoteness

SEEDS = st.integers(0, 2**32)
AT = Owners.AT


def tables(rng, counts, columns=3):
    """Return tables of coarse or fine numbers, of which some are missing."""
    step, shift = rng.choice([0.0, 0.5, 1.0]), rng.choice([0.0, 0.0, 0.5, 1.5])
    found = []
    for n in counts:
        values = rng.normal(shift * rng.normal(size=columns), 1, (n, columns))
        values = np.round(values / step) * step if step else values
        values[rng.random(values.shape) < rng.choice([0.0, 0.0, 0.2, 0.9])] = np.nan
        found.append(values)
    return found


@given(SEEDS)
@examples(60)
def test_quantiles_are_those_of_numpy(seed):
    rng = np.random.default_rng(seed)
    (values,) = tables(rng, [rng.integers(16, 60)])
    expected = np.full((len(AT), values.shape[1]), np.nan)
    some_missing = np.isnan(values).any()
    for j, column in enumerate(values.T):
        known = column[~np.isnan(column)]
        if len(known) >= (FEWEST_POINTS if some_missing else 1):
            expected[:, j] = np.quantile(known, AT)
    np.testing.assert_allclose(quantiles(values, AT), expected, rtol=1e-12, atol=1e-12)


@given(SEEDS)
@examples(60)
def test_a_gap_is_the_largest_difference_of_cumulative_shares(seed):
    rng = np.random.default_rng(seed)
    a, b = (np.round(rng.normal(rng.normal(), 1, n), 1) for n in rng.integers(1, 40, 2))
    gaps = [abs(np.mean(a <= x) - np.mean(b <= x)) for x in [*a, *b]]
    assert Marginal("x", (a, b)).gap(0) == pytest.approx(max(gaps))


@given(SEEDS)
@examples(100)
def test_columns_that_are_passed_over_have_no_owner_apart(seed):
    rng = np.random.default_rng(seed)
    goal, *parts = tables(rng, rng.integers(20, 90, rng.integers(3, 6)))
    parts[0][:, 0] += rng.choice([-1, 1]) * rng.uniform(1, 8)
    bulk = np.array([quantiles(part, AT) for part in parts])
    owners = Owners(parts, np.arange(len(parts)), bulk, goal.shape[1])
    low, high = quantiles(goal, (0.02, 0.98))
    quick = owners.elsewhere(goal, low, high)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Owners, "_may_be_apart", lambda *_: np.ones(bulk[:, 0].shape, np.bool_))
        slow = owners.elsewhere(goal, low, high)
    np.testing.assert_array_equal(quick, slow)


def test_most_columns_of_honest_owners_are_passed_over():
    rng = np.random.default_rng(3)
    goal, *parts = (rng.normal(size=(80, 50)) for _ in range(4))
    bulk = np.array([quantiles(part, AT) for part in parts])
    assert not Owners(parts, np.arange(3), bulk, 50)._may_be_apart(goal).any()


@given(SEEDS)
@examples(40)
def test_only_remoteness_that_says_nothing_is_given_too_large(seed):
    rng = np.random.default_rng(seed)
    parts = [rng.normal(0, rng.choice([0.3, 1, 4]), (40, 3)) for _ in range(3)]
    given_ = np.concatenate(parts), np.repeat(np.arange(3), 40), rng.normal(size=(60, 3)), 3
    exact, quick = remoteness(*given_), remoteness(*given_, above=1.0)
    same = exact == quick
    assert (same | ((exact <= quick) & (quick <= 1))).all()

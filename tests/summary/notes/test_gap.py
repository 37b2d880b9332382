"""A gap between columns is computed from counts as from every value."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.helpers.effort import examples

from dpsumm.summary.by_column import Marginal

SEEDS = st.integers(0, 2**32)


@given(SEEDS)
@examples(60)
def test_a_gap_is_the_largest_difference_of_cumulative_shares(seed):
    rng = np.random.default_rng(seed)
    a, b = (np.round(rng.normal(rng.normal(), 1, n), 1) for n in rng.integers(1, 40, 2))
    gaps = [abs(np.mean(a <= x) - np.mean(b <= x)) for x in [*a, *b]]
    assert Marginal("x", (a, b)).gap(0) == pytest.approx(max(gaps))

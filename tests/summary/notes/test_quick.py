"""What makes notes quick changes nothing of what they say."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.helpers.effort import examples

from dpsumm.data.column import Column
from dpsumm.data.hashes import may_be_twice
from dpsumm.data.schema import Schema
from dpsumm.summary.by_column import Marginal
from dpsumm.summary.notes.space import remoteness

SEEDS = st.integers(0, 2**32)


@given(SEEDS)
@examples(60)
def test_a_gap_is_the_largest_difference_of_cumulative_shares(seed):
    rng = np.random.default_rng(seed)
    a, b = (np.round(rng.normal(rng.normal(), 1, n), 1) for n in rng.integers(1, 40, 2))
    gaps = [abs(np.mean(a <= x) - np.mean(b <= x)) for x in [*a, *b]]
    assert Marginal("x", (a, b)).gap(0) == pytest.approx(max(gaps))


@given(SEEDS)
@examples(100)
def test_tables_that_are_passed_over_have_no_two_rows_equal_but_for_a_column(seed):
    rng = np.random.default_rng(seed)
    c = rng.integers(3, 8)
    rows = rng.integers(0, rng.choice([2, 5, 100]), (rng.integers(2, 60), c)).astype(float)
    if rng.random() < 0.5:
        rows[-1] = rows[0]
        rows[-1, rng.integers(c)] += rng.choice([0, 1])
    differ = (rows[:, None] != rows).sum(axis=2)[~np.eye(len(rows), dtype=bool)]
    assert may_be_twice((rows[:1], rows[1:]), None) or differ.min() > 1


def test_tables_of_numbers_are_passed_over():
    rng = np.random.default_rng(3)
    schema = Schema(
        [Column("a", categories=("u", "v")), *(Column(x, bounds=(-9, 9)) for x in "bcdef")]
    )
    assert not may_be_twice((rng.normal(size=(50, 6)), rng.normal(size=(50, 6))), None)
    points = np.column_stack([np.eye(2)[rng.integers(0, 2, 50)], rng.normal(size=(50, 5))])
    assert not may_be_twice((points, points[:0]), schema)
    assert may_be_twice((points, points[:1]), schema)


@given(SEEDS)
@examples(40)
def test_only_remoteness_that_says_nothing_is_given_too_large(seed):
    rng = np.random.default_rng(seed)
    parts = [rng.normal(0, rng.choice([0.3, 1, 4]), (40, 3)) for _ in range(3)]
    given_ = np.concatenate(parts), np.repeat(np.arange(3), 40), rng.normal(size=(60, 3)), 3
    exact, quick = remoteness(*given_), remoteness(*given_, above=1.0)
    same = exact == quick
    assert (same | ((exact <= quick) & (quick <= 1))).all()

"""What makes notes quick changes nothing of what they say."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.helpers.effort import examples

from dpsumm.data.column import Column
from dpsumm.data.kinds.number import NO_LIMITS
from dpsumm.data.schema import Schema
from dpsumm.summary.by_column import Marginal
from dpsumm.summary.notes.elsewhere import _in_two_groups, _with_wide_gaps
from dpsumm.summary.notes.hashes import may_be_twice
from dpsumm.summary.notes.marks import _has_mark, _may_have_mark
from dpsumm.summary.notes.numbers import FEWEST_POINTS, Cells, Numbers, Sets
from dpsumm.summary.notes.places import AT, Owners
from dpsumm.summary.notes.space import remoteness

SEEDS = st.integers(0, 2**32)


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


def sorted_(*parts):
    """Return the columns of some tables, each a part."""
    return Numbers.parted(np.concatenate(parts).T.copy(), [len(part) for part in parts])


@given(SEEDS)
@examples(60)
def test_quantiles_are_those_of_numpy(seed):
    rng = np.random.default_rng(seed)
    parts = tables(rng, [*rng.integers(1, 60, 2), 0, rng.integers(16, 60)])
    found = sorted_(*parts).quantiles(AT)
    for i, values in enumerate(parts):
        expected = np.full((len(AT), values.shape[1]), np.nan)
        some_missing = np.isnan(values).any()
        for j, column in enumerate(values.T):
            known = column[~np.isnan(column)]
            if len(known) >= (FEWEST_POINTS if some_missing else 1):
                expected[:, j] = np.quantile(known, AT)
        np.testing.assert_allclose(found[:, i], expected, rtol=1e-12, atol=1e-12)


@given(SEEDS)
@examples(60)
def test_values_beyond_limits_are_counted_in_each_part(seed):
    rng = np.random.default_rng(seed)
    parts = tables(rng, rng.integers(1, 40, 3))
    low, high = np.sort(rng.normal(0, 2, (2, 3, 3)), axis=0)
    expected = [
        np.count_nonzero((part < a) | (part > b), axis=0)
        for part, a, b in zip(parts, low, high, strict=True)
    ]
    found = sorted_(*parts).outside(np.arange(3), low, high)
    np.testing.assert_array_equal(found, expected)


@given(SEEDS)
@examples(60)
def test_numbers_are_the_values_that_were_encoded(seed):
    rng = np.random.default_rng(seed)
    schema = Schema(
        [
            Column("a", bounds=(-1, 2), weight=3, when_missing="encode"),
            Column("b", categories=("u", "v"), other="w"),
            Column("c", bounds=(0, 5)),
            Column("d", categories=("u", "v"), ordered=True),
        ]
    )
    counts = rng.integers(1, 30, 2).tolist()
    n = sum(counts)
    values = np.column_stack(
        [rng.uniform(-1, 2, n), rng.integers(0, 3, n), rng.uniform(0, 5, n), rng.integers(0, 2, n)]
    )
    values[rng.random(n) < 0.2, 0] = np.nan
    numbers = Cells.of(schema).numbers(schema.encode(values)[0], counts)
    expected = sorted_(*np.split(values[:, [0, 2]], counts[:1]))
    np.testing.assert_allclose(numbers.values, expected.values, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(numbers.known, expected.known)


def test_points_read_in_any_order_are_their_owners(rng):
    pool, owner = rng.normal(size=(40, 3)), rng.permutation(np.repeat([0, 2, 3], [10, 25, 5]))
    pooled = SimpleNamespace(scaled=pool, owner=owner)
    setting = SimpleNamespace(schema=Schema.numbers("abc"), names="wxyz", target=pool)
    sets = Sets.of(SimpleNamespace(pool=pooled, scaled=pool), setting)
    for i in range(4):
        for j in range(3):
            expected = np.sort(pool[owner == i, j])
            np.testing.assert_array_equal(sets.read.column(j, i), expected)


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
    owners = Owners.of(sorted_(*parts), sorted_(goal), goal.shape[1])
    quick = owners.elsewhere()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Owners, "_may_be_apart", lambda *_: np.ones(owners.bulk[0].shape, np.bool_))
        slow = owners.elsewhere()
    np.testing.assert_array_equal(quick, slow)


def test_most_columns_of_honest_owners_are_passed_over():
    rng = np.random.default_rng(3)
    goal, *parts = (rng.normal(size=(80, 50)) for _ in range(4))
    assert not Owners.of(sorted_(*parts), sorted_(goal), 50)._may_be_apart().any()


@given(SEEDS)
@examples(100)
def test_columns_without_a_wide_gap_are_not_two_groups(seed):
    rng = np.random.default_rng(seed)
    n = rng.integers(20, 200)
    values = np.exp(rng.normal(0, rng.choice([0.3, 1, 3]), (n, 6)))
    values *= np.where(
        rng.random((n, 6)) < rng.choice([0, 0.02, 0.1, 0.5]), 10 ** rng.uniform(0, 4), 1
    )
    values[rng.random((n, 6)) < rng.choice([0, 0.1, 0.5])] *= -1
    values[rng.random((n, 6)) < rng.choice([0, 0.1])] = np.nan
    goal = sorted_(values)
    two = [j for j in range(6) if _in_two_groups(goal.column(j))]
    assert set(two) <= set(_with_wide_gaps(goal))


def test_a_look_at_positive_values_rules_out_columns_and_finds_two_groups():
    rng = np.random.default_rng(3)
    normal = rng.normal(size=(500, 20))
    assert not _with_wide_gaps(sorted_(normal))
    normal[:50, 7] = 1000 + normal[:50, 7]
    assert _with_wide_gaps(sorted_(normal)) == [7]
    assert _in_two_groups(sorted_(normal).column(7))


@given(SEEDS)
@examples(100)
def test_columns_that_are_passed_over_have_no_mark(seed):
    rng = np.random.default_rng(seed)
    (values,) = tables(rng, [rng.integers(20, 200)], 6)
    marks = rng.choice([-1000, -6, 4, 999], 6)
    values = np.where(rng.random(values.shape) < rng.choice([0, 0.05, 0.3]), marks, values)
    limits = None if rng.random() < 0.5 else (-3.0, rng.choice([3.0, 2000.0]))
    both = np.repeat([NO_LIMITS if limits is None else limits], 6, axis=0).T
    found = {j for j in range(6) if _has_mark(values[:, j], limits)}
    assert found <= set(_may_have_mark(values, both))


def test_columns_without_repeated_ends_are_passed_over():
    rng = np.random.default_rng(3)
    values = rng.normal(size=(500, 4))
    values[:20, 1], values[:20, 2] = 40, 5
    inside, outside = np.array([[-99.0] * 4, [99.0] * 4]), np.array([[-3.0] * 4, [3.0] * 4])
    assert _may_have_mark(values, inside) == [1]
    assert 2 in _may_have_mark(values, outside)


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

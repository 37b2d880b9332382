"""When two columns are seen to depend on each other: seldom by chance, always if they do much."""

from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from dpsumm.vertical.dependence import dependences, hidden_pairs
from dpsumm.vertical.layout import Released
from dpsumm.vertical.noise import plan_noise
from helpers.chance import FALSE_ALARM

SIZES, DRAWS = (6, 4, 2, 2), 400


def released(rng, codes, noise_multiplier, first=0.1):
    """Return noisy tables of records, (n, columns), whose columns are those of two owners."""
    plan = plan_noise(SIZES, (0, 0, 1, 1), noise_multiplier, first=first)

    def noisy(table, std):
        return table + np.rint(rng.normal(0, std, table.shape)).astype(np.int64)

    singles = [
        noisy(np.bincount(column, minlength=size), plan.single_std)
        for column, size in zip(codes.T, SIZES, strict=True)
    ]
    pairs = {}
    for index, (i, j) in enumerate(plan.pairs):
        flat = codes[:, i] * SIZES[j] + codes[:, j]
        table = np.bincount(flat, minlength=SIZES[i] * SIZES[j]).reshape(SIZES[i], SIZES[j])
        pairs[i, j] = noisy(table, np.sqrt(plan.variance(index)))
    return Released(len(codes), tuple(singles), tuple(map(np.arange, SIZES)), pairs, plan)


def independent(rng, n):
    """Return skewed columns."""
    shares = [np.arange(size, 0, -1) ** 2.0 for size in SIZES]
    columns = [rng.choice(len(share), n, p=share / share.sum()) for share in shares]
    return np.stack(columns, axis=1)


# Mostly noise, both, mostly chance of the records, mostly noise of the one-way tables.
@pytest.mark.parametrize(
    ("n", "noise_multiplier", "first"),
    [(500, 8.0, 0.1), (3000, 4.0, 0.1), (20_000, 0.5, 0.1), (3000, 2.0, 0.0002)],
)
def test_independent_columns_are_seldom_seen_to_depend(rng, n, noise_multiplier, first):
    squares, seen = [], 0
    for _ in range(DRAWS):
        tables = released(rng, independent(rng, n), noise_multiplier, first)
        found = dependences(tables)
        squares.append([one.squares / (one.noise + one.sampling) for one in found])
        seen += sum(one.seen for one in found)
        assert len(hidden_pairs(tables)) == sum(not one.seen for one in found)
    pairs = DRAWS * len(list(combinations(SIZES, 2)))
    assert seen <= stats.binom.isf(FALSE_ALARM, pairs, 0.01)
    # What noise and chance make of it is as foretold, and not much less.
    mean, error = np.mean(squares), np.std(squares) / np.sqrt(DRAWS)
    assert mean < 1 + 5 * error
    assert mean > 0.8 - 5 * error


def test_strong_dependences_are_seen(rng):
    codes = independent(rng, 3000)
    # The last column is a noisy copy of the one before, and the second depends on the first.
    same = rng.random(3000) < 0.25
    codes[same, 3] = codes[same, 2]
    codes[same, 1] = codes[same, 0] // 2
    seen = [set(hidden_pairs(released(rng, codes, 2.0))) for _ in range(30)]
    often = [sum(pair not in hidden for hidden in seen) for pair in ((0, 1), (2, 3), (0, 3))]
    assert often[0] == often[1] == 30
    assert often[2] < 5

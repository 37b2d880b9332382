"""The chain of regressions, and the model that draws rows from it and the mixture by turns."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize

from dpsumm.vertical.chain import fit_chain
from dpsumm.vertical.label_fit import projected
from dpsumm.vertical.layout import Released
from dpsumm.vertical.merged import best_shares, drawn_codes, drawn_levels
from dpsumm.vertical.noise import NoisePlan
from dpsumm.vertical.tables import Tables

N = 40_000
# Codes of the levels: two levels of the first column share one, the last column has one level.
CODES = (np.array([0, 1, 1, 2]), np.arange(3), np.arange(2), np.zeros(1, int))
SIZES = tuple(int(codes.max()) + 1 for codes in CODES)


def records(rng, n=N):
    """Levels of a column, one that nearly follows from it, and one that depends on both."""
    a = rng.choice(4, n, p=[0.4, 0.1, 0.2, 0.3])
    b = np.where(rng.random(n) < 0.95, CODES[0][a], rng.integers(0, 3, n))
    c = (rng.random(n) < 0.2 + 0.3 * (CODES[0][a] == 1) + 0.4 * (b == 2)).astype(int)
    return np.stack([a, b, c, np.zeros(n, int)], axis=1)


def released(levels, std, rng, label=None):
    """What is released of records, with noise."""

    def noisy(table):
        return np.rint(table + rng.normal(0, std, table.shape)).astype(np.int64)

    pairs = ((0, 1), (0, 2), (1, 2))
    codes = [one[levels[:, j]] for j, one in enumerate(CODES)]
    tables = {}
    for i, j in pairs:
        tables[i, j] = np.zeros((SIZES[i], SIZES[j]))
        np.add.at(tables[i, j], (codes[i], codes[j]), 1)
    plan = NoisePlan(SIZES, (0, 0, 0, 0), pairs, (std,) * 3, std, (0, 1, 2), label=label)
    singles = [np.bincount(levels[:, j], minlength=len(one)) for j, one in enumerate(CODES)]
    return Released(
        n_records=len(levels),
        singles=tuple(noisy(one) for one in singles),
        codes=CODES,
        pairs={pair: noisy(table) for pair, table in tables.items()},
        plan=plan,
    )


def table_of(codes, i, j):
    found = np.zeros((SIZES[i], SIZES[j]))
    np.add.at(found, (codes[:, i], codes[:, j]), 1 / len(codes))
    return found


def coded(levels):
    return np.stack([one[levels[:, j]] for j, one in enumerate(CODES)], axis=1)


@pytest.mark.parametrize("label", [None, 0])
def test_rows_have_the_released_tables_where_noise_is_small(rng, label):
    tables = released(records(rng), 3.0, rng, label)
    chain = fit_chain(tables)
    assert chain.links[-1].column == (3 if label is None else 0)
    rows = chain.draw(100_000, seed=1)
    for pair, table in tables.pairs.items():
        assert np.abs(table_of(coded(rows), *pair) - table / N).max() < 0.02
    # Levels that share a code have their parts of it.
    assert (rows[:, 0] == 2).mean() == pytest.approx(0.2, abs=0.02)
    assert (rows[:, 3] == 0).all()
    np.testing.assert_array_equal(rows, chain.draw(100_000, seed=1))
    assert chain.draw(0).shape == (0, 4)


def test_noise_alone_makes_no_dependence(rng):
    """At most .031 in 150 draws, where the columns as they are keep .14 or more."""
    levels = records(rng)
    apart = np.stack([rng.permutation(column) for column in levels.T], axis=1)
    for columns, dependent in ((apart, False), (levels, True)):
        rows = coded(fit_chain(released(columns, 400.0, rng)).draw(100_000, seed=1))
        for i, j in ((0, 1), (0, 2), (1, 2)):
            table = table_of(rows, i, j)
            excess = np.abs(table - np.outer(table.sum(1), table.sum(0))).sum() / 2
            assert (excess > 0.08) == dependent


def test_a_link_minimises_what_its_kernel_says(rng):
    """By another optimiser, from the moments and ridges that a link is fitted to."""
    tables = released(records(rng), 50.0, rng)
    seen = {}

    def kept(codes, sizes, moments, ridges, start):
        from dpsumm.kernels import fit_softmax

        weights = fit_softmax(codes, sizes, moments, ridges, start, max_steps=1000)
        seen[len(sizes)] = codes, moments, ridges, start, weights
        return weights

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dpsumm.vertical.chain.fit_softmax", kept)
        fit_chain(tables)
    codes, moments, ridges, start, weights = seen[2]
    one_hot = np.hstack([np.eye(SIZES[j])[codes[:, j]] for j in range(2)])

    def loss(flat):
        w = flat.reshape(weights.shape)
        z = np.log(start) + one_hot @ w
        total = np.log(np.exp(z).sum(axis=1)).mean() - (w * moments).sum()
        return total + (ridges * w**2).sum() / 2

    best = minimize(loss, np.zeros(weights.size), method="BFGS", options={"gtol": 1e-7}).fun
    # It stops where a step gains little: at most 3.5e-6 above the least loss in 24 draws.
    assert best - 1e-9 <= loss(weights.ravel()) <= best + 1e-4
    assert best < -0.01


def test_given_levels_are_kept_and_the_others_follow(rng):
    levels = records(rng)
    chain = fit_chain(released(levels, 3.0, rng))
    for known in ((None, None, 1, None), (3, None, 0, None), (2, 1, 0, 0)):
        rows = chain.draw(30_000, known, seed=2)
        fits = np.ones(len(levels), bool)
        for j, level in enumerate(known):
            if level is not None:
                assert (rows[:, j] == level).all()
                fits &= CODES[j][levels[:, j]] == CODES[j][level]
        like = levels[fits]
        for j in (1, 2):
            shares = [np.bincount(one[:, j], minlength=SIZES[j]) / len(one) for one in (rows, like)]
            assert np.abs(shares[0] - shares[1]).max() < 0.05


def test_rows_come_from_both_models_by_turns(rng):
    tables = released(records(rng), 20.0, rng)
    model = Tables(components=20).fit(tables)
    rows = model.draw(1001, (None, 1, None, None), seed=3)
    given = (None, 1, None, None)
    np.testing.assert_array_equal(rows[::2], model.mixture.draw(501, given, 3))
    np.testing.assert_array_equal(rows[1::2], model.chain.draw(500, given, 3))
    assert model.draw(1, seed=3).shape == (1, 4)
    assert model.draw(0, seed=3).shape == (0, 4)


def test_the_chain_s_coins_are_not_those_of_who_begins_with_its_seed(rng):
    """Labels that are drawn of the rows with the same seed would follow their first column."""
    chain = fit_chain(released(records(rng), 3.0, rng))
    first = chain.links[0].column
    rows = chain.draw(20_000, seed=7)
    coins = np.random.default_rng(7).random(20_000)
    assert abs(np.corrcoef(rows[:, first], coins)[0, 1]) < 6 / math.sqrt(20_000)


def test_shares_are_those_of_all_tables_by_their_noise(rng):
    tables = released(records(rng), 30.0, rng)
    weights, totals = [], []
    for pair, table in [((0,), np.bincount(CODES[0], tables.singles[0])), *tables.pairs.items()]:
        if 0 in pair:
            cells = np.bincount(CODES[0]) if pair == (0,) else table.size / SIZES[0] + np.zeros(3)
            weights.append(1 / (30.0**2 * cells))
            totals.append(table if pair == (0,) else table.sum(axis=1))
    wanted = sum(w * t for w, t in zip(weights, totals, strict=True)) / sum(weights) / N
    np.testing.assert_allclose(best_shares(tables, 0), wanted / wanted.sum(), rtol=1e-12)


@given(arrays(float, (3, 4), elements=st.floats(-100, 100)), st.integers(1, 500))
def test_the_nearest_table_is_found(table, total):
    """As the only one that is the table, moved by a constant where it is above 0."""
    found = projected(table.reshape(1, -1), np.array([total])).reshape(table.shape)
    assert found.min() >= 0
    assert found.sum() == pytest.approx(total)
    moved = (table - found)[found > 0]
    assert np.ptp(moved) < 1e-6 * max(total, 1)
    assert (table[found == 0] <= moved.max() + 1e-6 * max(total, 1)).all()


def test_codes_and_levels_are_drawn_by_their_shares(rng):
    shares = rng.dirichlet(np.ones(3), 4)
    given_ = np.repeat(np.arange(4, dtype=np.uint32), 100_000)[:, None]
    drawn = drawn_codes(given_, lambda part: shares[part[:, 0]], rng)
    parts = np.array([0.25, 1.0, 0.75, 1.0])
    levels = drawn_levels(drawn, np.array([0, 1, 0, 2]), parts, rng)
    for row, level in zip(shares, levels.reshape(4, -1), strict=True):
        wanted = [row[0] / 4, row[1], row[0] * 3 / 4, row[2]]
        # 6 standard errors.
        np.testing.assert_allclose(np.bincount(level, minlength=4) / 1e5, wanted, atol=6 * 0.0016)

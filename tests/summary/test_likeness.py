"""What a verdict on points rests on, beside slow twins."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score
from tests.helpers.effort import examples

from dpsumm import Column, Schema
from dpsumm.summary import likeness
from dpsumm.summary.by_column import Marginal
from dpsumm.summary.likeness import (
    FOLDS,
    TENTHS,
    Likeness,
    Use,
    auc,
    cross_fitted,
    fitted,
    standardised,
)


def unbiased(a, b, width):
    """MMD^2 of all pairs of different points, one by one."""

    def k(x, y):
        return np.exp(-np.sum((x - y) ** 2) / width)

    def own(points):
        n = len(points)
        pairs = [k(points[i], points[j]) for i in range(n) for j in range(n) if i != j]
        return np.mean(pairs)

    return own(a) + own(b) - 2 * np.mean([k(x, y) for x in a for y in b])


def test_the_share_closed_is_by_unbiased_distances_with_a_jackknifes_error(rng):
    t, s, r = (rng.normal(at, 1, (n, 2)) for at, n in ((2, 30), (1, 20), (0, 50)))
    found = Likeness.of(t, s, r)
    width = likeness._width(t)
    gap, base = unbiased(s, t, width), unbiased(r, t, width)
    assert found.closed.value == pytest.approx(1 - gap / base)
    assert found.rows_apart.value == pytest.approx(base)
    rng, left = np.random.default_rng(0), []
    folds = [rng.permutation(len(x)) % TENTHS for x in (t, s, r)]
    for k in range(TENTHS):
        a, b, c = (x[fold != k] for x, fold in zip((t, s, r), folds, strict=True))
        left.append((unbiased(b, a, width), unbiased(c, a, width)))
    away = np.array(left) - np.mean(left, axis=0)
    covariance = (TENTHS - 1) / TENTHS * away.T @ away
    assert found.rows_apart.error == pytest.approx(np.sqrt(covariance[1, 1]))
    slope = np.array([1, -gap / base]) / base
    assert found.closed.error == pytest.approx(np.sqrt(slope @ covariance @ slope))


@given(st.integers(0, 2**32))
@examples(30)
def test_the_area_is_the_share_of_pairs_in_order(seed):
    rng = np.random.default_rng(seed)
    scores, labels = rng.integers(0, 6, 40).astype(float), rng.permutation(np.arange(40) % 3 == 0)
    assert auc(scores, labels.astype(int)).value == pytest.approx(roc_auc_score(labels, scores))


@pytest.mark.same_draws
def test_an_areas_error_is_that_of_draws(rng):
    labels = np.repeat([1, 0], [60, 90])
    found = [auc(rng.normal(labels * 0.8, 1.0), labels) for _ in range(400)]
    values, errors = np.array([(one.value, one.error) for one in found]).T
    # The standard error of a standard deviation of 400 draws is 3.5 %.
    assert np.std(values) == pytest.approx(np.mean(errors), rel=0.2)


def test_scores_across_folds_are_those_of_models_fitted_without_them(rng, monkeypatch):
    points, labels = rng.normal(size=(40, 3)), np.repeat([1, 0], [15, 25])
    found = cross_fitted(points, labels)
    width, ridge = likeness._width(points), likeness._ridge(labels)
    fold, chance = np.empty(40, int), np.random.default_rng(0)
    for label in (0, 1):
        rows = chance.permutation(np.flatnonzero(labels == label))
        fold[rows] = np.arange(len(rows)) % FOLDS
    # The width and the penalty of all points.
    monkeypatch.setattr(likeness, "_width", lambda _: width)
    for k in range(FOLDS):
        kept, out = fold != k, fold == k
        penalty = ridge[np.ix_(kept, kept)]
        monkeypatch.setattr(likeness, "_ridge", lambda _, penalty=penalty: penalty)
        by_hand = fitted(points[kept], labels[kept], points[out])
        np.testing.assert_allclose(found[out], by_hand, atol=1e-9)


@pytest.mark.same_draws
def test_the_use_of_labels_is_by_models_of_either_and_a_bootstraps_error(rng):
    t, s = rng.normal(size=(80, 2)), rng.normal(size=(60, 2))
    y, z = ((x[:, 0] + rng.normal(0, 0.5, len(x)) > 0).astype(int) for x in (t, s))
    found = Use.of((t, y), (s, z))
    scores = fitted(s, z, t), cross_fitted(t, y)
    for one, score in zip((found.theirs, found.own), scores, strict=True):
        assert one.value == pytest.approx(roc_auc_score(y, score))
        # By another way to the same error.
        assert one.error == pytest.approx(auc(score, y).error, rel=0.3)
    assert found.more.value == pytest.approx(found.theirs.value - found.own.value)
    assert found.more.error < found.theirs.error + found.own.error
    assert Use.of((t, np.r_[np.ones(4, int), np.zeros(76, int)]), (s, z)) is None
    # Labels of none have no part.
    more = Likeness.of(np.r_[t, t], s, t, labels=(np.r_[y, np.full(80, -1)], z)).use
    assert more == found


@pytest.mark.same_draws
def test_points_are_told_apart_if_they_differ_and_by_chance_if_not(rng):
    t, alike, far, read = (rng.normal(at, 1, (200, 3)) for at in (0, 0, 1, 2))
    same, other = (Likeness.of(t, s, read) for s in (alike, far))
    assert same.apart.low < 0.5
    assert other.apart.low > 0.7
    assert other.closed.high < 0.95
    assert same.closed.high > 0.95
    assert Likeness.of(t, read, read, chosen=False).closed is None


def test_columns_count_by_their_spread_whatever_their_bounds_and_weights(rng):
    values = np.column_stack([rng.normal(50, 5, 90), rng.integers(0, 2, 90)])
    values[:30, 0] = np.nan
    found = []
    for bounds, weight in (((0, 100), 1.0), ((-1e6, 1e6), 0.01)):
        columns = [
            Column("age", bounds=bounds, when_missing="encode", weight=weight),
            Column("sex", categories=("f", "m"), weight=weight),
        ]
        schema = Schema(columns)
        sets = np.split(schema.encode(values), [40, 60])
        found.append(np.concatenate(standardised(schema, *sets)))
    np.testing.assert_allclose(*found, rtol=1e-6, atol=1e-6)
    age, absent, *sex = found[0].T
    assert (age[:30] == 0).all()
    assert abs(np.median(age[30:])) < 1e-6
    assert 0.8 < age[30:].std() < 1.3
    np.testing.assert_array_equal(absent, 2.0 * (np.arange(90) < 30))
    # Two records of different categories are at distance 2, as two standard deviations apart.
    np.testing.assert_allclose(np.square(sex).sum(axis=0), 2)


def test_large_sets_are_looked_at_in_part(rng):
    kept = standardised(None, *(rng.normal(size=(5000, 2)) for _ in range(3)))
    assert [len(part) for part in kept] == [600, 600, 1200]


@pytest.mark.same_draws
@pytest.mark.parametrize("k", [0, 5])
def test_a_columns_effect_is_its_gap_without_what_chance_makes(rng, k):
    squares = []
    for _ in range(300):
        a, b = (rng.integers(0, k, n) if k else rng.normal(size=n) for n in (60, 90))
        squares.append(Marginal("x", (a, b), tuple(map(str, range(k)))).gap(0) ** 2)
    one = Marginal("x", (np.zeros(60), np.ones(90)))
    chance = 1 - one.effect(0, (60, 90)) ** 2
    if k:
        shares = np.full(k, 1 / k)
        chance = np.sqrt(2 / np.pi * shares * (1 - shares)).sum() ** 2 / 4 * (1 / 60 + 1 / 90)
    assert np.mean(squares) == pytest.approx(chance, rel=0.25)

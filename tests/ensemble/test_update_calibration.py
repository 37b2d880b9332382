"""Probabilities of a model of updates: their scale, and the shares of the classes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsumm.ensemble.updates.fit import fit, likeliest_shares, partition
from dpsumm.ensemble.updates.temperature import RIDGE, calibrated


def world(rng, *, classes=4, features=8, n=1500, strength=1.5):
    """Return features with a constant, and true weights that made labels."""
    a = np.hstack([np.ones((n, 1)), rng.normal(size=(n, features))])
    weights = strength * rng.normal(size=(features + 1, classes))
    weights[0] = 0
    return a, weights - weights.mean(1, keepdims=True)


def flat_fit(rng, a, weights, noise):
    """Return a fit that is too flat, and all that it was made from."""
    k, m = weights.shape[1], len(weights) - 1
    moments = a.T @ partition(a @ weights)[1] / len(a)
    made = noise * rng.normal(size=(m, k))
    moments[1:] += made - made.mean(1, keepdims=True)
    variance = np.full(m + 1, noise**2)
    ridge = RIDGE * (k - 1) * variance / (k * 0.02)
    ridge = np.maximum(ridge, 1e-4 / k)
    return fit(a, moments, ridge, np.zeros_like(weights), 100), moments, variance, ridge


def loss(a, weights, truth):
    """Return the cross-entropy against the true probabilities."""
    found, true = (partition(a @ w)[1] for w in (weights, truth))
    return float(-(true * np.log(np.maximum(found, 1e-300))).sum(1).mean())


@pytest.mark.parametrize("noise", [0.003, 0.01, 0.03])
def test_the_scale_is_near_the_one_of_least_cross_entropy(rng, noise):
    before, after, best = 0.0, 0.0, 0.0
    for _ in range(10):
        a, truth = world(rng)
        fitted, *rest = flat_fit(rng, a, truth, noise)
        found = calibrated(a, fitted, *rest)
        scaled = np.r_[0.0, np.ones(len(fitted) - 1)][:, None] * fitted
        best += min(loss(a, s * scaled, truth) for s in np.exp(np.linspace(-1, 4, 40)))
        before += loss(a, fitted, truth)
        after += loss(a, found, truth)
    assert after - best < 0.15 * (before - best)


def test_an_agreement_that_no_scale_has_asks_for_no_infinite_one(rng):
    a, truth = world(rng)
    fitted, moments, variance, ridge = flat_fit(rng, a, truth, 0.02)
    slopes = a[:, 1:] @ fitted[1:]
    most = float(slopes.max(1).mean())
    # As if noise had added to it: more than if every label were the likeliest one.
    moments[1:] *= 3 * most / float((moments[1:] * fitted[1:]).sum())
    found = calibrated(a, fitted, moments, variance, ridge)
    assert np.linalg.norm(found[1:]) < 60 * np.linalg.norm(fitted[1:])
    assert partition(a @ found)[1].max(1).mean() < 0.999


def test_classes_get_their_shares_whatever_the_slopes(rng):
    a, truth = world(rng)
    fitted, moments, variance, ridge = flat_fit(rng, a, truth, 0.05)
    moments[0] = [0.1, 0.2, 0.3, 0.4]
    p = partition(a @ calibrated(a, fitted, moments, variance, ridge))[1]
    assert p.mean(0) == pytest.approx(moments[0], abs=1e-3)


@given(
    noisy=st.lists(st.floats(-50, 50), min_size=2, max_size=12),
    variance=st.floats(1e-9, 1e4),
    kept=st.floats(1e-6, 1),
)
def test_likeliest_shares_are_shares(noisy, variance, kept):
    shares = likeliest_shares(np.array(noisy), variance, kept)
    assert (shares > 0).all()
    assert shares.sum() == pytest.approx(1)


def test_shares_are_even_as_far_as_they_are_unknown():
    noisy = np.array([0.7, 0.2, 0.1])
    assert likeliest_shares(noisy, 1e-12, 1.0) == pytest.approx(noisy)
    assert likeliest_shares(noisy, 1e-2, 1e-6) == pytest.approx(np.full(3, 1 / 3), abs=1e-5)
    half = likeliest_shares(noisy, 1e-6, 0.5)
    assert half == pytest.approx((noisy + 1 / 3) / 2)

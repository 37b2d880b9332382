"""MWEM over S^d with every marginal written out, weights and all: Algorithm 2 of the paper."""

import numpy as np


def mwem(sums, count, steps, iterations, epsilon_select, epsilon_measure, rng, weights=None):
    """`sums` in units of 1 / steps. Returns (average of the iterates' means, weights)."""
    grid = np.linspace(-1, 1, steps + 1)
    d = len(sums)
    weights = np.full((d, steps + 1), 1 / (steps + 1)) if weights is None else weights.copy()
    real = np.asarray(sums) / steps
    average = np.zeros(d)
    for _ in range(iterations):
        expected = np.rint(count * (weights @ grid) * steps) / steps
        score = epsilon_select * np.abs(real - expected)
        chance = np.exp(score - score.max())
        i = rng.choice(d, p=chance / chance.sum())
        measured = real[i] + rng.laplace(scale=1 / epsilon_measure)
        weights[i] *= np.exp(grid * (measured - expected[i]) / (2 * count))
        weights[i] /= weights[i].sum()
        average += weights @ grid
    return average / iterations, weights

"""Plain twins of the vertical kernels, in NumPy."""

from itertools import pairwise

import numpy as np


def one_hot(codes, width):
    """Return the matrix whose row r has ones at the codes of row r."""
    matrix = np.zeros((len(codes), width), np.int64)
    np.put_along_axis(matrix, np.asarray(codes), 1, axis=1)
    return matrix


def fit_mixture(sizes, pairs, pair_weights, singles, single_weights, z, step, stop, max_steps):
    """Fit by Adam from the first values z, (K, W); as written on paper."""
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    blocks = [slice(a, b) for a, b in pairwise(offsets)]
    largest = max(pair_weights.max(), single_weights.max())
    cells = (pair_weights > 0).sum()
    parameters = [np.zeros(len(z)), z.copy()]
    moments = [[np.zeros_like(p), np.zeros_like(p)] for p in parameters]

    def softmax(x):
        e = np.exp(x - x.max(axis=-1, keepdims=True))
        return e / e.sum(axis=-1, keepdims=True)

    for t in range(max_steps + 1):
        pi = softmax(parameters[0])
        theta = np.hstack([softmax(parameters[1][:, block]) for block in blocks])
        error = theta.T @ (pi[:, None] * theta) - pairs
        chi2 = (pair_weights * error**2).sum() / cells
        if chi2 <= stop or t == max_steps:
            return pi, theta, t, chi2
        residual = pair_weights / largest * error
        single = single_weights / largest * (pi @ theta - singles)
        d_theta = pi[:, None] * (2 * theta @ residual + single)
        d_pi = ((theta @ residual) * theta).sum(axis=1) + theta @ single
        d_z = np.empty_like(theta)
        for block in blocks:
            g, share = d_theta[:, block], theta[:, block]
            d_z[:, block] = share * (g - (g * share).sum(axis=1, keepdims=True))
        rate = step * (1 - t / max_steps) + 1e-4
        for p, m, g in zip(parameters, moments, (pi * (d_pi - pi @ d_pi), d_z), strict=True):
            m[0] = 0.9 * m[0] + 0.1 * g
            m[1] = 0.99 * m[1] + 0.01 * g * g
            unbiased = [m[0] / (1 - 0.9 ** (t + 1)), m[1] / (1 - 0.99 ** (t + 1))]
            p[...] = p - rate * unbiased[0] / (np.sqrt(unbiased[1]) + 1e-12)
    raise AssertionError

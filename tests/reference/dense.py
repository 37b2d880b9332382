"""Features, kernel, MMD and selection, written as their definitions."""

import numpy as np


def features(omega, phase, points, kind):
    angles = points @ omega.T
    if kind == "paired":
        waves = np.concatenate([np.cos(angles), np.sin(angles)], axis=1)
    else:
        waves = np.cos(angles + phase)
    return np.sqrt(2 / waves.shape[1]) * waves


def kernel(a, b, gamma):
    squared = ((a[:, None, :] - b[None, :, :]) ** 2).sum(axis=2)
    return np.exp(-gamma * squared)


def mmd2(a, b, gamma):
    return kernel(a, a, gamma).mean() - 2 * kernel(a, b, gamma).mean() + kernel(b, b, gamma).mean()


def objective(summary, target, gamma):
    """J(S) of the paper, equation 3."""
    return 2 * kernel(summary, target, gamma).mean() - kernel(summary, summary, gamma).mean()


def greedy(points, target, gamma, size):
    """Add the point that makes J largest, by computing J for every candidate."""
    chosen = []
    for _ in range(size):
        gains = [
            -np.inf if i in chosen else objective(points[[*chosen, i]], target, gamma)
            for i in range(len(points))
        ]
        chosen.append(int(np.argmax(gains)))
    return chosen


def marginal_gain(summary, candidate, target, gamma):
    """J(S + y) - J(S) from means alone: the corrected form of Algorithm 3's step 6.

    With t = |S|, v = mean k(V, y) and s = mean k(S, y):
    2/(t+1) (v - t/(t+1) s) - k(y,y)/(t+1)^2 - 2/(t+1) mean k(V,S) + (2t+1)/(t+1)^2 mean k(S,S).
    """
    t = len(summary)
    v = kernel(target, candidate[None], gamma).mean()
    s = kernel(summary, candidate[None], gamma).mean()
    return (
        2 / (t + 1) * (v - t / (t + 1) * s)
        - 1 / (t + 1) ** 2
        - 2 / (t + 1) * kernel(target, summary, gamma).mean()
        + (2 * t + 1) / (t + 1) ** 2 * kernel(summary, summary, gamma).mean()
    )

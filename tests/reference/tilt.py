"""The tilted draw in plain NumPy, slowly: eigenvalues by LAPACK, sums by BLAS."""

import math

import numpy as np

BASIS, PENALTY = 128, 3.0


def tilt(h, goal, noise, least=0.0):
    """Direction of the tilt from features h (s, d): see `dpsumm.kernels.tilt`."""
    s, d = h.shape
    mean = h.mean(axis=0)
    h = h - mean
    base = h[:: -(-s // min(max(s // 4, 64), BASIS))]
    values, vectors = np.linalg.eigh(base @ base.T / len(base))
    if values[-1] <= 1e-12:
        return np.zeros(d)
    kept = values > 1e-6 * values[-1]
    axes = base.T @ (vectors[:, kept] / np.sqrt(len(base) * values[kept]))
    y, delta = h @ axes, (goal - mean) @ axes
    variance = (y**2).mean(axis=0)
    noises = noise**2 + variance / s
    visible = variance > 0.02 * noises
    if not visible.any():
        return np.zeros(d)
    tried = np.exp(np.arange(-72, 73) / 8)
    total = (tried[:, None] * variance + noises)[:, visible]
    likelihood = -0.5 * (np.log(total) + delta[visible] ** 2 / total).sum(axis=1)
    ridge = PENALTY * noises / tried[likelihood.argmax()]
    used = visible & ((variance > 0.1 * ridge) | (variance == variance[visible].max()))
    theta = shortened(newton(y[:, used], delta[used], ridge[used]), y[:, used], least)
    return axes[:, used] @ theta


def value(theta, y, delta, ridge):
    exponent = y @ theta
    largest = exponent.max()
    mean = np.exp(exponent - largest).mean()
    return largest + math.log(mean) - theta @ delta + (ridge * theta) @ theta / 2


def newton(y, delta, ridge):
    theta = np.zeros(y.shape[1])
    for _ in range(200):
        r = ratios(y @ theta)
        r /= r.sum()
        mean = r @ y
        slope = mean - delta + ridge * theta
        curvature = (y * r[:, None]).T @ y - np.outer(mean, mean) + np.diag(ridge)
        step = np.linalg.solve(curvature, slope)
        if slope @ step < 1e-13:
            break
        length, now = 1.0, value(theta, y, delta, ridge)
        while length > 1e-9 and not value(theta - length * step, y, delta, ridge) < now:
            length /= 2
        theta = theta - length * step
    return theta


def shortened(theta, y, least):
    def share(factor):
        r = ratios(factor * (y @ theta))
        return r.mean() ** 2 / (r**2).mean()

    good, bad = 0.0, 1.0
    if share(1.0) >= least:
        return theta
    for _ in range(60):
        middle = (good + bad) / 2
        good, bad = (middle, bad) if share(middle) >= least else (good, middle)
    return good * theta


def ratios(exponent):
    return np.exp(exponent - exponent.max())

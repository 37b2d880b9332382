"""Tests of fit at a stated false alarm, and the laws they are held against."""

import numpy as np
from scipy import stats

# Bins with fewer expected draws are merged: the chi-square law is then good far into its tail.
LEAST_EXPECTED = 100


def fits(counts, chances, false_alarm):
    """Whether counts of bins could have come from these chances (chi-square, bins merged)."""
    counts, chances = np.asarray(counts, float), np.asarray(chances, float)
    assert counts.shape == chances.shape
    assert abs(chances.sum() - 1) < 1e-9
    expected = chances * counts.sum()
    order = np.argsort(expected)
    counts, expected = counts[order], expected[order]
    small = np.cumsum(expected) - expected < LEAST_EXPECTED
    counts = np.append(counts[~small], counts[small].sum())
    expected = np.append(expected[~small], expected[small].sum())
    assert len(counts) >= 2, "more draws are needed"
    statistic = ((counts - expected) ** 2 / expected).sum()
    return stats.chi2.sf(statistic, len(counts) - 1) > false_alarm


def integer_fits(draws, cdf, edges, false_alarm):
    """Whether integers could have come from a law: bins (-inf, e0], (e0, e1], .., (last, inf).

    `cdf(k)` is the chance of at most k.
    """
    counts = np.bincount(np.searchsorted(edges, draws, side="left"), minlength=len(edges) + 1)
    return fits(counts, np.diff(np.concatenate([[0], cdf(edges), [1]])), false_alarm)


def rounded_normal_cdf(noise_std):
    return lambda k: stats.norm.cdf((np.asarray(k) + 0.5) / noise_std)


def discrete_laplace_cdf(scale):
    """P(X = k) proportional to exp(-|k| / scale)."""
    q = np.exp(-1 / scale)

    def cdf(k):
        k = np.asarray(k, float)
        below = np.exp((np.minimum(k, 0)) / scale) / (1 + q)
        return np.where(k < 0, below, 1 - np.exp(-(np.maximum(k, 0) + 1) / scale) / (1 + q))

    return cdf


def same_law(a, b, false_alarm):
    """Whether two samples could have one law (Kolmogorov and Smirnov; conservative with atoms)."""
    return stats.ks_2samp(a, b, method="asymp").pvalue > false_alarm


def same_integer_law(a, b, false_alarm):
    """Whether two samples of integers could have one law (chi-square of homogeneity).

    Bins are cut at quantiles of both samples together, on which the test is conditional.
    """
    both = np.concatenate([a, b])
    edges = np.unique(np.quantile(both, [0.003, *np.linspace(0.02, 0.98, 40), 0.997]))
    x, y = (np.bincount(np.searchsorted(edges, s), minlength=len(edges) + 1) for s in (a, b))
    least = (x + y) * min(len(a), len(b)) / len(both)
    order = np.argsort(least)
    small = np.cumsum(least[order]) - least[order] < LEAST_EXPECTED
    x, y = (np.append(n[order][~small], n[order][small].sum()) for n in (x, y))
    assert len(x) >= 2, "more draws are needed"
    ratio = np.sqrt(len(b) / len(a))
    statistic = ((x * ratio - y / ratio) ** 2 / (x + y)).sum()
    return stats.chi2.sf(statistic, len(x) - 1) > false_alarm

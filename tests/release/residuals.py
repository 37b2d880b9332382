"""What is wrong with noise, told from the residuals of real runs: released minus exact.

`faults` gets the residuals of several runs of one kind, a row for each run and a column for each
number that left: all observers', owners', rounds' and tables' numbers side by side, so that noise
that any two of them share is found. It names what does not fit independent rounded normals of the
standard deviations that were charged. Each kind of look fails at most once in 10**7 right runs.
"""

import numpy as np
from scipy import stats

FALSE_ALARM = 1e-7
# Below this, equal numbers are no wonder.
_WIDE = 30.0


def faults(residuals, stds):
    """Return what is wrong, by name; nothing of right noise.

    Parameters
    ----------
    residuals : (runs, numbers) int64
        At least 8 runs.
    stds : (numbers,) or one number
        What was charged for.
    """
    residuals = np.asarray(residuals)
    stds = np.broadcast_to(np.asarray(stds, float), residuals.shape[1])
    # Rounding adds the variance of a uniform number.
    z = residuals / np.sqrt(stds**2 + 1 / 12)
    looks = {
        "scale": _scale(z),
        "law": _law(residuals, stds),
        "tails": _tails(z),
        "cells without noise": _without(residuals, stds),
        "direction": _direction(z),
        "correlated": _correlated(z),
        "two share noise": _shared(z[:, stds >= _WIDE]),
        "equal": _equal(residuals[:, stds >= _WIDE]),
        "low bits": _low_bits(residuals[:, stds >= _WIDE]),
    }
    return {name: p for name, p in looks.items() if p < FALSE_ALARM}


def _scale(z):
    """All squares together, and each column's own: one quiet table among many is found."""
    total = float((z**2).sum())
    both = 2 * min(stats.chi2.cdf(total, z.size), stats.chi2.sf(total, z.size))
    own = (z**2).sum(0)
    worst = min(stats.chi2.cdf(own, len(z)).min(), stats.chi2.sf(own, len(z)).min())
    return min(both, 2 * worst * z.shape[1])


def _law(residuals, stds):
    """Kolmogorov-Smirnov, the rounding undone by a uniform number."""
    jitter = np.random.default_rng(0).uniform(-0.5, 0.5, residuals.shape)
    smooth = (residuals + jitter) / stds
    if stds.min() < 1:  # too coarse for a continuous law; the other looks remain
        return 1.0
    return stats.kstest(smooth.ravel(), "norm").pvalue


def _tails(z):
    """Numbers beyond 3 standard deviations and more: too few or too many."""
    found, looks = 1.0, np.arange(3.0, 5.01, 0.1)
    for far in looks:
        chance, seen = 2 * stats.norm.sf(far), int((np.abs(z) > far).sum())
        few, many = stats.binom.cdf(seen, z.size, chance), stats.binom.sf(seen - 1, z.size, chance)
        found = min(found, 2 * len(looks) * few, 2 * len(looks) * many)
    return found


def _without(residuals, stds):
    """Zeros: of noise that many steps wide there are few."""
    wide = residuals[:, stds >= _WIDE]
    if not wide.size:
        return 1.0
    chance = 1 / (_WIDE * np.sqrt(2 * np.pi))
    return stats.binom.sf(int((wide == 0).sum()) - 1, wide.size, chance)


def _direction(z, tries=32):
    """Sums along random signs, and along none: what is under the noise is exact."""
    signs = np.random.default_rng(1).choice([-1.0, 1.0], (tries, z.shape[1]))
    signs[0] = 1
    sums = (z @ signs.T).sum(0) / np.sqrt(z.size)
    own = z.sum(0) / np.sqrt(len(z))
    return 2 * min(
        stats.norm.sf(np.abs(sums).max()) * tries, stats.norm.sf(np.abs(own).max()) * len(own)
    )


def _correlated(z):
    """Numbers at any distance from each other, in the order in which they left; and their sizes."""
    found = 1.0
    for values in (z, (z**2 - 1) / np.sqrt(2)):
        flat = np.clip(values, -6, 6).ravel()
        n = len(flat)
        wave = np.fft.rfft(flat, 2 * n)
        at = np.fft.irfft(wave * wave.conj())[1 : n - 50]
        # Sums of n - k products of variance at most 1. Bernstein's tail, for heavy products.
        pairs = n - np.arange(1, len(at) + 1)
        size = np.abs(at)
        chance = np.exp(-(size**2) / (2 * (1.5 * pairs + 12 * size)))
        found = min(found, 2 * len(at) * float(chance.min()))
    return found


def _shared(z, most=2000):
    """Any two numbers, over the runs: each may have a part of its noise from the other's.

    Where one party's noise stands in two sums, beside other parties' that differ. Of independent
    normals the correlation has a t law.
    """
    runs, numbers = z.shape
    if numbers > most:
        places = np.random.default_rng(2).choice(numbers, most, replace=False)
        z, numbers = z[:, places], most
    if numbers < 2:
        return 1.0
    with np.errstate(invalid="ignore"):  # the same in every run: other looks find these
        found = np.abs(np.nan_to_num(np.triu(np.corrcoef(z.T), 1))).max()
    t = found * np.sqrt((runs - 2) / max(1 - found**2, 1e-12))
    return float(stats.t.sf(t, runs - 2)) * numbers * (numbers - 1)


def _equal(residuals):
    """Two numbers of which every run has the same noise, or its opposite; in one run or the next.

    Noise that is tiled, turned round, kept, or drawn from a fixed seed. By chance two are equal in
    one run of 50 or fewer.
    """
    size = np.abs(residuals)
    here, after = size[:-1].T, size[1:].T
    columns = np.vstack([here, after])
    repeated = len(columns) - len(np.unique(columns, axis=0))
    return 0.0 if repeated else 1.0


def _low_bits(residuals):
    """The last three bits of wide noise are uniform."""
    if not residuals.size:
        return 1.0
    return stats.chisquare(np.bincount((residuals % 8).ravel(), minlength=8)).pvalue

"""Curator and consumer make models of noisy sums between rounds, at no charge.

Everything here is a function of public points, public numbers and released sums.
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dpsumm.ensemble.students.plain import Plain
from dpsumm.ensemble.students.whitened import Whitened, sample, whitened
from dpsumm.ensemble.terms import Terms
from dpsumm.ensemble.updates.agreement import Agreement
from dpsumm.ensemble.updates.apart import LEAST_ROUNDS, Apart, around, linear, padded, widened
from dpsumm.ensemble.updates.clipping import LEVELS
from dpsumm.ensemble.updates.corrected import left_by_clip, unweighted
from dpsumm.ensemble.updates.fit import fit, likeliest_factor, likeliest_shares, partition
from dpsumm.ensemble.updates.gains import expected_rows, gains_of
from dpsumm.ensemble.updates.messages import Step
from dpsumm.ensemble.updates.recipe import RATIO, Recipe
from dpsumm.ensemble.updates.release import query_of
from dpsumm.ensemble.updates.seen import chance_of_noise
from dpsumm.ensemble.updates.temperature import RIDGE, calibrated

Array = NDArray[np.float64]

# Public points that models are fitted on, at most.
_POINTS = 2500
# Of the points' and records' own sampling error: what counts as noise.
_CHANCE = 0.1
# Whole owner: the clip, as a part of the expected length. One record: its least, of the longest.
_CLIP, _LEAST_CLIP = 0.5, 0.3
# By how much the first round may correct the expected squared length.
_CORRECTION = (0.5, 2.5)
# More than two classes, chosen on MNIST: the fit on the points' neighbour graph misses less after
# each round than the prior of its rows says, and the first round cuts more than its lengths tell.
_BETTER_FIT, _HARDER_CUT = 0.8, 0.75
# Steps of the fit in the first round, and in later ones, which start from the last.
_STEPS = (60, 25)


class Course:
    """The state of a run between rounds; `step` is what the next one starts from.

    Attributes
    ----------
    basis, gains : features, and their factors in a vector, (m + 1,)
    weights : (m + 1, K)
        Of the model so far.
    strange
        Whether the rounds show that the public points are unlike the parties' records.
    """

    def __init__(self, basis: Whitened, points: Array, terms: Terms, recipe: Recipe) -> None:
        self.terms, self.recipe, self._points = terms, recipe, points
        self.shape = (len(basis.spread) + 1, terms.n_classes)
        self.rounds, self.strange = 0, False
        self._apart: Apart | None = None
        self._begin(basis)
        self.step = self._next()

    def _begin(self, basis: Whitened) -> None:
        """Learn in this basis from here on."""
        self.basis = basis
        chosen = basis.of(sample(self._points, _POINTS))
        self._a = np.hstack([np.ones((len(chosen), 1)), chosen])
        m, k = self.shape[0] - 1, self.shape[1]
        self._expected = expected_rows(basis.spread, k)
        self.gains = gains_of(self._expected, self.terms, self.recipe)
        self._squares = ((self._a * self.gains) ** 2).sum(1)
        self._radius = float(np.linalg.norm(self.gains))
        # Expected squared length of what the model still misses.
        self._missed = float((self.gains**2 * self._expected).sum())
        self._chance = np.r_[
            0.0, np.full(m, _CHANCE / k * (1 / len(chosen) + 1 / self.recipe.records))
        ]
        self._total, self._precision = np.zeros(self.shape), np.zeros(m + 1)
        self._fitted = np.zeros(self.shape)
        self.weights, self._p = np.zeros(self.shape), np.full((len(chosen), k), 1 / k)
        self._agreement = Agreement(self._expected)

    @property
    def longest(self) -> int:
        """Length of a party's vector, at most, in integer steps."""
        if self.recipe.whole:
            return LEVELS
        return (LEVELS + math.isqrt(self.weights.size) + 2) * max(self.recipe.records, 1)

    @property
    def fitted(self) -> Plain:
        """The model so far, of two classes as the log-odds of the second."""
        w = self.weights
        return Plain(self.basis, w[:, 1:] - w[:, :1] if self.shape[1] == 2 else w, softmax=True)

    @cached_property
    def _noise_std(self) -> float:
        return query_of(self.recipe, self.weights.size, 0).noise_std

    @cached_property
    def _unit(self) -> float:
        """Of a released sum, as a part of the clip in the mean."""
        return 1 / LEVELS / self.recipe.senders(self.terms)

    @property
    def moved(self) -> bool:
        """Whether it went on around the middle of records that are not far from the points."""
        return self._apart is not None and self._apart.near

    @cached_property
    def _ratio(self) -> float:
        return self.recipe.ratio(len(self._expected) - 1, self.terms)

    @property
    def _chance_of_one(self) -> float:
        """Variance of one record's moments, by the model."""
        return float((self._squares * (1 - (self._p**2).sum(1))).mean())

    @property
    def _among_records(self) -> float:
        """Variance of the mean over a party's records."""
        return self._chance_of_one * self.terms.n_parties / self.recipe.records

    def _next(self) -> Step:
        """Return what the next round starts from."""
        if self._apart is not None and not self._apart.known:
            return self._apart.step(self.rounds, self._radius)
        if self.recipe.whole:
            clip = _CLIP * math.sqrt(self._missed + self._among_records)
        else:
            clip = longest = self._radius * math.sqrt(1 - 1 / self.shape[1])
            if self.rounds:
                clip = max(math.sqrt(self._chance_of_one), _LEAST_CLIP * self._radius)
                # Cut records are those that the model is sure and wrong about: it grows too sure.
                # Where there is little noise they need no cut.
                if self.rounds > 1 and not self.strange:
                    clip *= max(1.0, RATIO / self._ratio)
                clip = min(clip, longest)
        return Step(self.rounds, clip, self._p.mean(0), self.weights)

    def take(self, noisy: NDArray[np.int64]) -> None:
        """Learn from a round's noisy sum, (m + 1, K)."""
        unit = self.step.clip * self._unit
        seen, sd = noisy * unit, self._noise_std * unit
        seen = seen - seen.mean(1, keepdims=True)
        if self._apart is not None and not self._apart.known:
            self._move(seen, sd)
            return
        kept, cut = self._kept(seen, sd)
        variance = (sd / (kept * self.gains)) ** 2
        residual = (seen / self.gains[:, None] - cut) / kept
        moments = self._a.T @ self._p / len(self._a) + residual
        if self.rounds == 0:
            # A party weighs its records by the root of a class's share here over its own.
            self._shares = np.maximum(moments[0], 1e-9) ** (2 if self.recipe.whole else 1)
            self._shares /= self._shares.sum()
            if self.recipe.whole:
                noise = (self.shape[1] - 1) * variance[0]
                moments = unweighted(
                    moments, float(self._expected[0] / (self._expected[0] + noise))
                )
        elif self._apart is None and self._precision.all():
            self.strange |= self._strange(moments, variance)
        if self.rounds > 0 or not self._narrowed(moments, variance):
            self._add(moments, variance)
        self.rounds += 1
        left = self.recipe.rounds - self.rounds
        if self.strange and self._apart is None and left >= LEAST_ROUNDS:
            self._apart = Apart(self._shares, self.shape, self.recipe.whole)
            self._begin(linear(self._points, self.basis))
            sd = self._apart.clip(math.sqrt(self.shape[0])) * self._noise_std * self._unit
            if not self._apart.pays(left, sd):
                self._apart.skip()
                self._a = widened(self._a)
        self.step = self._next()

    def _narrowed(self, moments: Array, variance: Array) -> bool:
        """Go on with fewer functions if classes are too rare for so many, from their shares alone.

        Moments of rare classes are small, by the variance of the labels.
        """
        n_columns, asked = self._points.shape[1], self.recipe.features
        wanted = asked(n_columns, self.terms, self._labels)
        # A single round has the slopes, too.
        if self.recipe.rounds == 1 or wanted == asked(n_columns, self.terms):
            return False
        self._begin(padded(whitened(self._points, **wanted), self.shape[0] - 1))
        self._total[0], self._precision[0] = moments[0] / variance[0], 1 / variance[0]
        self.weights[0] = np.log(self._shares)
        self._p = partition(self._a @ self.weights)[1]
        return True

    @property
    def _labels(self) -> float:
        """Variance of the labels, as a part of that of classes of even shares."""
        even = 1 - 1 / self.shape[1]
        return min(max(float(1 - (self._shares**2).sum()) / even, 1e-3), 1.0)

    def _add(self, moments: Array, variance: Array) -> None:
        """Count a round's moments, and fit the model to those of all rounds."""
        if self._apart is not None:
            # Where points only stand in for the records, a round corrects the model before it.
            self._total, self._precision = np.zeros_like(moments), np.zeros_like(variance)
        self._total += moments / variance[:, None]
        self._precision += 1 / variance
        self._learn(1 / self._precision, self._total / self._precision[:, None])

    def _move(self, seen: Array, sd: float) -> None:
        """Take a round of `Apart`. After both go on around the middle of the records."""
        assert self._apart is not None
        variance = (sd / self.gains) ** 2
        self._apart.take(seen / self.gains[:, None], variance)
        self.rounds += 1
        if self._apart.known:
            # The points' features stand for the records' from now on.
            self.basis = around(self.basis, self._apart.middle[1:])
            self._a = widened(self._a)
            even = self._a.mean(0)[:, None] / self.shape[1]
            self._add(even + self._apart.moments, variance)
        self.step = self._next()

    def _kept(self, seen: Array, sd: float) -> tuple[float, Array]:
        """Return what clipping leaves of slopes, and the mean where it should be 0, (m + 1, K)."""
        if self.recipe.whole:
            return self._kept_length(seen, sd), np.zeros(self.shape)
        if self._apart is not None:
            return 1.0, np.zeros(self.shape)
        return left_by_clip(self._a, self._squares, self._p, self.step.clip)

    def _kept_length(self, seen: Array, sd: float) -> float:
        """Return how much of a mean's length clipping has left: nearly every vector is cut."""
        clip, expected = self.step.clip, self._missed + self._among_records
        if self.rounds == 0:
            # The released sum's own length corrects what was expected, weighted by its error.
            size = (self.shape[1] - 1) * self.shape[0]
            share = ((seen**2).sum() - size * sd**2) / clip**2
            error = (sd / clip) ** 2 * math.sqrt(2 * size)
            error += 2 * sd / clip * math.sqrt(max(share, 0.1))
            prior = self._missed / expected
            share = (share / error**2 + prior / 0.04) / (1 / error**2 + 1 / 0.04)
            length = self._among_records / (1 - min(max(share, 0.05), 0.95))
            low, high = _CORRECTION
            expected = min(max(length, low * expected), high * expected)
            if self.shape[1] > 2:
                expected /= _HARDER_CUT**2
            return min(1.0, max(clip / math.sqrt(expected), self._least_kept(seen, sd)))
        return min(1.0, clip / math.sqrt(expected))

    def _least_kept(self, seen: Array, sd: float) -> float:
        """Return how much clipping has left at least, by the first round.

        Moments of features of variance 1 are no longer than labels vary. Longer ones would make a
        model too sure, and the next round would differ so much that the points look unlike.
        """
        degrees = self.shape[1] - 1
        noise = degrees * (sd / self.gains) ** 2
        signal = float(((seen / self.gains[:, None]) ** 2).sum() - noise.sum())
        signal -= 2 * math.sqrt(2 * float((noise**2).sum()) / degrees)
        return math.sqrt(max(signal, 0.0) / (1 - 1 / self.shape[1]))

    def _learn(self, variance: Array, moments: Array) -> None:
        """Fit the model to moments with known noise, (m + 1,) variances of an entry."""
        k = self.shape[1]
        squares = ((moments - self._a.mean(0)[:, None] / k) ** 2).sum(1)
        noise, signal = variance + self._chance, self._expected.copy()
        for part in (slice(0, 1), slice(1, None)):  # shares of the classes, slopes
            factor = likeliest_factor(squares[part], noise[part], signal[part], k)
            signal[part] *= factor
        ridge = (k - 1) * noise / (k * signal)
        ridge[1:] *= RIDGE if self._apart is None else 1.0
        kept = signal / (signal + (k - 1) * noise)
        # The biases follow: without any, the slopes' noise would prefer some classes.
        moments = np.vstack([likeliest_shares(moments[0], noise[0], kept[0]), moments[1:]])
        ridge[0] = 0.0
        ridge = np.maximum(ridge, 1e-4 / k)
        before = self._fitted
        self._fitted = fit(self._a, moments, ridge, before, _STEPS[int(before.any())])
        known = variance + 1 / (k * self.recipe.records)
        if self._apart is None:
            self.weights = calibrated(self._a, self._fitted, moments, known, ridge)
        else:
            last = self.rounds + 1 == self.recipe.rounds
            self._fitted, self.weights = self._apart.go(self.weights, self._fitted, before, last)
        self._p = partition(self._a @ self.weights)[1]
        left = 1 / (1 / signal + 1 / ((k - 1) * variance))
        better = _BETTER_FIT ** (self.rounds + 1) if k > 2 else 1.0
        self._missed = better * float((self.gains**2 * left).sum())
        sampled = self._labels * self._chance / _CHANCE
        self._found = (squares[1:], (variance + sampled)[1:], signal[1:])

    def _strange(self, moments: Array, variance: Array) -> bool:
        """Return whether the rounds so far show that points and records are unlike."""
        known, degrees = 1 / self._precision, self.shape[1] - 1
        apart = ((moments - self._total * known[:, None]) ** 2).sum(1)
        noise = degrees * (known + variance)
        return self._agreement.broken(self.rounds, apart, noise, degrees)

    def chance(self) -> float:
        """That noise alone shows as much as the sums, 0 to 1."""
        return chance_of_noise(*self._found, self.shape[1])

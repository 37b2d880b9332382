"""The objective of a model, and a minimiser whose distance from the true one is proved.

``J(W) = mean loss(W; x_i, y_i) + lambda/2 ||W||^2 - <b, W>`` with the logistic loss of two classes,
or the softmax loss of more.

Claim
    `Objective.minimise` returns W with ``||grad J(W)|| <= tolerance`` for the real numbers behind
    the floats, so W is within ``tolerance / lambda`` of the minimiser.
Argument
    `Objective.gradient` returns an outward bound on the gradient's norm: the computed norm plus
    what any order of the sums, with or without fused operations, could be off (`error`). J is
    lambda-strongly convex.
Numerics
    NumPy's exponential is taken to be within 16 units in the last place.
Tested by
    tests/summary/test_model_parts.py
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_UNIT = 2.0**-53


@dataclass(frozen=True, eq=False)
class Objective:
    """J but for its linear term.

    Attributes
    ----------
    rows : (n, d) float64
        Of norm at most 1.
    answers : (n,) int64
        Class of each row, or -1 without one. The row then counts in n and has no loss.
    classes
        K: one column of weights for 2, K columns for more.
    regularization
        lambda, above 0.
    """

    rows: Floats
    answers: NDArray[np.int64]
    classes: int
    regularization: float

    @property
    def shape(self) -> tuple[int, int]:
        """Of the weights: (d, 1) or (d, K)."""
        return self.rows.shape[1], 1 if self.classes == 2 else self.classes

    def _chances(self, weights: Floats) -> Floats:
        margins = self.rows @ weights
        if self.classes == 2:
            small = np.exp(-np.abs(margins))
            return np.where(margins >= 0, 1.0, small) / (1.0 + small)
        margins -= margins.max(axis=1, keepdims=True)
        np.exp(margins, out=margins)
        margins /= margins.sum(axis=1, keepdims=True)
        return margins

    def gradient(self, weights: Floats, slope: Floats) -> tuple[Floats, float, Floats]:
        """Return the gradient of J, an upper bound on its true norm, and the rows' chances."""
        chances = self._chances(weights)
        residual = chances.copy()
        has = self.answers >= 0
        if self.classes == 2:
            residual[:, 0] -= self.answers
        else:
            residual[np.flatnonzero(has), self.answers[has]] -= 1.0
        residual[~has] = 0.0
        found = self.rows.T @ residual / len(self.rows)
        found += self.regularization * weights - slope
        size = float(np.sqrt(np.square(found).sum()))
        (n, d), length = self.rows.shape, _norm(weights)
        pull = self.regularization * length
        off = error(n, d, self.classes, pull=pull, slope=_norm(slope), weights=length)
        return found, size * (1 + 1e-9) + off, chances

    def curved(self, chances: Floats, step: Floats) -> Floats:
        """Return the Hessian times a step."""
        moved = self.rows @ step
        if self.classes == 2:
            moved *= chances * (1.0 - chances)
        else:
            moved = chances * (moved - (chances * moved).sum(axis=1, keepdims=True))
        moved[self.answers < 0] = 0.0
        return self.rows.T @ moved / len(self.rows) + self.regularization * step

    def minimise(self, slope: Floats, tolerance: float) -> Floats:
        """Return weights at which the gradient's norm is certified to be at most `tolerance`.

        Newton's method with conjugate gradients, damped by the gradient's norm, without a limit on
        the number of steps: to stop early, or to fail, would tell something about the rows.
        """
        weights = np.zeros(self.shape)
        gradient, bound, chances = self.gradient(weights, slope)
        while bound > tolerance:
            step = self._newton(gradient, chances)
            length, before = 1.0, _norm(gradient)
            while True:
                tried = weights + length * step
                gradient, bound, chances = self.gradient(tried, slope)
                # A full step near the end gains all there is to gain; rounding may hide it.
                if _norm(gradient) <= (1 - 0.1 * length) * before or bound <= tolerance:
                    break
                length /= 2
            weights = tried
        return weights

    def _newton(self, gradient: Floats, chances: Floats) -> Floats:
        """Return about minus the inverse Hessian times the gradient, by conjugate gradients."""
        step, rest = np.zeros_like(gradient), -gradient
        direction, size = rest, float((rest * rest).sum())
        enough = size * max(min(0.01, size), 1e-20)
        while size > enough:
            curved = self.curved(chances, direction)
            length = size / float((direction * curved).sum())
            step = step + length * direction
            rest = rest - length * curved
            size, last = float((rest * rest).sum()), size
            direction = rest + size / last * direction
        return step


def error(n: int, d: int, classes: int, *, pull: float, slope: float, weights: float) -> float:
    """Return how far a computed gradient may be from the true one, by the norms of its parts.

    Margins are off by ``gamma_d ||W||`` in norm, which chances halve (the softmax is
    1/2-Lipschitz). Exponentials and quotients add some units for each class. The mean over n rows
    of vectors of norm at most sqrt 2 is off by ``sqrt 2 gamma_n``. The rest is a few roundings.

    Parameters
    ----------
    pull, slope, weights
        Norms of ``lambda W``, b and W.
    """
    margins = 0.5 * _gamma(d + 2) * weights
    chances = (16 + 2 * classes) * 4 * _UNIT
    rest = 4 * _UNIT * (2 + pull + slope)
    return 1.01 * (margins + chances + 1.5 * _gamma(n + 4) + rest)


def tolerance_for(n: int, d: int, classes: int, regularization: float, slope_std: float) -> float:
    """Return a gradient's norm that can always be certified, from public numbers.

    Four times the error bound at the longest weights, for a slope of 12 standard deviations more
    than usual, which does not happen.
    """
    slope = slope_std * (math.sqrt(d * (1 if classes == 2 else classes)) + 12)
    pull = math.sqrt(2) + slope  # the gradient is 0 at the minimiser
    return max(
        2.0**-40, 4 * error(n, d, classes, pull=pull, slope=slope, weights=pull / regularization)
    )


def _norm(x: Floats) -> float:
    return float(np.sqrt(np.square(x).sum())) * (1 + 1e-9)


def _gamma(k: int) -> float:
    """Return the relative error of a sum of products of k terms, in any order (Higham 2002)."""
    return k * _UNIT / (1 - k * _UNIT)

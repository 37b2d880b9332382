"""A softmax student: the paper's student, fitted to noisy votes instead of being perturbed."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dpsumm.checks import check_number
from dpsumm.ensemble.messages import NoisyVotes
from dpsumm.ensemble.students.bases import Basis, Linear, Random, feature_basis, squared_scale
from dpsumm.ensemble.students.plain import Plain, softmax_of
from dpsumm.ensemble.students.student import Array, Candidate, Fitted, Student

_LAMBDAS = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)
_STEPS = 200


@dataclass(frozen=True, eq=False)
class Weights(Fitted):
    """Softmax weights on the functions of a basis."""

    basis: Basis
    scale: Array
    weights: Array

    def shares(self, points: Array) -> Array:
        """See `Fitted.shares`."""
        return softmax_of(self.basis.at(points) * self.scale @ self.weights)

    def plain(self) -> Plain:
        """See `Fitted.plain`."""
        weights = self.basis.extension * self.scale @ self.weights
        return Plain(self.basis.features, weights, softmax=True)


class Softmax(Student):
    """Softmax regression (logistic for two classes) on the noisy votes.

    Minimises ``mean logsumexp(x W) - <W, S> + lam/2 ||W||^2`` with ``S = X'Y/N`` of noisy votes Y:
    the votes enter through S alone, so this is objective perturbation with the noise of
    docs/ensemble.md, The mathematics. The bias is not shrunk. No certificate of the minimum is
    needed.

    Parameters
    ----------
    lam
        Above 0; by default the best of five by Stein's estimate of the cross-entropy to the votes
        without noise, which costs no privacy. In units of the largest eigenvalue of X'X/N.
    random_features
        Fit on 600 random features of the points instead of the points themselves.

    See Also
    --------
    dpsumm.ensemble.Spectral : The default.

    Examples
    --------
    >>> from dpsumm.ensemble import Softmax
    >>> student = Softmax(0.1, random_features=False)  # one of `learn(students=...)`
    >>> student.lam
    0.1
    """

    def __init__(self, lam: float | None = None, *, random_features: bool = True) -> None:
        self.lam, self.random_features = lam, random_features

    def __repr__(self) -> str:
        return f"Softmax(lam={self.lam!r}, random_features={self.random_features!r})"

    def check(self) -> None:
        """See `Student.check`."""
        if self.lam is not None:
            check_number(self.lam, "lam", 1e-8, 1e8, "1e-3")

    def candidates(self, points: Array, votes: NoisyVotes) -> list[Candidate]:
        """See `Student.candidates`."""
        features = (
            Random(1 / squared_scale(points), points.shape[1]) if self.random_features else Linear()
        )
        basis = feature_basis("features" if self.random_features else "linear", features, points)
        # Any ridge filter tells the spectrum: f = s / (s + ridge).
        ridge, factors = 1.0, basis.filters["ridge 1"]
        spectrum = np.r_[1.0, factors[1:] * ridge / (1 - factors[1:])]
        problem = _Problem(basis.vectors, spectrum, votes)
        found = []
        start = np.zeros((len(spectrum), votes.terms.columns))
        for lam in sorted(_LAMBDAS if self.lam is None else (self.lam,), reverse=True):
            start = problem.solve(lam, start)
            fitted = Weights(basis, problem.scale, start)
            name = f"softmax on {basis.name}, lam {lam:g}"
            found.append(Candidate(name, fitted, -problem.risk(lam, start)))
        return found


class _Problem:
    """The regularised likelihood in an eigenbasis of the features."""

    def __init__(self, vectors: Array, spectrum: Array, votes: NoisyVotes) -> None:
        self.n = len(vectors)
        self.spectrum, self.binary = spectrum, votes.terms.columns == 1
        self.scale = math.sqrt(self.n) * np.sqrt(spectrum)
        self.x = vectors * self.scale
        self.s = self.x.T @ votes.shares / self.n
        self.noise = votes.share_noise
        # The bias is not shrunk.
        self.shrunk = np.r_[0.0, np.ones(len(spectrum) - 1)][:, None]

    def solve(self, lam: float, start: Array) -> Array:
        """Return the minimiser, by L-BFGS in coordinates in which the Hessian is near one."""
        from scipy.optimize import minimize

        scale = 1 / np.sqrt(self._diagonal(lam))
        shape = start.shape

        def objective(u: Array) -> tuple[float, Array]:
            w = scale * u.reshape(shape)
            z = self.x @ w
            value = _log_partition(z).mean() - (w * self.s).sum()
            value += lam / 2 * (self.shrunk * w * w).sum()
            gradient = self.x.T @ softmax_of(z) / self.n - self.s + lam * self.shrunk * w
            return float(value), (scale * gradient).ravel()

        found = minimize(
            objective,
            (start / scale).ravel(),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": _STEPS, "ftol": 1e-12, "gtol": 1e-5, "maxcor": 20},
        )
        return scale * found.x.reshape(shape)

    def risk(self, lam: float, w: Array) -> float:
        """Return Stein's estimate of the cross-entropy to the votes without their noise.

        ``mean lse - <W, S> + tr(C H^-1)``, C the covariance of the noise in S; the trace by
        random probes and conjugate gradients.
        """
        z = self.x @ w
        chances = softmax_of(z)
        value = _log_partition(z).mean() - (w * self.s).sum()

        def hessian(v: Array) -> Array:
            moved = self.x @ v
            if self.binary:
                curved = chances * (1 - chances) * moved
            else:
                curved = chances * (moved - (chances * moved).sum(1, keepdims=True))
            return np.asarray(self.x.T @ curved / self.n + lam * self.shrunk * v)

        # One probe of many coordinates says as much as many of few.
        probes = max(1, 200 // len(w))
        rng = np.random.default_rng(0)
        trace = 0.0
        for _ in range(probes):
            b = self.noise * np.sqrt(self.spectrum / self.n)[:, None] * rng.normal(size=w.shape)
            if not self.binary:  # centred rows lack the noise along (1, ..., 1)
                b -= b.mean(1, keepdims=True)
            trace += float((b * _solved(hessian, b, self._diagonal(lam))).sum())
        return float(value) + trace / probes

    def _diagonal(self, lam: float) -> Array:
        curvature = 0.25 if self.binary else 1 / self.s.shape[1]
        return np.asarray(curvature * self.spectrum[:, None] + lam * self.shrunk)


def _solved(matrix: Callable[[Array], Array], b: Array, diagonal: Array) -> Array:
    """Return ``matrix^-1 b`` within a thousandth, by preconditioned conjugate gradients."""
    x, r = np.zeros_like(b), b.copy()
    y = r / diagonal
    p, before = y.copy(), float((r * y).sum())
    enough = 1e-3 * float(np.linalg.norm(b))
    for _ in range(50):
        moved = matrix(p)
        curvature = float((p * moved).sum())
        if curvature <= 0:  # nothing is left but rounding errors
            break
        step = before / curvature
        x, r = x + step * p, r - step * moved
        if np.linalg.norm(r) <= enough:
            break
        y = r / diagonal
        now = float((r * y).sum())
        p, before = y + now / before * p, now
    return x


def _log_partition(z: Array) -> Array:
    if z.shape[1] == 1:
        return np.logaddexp(0.0, z[:, 0])
    top = z.max(1, keepdims=True)
    return np.asarray(np.log(np.exp(z - top).sum(1)) + top[:, 0])

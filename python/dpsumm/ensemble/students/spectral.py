"""The default student smooths votes in a basis of public points, by Stein's estimate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpsumm.ensemble.messages import NoisyVotes
from dpsumm.ensemble.students.bases import (
    BANDWIDTHS,
    Basis,
    Linear,
    Random,
    feature_basis,
    graph_basis,
    squared_scale,
)
from dpsumm.ensemble.students.plain import Plain
from dpsumm.ensemble.students.student import Array, Candidate, Fitted, Student

_BASES = ("linear", "features", "graph")
# Eigenvectors by which a fit is sharpened, and how often.
_SHARP, _ROUNDS = 50, 5


@dataclass(frozen=True, eq=False)
class Smooth(Fitted):
    """Coefficients in a basis."""

    basis: Basis
    coefficients: NDArray[np.float64]

    def shares(self, points: Array) -> Array:
        """See `Fitted.shares`."""
        return self.basis.at(points) @ self.coefficients

    def plain(self) -> Plain:
        """See `Fitted.plain`."""
        weights = self.basis.extension @ self.coefficients
        return Plain(self.basis.features, weights, softmax=False)


class Spectral(Student):
    """Smoothers ``Q diag(f) Q' Y`` of the noisy votes Y, in public orthonormal bases Q.

    Three kinds of bases: the points' own coordinates and two sets of random features with ridge
    filters, and the leading eigenvectors of the nearest-neighbour graph. Basis and filter are
    chosen by Stein's unbiased estimate (SURE) from the noisy votes themselves, which costs no
    privacy. For several classes its form without scale is used, the estimated cosine between fit
    and noise-free votes. The largest share does not depend on the scale, and the squared error
    would choose students that do nothing where the noise is large.

    For several classes two more steps help where a graph says much, as it does of images. Estimates
    within one standard error of the best do not tell candidates apart. Then the graph is taken,
    and of it the most eigenvectors within a quarter of a standard error, because classes follow
    clusters. And the fit is *sharpened*: classes of the largest share, smoothed again by the first
    50 eigenvectors, five times. Its probabilities say how clear the class is, not how parties vote.

    Parameters
    ----------
    bases
        Which of "linear", "features", "graph". The graph is left out by itself where it says little
        (tables of categories fall into pieces) or takes too long (above 20,000 points).

    See Also
    --------
    dpsumm.ensemble.Argmax : Another student.
    dpsumm.ensemble.Argmax : Estimators of scikit-learn as students.

    Examples
    --------
    >>> from dpsumm.ensemble import Spectral
    >>> Spectral(bases=("linear",))
    Spectral(bases=('linear',))
    """

    def __init__(self, bases: Sequence[str] = _BASES) -> None:
        self.bases = tuple(bases)

    def __repr__(self) -> str:
        return f"Spectral(bases={self.bases!r})"

    def check(self) -> None:
        """See `Student.check`."""
        from dpsumm.errors import InvalidParameterError

        if not self.bases or set(self.bases) - set(_BASES):
            raise InvalidParameterError(
                f"bases must be some of {', '.join(_BASES)}, got {self.bases!r}"
            )

    def candidates(self, points: Array, votes: NoisyVotes) -> list[Candidate]:
        """See `Student.candidates`."""
        return self.judged(self.made(points), votes)

    def made(self, points: Array) -> list[Basis]:
        """Return the bases on public points, which are the same for all votes on them."""
        bases: list[Basis | None] = []
        if "linear" in self.bases:
            bases.append(feature_basis("linear", Linear(), points))
        if "features" in self.bases:
            scale = squared_scale(points)
            for width in BANDWIDTHS:
                features = Random(width / scale, points.shape[1])
                bases.append(feature_basis(f"features {width:g}", features, points))
        if "graph" in self.bases:
            bases.append(graph_basis(points))
        found = [basis for basis in bases if basis is not None]
        return found or [feature_basis("linear", Linear(), points)]

    @classmethod
    def judged(cls, bases: Sequence[Basis], votes: NoisyVotes) -> list[Candidate]:
        """Return all candidates in some bases, sharpened ones included, and prefer one."""
        found = cls.smoothed(bases, votes)
        if votes.terms.columns == 1 or not any(one.basis.name == "graph" for one in found):
            return [one.candidate for one in found]
        best = max(found, key=lambda one: one.sure)
        near = [one for one in found if one.basis.name == "graph" and one.within(1.0, best)]
        if near:
            top = max(near, key=lambda one: one.sure)
            near = [one for one in near if one.within(0.25, top)]
            best = max(near, key=lambda one: one.size)
        sharp = [
            Candidate(
                f"{one.candidate.name}, sharpened",
                _sharpened(one, bases),
                one.sure,
                preferred=one is best,
            )
            for one in found
            if one is best or one.basis.name == "graph"
        ]
        return [*(one.candidate for one in found), *sharp]

    @staticmethod
    def smoothed(bases: Sequence[Basis], votes: NoisyVotes) -> list[Smoothed]:
        """Return every filter of the bases, applied to the votes, with Stein's estimate."""
        shares, noise = votes.shares, votes.share_noise
        # Noise-free rows of several classes add up to 1: centred, they lack a dimension.
        degrees = 1 if votes.terms.columns == 1 else votes.terms.columns - 1
        found = []
        for basis in bases:
            theta = basis.vectors.T @ shares
            energy = (theta[1:] ** 2).sum(1)
            for name, factors in basis.filters.items():
                f = factors[1:]
                size = float((f * f) @ energy)
                signal = energy - degrees * noise**2
                matched = float(f @ signal)
                # Of a sum of squares of normal numbers, some of them off zero.
                variance = 2 * degrees * noise**4 + 4 * noise**2 * np.maximum(signal, 0.0)
                error = math.sqrt(float((f * f) @ variance))
                if votes.terms.columns == 1:
                    # Per point, and up to a constant: minus the squared error.
                    sure, error = (2 * matched - size) / len(shares), 2 * error / len(shares)
                elif size > 0:
                    sure, error = max(matched, 0.0) / math.sqrt(size), error / math.sqrt(size)
                else:
                    sure, error = 0.0, 0.0
                smooth = Smooth(basis, factors[:, None] * theta)
                candidate = Candidate(f"{basis.name}, {name}", smooth, sure)
                found.append(Smoothed(candidate, basis, sure, error, float(f.sum())))
        return found


@dataclass(frozen=True, eq=False)
class Smoothed:
    """A smoother of the votes, with numbers to compare it by."""

    candidate: Candidate
    basis: Basis
    sure: float
    error: float
    size: float

    def within(self, errors: float, best: Smoothed) -> bool:
        """Return whether so many standard errors of the best do not tell it from the best."""
        return self.sure >= best.sure - errors * best.error


def _sharpened(one: Smoothed, bases: Sequence[Basis]) -> Smooth:
    """Return the fit's classes, smoothed on the graph, and again."""
    graph = next(basis for basis in bases if basis.name == "graph")
    vectors = graph.vectors[:, :_SHARP]
    smooth = one.candidate.fitted
    assert isinstance(smooth, Smooth)
    shares = smooth.basis.vectors @ smooth.coefficients
    coefficients = np.zeros((graph.vectors.shape[1], shares.shape[1]))
    constant = np.full(len(vectors), 1 / shares.shape[1])
    for _ in range(_ROUNDS):
        places = shares.argmax(1)
        # Q' of one-hot rows, less the even share.
        coefficients[:_SHARP] = [
            np.bincount(places, column, shares.shape[1]) - column @ constant for column in vectors.T
        ]
        shares = vectors @ coefficients[:_SHARP]
    # The first vector is constant: the even share again.
    coefficients[0] += constant.sum() * vectors[0, 0]
    return Smooth(graph, coefficients)

"""Other ways to learn from parties' classifiers, for rehearsals: what noisy votes compete with.

Where a method has a parameter whose choice would need a charge or luck, the value that turned out
best on the test set is taken: in the method's favour. What is claimed for each is for all records
of a party, at (epsilon, delta).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dpsumm.ensemble.messages import NoisyVotes
from dpsumm.ensemble.release import release_votes
from dpsumm.ensemble.students.bases import Basis, inside
from dpsumm.ensemble.students.student import Array
from dpsumm.ensemble.terms import Terms
from dpsumm.papers.hamm import minimise, perturbation, sensitivity_of
from dpsumm.privacy.accounting import gaussian_noise_multiplier
from dpsumm.privacy.events import Unit
from dpsumm.privacy.ledger import Ledger
from dpsumm.privacy.release import Bound, PaidNoise, Query

# Values that are tried: PATE's answers and its student's ridges, lengths of averaged parameters,
# the paper's regularisation.
ANSWERS = (20, 50, 100, 300, 1000, 3000)
_RIDGES = (1e-3, 1e-1)
_LENGTHS = (1.0, 3.0, 10.0)
LAMBDAS = (1e-2, 1e-1, 1.0, 10.0)
# Basis functions of PATE's student.
_FUNCTIONS, _CLUSTERS = 100, 20
# Regularisation of the models whose parameters are averaged, and their integers' steps.
_LAMBDA, _STEPS = 1e-3, 2**20


@dataclass(frozen=True, eq=False)
class Held:
    """Everything that a rehearsal holds: on private data nobody would.

    Attributes
    ----------
    terms
        Of the vote on the public points.
    points : (N, d), counts : (N, columns) int64
        The public points, and the votes on them without noise.
    test : (n, d), places : (n,)
        Points to judge by, and the place of each label among the classes.
    test_votes : (n, K) int64
        All parties' votes on them.
    """

    terms: Terms
    points: Array = field(repr=False)
    counts: NDArray[np.int64] = field(repr=False)
    test: Array = field(repr=False)
    places: NDArray[np.int64] = field(repr=False)
    test_votes: NDArray[np.int64] = field(repr=False)
    alone: float

    @property
    def radius(self) -> float:
        """Public length of the longest public point."""
        return float(np.linalg.norm(self.points, axis=1).max()) or 1.0

    def accuracy(self, scores: Array) -> float:
        """Return the share of test points whose class scores, (n, 1) or (n, K), are right."""
        said = scores[:, 0] > 0 if scores.shape[1] == 1 else scores.argmax(1)
        return float((said == self.places).mean())

    def release(
        self, epsilon: float, delta: float, rows: NDArray[np.int64] | None = None
    ) -> NoisyVotes:
        """Return the votes on all points, or on some, with the noise of a real release."""
        points, counts = self.points, self.counts
        if rows is not None:
            points, counts = points[rows], counts[rows]
        terms = Terms.of(points, self.terms.classes, self.terms.n_parties)
        with Ledger() as book:
            return release_votes(
                counts,
                terms,
                parties=(),
                unit=Unit.WHOLE_OWNER,
                epsilon=epsilon,
                delta=delta,
                ledger=book,
            )


def ensemble(held: Held) -> float:
    """Return the accuracy of the parties' majority, without privacy."""
    return float((held.test_votes.argmax(1) == held.places).mean())


def pate(
    held: Held,
    bases: Sequence[Basis],
    at: Sequence[Array],
    epsilon: float,
    delta: float,
    rng: np.random.Generator,
) -> dict[str, float]:
    """Return accuracies of PATE (Papernot et al. 2018) for every number of answers and student.

    Its GNMax with data-independent accounting: n noisy votes of which the largest is kept cost what
    a release of noisy votes on n points does. The students see the unlabelled points, too: least
    squares in the bases of the spectral student.

    Parameters
    ----------
    bases, at
        Of the public points, and their values at the test points.
    rng
        Draws the points that are answered; public.
    """
    found = {}
    n_points = len(held.points)
    for n in (n for n in ANSWERS if n <= n_points):
        rows = rng.permutation(n_points)[:n]
        counts = held.release(epsilon, delta, rows).counts
        answers = counts[:, 0] > 0 if counts.shape[1] == 1 else counts.argmax(1)
        wanted = np.eye(held.terms.n_classes)[answers.astype(np.int64)] - 1 / held.terms.n_classes
        for basis, values in zip(bases, at, strict=True):
            scale = _scale(basis) * math.sqrt(n_points)
            x = basis.vectors[rows, : len(scale)] * scale
            for ridge in _RIDGES:
                matrix = x.T @ x + ridge * len(rows) * np.eye(len(scale))
                weights = np.linalg.solve(matrix, x.T @ wanted)
                said = (values[:, : len(scale)] * scale @ weights).argmax(1)
                right = float((said == held.places).mean())
                found[f"{len(rows)} answers, {basis.name}, ridge {ridge:g}"] = right
    return found


def _scale(basis: Basis) -> Array:
    """Return how much of each leading basis function a student may use."""
    most = basis.vectors.shape[1]
    if "ridge 1" not in basis.filters:
        return np.ones(min(_CLUSTERS + 1, most))
    factors = basis.filters["ridge 1"][1 : min(_FUNCTIONS + 1, most)]
    return np.asarray(np.r_[1.0, np.sqrt(factors / (1 - factors))])


def parameters(
    records: Iterator[tuple[Array, NDArray[np.int64]]], n_classes: int, radius: float
) -> Array:
    """Return the parameters of every party's own (softmax) regression, (M, d + 1, columns).

    Parameters
    ----------
    records
        Points (n, d) and the labels' places (n,) of each party.
    """
    fitted = []
    for points, places in records:
        targets = np.eye(n_classes)[places]
        targets = targets[:, 1:] if n_classes == 2 else targets
        fitted.append(minimise(inside(points, radius), targets, _LAMBDA)[0])
    return np.array(fitted)


def averaged(held: Held, fitted: Array, epsilon: float, delta: float) -> dict[str, float]:
    """Return accuracies of averaged noisy parameters (Pathak et al. 2010), for several lengths.

    Parameters are shortened to a public length L, cut to integers and added up; a party replaced
    moves the sum by at most 2 L. The noise is exact.
    """
    x, found = inside(held.test, held.radius), {}
    norms = np.linalg.norm(fitted.reshape(len(fitted), -1), axis=1)[:, None, None]
    multiplier = gaussian_noise_multiplier(epsilon, delta)
    for length in _LENGTHS:
        # Of length 1 at most, in steps of integers.
        short = fitted / np.maximum(norms, length) * (1 - 1e-9)
        total = np.trunc(short * _STEPS).astype(np.int64).sum(0)
        noise = PaidNoise([Query.at(Bound(2 * _STEPS, Unit.WHOLE_OWNER), multiplier)])
        mean = noise.on(total) * length / _STEPS / len(fitted)
        found[f"length {length:g}"] = held.accuracy(x @ mean)
    return found


def minimisers(held: Held, lambdas: Sequence[float] = LAMBDAS) -> dict[float, Array]:
    """Return the paper's student of soft votes without noise, for each regularisation."""
    shares = held.counts / (held.terms.n_parties * (2 if held.terms.columns == 1 else 1))
    if held.terms.columns == 1:
        shares = shares + 0.5
    x = inside(held.points, held.radius)
    return {lam: minimise(x, shares, lam)[0] for lam in lambdas}


def published(
    held: Held, fitted: Mapping[float, Array], epsilon: float, rng: np.random.Generator
) -> dict[str, float]:
    """Return accuracies of Algorithm 2 of Hamm, Cao & Belkin 2016, with its own noise.

    Its guarantee would be epsilon at delta 0, but for floating point.
    """
    x, terms = inside(held.test, held.radius), held.terms
    found = {}
    for lam, weights in fitted.items():
        moved = sensitivity_of(lam, terms.n_parties, terms.n_classes, exact=False)
        noise = perturbation(weights.shape, moved, epsilon, None, rng)
        found[f"lam {lam:g}"] = held.accuracy(x @ (weights + noise))
    return found

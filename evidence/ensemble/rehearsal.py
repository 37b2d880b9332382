"""All methods of the evidence on one set of votes, for any epsilon."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpsumm.ensemble.messages import NoisyVotes
from dpsumm.ensemble.students.choose import choose
from dpsumm.ensemble.students.spectral import Smooth, Spectral
from dpsumm.ensemble.students.student import Array, Candidate, chances_of
from evidence.ensemble import baselines
from evidence.ensemble.baselines import Held


@dataclass(frozen=True)
class Row:
    """What a method gave: accuracy and its deviation over draws of the noise.

    `best` is the value of a parameter that the test points chose, in the method's favour.
    """

    method: str
    epsilon: float
    accuracy: float
    spread: float
    best: str = ""


class Rehearsal:
    """All methods on one set of votes; `fitted` are parameters of the parties' own regressions."""

    def __init__(self, held: Held, fitted: Array | None) -> None:
        self.held, self._student, self._fitted = held, Spectral(), fitted
        self.bases = self._student.made(held.points)
        self._at = [basis.at(held.test) for basis in self.bases]
        self._minimisers = baselines.minimisers(held)

    def candidates(self, votes: NoisyVotes) -> Sequence[Candidate]:
        """Return what the student makes of noisy votes."""
        return self._student.judged(self.bases, votes)

    def right(self, used: Candidate) -> NDArray[np.bool_]:
        """Return which of the test points a candidate's class is right for, (n,)."""
        fitted = used.fitted
        if isinstance(fitted, Smooth) and fitted.basis in self.bases:
            # Functions of a basis at so many points take longer than all the rest.
            shares = self._at[self.bases.index(fitted.basis)] @ fitted.coefficients
        else:
            shares = fitted.shares(self.held.test)
        return np.asarray(chances_of(shares).argmax(1) == self.held.places)

    def _learnt(self, votes: NoisyVotes) -> float:
        return float(self.right(choose(self.candidates(votes), None)[0]).mean())

    def rows(self, epsilon: float, delta: float, runs: int) -> Iterator[Row]:
        """Yield a row for each method."""
        held, fitted = self.held, self._fitted
        methods: dict[str, Callable[[np.random.Generator], Mapping[str, float]]] = {
            "noisy votes, Spectral": lambda rng: {"": self._learnt(held.release(epsilon, delta))},
            "PATE's GNMax": lambda rng: baselines.pate(
                held, self.bases, self._at, epsilon, delta, rng
            ),
        }
        if fitted is not None:
            methods["averaged parameters"] = lambda rng: baselines.averaged(
                held, fitted, epsilon, delta
            )
        methods["Hamm, Cao & Belkin, soft votes"] = lambda rng: baselines.published(
            held, self._minimisers, epsilon, rng
        )
        for method, draw in methods.items():
            drawn = [draw(np.random.default_rng(seed)) for seed in range(runs)]
            mean = {key: float(np.mean([one[key] for one in drawn])) for key in drawn[0]}
            best = max(mean, key=lambda key: mean[key])
            spread = float(np.std([one[best] for one in drawn]))
            yield Row(method, epsilon, mean[best], spread, best)
        exact = NoisyVotes("none", held.terms, "one whole owner", 0.0, 0.0, held.counts)
        yield Row("the same student, without noise", math.inf, self._learnt(exact), 0.0)
        yield Row("ensemble's majority", math.inf, baselines.ensemble(held), 0.0)
        yield Row("one party alone, mean", math.inf, held.alone, 0.0)

"""A rehearsal of `learn` and of what it competes with, on public data."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpsumm.basics.checks import check_installed, check_whole
from dpsumm.data.inputs import Source
from dpsumm.data.kinds.label import places_of
from dpsumm.data.short import SchemaLike, schema_of
from dpsumm.ensemble import baselines
from dpsumm.ensemble.baselines import Held
from dpsumm.ensemble.inputs import Given, read_parties
from dpsumm.ensemble.messages import NoisyVotes, Votes, VoteTask
from dpsumm.ensemble.model import checked_students
from dpsumm.ensemble.students.choose import Validation, choose
from dpsumm.ensemble.students.spectral import Smooth, Spectral
from dpsumm.ensemble.students.student import Array, Candidate, Student, chances_of
from dpsumm.ensemble.terms import Terms
from dpsumm.errors import InvalidParameterError
from dpsumm.exchange.driver import Progress
from dpsumm.privacy import accounting


@dataclass(frozen=True)
class Rehearsed:
    """What a method gave, over the runs of a rehearsal.

    Attributes
    ----------
    method
        In words.
    epsilon
        For all records of a party, at the delta given; infinite without privacy.
    accuracy, spread
        On the test points: mean and standard deviation over the runs.
    best
        The value that turned out best, if the method's parameter was chosen by the test points:
        in its favour. Empty if nothing was.
    """

    method: str
    epsilon: float
    accuracy: float
    spread: float
    best: str = ""


@dataclass(frozen=True)
class LearningComparison:
    """Methods side by side; made by :func:`compare`.

    Attributes
    ----------
    rows
        One for each method.
    runs
        Draws of the noise.
    title
        What was rehearsed.

    See Also
    --------
    dpsumm.ensemble.comparison.compare : Makes one; its example runs.
    """

    rows: tuple[Rehearsed, ...]
    runs: int
    title: str

    def __str__(self) -> str:
        lines = [self.title, f"{'method':36}{'epsilon':>9}{'accuracy':>10}{'spread':>8}  best of"]
        lines += [
            f"{row.method:36}{row.epsilon:9.3g}{row.accuracy:10.3f}{row.spread:8.3f}  {row.best}"
            for row in self.rows
        ]
        return "\n".join([*lines, f"Means and standard deviations of {self.runs} draws of noise."])


def compare(
    parties: Mapping[str, Any] | Sequence[Any],
    public_points: Source,
    test: tuple[Source, Any],
    *,
    classes: ArrayLike,
    epsilon: float = 1.0,
    delta: float = 1e-5,
    learner: Any = None,
    student: Any = None,
    runs: int = 5,
    schema: SchemaLike | None = None,
    progress: Progress | None = None,
) -> LearningComparison:
    """Rehearse `learn` beside what else could be done, on *public* data like yours.

    Noisy votes with their student; PATE's GNMax with data-independent accounting; averaging of
    noisy parameters (Pathak et al. 2010), where all parties give records; the method of Hamm, Cao &
    Belkin 2016 as published; and without privacy the same student, the ensemble's majority, and one
    party alone. Everything protects all records of a party. Never on private data: parameters that
    are chosen by looking at these are in no guarantee.

    Parameters
    ----------
    parties, public_points, classes, epsilon, delta, learner
        As for :func:`dpsumm.learn`; parties give records or classifiers.
    schema
        As for :func:`dpsumm.learn`.
    test
        Pair (points, labels) to judge by.
    student
        Of the noisy votes, as for :func:`dpsumm.learn`, one.
    runs
        Draws of the noise, at least 1.
    progress
        Called with (stage, done, total).

    Raises
    ------
    InvalidParameterError, InvalidDataError, MissingExtraError
        As for :func:`dpsumm.learn`; a party that gives votes, which are of other points.

    Privacy
    -------
    None needed: public data. Noise is fresh in every call, so figures differ a little.

    See Also
    --------
    dpsumm.learn : The run itself.

    Examples
    --------
    >>> import numpy as np
    >>> from dpsumm.ensemble import compare
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(200, 30, 2))
    >>> parties = [(points, (points[:, 0] > 0).astype(int)) for points in x]
    >>> found = compare(
    ...     parties, rng.normal(size=(500, 2)), (x[0], parties[0][1]), classes=[0, 1], runs=2
    ... )
    >>> [row.method for row in found.rows][:3]
    ['noisy votes, Spectral', "PATE's GNMax", 'averaged parameters']
    """
    accounting.check_epsilon(epsilon)
    accounting.check_delta(delta)
    check_whole(runs, "runs", 1)
    check_installed("scipy", "a rehearsal needs", "learn")
    students = checked_students(student, False)
    given = read_parties(
        parties,
        public_points,
        schema=None if schema is None else schema_of(schema),
    )
    if any(isinstance(one, np.ndarray) for one in given.others.values()):
        raise InvalidParameterError(
            "parties: a rehearsal needs records or classifiers, votes are of other points"
        )
    terms = Terms.of(given.points, classes, len(given.names))
    held = _asked(given, terms, given.space.validation(_pair(test), terms.classes), learner)
    fitted = _parameters(given, terms, held.radius)
    rows = Rehearsal(held, students[0], fitted).rows(epsilon, delta, runs, progress)
    title = f"{terms.n_parties} parties, {terms.n_points} points, {terms.n_classes} classes"
    return LearningComparison(tuple(rows), runs, f"{title}, epsilon {epsilon:g}")


def _pair(test: Any) -> Any:
    if not (isinstance(test, tuple) and len(test) == 2):
        raise InvalidParameterError("test must be a pair (points, labels)")
    return test


def _asked(given: Given, terms: Terms, test: Validation, learner: Any) -> Held:
    """Return what all parties say of public and test points: they vote once, on both."""
    n, both = terms.n_points, np.vstack([given.points, test.points])
    task = VoteTask("rehearsal", Terms.of(both, terms.classes, terms.n_parties), both)
    votes = np.zeros((len(both), terms.n_classes), dtype=np.int64)
    right = []
    for party in given.roles(task.terms, learner, None, declared=False).values():
        answer = party.answer(task)
        assert isinstance(answer, Votes)
        votes += answer.votes
        right.append(answer.votes[n:][test.places >= 0, test.places[test.places >= 0]].sum())
    counts = votes[:n]
    return Held(
        terms=terms,
        points=given.points,
        counts=counts[:, 1:] - counts[:, :1] if terms.columns == 1 else counts,
        test=test.points,
        places=test.places,
        test_votes=votes[n:],
        alone=float(np.mean(right)) / len(test.places),
    )


def _parameters(given: Given, terms: Terms, radius: float) -> Array | None:
    """Return parameters of the parties' own regressions; None if some give no records."""
    if given.others:
        return None

    def records() -> Any:
        for name in given.names:
            table = given.tables[name]
            assert table.labels is not None
            places = places_of(table.labels, terms.classes)
            points = np.asarray(table.scaled, dtype=np.float64)
            yield points[places >= 0], places[places >= 0]

    return baselines.parameters(records(), terms.n_classes, radius)


class Rehearsal:
    """All methods on one set of votes, for any epsilon."""

    def __init__(self, held: Held, student: Student, fitted: Array | None) -> None:
        self.held, self._student, self._fitted = held, student, fitted
        self._spectral = student if isinstance(student, Spectral) else Spectral()
        self.bases = self._spectral.made(held.points)
        self._at = [basis.at(held.test) for basis in self.bases]
        self._minimisers = baselines.minimisers(held)

    def candidates(self, votes: NoisyVotes) -> Sequence[Candidate]:
        """Return what the student makes of noisy votes."""
        if self._student is self._spectral:  # whose bases are the same for all votes
            return self._spectral.judged(self.bases, votes)
        return self._student.candidates(self.held.points, votes)

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

    def rows(
        self, epsilon: float, delta: float, runs: int, progress: Progress | None = None
    ) -> list[Rehearsed]:
        """Return a row for each method."""
        held, fitted = self.held, self._fitted
        methods: dict[str, Callable[[np.random.Generator], Mapping[str, float]]] = {
            f"noisy votes, {type(self._student).__name__}": lambda rng: {
                "": self._learnt(held.release(epsilon, delta))
            },
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
        rows = []
        for done, (method, draw) in enumerate(methods.items()):
            if progress is not None:
                progress("methods", done, len(methods))
            drawn = [draw(np.random.default_rng(seed)) for seed in range(runs)]
            mean = {key: float(np.mean([one[key] for one in drawn])) for key in drawn[0]}
            best = max(mean, key=lambda key: mean[key])
            spread = float(np.std([one[best] for one in drawn]))
            rows.append(Rehearsed(method, epsilon, mean[best], spread, best))
        if progress is not None:
            progress("methods", len(methods), len(methods))
        exact = NoisyVotes("none", held.terms, "one whole owner", 0.0, 0.0, held.counts)
        return [
            *rows,
            Rehearsed("the same student, without noise", math.inf, self._learnt(exact), 0.0),
            Rehearsed("ensemble's majority", math.inf, baselines.ensemble(held), 0.0),
            Rehearsed("one party alone, mean", math.inf, held.alone, 0.0),
        ]

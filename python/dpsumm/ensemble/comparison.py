"""A rehearsal of `learn` on public data, by updates and votes, with noise and without."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dpsumm.basics.checks import check_whole
from dpsumm.data.inputs import Source
from dpsumm.data.short import SchemaLike, schema_of
from dpsumm.ensemble.inputs import Given, read_parties
from dpsumm.ensemble.learn import learn
from dpsumm.ensemble.messages import Votes, VoteTask
from dpsumm.ensemble.protocols import Protocol, Voting, protocol_of
from dpsumm.ensemble.rows import hard_votes
from dpsumm.ensemble.students.choose import Validation
from dpsumm.ensemble.terms import Terms, classes_in
from dpsumm.errors import InvalidParameterError
from dpsumm.exchange.driver import Progress
from dpsumm.privacy.events import Unit

# Stands for no noise at all; nothing is protected by it.
_HARDLY_ANY = 1e4


@dataclass(frozen=True)
class Rehearsed:
    """Results of a method over the runs of a rehearsal.

    Attributes
    ----------
    method
        In words.
    epsilon
        Of the unit of privacy, at the delta given. Infinite without privacy.
    accuracy, spread
        Mean and standard deviation over the runs, on the test points.
    """

    method: str
    epsilon: float
    accuracy: float
    spread: float = 0.0


@dataclass(frozen=True)
class LearningComparison:
    """Protocols side by side, made by :func:`compare`.

    Attributes
    ----------
    rows
        Two for each protocol, with noise and with hardly any, then what there is without privacy.
    runs
        Draws of the noise.
    title
        Name of the rehearsal.

    See Also
    --------
    dpsumm.ensemble.comparison.compare : Makes one. Its example runs.
    """

    rows: tuple[Rehearsed, ...]
    runs: int
    title: str

    def __str__(self) -> str:
        lines = [self.title, f"{'method':36}{'epsilon':>9}{'accuracy':>10}{'spread':>8}"]
        lines += [
            f"{row.method:36}{row.epsilon:9.3g}{row.accuracy:10.3f}{row.spread:8.3f}"
            for row in self.rows
        ]
        return "\n".join([*lines, f"Means and standard deviations of {self.runs} draws of noise."])


def compare(
    parties: Mapping[str, Any] | Sequence[Any],
    public_points: Source,
    test: tuple[Source, Any],
    *,
    classes: ArrayLike | None = None,
    epsilon: float = 1.0,
    delta: float = 1e-5,
    unit: Unit | str = Unit.WHOLE_OWNER,
    protocols: Sequence[Protocol | str] | None = None,
    runs: int = 5,
    schema: SchemaLike | None = None,
    progress: Progress | None = None,
) -> LearningComparison:
    """Rehearse `learn` on *public* data like yours, and return how accurate its models are.

    Each protocol runs with the noise of your budget, and once with hardly any. What noise does not
    explain is due to the method or to the data. Below stand the majority of the parties' own
    classifiers, one of these alone, and the commonest class. Never give it private data, because
    guarantees do not cover a protocol or an epsilon that was chosen by them.

    Parameters
    ----------
    parties, public_points, classes, epsilon, delta, unit, schema
        As for :func:`dpsumm.learn`. Parties give records or classifiers.
    test
        Pair (points, labels) to judge by.
    protocols
        As for :func:`dpsumm.learn`, at least one. By default updates if all parties hold records,
        and votes.
    runs
        Draws of the noise, at least 1.
    progress
        Called with (stage, done, total).

    Raises
    ------
    InvalidParameterError, InvalidDataError, MissingExtraError
        As for :func:`dpsumm.learn`, or a party gives votes, which are of other points.

    Privacy
    -------
    Public data need none. Noise is fresh in every call, so figures differ a little.

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
    >>> [row.method for row in found.rows][:2]
    ['updates', 'updates, hardly any noise']
    """
    check_whole(runs, "runs", 1)
    if not (isinstance(test, tuple) and len(test) == 2):
        raise InvalidParameterError("test must be a pair (points, labels)")
    known = None if schema is None else schema_of(schema)
    given = read_parties(parties, public_points, schema=known)
    if any(isinstance(one, np.ndarray) for one in given.others.values()):
        raise InvalidParameterError(
            "parties: a rehearsal needs records or classifiers, votes are of other points"
        )
    listed = classes_in(known) if classes is None else classes
    terms = Terms.of(given.points, listed, len(given.names))
    judges = given.space.validation(test, terms.classes)
    asked: dict[str, Any] = {"classes": listed, "schema": known, "unit": unit, "delta": delta}
    compared = _compared(protocols, given)
    rows: list[Rehearsed] = []
    steps = len(compared) * (runs + 1)
    for name, protocol in compared.items():
        right: list[float] = []
        for draw in range(runs + 1):
            if progress is not None:
                progress("runs", len(rows) // 2 * (runs + 1) + draw, steps)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = learn(
                    parties,
                    public_points,
                    protocol=protocol,
                    epsilon=epsilon if draw < runs else _HARDLY_ANY,
                    allow_weak_privacy=True,
                    **asked,
                )
                chosen = model.predict_proba(test[0]).argmax(1)
            right.append(float((chosen == judges.places).mean()))
        noisy = right[:-1]
        rows.append(Rehearsed(name, epsilon, float(np.mean(noisy)), float(np.std(noisy))))
        rows.append(Rehearsed(f"{name}, hardly any noise", _HARDLY_ANY, right[-1]))
    if progress is not None:
        progress("runs", steps, steps)
    title = f"{terms.n_parties} parties, {terms.n_points} points, {terms.n_classes} classes"
    rows += _without_privacy(given, terms, judges)
    return LearningComparison(tuple(rows), runs, f"{title}, epsilon {epsilon:g}")


def _compared(protocols: Sequence[Protocol | str] | None, given: Given) -> dict[str, Protocol]:
    """Return the protocols by their names."""
    if protocols is None:
        protocols = ["votes"] if given.others else ["updates", "votes"]
    if isinstance(protocols, str) or not protocols:
        raise InvalidParameterError(
            "protocols must be a list of protocols, such as ['updates', 'votes']"
        )
    found: dict[str, Protocol] = {}
    for one in protocols:
        protocol = protocol_of(one)
        assert protocol is not None
        name = "votes" if isinstance(protocol, Voting) else "updates"
        again = sum(known.split()[0] == name for known in found)
        found[f"{name} {again + 1}" if again else name] = protocol
    return found


def _without_privacy(given: Given, terms: Terms, test: Validation) -> Iterator[Rehearsed]:
    """Yield what the parties' own classifiers and the commonest class are right for."""
    both, n = np.vstack([given.points, test.points]), terms.n_points
    task = VoteTask("rehearsal", Terms.of(both, terms.classes, terms.n_parties), both)
    votes, alone = np.zeros((len(test.points), terms.n_classes), dtype=np.int64), []
    true = hard_votes(test.places, task.terms)
    for party in given.roles(task.terms, None, None, declared=False).values():
        answer = party.answer(task)
        assert isinstance(answer, Votes)
        votes += answer.votes[n:]
        alone.append(float((answer.votes[n:] * true).sum()) / len(true))
    majority = float((votes.argmax(1) == test.places).mean())
    yield Rehearsed("majority of the parties' own models", math.inf, majority)
    yield Rehearsed("one party alone, mean", math.inf, float(np.mean(alone)))
    yield Rehearsed("always the commonest class", math.inf, test.commonest[1])

"""The curator of a vote asks every registered party once, adds up and releases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from dpsumm.ensemble.declared import is_declared
from dpsumm.ensemble.messages import (
    CODEC,
    VOTES,
    Classifiers,
    ClassifierTask,
    NoisyVotes,
    Votes,
    VoteTask,
)
from dpsumm.ensemble.release import RELEASE, release_votes
from dpsumm.ensemble.terms import Terms
from dpsumm.errors import InvalidParameterError, ProtocolError
from dpsumm.exchange.messages import Answer, Request
from dpsumm.exchange.roles import Coordinator
from dpsumm.privacy.events import Unit
from dpsumm.privacy.ledger import Ledger


class VoteCurator(Coordinator[NoisyVotes]):
    """Trusted with the votes. It keeps their sum alone.

    A party that was dropped, or whose answer was refused, counts as the zero row: its absence is
    one of the things that the noise covers. So sums are over *registered* parties, never over those
    that came, and a run ends at a public time and never because enough have come.

    Parameters
    ----------
    points : (N, d) float64
        Public points.
    unit, epsilon, delta, ledger, seed
        As for :func:`dpsumm.ensemble.release.release_votes`.
    """

    codec = CODEC
    stages = ("task", "votes", "release")

    def __init__(
        self,
        points: NDArray[np.float64],
        terms: Terms,
        names: Sequence[str],
        *,
        unit: Unit,
        epsilon: float,
        delta: float,
        ledger: Ledger,
        seed: int | None = None,
    ) -> None:
        if len(set(names)) < len(names) or len(names) != terms.n_parties:
            raise InvalidParameterError(
                f"parties: {terms.n_parties} different names are needed, one for each party"
            )
        self.names = tuple(names)
        self.terms = terms
        self._points, self._run = points, ledger.run
        self._guarantee = (unit, epsilon, delta)
        self._ledger, self._seed = ledger, seed
        # None before the task is sent; then those who may still answer.
        self._waiting: set[str] | None = None
        self._absent: set[str] = set()
        self._counts = np.zeros((terms.n_points, terms.columns), dtype=np.int64)

    def send(self) -> Mapping[str, Request]:
        """Return the task for every registered party that was not dropped before, once."""
        if self._waiting is not None:
            return {}
        self._waiting = set(self.names) - self._absent
        return dict.fromkeys((name for name in self.names if name in self._waiting), self._task())

    def receive(self, name: str, answer: Answer) -> None:
        """Add a party's votes. See `Coordinator.receive`."""
        if self._waiting is None or name not in self._waiting:
            raise ProtocolError(f"no answer is expected of {name!r}: it has none to give, or gave")
        votes = self._votes_of(name, answer)
        self._waiting.discard(name)
        if self.terms.columns == 1:
            self._counts[:, 0] += votes[:, 1]
            self._counts[:, 0] -= votes[:, 0]
        else:
            self._counts += votes

    def _task(self) -> Request:
        return VoteTask(self._run, self.terms, self._points)

    def _votes_of(self, name: str, answer: Answer) -> NDArray[np.integer]:
        """Return the votes of an answer, (N, K)."""
        if not isinstance(answer, Votes):
            raise ProtocolError(f"{name!r} was asked for votes")
        if answer.run != self._run or answer.digest != self.terms.digest:
            raise ProtocolError(f"the votes of {name!r} are of another run or of other points")
        check_votes(answer.votes, self.terms)
        return answer.votes

    def drop(self, *names: str) -> None:
        """Count parties that failed as absent. The release does not show it."""
        self._absent.update(names)
        if self._waiting is not None:
            self._waiting.difference_update(names)

    def result(self) -> NoisyVotes:
        """Charge and release the votes that have come."""
        if self._waiting is None or self._waiting:
            raise ProtocolError("the vote is open: take or drop every party first")
        return self._released()

    def again(self) -> NoisyVotes | None:
        """Return what this run has released before, by its ledger; None if it has not."""
        return self._released() if self._ledger.has(RELEASE) else None

    def _released(self) -> NoisyVotes:
        unit, epsilon, delta = self._guarantee
        return release_votes(
            self._counts,
            self.terms,
            parties=self.names,
            unit=unit,
            epsilon=epsilon,
            delta=delta,
            ledger=self._ledger,
            seed=self._seed,
        )


class ClassifierCurator(VoteCurator):
    """Has the parties' classifiers vote itself, on points that parties do not see.

    What parties are sent depends on public facts alone: (0, 0)-DP for the points.
    """

    stages = ("task", "classifiers", "release")

    def _task(self) -> Request:
        terms = self.terms
        columns = int(self._points.shape[1])
        return ClassifierTask(self._run, terms.classes, terms.grid, terms.shards, columns)

    def _votes_of(self, name: str, answer: Answer) -> NDArray[np.integer]:
        """Return the votes of an answer's classifiers, (N, K)."""
        if not isinstance(answer, Classifiers):
            raise ProtocolError(f"{name!r} was asked for classifiers")
        if answer.run != self._run:
            raise ProtocolError(f"the classifiers of {name!r} are of another run")
        declared, columns = answer.classifiers, self._points.shape[1]
        if declared.known.shape != (self.terms.shards, self.terms.n_classes) or (
            not is_declared(declared, columns)
        ):
            raise ProtocolError(
                f"the classifiers of {name!r} are not {self.terms.shards} of "
                f"{self.terms.n_classes} classes and {columns} columns, or are malformed"
            )
        if self.terms.grid > 1 and not declared.probabilities:
            raise ProtocolError(
                f"the classifiers of {name!r} have no probabilities, and the grid needs them"
            )
        votes = declared.votes(self._points, self.terms).astype(VOTES)
        check_votes(votes, self.terms)
        return votes


def check_votes(votes: NDArray[np.uint16], terms: Terms) -> None:
    """Refuse impossible votes of a party's classifiers, without quoting one."""
    if votes.shape != (terms.n_points, terms.n_classes) or votes.dtype != VOTES:
        raise ProtocolError(
            f"votes must be of shape ({terms.n_points}, {terms.n_classes}) and type uint16"
        )
    # As int64: in uint16 a row's sum could overflow.
    given = np.einsum("ij->i", votes, dtype=np.int64)
    if (given > terms.total).any() or (given % terms.grid).any():
        raise ProtocolError(
            f"a point's votes must add up to {terms.grid} for each of {terms.shards} shards, or "
            "to nothing for one that abstains"
        )

"""The curator of private updates asks every party in each round, adds up and releases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from dpsumm.ensemble.students.whitened import whitened
from dpsumm.ensemble.terms import Terms
from dpsumm.ensemble.updates.course import Course
from dpsumm.ensemble.updates.messages import (
    CODEC,
    NoisyMoments,
    Step,
    Update,
    UpdateTask,
)
from dpsumm.ensemble.updates.recipe import Recipe
from dpsumm.ensemble.updates.release import check_room, key_of, query_of, release_round
from dpsumm.errors import InvalidParameterError, ProtocolError
from dpsumm.exchange.messages import Answer, Request
from dpsumm.exchange.roles import Coordinator
from dpsumm.privacy.ledger import Ledger


class UpdateCurator(Coordinator[NoisyMoments]):
    """Trusted with the parties' vectors. It keeps a round's sum alone.

    A party that was dropped, or whose answer was refused, is the zero vector from that round on:
    sums are over *registered* parties, and no number of them stops a run. A round is charged before
    its sum leaves, and every request after it is made of released sums alone. One that is made anew
    for a resumed run goes on from the ledger, and does not ask again for rounds that it has.

    Parameters
    ----------
    points : (N, d) float64
        Public points.
    """

    codec = CODEC
    stages = ("task", "rounds", "release")

    def __init__(
        self,
        points: NDArray[np.float64],
        terms: Terms,
        recipe: Recipe,
        names: Sequence[str],
        *,
        ledger: Ledger,
        seed: int | None = None,
    ) -> None:
        if len(set(names)) < len(names) or len(names) != terms.n_parties:
            raise InvalidParameterError(
                f"parties: {terms.n_parties} different names are needed, one for each party"
            )
        self.names = tuple(names)
        self.terms, self.recipe = terms, recipe
        basis = whitened(points, **recipe.features(points.shape[1], terms))
        self.course = Course(basis, points, terms, recipe)
        self._ledger, self._seed = ledger, seed
        self._absent: set[str] = set()
        # Those who may still answer in the open round; None between rounds.
        self._waiting: set[str] | None = None
        self._sum = self._nothing()
        self._released: list[NDArray[np.int64]] = []
        check_room(terms, recipe, self._sum.size, ledger, seed)

    @property
    def resumed(self) -> bool:
        """Whether the ledger has rounds of this run."""
        return self._ledger.has(key_of(0))

    @property
    def round(self) -> int:
        """Number of the open round, from 1."""
        return len(self._released) + 1

    def again(self) -> NoisyMoments | None:
        """Return the moments of a run that the ledger has whole, else None. Sends no request."""
        if not self._ledger.has(key_of(self.recipe.rounds - 1)):
            return None
        self.send()
        return self.result()

    def send(self) -> Mapping[str, Request]:
        """Close the round before, and return the next one's requests. Empty after the last."""
        if self._waiting is not None:
            self._close()
        while (number := len(self._released)) < self.recipe.rounds:
            coming = [name for name in self.names if name not in self._absent]
            self._waiting = set(coming)
            if coming and not self._ledger.has(key_of(number)):
                return dict.fromkeys(coming, self._request())
            self._waiting.clear()
            self._close()
        return {}

    def receive(self, name: str, answer: Answer) -> None:
        """Add a party's vector. See `Coordinator.receive`."""
        if self._waiting is None or name not in self._waiting:
            raise ProtocolError(f"no answer is expected of {name!r}: it has none to give, or gave")
        if not isinstance(answer, Update):
            raise ProtocolError(f"{name!r} was asked for an update")
        if (answer.run, answer.digest, answer.number) != (
            self._ledger.run,
            self.terms.digest,
            len(self._released),
        ):
            raise ProtocolError(f"the update of {name!r} is of another run, points or round")
        check_vector(answer.vector, self.course.longest, self._sum.shape)
        self._waiting.discard(name)
        self._sum += answer.vector

    def drop(self, *names: str) -> None:
        """Count parties that failed as absent from here on. The release does not show it."""
        self._absent.update(names)
        if self._waiting is not None:
            self._waiting.difference_update(names)

    def result(self) -> NoisyMoments:
        """Return the noisy sums of all rounds."""
        if self._waiting is not None or len(self._released) < self.recipe.rounds:
            raise ProtocolError("rounds are open: take or drop every party, and send, first")
        query = query_of(self.recipe, self._sum.size, 0)
        return NoisyMoments(
            run=self._ledger.run,
            terms=self.terms,
            recipe=self.recipe,
            noise_multiplier=query.multiplier,
            noise_std=query.noise_std,
            sums=np.array([one.ravel() for one in self._released]),
        )

    def _request(self) -> Request:
        course, step = self.course, self._kept(self.course.step)
        return UpdateTask(
            self._ledger.run, self.terms, self.recipe, course.basis, course.gains, step
        )

    def _kept(self, step: Step) -> Step:
        """Return the step as the ledger has it, so that a resumed run asks the same to the bit."""
        numbers = np.concatenate([[step.clip], step.shares, step.weights.ravel()])
        kept = self._ledger.record(
            f"{key_of(step.number)}: model", lambda: numbers.astype("<f8").tobytes()
        )
        numbers, k = np.frombuffer(kept, dtype="<f8").astype(np.float64), len(step.shares)
        weights = numbers[1 + k :].reshape(step.weights.shape)
        return Step(step.number, float(numbers[0]), numbers[1 : 1 + k], weights)

    def _close(self) -> None:
        """Charge and release the open round, and learn from it."""
        if self._waiting:
            raise ProtocolError("the round is open: take or drop every party first")
        noisy = release_round(
            self._sum,
            self.terms,
            self.recipe,
            len(self._released),
            parties=self.names,
            ledger=self._ledger,
            seed=self._seed,
        )
        self._released.append(noisy)
        self._waiting, self._sum = None, self._nothing()
        self.course.take(noisy)

    def _nothing(self) -> NDArray[np.int64]:
        return np.zeros(self.course.shape, dtype=np.int64)


def check_vector(vector: NDArray[np.int64], longest: int, shape: tuple[int, ...]) -> None:
    """Refuse a vector that no party can have made, without quoting it.

    Parameters
    ----------
    longest
        Of its length in L2, in integer steps.
    """
    if vector.shape != shape or vector.dtype != np.int64:
        raise ProtocolError(f"an update must be of shape {shape} and type int64")
    # Exact where it matters: a whole owner's squares add up to 2**40.
    if (vector.astype(np.float64) ** 2).sum() > float(longest) ** 2:
        raise ProtocolError("an update is longer than any party's can be")

"""Audits of private updates: all rounds' sums on worst cases, and what parties are sent.

The model, clip and records are an attacker's choice. In each round the changed unit's vector moves
as far as it can.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dpsumm.audit.samples import Scores
from dpsumm.audit.settings import DELTA, EPSILON, Unbooked
from dpsumm.audit.witness import Search
from dpsumm.ensemble.terms import Terms
from dpsumm.ensemble.updates.clipping import LEVELS, owner_vector, records_vector
from dpsumm.ensemble.updates.curator import UpdateCurator
from dpsumm.ensemble.updates.messages import CODEC, Update, UpdateTask
from dpsumm.ensemble.updates.recipe import Recipe
from dpsumm.ensemble.updates.release import release_round
from dpsumm.errors import ProtocolError
from dpsumm.exchange.messages import Request
from dpsumm.privacy.accounting import compose, gaussian_noise_multiplier
from dpsumm.privacy.events import Charge, Gaussian, Unit

Array = NDArray[np.float64]

# Of the audited runs.
ROUNDS, PARTIES = 4, 6
_POINTS = np.zeros((30, 2))
# (m + 1, K) of the sampled rounds.
_SHAPE = (3, 2)
_CLIP, _FAR = 0.1, 1e3


@dataclass(frozen=True)
class UpdatesRun:
    """The noisy sums of all rounds, to one of whose parties the changed record or owner belongs.

    Attributes
    ----------
    unit
        Of privacy.
    """

    unit: Unit = Unit.WHOLE_OWNER

    def scores(self, world: int, trials: int) -> Scores:
        """Return the difference that the changed unit makes, summed up: the likelihood ratio."""
        terms = Terms.of(_POINTS, range(_SHAPE[1]), PARTIES)
        recipe = Recipe(self.unit.value, EPSILON, DELTA, 10 * PARTIES, ROUNDS)
        names = [f"p{i}" for i in range(PARTIES)]
        exact = [self._vector(world, number) for number in range(ROUNDS)]
        other = [self._vector(1 - world, number) for number in range(ROUNDS)]
        sign = (1 if world else -1) / LEVELS
        scores = np.zeros(trials)
        for i in range(trials):
            book = Unbooked("audit")
            for number in range(ROUNDS):
                given = (terms, recipe, number)
                noisy = release_round(exact[number], *given, parties=names, ledger=book)
                scores[i] += sign * (noisy * (exact[number] - other[number])).sum()
        return scores

    def _vector(self, world: int, number: int) -> NDArray[np.int64]:
        """Return what a party sends of records that lie far out, on one side or the other.

        A whole owner has one of each class, and the model is sure of one or the other by turns: so
        its vector turns round from round to round. One record cannot.
        """
        whole = self.unit is Unit.WHOLE_OWNER
        far = _FAR if world else -_FAR
        a = np.tile([1.0, far, far], (2 if whole else 1, 1))
        weights = np.zeros(_SHAPE)
        if whole:
            weights[0, number % 2] = 50.0
        given = (a, np.eye(_SHAPE[1])[: len(a)], weights, np.ones(_SHAPE[0]), _CLIP)
        if whole:
            return owner_vector(*given, np.full(_SHAPE[1], 1 / _SHAPE[1]))
        return records_vector(*given)

    def claimed(self, delta: float) -> float:
        """Return epsilon as the ledger would report it of all rounds."""
        return compose([(Gaussian(gaussian_noise_multiplier(EPSILON, DELTA)), 1)], delta)


class _SameSums(Unbooked):
    """A ledger in which every round came out the same, whatever the parties have sent."""

    def __init__(self, seed: int) -> None:
        super().__init__("audit")
        self._rng = np.random.default_rng(seed)

    def release(
        self, key: str, charges: Sequence[Charge], draw: Callable[[], bytes], *, binding: str = ""
    ) -> bytes:
        """Return the next sum for what is charged, and what was recorded for all else."""
        if charges:
            entries = len(draw()) // 8
            return self._rng.integers(-LEVELS, LEVELS, entries).astype("<i8").tobytes()
        return super().release(key, charges, draw, binding=binding)

    def check_room(self, charges: Sequence[Charge]) -> None:
        """Find room: nothing is charged."""


@dataclass(frozen=True)
class UpdatesSilence(Search):
    """What parties are sent, when other vectors happen to give the same noisy sums.

    Attributes
    ----------
    curator
        The real one, or a broken twin.
    """

    curator: type[UpdateCurator] = UpdateCurator

    claim: ClassVar[str] = "what parties are sent is made of the noisy sums"

    def find(self, rng: np.random.Generator, trials: int) -> str | None:
        """Return how requests differed in one of `trials` pairs of worlds, or None."""
        for _ in range(trials):
            points = rng.normal(size=(40, 2))
            seed = int(rng.integers(2**32))
            first, second = (self._sent(rng, points, seed) for _ in range(2))
            if first != second:
                return "requests after the first differ"
        return None

    def _sent(self, rng: np.random.Generator, points: Array, seed: int) -> list[bytes]:
        terms = Terms.of(points, range(_SHAPE[1]), PARTIES)
        recipe = Recipe(Unit.WHOLE_OWNER.value, EPSILON, DELTA, 10 * PARTIES, ROUNDS)
        names = [f"p{i}" for i in range(PARTIES)]
        curator = self.curator(points, terms, recipe, names, ledger=_SameSums(seed))
        sent, absent = [], rng.random()
        while requests := curator.send():
            sent += [CODEC.encode(one) for one in requests.values()][:1]
            for name, request in requests.items():
                if name != names[0] and rng.random() < absent:
                    curator.drop(name)
                else:
                    with suppress(ProtocolError):
                        curator.receive(name, _anything(rng, request, terms))
        return sent


def _anything(rng: np.random.Generator, request: Request, terms: Terms) -> Update:
    """Return a vector of a party's, of any direction and length."""
    assert isinstance(request, UpdateTask)
    shape, number = request.step.weights.shape, request.step.number
    vector = rng.normal(size=shape)
    vector *= rng.random() * LEVELS / np.linalg.norm(vector)
    return Update(request.run, terms.digest, number, vector.astype(np.int64))

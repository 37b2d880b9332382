"""Audits of noisy votes: the release on worst cases, what parties are sent, and votes given twice.

The changed party votes for one class on every point in world 0 and for another one in world 1: the
farthest that it can move. All through the package's own curator, but for the ledger, which would
take most of the time.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dpsumm.audit.samples import Scores
from dpsumm.audit.settings import DELTA, EPSILON, Unbooked
from dpsumm.audit.witness import Search
from dpsumm.ensemble.curator import VoteCurator
from dpsumm.ensemble.messages import CODEC, VOTES, Votes, VoteTask
from dpsumm.ensemble.once import Once
from dpsumm.ensemble.party import Voter
from dpsumm.ensemble.terms import Terms
from dpsumm.errors import ProtocolError
from dpsumm.exchange.across import answer_all
from dpsumm.exchange.roles import Party
from dpsumm.papers.hamm import minimise, perturbation, sensitivity_of
from dpsumm.privacy.accounting import compose, gaussian_noise_multiplier
from dpsumm.privacy.events import Gaussian, Unit

POINTS, PARTIES = 20, 10
# How the other parties vote: all but the changed one, and it decides the majority.
_FIRST, _SECOND = 4, 5


def voting(curator: type[VoteCurator], n_classes: int) -> VoteCurator:
    """Return a curator of `PARTIES` parties that has not asked yet."""
    points = np.zeros((POINTS, 1))
    terms = Terms.of(points, range(n_classes), PARTIES)
    return curator(
        points,
        terms,
        [f"p{i}" for i in range(PARTIES)],
        unit=Unit.WHOLE_OWNER,
        epsilon=EPSILON,
        delta=DELTA,
        ledger=Unbooked("audit", again=True),
    )


def row(n_classes: int, *places: int) -> NDArray[np.uint16]:
    """Return votes for these classes on every point."""
    votes = np.zeros((POINTS, n_classes), dtype=VOTES)
    votes[:, list(places)] = 1
    return votes


@dataclass(frozen=True)
class VoteRun:
    """A vote, from the parties' messages to the consumer's.

    Attributes
    ----------
    n_classes
        2, or 4.
    """

    n_classes: int = 4

    def scores(self, world: int, trials: int) -> Scores:
        """Return the difference that the changed party makes, summed up: the likelihood ratio."""
        k = self.n_classes
        curator, sides = voting(VoteCurator, k), (0, k // 2)
        chosen = [sides[world], *[sides[0]] * _FIRST, *[sides[1]] * _SECOND]
        task = next(iter(curator.send().values()))
        assert isinstance(task, VoteTask)
        for name, place in zip(curator.names, chosen, strict=True):
            curator.receive(name, Votes(task.run, task.terms.digest, row(k, place)))
        # Of two classes one column is released: votes for the second less those for the first.
        sign = np.ones(1)
        if k > 2:
            sign = np.zeros(k)
            sign[list(sides)] = -1, 1
        scores = np.empty(trials)
        for i in range(trials):
            scores[i] = (curator.result().counts @ sign).sum()
        return scores

    def claimed(self, delta: float) -> float:
        """Return epsilon as the ledger would report it."""
        return compose([(Gaussian(gaussian_noise_multiplier(EPSILON, DELTA)), 1)], delta)


@dataclass(frozen=True)
class PublishedRun:
    """The paper's student with the exact sensitivity, as real numbers: floats claim nothing.

    One feature that is 1 everywhere. 55 or 56 of 100 parties vote for the second class.

    Attributes
    ----------
    stop
        Gradient norm at which a twin's solver, beginning at 0, stops.
    norm
        Of the features. Above 1 if the constant was appended after clipping.
    """

    stop: float = 0.0
    norm: float = 1.0

    def scores(self, world: int, trials: int) -> Scores:
        """Return the released weight."""
        share, lam = 0.55 + 0.01 * world, 10.0
        x = np.full((20, 1), self.norm)
        w, tau = minimise(x, np.full((20, 1), share), lam)
        if abs(share - 0.5) * self.norm <= self.stop + 1e-12:
            w = np.zeros_like(w)
        sensitivity = sensitivity_of(lam, 100, 2, exact=True, tau=tau)
        noise = perturbation((trials,), sensitivity, EPSILON, DELTA, np.random.default_rng())
        return np.asarray(w[0, 0] + noise)

    def claimed(self, delta: float) -> float:
        """Return epsilon of the Gaussian mechanism that it is meant to be."""
        return compose([(Gaussian(gaussian_noise_multiplier(EPSILON, DELTA)), 1)], delta)


@dataclass(frozen=True)
class VoteSilence(Search):
    """Everything a party is sent, while the others vote and stay away as they like."""

    curator: type[VoteCurator] = VoteCurator

    claim: ClassVar[str] = "nothing"

    def find(self, rng: np.random.Generator, trials: int) -> str | None:
        """Return what differed in one of `trials` pairs of worlds, or None."""
        for _ in range(trials):
            first, second = (self._received(rng) for _ in range(2))
            if first != second:
                return f"{len(first)} and {len(second)} messages, not all the same"
        return None

    def _received(self, rng: np.random.Generator) -> list[bytes]:
        """Return what the first party receives, as bytes, in a drawn world."""
        curator, received = voting(self.curator, 3), []
        stays_away = rng.random()
        while requests := curator.send():
            for name, task in requests.items():
                assert isinstance(task, VoteTask)
                if name == "p0":
                    received.append(CODEC.encode(task))
                elif rng.random() < stays_away:
                    curator.drop(name)
                    continue
                votes = row(3, int(rng.integers(3)) if name != "p0" else 0)
                curator.receive(name, Votes(task.run, task.terms.digest, votes))
        return received


@dataclass(frozen=True)
class VotesOnce(Search):
    """A party in one run, asked for votes on several sets of points: one release was charged.

    It is made anew for every exchange, as a node makes it, with the file that the node keeps.
    """

    party: Callable[[Party, str, Path], Party] = Once

    claim: ClassVar[str] = "one set of votes"

    def find(self, rng: np.random.Generator, trials: int) -> str | None:
        """Return how often it voted in one of `trials` runs, if more than once."""
        for _ in range(trials):
            with TemporaryDirectory() as folder:
                seen = self._asked(rng, Path(folder) / "answers")
            if len(seen) > 1:
                return f"{len(seen)} different sets of votes"
        return None

    def _asked(self, rng: np.random.Generator, file: Path) -> set[bytes]:
        """Return all that a party sends. The first question comes twice, and differently signed."""
        seen, tasks = set(), []
        for _ in range(3):
            points = rng.normal(size=(POINTS, 1))
            terms = Terms.of(points, range(2), PARTIES)
            tasks += [VoteTask("run", terms, points), VoteTask("run", terms, -points)]
        for task in (*tasks, tasks[0]):
            # Votes that hang on coins, too: asked the same, it answers the same.
            voter = Voter([lambda points, terms: row(2, int(rng.integers(2))) * (points > 0)])
            party = self.party(voter, "p0", file)
            with suppress(ProtocolError):
                seen.add(answer_all(party, [CODEC.encode(task)], max_bytes=2**20, max_records=None))
        return seen

"""Votes, as `learn` across silos makes them; parties that have their votes by heart."""

import itertools

import numpy as np
import polars as pl

from dpsumm import Column, Schema, Voting
from dpsumm.ensemble import Spectral
from dpsumm.ensemble.once import Once
from dpsumm.ensemble.party import Voter
from dpsumm.ensemble.silos import learn_silos
from dpsumm.exchange.messages import Describe, Description
from dpsumm.privacy import Ledger
from simulator.oracles import Violation
from simulator.systems.system import System

NAMES = ("a", "b", "c")
N_POINTS = 20
SCHEMA = Schema([Column("x", bounds=(0, 1)), Column("sick", "label")])


def votes_of(name):
    """A party's votes: no two sets of parties have the same sum."""
    votes = np.zeros((N_POINTS, 2), dtype=np.int64)
    sick = np.arange(N_POINTS) % 7 >= 2 * NAMES.index(name) + 1
    votes[np.arange(N_POINTS), sick.astype(int)] = 1
    return votes


class KnowsItsVotes(Voter):
    def __init__(self, name):
        super().__init__([lambda points, terms: votes_of(name)])

    def answer(self, request):
        if isinstance(request, Describe):
            return Description(5, SCHEMA.fingerprint)
        return super().answer(request)


class Elections(System):
    name = "votes"
    names = NAMES

    def prepare(self, world):
        caps = {"owners": (1.5, 1e-3)} if world.plan.capped else None
        Ledger.create(world.folder / "books.db", caps=caps).close()

    def curate(self, world, run):
        return learn_silos(
            world.line(),
            NAMES,
            pl.DataFrame({"x": np.linspace(0, 1, N_POINTS)}),
            schema=SCHEMA,
            classes=["no", "yes"],
            protocol=Voting(student=Spectral(("linear",))),
            ledger=world.folder / "books.db",
            run=self.run_name(run),
            on_absent=lambda name, why: None,
            allow_weak_privacy=True,
        )

    def party(self, world, name):
        return Once(KnowsItsVotes(name), name, world.folder / f"{name}.answers")

    def payloads(self, message):
        return ()

    def check(self, world, run, result):
        """Each party's votes are in it once, or not at all."""
        counts = result.votes.counts
        if not self.holds(world, run, counts.astype("<i8").tobytes()):
            raise Violation("votes were released that the books do not hold as charged")
        signed = {name: votes_of(name)[:, 1:] - votes_of(name)[:, :1] for name in NAMES}
        sums = [
            sum((signed[name] for name in some), np.zeros((N_POINTS, 1), np.int64))
            for n in range(len(NAMES) + 1)
            for some in itertools.combinations(NAMES, n)
        ]
        exact = [
            counts - noise.reshape(counts.shape)
            for noise in world.chance.noise
            if noise.size == counts.size
        ]
        if not any(np.array_equal(one, total) for one in exact for total in sums):
            raise Violation("the votes are no sum of parties' votes, each once")

    def holds(self, world, run, payload):
        return world.books("curator").holds(self.run_name(run), payload)


VOTES = Elections()

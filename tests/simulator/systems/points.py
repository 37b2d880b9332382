"""Points by Offers and by the Auction, as `summarize` across silos makes them."""

import shutil
from functools import cached_property, partial

import numpy as np
import polars as pl

from dpsumm import RBF, Column, Offers, Schema
from dpsumm.data.inputs import read_owners
from dpsumm.errors import ProtocolError
from dpsumm.papers import Auction
from dpsumm.privacy import Ledger
from dpsumm.privacy.receipt import Asked
from dpsumm.privacy.receipts import Receipts
from dpsumm.summary.protocols import Owner
from dpsumm.summary.protocols.messages import BidRequest, OfferRequest, Points
from dpsumm.summary.protocols.wire import CODEC
from dpsumm.summary.silos import summarize_silos
from simulator.oracles import Violation, check_once
from simulator.systems.system import System

NAMES = ("a", "b", "c")
IS_SEALED = bytes.__eq__
SCHEMA = Schema(
    [Column("x", bounds=(-4, 4)), Column("y", bounds=(-4, 4)), Column("person", "ignore")]
)
SIZE = 4


class Seal:
    """An owner's key, as far as a log needs one."""

    def sign(self, data):
        return data


def tables(shift):
    """Eight records of each owner with markers; all but the first owner's moved by `shift`."""
    rng = np.random.default_rng(5)
    frames = {}
    for name in NAMES:
        points = rng.normal(size=(8, 2)) + (0 if name == "a" else shift)
        persons = [f"marker-{name}-{i}" for i in range(8)]
        frames[name] = pl.DataFrame({"x": points[:, 0], "y": points[:, 1], "person": persons})
    return {one.name: one for one in read_owners(frames, schema=SCHEMA)}


class Summaries(System):
    """Three owners and a curator with one ledger.

    Parameters
    ----------
    name, protocol
        Of the runs.
    most
        Records that an owner sends in a run.
    deaf
        Whether nothing that an owner receives depends on the others.
    """

    names = NAMES

    def __init__(self, name, protocol, most, *, deaf, shift=0.0):
        self.name, self._protocol, self._most, self._deaf = name, protocol, most, deaf
        self._shift = shift

    @cached_property
    def _tables(self):
        return tables(self._shift)

    @cached_property
    def _target(self):
        points = np.random.default_rng(6).normal(0.5, 1, (20, 2))
        return pl.DataFrame({"x": points[:, 0], "y": points[:, 1]})

    def _most_ever(self, world):
        """Records that an owner lets go in all runs: of one run alone where it is stingy."""
        return self._most if world.plan.stingy else 99

    def _log(self, world, name):
        return world.folder / f"{name}.receipts"

    def before(self, world, name, run, answer, records):
        """Write a receipt, by the owner's own rules."""
        asked = Asked("curator", self.run_name(run), "tests")
        most = self._most_ever(world)
        with Receipts(self._log(world, name), Seal(), IS_SEALED) as log:
            if log.send(asked, answer, records, lambda sent: "many" if sent.ever > most else None):
                raise ProtocolError("more records are asked for than this owner lets go")

    def prepare(self, world):
        caps = {"target": (1.5, 1e-3)} if world.plan.capped else None
        Ledger.create(world.folder / "books.db", caps=caps).close()
        for name in NAMES:
            Receipts.create(self._log(world, name), Seal(), IS_SEALED).close()

    def curate(self, world, run, **more):
        return summarize_silos(
            world.line(),
            NAMES,
            self._target,
            schema=SCHEMA,
            size=SIZE,
            kernel=RBF(0.3),
            protocol=self._protocol,
            ledger=world.folder / "books.db",
            run=self.run_name(run),
            out=self.result(world.folder, run),
            **more,
        )

    def party(self, world, name):
        return Owner(self._tables[name])

    def payloads(self, message):
        decoded = CODEC.decode(message)
        if isinstance(decoded, OfferRequest):
            yield decoded.target.steps.astype("<i8").tobytes()
        if isinstance(decoded, BidRequest):
            yield decoded.target.astype("<i8").tobytes()
            if decoded.summary.any():
                yield decoded.summary.astype("<i8").tobytes()

    def check_sent(self, world, sent):
        """Count what has left in all runs, each answer of a run once."""
        answers = {(one.run, one.answer) for one in world.sent if one.owner == sent.owner}
        decoded = [CODEC.decode(answer) for _, answer in answers]
        count = sum(one.revealed(len(self._tables[sent.owner])) for one in decoded)
        if count > self._most_ever(world):
            raise Violation(f"{sent.owner!r} sent {count} records")

    def _sent(self, world, run):
        """Return (owner, markers) for each answer with points, each answer once."""
        answers = {(one.owner, one.answer) for one in world.sent if one.run == run}
        decoded = [(owner, CODEC.decode(answer)) for owner, answer in sorted(answers)]
        return [
            (owner, tuple(points.carried[0].tolist()))
            for owner, points in decoded
            if isinstance(points, Points)
        ]

    def check(self, world, run, result):
        sent = [marker for _, markers in self._sent(world, run) for marker in markers]
        persons = result.carried[0].tolist()
        check_once(sent, persons)
        rows = zip(result.owner, result.index, strict=True)
        whose = [f"marker-{result.names[owner]}-{row}" for owner, row in rows]
        if persons != whose:
            raise Violation("a record is said to be another owner's, or another row")
        saved = pl.read_csv(self.result(world.folder, run))
        if saved["person"].to_list() != persons:
            raise Violation("what is saved is not what was made")
        if len(persons) < SIZE:
            raise Violation("the summary is too small")

    def look_back(self, world):
        """Run again on a copy of the books, with other data of others: one owner sees the same."""
        if not self._deaf:
            return
        from simulator.plan import Life, Plan
        from simulator.world import World

        for run in sorted(world.results):
            letters = {letter for letter in world.received[run, "a"]}
            folder = world.folder / f"twin {run}"
            folder.mkdir()
            twin = Summaries(self.name, self._protocol, self._most, deaf=False, shift=1.0)
            other = World(twin, Plan((Life(run),)), 0, folder)
            twin.prepare = partial(self._copied, world)
            other.live_all()
            if not letters <= set(other.received[run, "a"]):
                raise Violation("what the first owner receives depends on the others")

    def _copied(self, world, other):
        Summaries.prepare(self, other)
        for name in ("books.db", "books.db.seen"):
            shutil.copy(world.folder / name, other.folder / name)


OFFERS = Summaries("offers", Offers(n_features=16), 6, deaf=True)
AUCTION = Summaries("auction", Auction(batch=2, n_features=16), 20, deaf=False)

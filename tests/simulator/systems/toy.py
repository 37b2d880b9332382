"""A protocol of its own: rounds of "how many of your values are above this noisy level?"."""

from dataclasses import dataclass

import numpy as np

from dpsumm import kernels
from dpsumm.basics.atomic import write_text
from dpsumm.errors import ProtocolError
from dpsumm.exchange.across import run_across
from dpsumm.exchange.codec import Codec, Kind
from dpsumm.exchange.fields import is_whole
from dpsumm.exchange.journal import Journal
from dpsumm.exchange.messages import Answer, Request
from dpsumm.exchange.roles import Coordinator, Party
from dpsumm.privacy import Charge, Ledger, Protected, Pure
from simulator.oracles import Violation, rows_of
from simulator.systems.system import System


@dataclass(frozen=True)
class CountAbove(Request):
    level: int


@dataclass(frozen=True)
class Count(Answer):
    count: int

    def revealed(self, of):
        return 0


CODEC = Codec(
    [
        Kind("CountAbove", CountAbove, lambda m: type(m.level) is int),
        Kind("Count", Count, lambda m: is_whole(m.count)),
    ]
)
# Large, so that no two levels of a run are the same by chance.
UNIT = 2**30
VALUES = {
    name: [UNIT * value for value in values]
    for name, values in {"a": (-300, 5, 700), "b": (-40, 40, 400), "c": (-1000, 1000, 2000)}.items()
}
ROUNDS, STD = 3, 500.0 * UNIT


class Asker(Coordinator[list[int]]):
    """Asks about a fresh level in each round; the result is each round's sum."""

    codec = CODEC

    def __init__(self, names, ledger):
        self.names, self._ledger = tuple(names), ledger
        self._sums, self._waiting = [], {}

    def send(self):
        if len(self._sums) == ROUNDS:
            return {}
        number = len(self._sums)
        level = self._ledger.release(
            f"level {number}",
            [Charge(Protected.TARGET, "a level", Pure(0.5))],
            lambda: kernels.rounded_normal(STD, 1).astype("<i8").tobytes(),
        )
        request = CountAbove(int(np.frombuffer(level, "<i8")[0]))
        self._sums.append(0)
        self._waiting = dict.fromkeys(self.names, request)
        return dict(self._waiting)

    def receive(self, name, answer):
        if name not in self._waiting or not isinstance(answer, Count):
            raise ProtocolError(f"{name!r} was asked for a count, once")
        del self._waiting[name]
        self._sums[-1] += answer.count

    def drop(self, *names):
        raise ProtocolError("the sum needs everybody; run again under the same name")

    def result(self):
        return list(self._sums)


class Holder(Party):
    codec = CODEC

    def __init__(self, values):
        self._values = values

    def answer(self, request):
        if not isinstance(request, CountAbove):
            raise ProtocolError(f"no answer to a {type(request).__name__}")
        return Count(sum(value > request.level for value in self._values))


class Toy(System):
    name = "toy"
    names = ("a", "b", "c")

    def prepare(self, world):
        # One run of three levels.
        caps = {"target": (1.6, 1e-3)} if world.plan.capped else None
        Ledger.create(world.folder / "books.db", caps=caps).close()

    def curate(self, world, run):
        path, name = world.folder / "books.db", self.run_name(run)
        with Ledger(path, run=name) as book, Journal(f"{path}.answers", name) as journal:
            sums, _ = run_across(
                Asker(self.names, book), world.line(), journal, minimum=len(self.names)
            )
            with journal.ending(self.result(world.folder, run)):
                write_text(self.result(world.folder, run), repr(sums))
        return sums

    def party(self, world, name):
        return Holder(VALUES[name])

    def payloads(self, message):
        decoded = CODEC.decode(message)
        if isinstance(decoded, CountAbove):
            yield np.int64(decoded.level).tobytes()

    def check(self, world, run, result):
        released = rows_of(
            world.folder / "books.db",
            f"SELECT released FROM releases WHERE run = '{self.run_name(run)}' ORDER BY key",
        )
        levels = [int(np.frombuffer(level, "<i8")[0]) for (level,) in released]
        exact = [sum(v > level for some in VALUES.values() for v in some) for level in levels]
        if result != exact:
            raise Violation(f"the sums are {result}, not {exact}")
        if len(set(levels)) < ROUNDS:
            raise Violation("two rounds share a release")


TOY = Toy()

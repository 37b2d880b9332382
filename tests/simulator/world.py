"""A lifetime of the books: curators live and die, owners answer, and somebody looks on."""

import shutil
import sqlite3
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock
from urllib.parse import unquote, urlparse

from dpsumm.errors import DpsummError
from dpsumm.privacy import Ledger
from helpers import disk as disks
from helpers.disk import Disk, Killed
from simulator.chance import Chance
from simulator.network import Down, Letter, Line, Network, Sent
from simulator.oracles import Answers, Books, Violation
from simulator.plan import CURATOR, Census, Fault, How, Life, Plan
from simulator.systems.system import System
from simulator.torn import tear

_ON_DISK = {
    How.ERROR: disks.Fault.ERROR,
    How.FULL: disks.Fault.FULL,
    How.LATE_ERROR: disks.Fault.LATE_ERROR,
    How.KILL_BEFORE: disks.Fault.KILL_BEFORE,
    How.KILL_AFTER: disks.Fault.KILL_AFTER,
}
_LASTING = (How.ERROR, How.FULL)
_WRITES = ("COMMIT", "INSERT", "DELETE", "UPDATE")
_MEMORY = Path("/dev/shm")


@dataclass
class _Process:
    name: str
    run: int
    has_asked: bool = False
    torn: list[tuple[Path, bytes, float]] = field(default_factory=list)


class World:
    """One simulation.

    Parameters
    ----------
    system
        Whose runs these are.
    plan
        What goes wrong.
    seed
        Of all that is drawn.
    folder
        Empty; for books, journals and results.
    """

    def __init__(self, system: System, plan: Plan, seed: int, folder: Path) -> None:
        self.system, self.plan, self.folder = system, plan, folder
        self.names = system.names
        self.calendar = 0
        self.outcomes: list[str] = []
        self.results: dict[int, Any] = {}
        self.received: dict[tuple[int, str], list[Letter]] = {}
        self.sent: list[Sent] = []
        self.counts: Counter[tuple[str, str]] = Counter()
        self.chance = Chance(seed)
        self.network = Network(self)
        self.disk = Disk()
        self._stack: list[_Process] = []
        self._life = Life()
        self._quiet = False
        self._changed = True
        self._books: dict[str, Books] = {}
        self._answers = Answers()

    @property
    def seen(self) -> object:
        """Whatever shows of what happened."""
        return self.outcomes, self.received, len(self.sent), self.network.now(), dict(self.counts)

    # What the curator's side needs.

    @property
    def run(self) -> int:
        """The run that is worked at."""
        return self._stack[-1].run if self._stack else self._life.run

    @property
    def at_work(self) -> str:
        """The process that does something just now."""
        return self._stack[-1].name

    def books(self, who: str) -> Books:
        """Return the books of a process as they were looked at last."""
        return self._books[who]

    def line(self) -> Line:
        """Return a channel for a curator."""
        return Line(self.network, self.names)

    def act(self, kind: str, do: Callable[[], Any]) -> Any:
        """Do something that can fail."""
        return self.disk.act(kind, kind, do, error=lambda fault: Down(fault.value))

    # Running.

    def live_all(self) -> None:
        """Live the plan, then take up every run once more without a fault."""
        with self._installed():
            self.system.prepare(self)
            self._books = {n: Books(path) for n, path in self.system.books(self.folder).items()}
            for life in self.plan.lives:
                self._live(life)
            for run in sorted({life.run for life in self.plan.lives}):
                self._end(run)
            self._quiet = True
            self._check_caps()
            self.system.look_back(self)

    @contextmanager
    def _installed(self) -> Iterator[None]:
        self.disk.plan = self._strike
        with self.chance.patched(), self.disk:
            connected = sqlite3.connect  # the disk's

            def connect(where: Any, **given: Any) -> sqlite3.Connection:
                # Whoever waits for a lock here waits for itself.
                made = connected(where, **{**given, "timeout": 0})
                made.create_function("strftime", -1, self._date)
                return made

            with mock.patch.object(sqlite3, "connect", connect):
                yield

    def _date(self, *_: Any) -> str:
        seconds = 10**6 + self.calendar + self.network.now()
        return f"2026-01-{1 + int(seconds // 86400) % 28:02d}T00:00:{seconds % 60:06.3f}Z"

    def _live(self, life: Life) -> Any:
        self._life, self.counts, self.network.down = life, Counter(), False
        result, outcome = None, "result"
        try:
            result = self._work(CURATOR, life.run)
        except (Killed, Down) as error:
            outcome = type(error).__name__.lower()
        except DpsummError as error:
            outcome = f"{type(error).__name__}: {error}"
            if self.system.secret in outcome:
                raise Violation(f"a refusal quotes a record: {outcome}") from None
        self.network.settle()
        self.outcomes.append(outcome)
        self._look()
        return result

    def _work(self, name: str, run: int) -> Any:
        with self.process(name, run):
            result = self.system.curate(self, run)
        self._look()
        self.system.check(self, run, result)
        self.results[run] = result
        return result

    def _end(self, run: int) -> None:
        """Take up a run without a fault, unless it has ended: it must."""
        if run in self.results or self._live(Life(run)) is not None:
            return
        # It was saved, and its process died before it said so.
        if "has ended, its result" in self.outcomes[-1]:
            if not self.system.result(self.folder, run).exists():
                raise Violation(f"run {run} has ended and left nothing")
            return
        allowed = [
            *(["above the cap"] if self.plan.capped else ()),
            *(["more records are asked for"] if self.plan.stingy else ()),
            *self.system.may_refuse,
        ]
        if not any(text in self.outcomes[-1] for text in allowed):
            raise Violation(f"run {run} does not end after its faults: {self.outcomes}")

    @contextmanager
    def process(self, name: str, run: int | None = None) -> Iterator[None]:
        """Run what is inside as a process; what its machine tears is torn when it has died."""
        self._stack.append(_Process(name, self.run if run is None else run))
        try:
            with self.disk.process(name):
                yield
        finally:
            for path, before, share in self._stack.pop().torn:
                tear(path, before, share)

    # Faults.

    def befalls(self, sort: str, who: str) -> list[Fault]:
        """Return what befalls the next act of a sort; it is counted."""
        if self._quiet:
            return []
        number = self.counts[who, sort]
        self.counts[who, sort] += 1
        return self._due(sort, who, number)

    def _due(self, sort: str, who: str, number: int) -> list[Fault]:
        return [
            fault
            for fault in self._life.faults
            if (fault.sort, fault.who) == (sort, who)
            and fault.at <= number < fault.at + (fault.much if fault.how in _LASTING else 1)
        ]

    def _strike(self, act: disks.Act) -> disks.Fault | None:
        """Say what befalls an act of a process."""
        self._changed |= act.what.startswith(_WRITES)
        if self._quiet:
            return None
        if act.kind in ("letter", "sleep"):  # counted by the network
            due = self._due(act.kind, act.process, self.counts[act.process, act.kind] - 1)
        else:
            due = self.befalls(act.kind, act.process)
        for fault in due:
            if fault.how in (How.RIVAL, How.OTHER):
                self._rival(self.run if fault.how is How.RIVAL else self.run + 1)
            elif fault.how is How.TORN:
                return self._tear(act, fault)
            elif fault.how in _ON_DISK:
                return _ON_DISK[fault.how]
        return None

    def _tear(self, act: disks.Act, fault: Fault) -> disks.Fault:
        share = fault.much / 16
        if act.kind == "sql":
            path = Path(unquote(urlparse(act.path).path))
            if path.is_file():
                self._stack[-1].torn.append((path, path.read_bytes(), share))
            return disks.Fault.KILL_AFTER
        path = Path(act.path)
        if act.what.startswith("replace"):
            whole = path.read_bytes()
            path.write_bytes(whole[: int(len(whole) * share)])
        return disks.Fault.KILL_BEFORE

    def _rival(self, run: int) -> None:
        """Let another curator work, who meets no fault but the first one."""
        self._quiet = True
        try:
            self._work("rival", run)
        except (DpsummError, Down):
            pass
        finally:
            self._quiet = False

    # Looking on.

    def posted(self, address: int, letter: Letter) -> None:
        """A curator gives a letter away: what it holds must have been charged."""
        me, owner = self._stack[-1], self.names[address]
        if any(p.has_asked and p.run == me.run for p in self._stack[:-1] if p.name == CURATOR):
            raise Violation("two curators of one run are at work")
        me.has_asked = True
        self._look()
        run = self.system.run_name(me.run)
        self._check_charged(CURATOR, run, letter[-1])
        self.system.check_asked(self, run, letter)
        self._answers.asked(run, owner, letter)
        self.received.setdefault((me.run, owner), []).append(letter)

    def answered(self, sent: Sent) -> None:
        """An owner gives an answer away."""
        run = self.system.run_name(sent.run)
        self._look()
        self._check_charged(sent.owner, run, sent.answer)
        self._answers.produced(run, sent.owner, sent.letter, sent.answer)
        self.sent.append(sent)
        self.system.check_sent(self, sent)

    def _check_charged(self, who: str, run: str, message: bytes) -> None:
        for payload in self.system.payloads(message):
            if not self._books[who].holds(run, payload):
                raise Violation(f"{who!r} sent what its books do not hold as charged")

    def _check_caps(self) -> None:
        for books in self._books.values():
            with Ledger(books.path) as ledger:
                for change in ledger.cap_changes():
                    if ledger.spent(change.protected)[0] > change.epsilon:
                        raise Violation(f"{books.path.name}: more was spent than its cap")

    def _look(self) -> None:
        if not self._changed:
            return
        self._changed = False
        for books in self._books.values():
            books.look()
        self._answers.look(self.system.journal(self.folder))


def simulate(system: System, plan: Plan, seed: int = 0) -> World:
    """Simulate a plan; return the world as it then is.

    Raises
    ------
    Violation
        Something happened that must not.
    """
    home = tempfile.mkdtemp(dir=_MEMORY if _MEMORY.is_dir() else None)
    try:
        world = World(system, plan, seed, Path(home))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # notes, on few and small data
            world.live_all()
        return world
    finally:
        shutil.rmtree(home)


@cache
def census(system: System) -> Census:
    """Return how many acts of each sort each process has in a run without a fault."""
    return dict(simulate(system, Plan((Life(),))).counts)

"""Runs that fail at one act, are resumed, and are held to what must be true of every run.

A `World` is a subsystem's run in a folder, its parties in this process. `trial` lets one fault
befall it, runs it again under its name, and returns what is wrong with that: nothing, if all is
well. What must hold does not depend on the subsystem:

- the run ends when it is resumed, and its result is that of an undisturbed run with the same
  releases;
- what is sent had been charged, as it is on the disk when it is sent;
- every key is charged once, and the same key, message or answer is the same bytes ever after;
- nothing that was collected is asked for again, and nobody is asked once the run has ended;
- a file is whole or not there;
- what a world says of its own files (`World.wrong`);
- an error names the file, what became of the budget, and how to go on.
"""

import hashlib
import re
import shutil
import sqlite3
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path

from dpsumm.errors import DpsummError
from dpsumm.exchange.across import Channel, reason
from dpsumm.exchange.codec import Codec
from dpsumm.exchange.messages import Describe
from dpsumm.privacy import Ledger
from helpers.disk import Act, Disk, Fault, Killed, Plan, from_then_on, once

RUN = "r"
_CONNECT = sqlite3.connect
STORED = ("sql", "file")


class World(ABC):
    """A run of a subsystem; it keeps nothing between its lives but the files in its folder.

    Attributes
    ----------
    name
        Of the subsystem.
    books
        Names of the ledgers in the folder.
    logs
        Names of what else a run goes on from, such as the parties' logs.
    opening
        What parties are asked before the protocol begins.
    parties_pay
        Whether ledgers are the parties', who charge what they answer, and not the curator's, who
        charges what it sends.
    result_is_drawn
        Whether the saved file has fresh randomness of its own, after all that is released.
    """

    name: str
    books: tuple[str, ...] = ("books.db",)
    logs: tuple[str, ...] = ()
    caps: dict[str, tuple[float, float]] = {}  # noqa: RUF012
    opening: bytes = Codec().encode(Describe())
    parties_pay = False
    result_is_drawn = False

    def prepare(self, folder: Path) -> None:
        """Make the ledgers of an empty folder."""
        for name in self.books:
            Ledger.create(folder / name, caps=self.caps).close()

    @abstractmethod
    def answer(self, folder: Path, name: str, given: list[bytes]) -> bytes:
        """Return a party's answer, made from nothing but its data, its ledger, the messages."""

    @abstractmethod
    def run(self, folder: Path, channel: Channel) -> bytes:
        """Run as the curator, to the end; save ``out.csv`` and return the result as bytes."""

    def replay(self, folder: Path, channel: Channel) -> bytes:
        """Run to the same result from the releases alone."""
        return self.run(folder, channel)

    def charged(self, folder: Path, party: str) -> tuple[str, ...]:
        """Return what is charged for what this party is sent, or sends, as it is on the disk."""
        books = (f"{party}.db",) if self.parties_pay else self.books
        return tuple(
            charge
            for name in books
            if (folder / name).exists()
            for charge in charges(folder / name)
        )

    def number(self, given: list[bytes]) -> int:
        """Return which exchange of an undisturbed run these messages are of."""
        return 0 if given == [self.opening] else len(given)

    def wrong(self, folder: Path, answers: Sequence[tuple[str, int, bytes]]) -> Iterable[str]:
        """Return what is wrong with the files of a run that was resumed, beside its ledgers.

        Parameters
        ----------
        folder
            Of the run.
        answers
            What left the parties in the lives that are known: party, number of the message, digest.
        """
        return ()


class Wire(Channel):
    """Carries messages one by one, each way at a point of its own; parties are processes.

    Attributes
    ----------
    sent
        (party, number of the message, digest of all up to it) in order.
    charged
        Charges on the disk at each of these.
    answers
        Digest of what each answered to it.
    died
        Whether a party's process ended.
    """

    def __init__(self, disk: Disk, world: World, folder: Path) -> None:
        self._disk, self._world, self._folder = disk, world, folder
        self.died = False
        self.sent: list[tuple[str, int, bytes]] = []
        self.charged: dict[tuple[str, int], tuple[str, ...]] = {}
        self.answers: list[tuple[str, int, bytes]] = []

    def ask(self, messages):
        for name, given in messages.items():
            try:
                deliver = partial(self._delivered, name, given)
                reply = self._disk.act("send", f"to {name}", deliver)
                if reply is None:  # it died and is silent
                    continue
                reply = self._disk.act("answer", f"of {name}", lambda reply=reply: reply)
            except ConnectionError:
                reply = "was not reached"
            yield name, reply

    def _delivered(self, name, given):
        step = (name, self._world.number(given))
        self.sent.append((*step, hashlib.sha256(b"".join(given)).digest()))
        if not self._world.parties_pay:
            self.charged[step] = self._world.charged(self._folder, name)
        try:
            with self._disk.process(name):
                reply = self._world.answer(self._folder, name, list(given))
        except Killed:
            reply, self.died = None, True
        except DpsummError as error:
            reply = reason(error)
        if isinstance(reply, bytes):
            if self._world.parties_pay:
                self.charged[step] = self._world.charged(self._folder, name)
            self.answers.append((*step, hashlib.sha256(reply).digest()))
        return reply


def charges(book: Path) -> tuple[str, ...]:
    """Return the charges of a ledger as they are on the disk, past dpsumm's own reader."""
    return tuple(
        repr(row)
        for row in rows_of(book, "SELECT key, protected, message, event, count, unit FROM charges")
    )


def releases(book: Path) -> dict[str, bytes]:
    """Return the releases of a ledger by key."""
    return dict(rows_of(book, "SELECT key, released FROM releases"))


def recorded(folder: Path) -> dict[tuple[int, str], bytes]:
    """Return what the journal has, by step and owner."""
    path = folder / "books.db.answers"
    try:
        rows = rows_of(path, "SELECT step, owner, answer FROM answers") if path.exists() else []
    except sqlite3.OperationalError:  # the file is there, and no table yet
        return {}
    return {(step, owner): answer for step, owner, answer in rows}


def rows_of(path: Path, query: str) -> list[tuple]:
    """Return what a query finds in a file; looking is no act on the disk of the tests."""
    with closing(_CONNECT(path)) as db:
        return db.execute(query).fetchall()


@dataclass
class Life:
    """What a process did until its end."""

    wire: Wire
    result: bytes | None = None
    error: Exception | None = None
    killed: bool = False
    acts: list[Act] = field(default_factory=list)


def live(
    world: World, disk: Disk, folder: Path, plan: Plan | None = None, *, replay: bool = False
) -> Life:
    """Let a curator live, with the faults of a plan."""
    run = world.replay if replay else world.run
    life = Life(Wire(disk, world, folder))
    disk.begin(plan)
    try:
        with disk.process("curator"):
            life.result = run(folder, life.wire)
    except Killed:
        life.killed = True
    except Exception as error:
        life.error = error
    life.acts = disk.log
    disk.begin()
    return life


@dataclass(frozen=True)
class Whole:
    """An undisturbed run: what every other one is compared with."""

    world: World
    life: Life
    charges: dict[str, tuple[str, ...]]

    @classmethod
    def of(cls, world: World, disk: Disk, folder: Path) -> "Whole":
        """Make it in a folder that does not exist."""
        make(world, folder)
        life = live(world, disk, folder)
        if life.result is None:
            raise life.error or AssertionError
        return cls(world, life, {name: charges(folder / name) for name in world.books})


# An act that only reads leaves nothing behind that could differ between before and after it.
_CHANGES = ("BEGIN", "INSERT", "DELETE", "CREATE", "COMMIT", "ROLLBACK", "replace", "to ")


def plans(acts: Iterable[Act]) -> Iterator[tuple[Act, str, Plan]]:
    """Return (act, what befalls it, plan) for every act of a run and every fault."""
    for act in acts:
        for what, plan in _faults(act).items():
            yield act, what, plan


def sampled(acts: Iterable[Act]) -> Iterator[tuple[Act, str, Plan]]:
    """Return for each kind of act an error, the first and the last time, and another fault."""
    first: dict[tuple[str, str], Act] = {}
    last: dict[tuple[str, str], Act] = {}
    for act in acts:
        # Names of temporary files are random.
        kind = (act.kind, re.sub(r"\b[0-9a-f]{16}\b", "", act.what))
        first.setdefault(kind, act)
        last[kind] = act
    for turn, (one, other) in enumerate(zip(first.values(), last.values(), strict=True)):
        for act in (one, other) if other != one else (one,):
            yield act, "error", once(act.number, Fault.ERROR)
        others = [fault for fault in sorted(_faults(other).items()) if fault[0] != "error"]
        yield (other, *others[turn % len(others)])


def _faults(act: Act) -> dict[str, Plan]:
    number = act.number
    faults = {"error": once(number, Fault.ERROR), "kill before": once(number, Fault.KILL_BEFORE)}
    if act.kind in STORED:
        faults["error from then on"] = from_then_on(number, Fault.FULL, *STORED)
    if act.what.startswith(_CHANGES):
        faults["kill after"] = once(number, Fault.KILL_AFTER)
        faults["error after"] = once(number, Fault.LATE_ERROR)
    return faults


def make(world: World, folder: Path) -> None:
    """Make a run's folder, with ledgers that are made once for all beside it."""
    template = folder.parent / "template"
    if not template.exists():
        template.mkdir(parents=True)
        world.prepare(template)
    shutil.copytree(template, folder)


def trial(whole: Whole, disk: Disk, plan: Plan, folder: Path) -> tuple[str, list[str]]:
    """Let a fault befall a run, resume it; return how its first life ended, and what is wrong."""
    make(whole.world, folder)
    first = live(whole.world, disk, folder, plan)
    how = "killed" if first.killed else "told" if first.error else "went on"
    return how, [
        *_told(first, folder),
        *_files(first, folder),
        *resumed(whole, disk, folder, first),
    ]


def resumed(whole: Whole, disk: Disk, folder: Path, first: Life | None = None) -> list[str]:
    """Resume the run of a folder; return what is wrong, with its first life if that is known."""
    world, wrong = whole.world, []
    kept, before = recorded(folder), _all_releases(world, folder)
    out = folder / "out.csv"
    written = out.read_bytes() if out.exists() else None
    is_made = written is not None or (first is not None and first.result is not None)
    if is_made and {name: charges(folder / name) for name in world.books} != whole.charges:
        wrong.append("there is a result, and not all of it is charged")
    second = live(world, disk, folder)
    ended = _ended(second, out)
    if second.error is not None and not ended:
        return [*wrong, f"is not resumed: {type(second.error).__name__}: {second.error}"]
    if ended and second.wire.sent:
        wrong.append("an owner is asked although the run has ended")
    lives = [second] if first is None else [first, second]
    wrong += _exchanges(whole, lives, kept)
    wrong += _ledgers(whole, folder, before)
    wrong += world.wrong(folder, [one for life in lives for one in life.wire.answers])
    wrong += _result(world, disk, folder, lives, written)
    if recorded(folder):
        wrong.append("answers are kept after the end of the run")
    return wrong


def left_by(world: World, folder: Path) -> tuple[object, ...]:
    """Return what a process left in its folder, but for what is random."""
    books = {
        name: (
            charges(folder / name),
            sorted(releases(folder / name)),
            len(rows_of(folder / name, "SELECT 1 FROM chain")),
        )
        for name in world.books
    }
    answers = sorted(recorded(folder))
    # Of a transaction that was not committed; it is undone by who reads the file first, as above.
    names = [path.name for path in folder.iterdir() if not path.name.endswith("-journal")]
    return books, answers, sorted(re.sub(r"\b[0-9a-f]{16}\b", "", name) for name in names)


def _ended(life: Life, out: Path) -> bool:
    return life.error is not None and f"has ended, its result was saved as {out}" in str(life.error)


def _all_releases(world: World, folder: Path) -> dict[tuple[str, str], bytes]:
    return {
        (name, key): value for name in world.books for key, value in releases(folder / name).items()
    }


def _told(life: Life, folder: Path) -> Iterator[str]:
    """Return what an error lacks."""
    if life.error is None:
        return
    text = str(life.error)
    if not isinstance(life.error, DpsummError):
        yield f"a bare {type(life.error).__name__}: {text}"
        return
    told = {
        # Or the party, if it was lost.
        "the file": re.search(f"{folder}|was not reached|did not answer|failed: ", text),
        "what became of the budget": re.search("charged|nothing was released|stays spent", text),
        "how to go on": f"run={RUN!r}" in text or "same name" in text or "not made" in text,
    }
    for what, found in told.items():
        if not found:
            yield f"the error does not tell {what}: {text}"


def _files(life: Life, folder: Path) -> Iterator[str]:
    """Return parts of files that are left, as only a process that ended may leave them."""
    parts = [path.name for path in folder.iterdir() if ".part" in path.name]
    tried = any("unlink" in act.what and ".part" in act.what for act in life.acts)
    if parts and life.error is not None and not (tried or life.wire.died):
        yield f"a part of a file is left: {parts}"


def _collected(acts: Sequence[Act]) -> Counter:
    return Counter(
        answer.what.removeprefix("of ")
        for answer, keeping, after in zip(acts, acts[1:], acts[2:], strict=False)
        if answer.kind == "answer"
        and keeping.what.startswith("INSERT OR REPLACE INTO answers")
        and not after.what.endswith(".lock")  # removed whatever ends the run, and so no sign
    )


def _exchanges(whole: Whole, lives: Sequence[Life], kept: dict) -> Iterator[str]:
    wires = [life.wire for life in lives]
    seen: dict[tuple[str, int], bytes] = {}
    for name, number, digest in chain(*(wire.sent for wire in wires)):
        if seen.setdefault((name, number), digest) != digest:
            yield f"message {number} to {name} is sent twice, with other bytes"
    seen = {}
    for name, number, digest in chain(*(wire.answers for wire in wires)):
        if seen.setdefault((name, number), digest) != digest:
            yield f"answer {number} of {name} is given twice, with other bytes"
    for wire in wires:
        for step, found in wire.charged.items():
            wanted = whole.life.wire.charged.get(step)
            if wanted is None:
                yield f"message {step} is not one of an undisturbed run"
            elif Counter(wanted) - Counter(found):
                yield f"message {step} was sent and is not charged"
    # By the journal, or by what followed: an act after the one that kept it.
    had = Counter(owner for _, owner in kept)
    for life in lives[:-1]:
        had |= _collected(life.acts)
    for name, count in Counter(name for name, _, _ in wires[-1].sent).items():
        # A party gets its messages in order: those whose answers are kept are its first.
        if count > sum(who == name for who, _, _ in whole.life.wire.sent) - had[name]:
            yield f"{name} is asked again for what was collected"


def _ledgers(whole: Whole, folder: Path, before: dict) -> Iterator[str]:
    for name in whole.world.books:
        book = folder / name
        if charges(book) != whole.charges[name]:
            yield f"{name}: the charges are not those of an undisturbed run"
        if rows_of(book, "PRAGMA integrity_check") != [("ok",)]:
            yield f"{name} is damaged"
    after = _all_releases(whole.world, folder)
    for key, value in before.items():
        if after.get(key) != value:
            yield f"release {key} changed"


def _result(
    world: World, disk: Disk, folder: Path, lives: Sequence[Life], written: bytes | None
) -> Iterator[str]:
    """Compare with an undisturbed run that begins with the releases of this one."""
    replayed = folder / "replay"
    replayed.mkdir()
    for name in (*world.books, *world.logs):
        for path in folder.glob(f"{name}*"):
            if ".answers" not in path.name:
                copy = shutil.copytree if path.is_dir() else shutil.copy
                copy(path, replayed / path.name)
    replay = live(world, disk, replayed, replay=True)
    if replay.error is not None:
        yield f"an undisturbed run with these releases fails: {replay.error}"
        return
    for life in lives:
        if life.result is not None and life.result != replay.result:
            yield "the result is not that of an undisturbed run"
    wanted = (replayed / "out.csv").read_bytes()
    if world.result_is_drawn:
        lines = [text.count(b"\n") for text in (wanted, (folder / "out.csv").read_bytes())]
        if lines[0] != lines[1] or (written is not None and written.count(b"\n") != lines[0]):
            yield "the file of the result is not whole"
        return
    if (folder / "out.csv").read_bytes() != wanted or written not in (None, wanted):
        yield "the file of the result is not that of an undisturbed run"

"""The engine between curator and owners: what it loses, doubles, delays, cuts and mixes up."""

import heapq
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from dpsumm.errors import DpsummError
from dpsumm.exchange.across import Channel, answer_all, reason
from dpsumm.exchange.post import Clock, Post, Reply, collect
from helpers.disk import Killed
from simulator.plan import CURATOR, Fault, How

# Seconds from one to the other, and for which the curator waits.
LATENCY, TIMEOUT = 0.5, 20.0
Letter = tuple[bytes, ...]


class Down(Exception):
    """The engine cannot be reached."""


@dataclass(frozen=True)
class Sent:
    """A letter as it was given to the engine, or an answer as it left its party."""

    run: int
    owner: str
    letter: Letter
    answer: bytes = b""


class Network(Post[Letter, bytes | str], Clock):
    """Carries letters as time goes by, which is when somebody sleeps.

    Parameters
    ----------
    world
        Whose network it is.
    """

    def __init__(self, world) -> None:
        self._world = world
        self._time, self._ticket = 0.0, 0
        self._coming: list[tuple[float, int, Callable[[], None]]] = []
        self._mail: dict[str, list[Reply]] = {}
        self._owner: dict[str, str] = {}
        self._curator: dict[str, str] = {}
        self._given_up: set[str] = set()
        self.down = False

    # The curator's side: post and clock.

    def send(self, address: int, letter: Letter) -> str:
        """Take a letter."""
        faults = self._world.befalls("letter", CURATOR)
        self._world.act("letter", lambda: self._world.posted(address, letter))
        if any(fault.how is How.DOWN for fault in faults):
            self._fall()
        self._check_up()
        self._ticket += 1
        name, owner = f"letter {self._ticket}", self._world.names[address]
        self._owner[name], self._curator[name] = owner, self._world.at_work
        for delay, carried in _carried(letter[-1], faults):
            whole, run = (*letter[:-1], carried), self._world.run
            self._at(delay, partial(self._deliver, name, owner, whole, run))
        return name

    def replies(self, name: str) -> list[Reply]:
        """Return what came for a letter, and what came for earlier ones that nobody waits for."""
        self._check_up()
        owner = self._owner[name]
        strays = [n for n in self._given_up if self._owner[n] == owner and n in self._mail]
        # The wrong ones first.
        return [reply for n in (*strays, name) for reply in self._mail.pop(n, [])]

    def give_up(self) -> None:
        """Say that the present curator waits for none of its letters so far any longer."""
        mine = self._world.at_work
        self._given_up.update(name for name, whose in self._curator.items() if whose == mine)

    def now(self) -> float:
        """Return the seconds so far."""
        return self._time

    def sleep(self, seconds: float) -> None:
        """Let things happen for so many seconds."""
        for fault in self._world.befalls("sleep", CURATOR):
            if fault.how is How.JUMP:
                self._world.calendar += fault.much
                seconds += max(fault.much, 0)
            elif fault.how is How.DOWN:
                self._fall()
        self._world.act("sleep", lambda: None)
        self.pass_time(seconds)

    def pass_time(self, seconds: float) -> None:
        """Let things happen."""
        end = self._time + seconds
        while self._coming and self._coming[0][0] <= end:
            self._time, _, happen = heapq.heappop(self._coming)
            happen()
        self._time = end

    def settle(self) -> None:
        """Let everything happen that is on its way."""
        while self._coming:
            self.pass_time(self._coming[0][0] - self._time)

    # What happens on the way.

    def _at(self, delay: float, happen: Callable[[], None]) -> None:
        self._ticket += 1
        heapq.heappush(self._coming, (self._time + LATENCY + delay, self._ticket, happen))

    def _fall(self) -> None:
        self.down, self._coming, self._mail = True, [], {}

    def _check_up(self) -> None:
        if self.down:
            raise Down("the engine cannot be reached")

    def _deliver(self, name: str, owner: str, letter: Letter, run: int) -> None:
        """Let the owner answer, in a process of its own."""
        sender: int | None = self._world.names.index(owner)
        content: bytes | str
        try:
            with self._world.process(owner):
                content = self._world.act("answer", lambda: self._answer(owner, letter, run))
        except Killed:
            return
        except DpsummError as error:
            sender, content = None, reason(error)
        faults = self._world.befalls("reply", owner)
        if any(fault.how is How.FORGED for fault in faults) and sender is not None:
            sender = (sender + 1) % len(self._world.names)
        for delay, carried in _carried(content, faults):
            reply = Reply(name, sender, carried)
            self._at(delay, partial(self._arrive, reply))

    def _arrive(self, reply: Reply) -> None:
        self._mail.setdefault(reply.to, []).append(reply)

    def _answer(self, owner: str, letter: Letter, run: int) -> bytes:
        system = self._world.system
        answer = answer_all(
            system.party(self._world, owner),
            letter,
            max_bytes=2**24,
            max_records=None,
            before=partial(system.before, self._world, owner, run),
        )
        self._world.answered(Sent(run, owner, letter, answer))
        return answer


def _carried(content: bytes | str, faults: Sequence[Fault]) -> list[tuple[float, bytes | str]]:
    """Return what comes of a message, and how much later than usual."""
    copies, delay, apart = 1, 0.0, 0.0
    for fault in faults:
        if fault.how is How.LOST:
            copies = 0
        elif fault.how is How.DOUBLED:
            copies, apart = copies * 2, 0.4 * fault.much
        elif fault.how is How.LATE:
            delay += fault.much
        elif fault.how is How.CUT and isinstance(content, bytes):
            content = content[: len(content) * fault.much // 16]
        elif fault.how is How.LENGTHENED and isinstance(content, bytes):
            content += b"\0" * 8
    return [(delay + apart * i, content) for i in range(copies)]


class Line(Channel):
    """A curator's channel over the network."""

    def __init__(self, network: Network, names: Sequence[str]) -> None:
        self._network, self._names = network, tuple(names)

    def ask(self, messages: Mapping[str, Sequence[bytes]]) -> Iterator[tuple[str, bytes | str]]:
        """Send and collect; see `Channel.ask`."""
        letters = {self._names.index(name): tuple(given) for name, given in messages.items()}
        try:
            for address, content in collect(self._network, letters, TIMEOUT, self._network):
                yield self._names[address], content
        finally:
            self._network.give_up()

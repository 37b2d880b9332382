"""Letters out, replies back, until the time is up: what every engine's channel needs.

An engine brings letters and says which replies have come (`Post`). Which of them count is decided
here, once for all engines, with a clock that is an argument. So a test can carry the letters, lose,
double, delay and mix them up, in no time.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

# Seconds between two looks for replies.
POLL = 0.25

Letter_contra = TypeVar("Letter_contra", contravariant=True)
Content_co = TypeVar("Content_co", covariant=True)


class PostError(Exception):
    """One party's letter was not taken, or its reply cannot be read. The text says which."""


class Clock:
    """The machine's clock, which only goes forward."""

    def now(self) -> float:
        """Return seconds since some moment."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Return after so many seconds."""
        time.sleep(seconds)


@dataclass(frozen=True)
class Reply(Generic[Content_co]):
    """The replies of an engine to a letter."""

    to: str
    sender: int | None
    content: Content_co


class Post(ABC, Generic[Letter_contra, Content_co]):
    """Carries single letters by an engine. Its errors other than `PostError` are its own failures.
    Then the run stops and can be resumed.
    """

    @abstractmethod
    def send(self, address: int, letter: Letter_contra) -> str:
        """Take a letter and return its name, or an empty text if it was not taken."""

    @abstractmethod
    def replies(self, name: str) -> Iterable[Reply[Content_co]]:
        """Return the replies to a letter since the last look."""


def collect(
    post: Post[Letter_contra, Content_co],
    letters: Mapping[int, Letter_contra],
    timeout: float,
    clock: Clock,
) -> Iterator[tuple[int, Content_co | str]]:
    """Send each address its letter and yield (address, content) as replies come, in time.

    In place of a missing content comes a text with the reason. All letters are sent before any
    reply is looked for, because a party's letter must not depend on the fate of another's. A
    reply to another letter, from another address, or after the first one is not yielded.
    """
    end = clock.now() + timeout
    waiting: dict[str, int] = {}
    refused: dict[int, str] = {}
    down: Exception | None = None
    for address, letter in letters.items():
        try:
            name = post.send(address, letter)
        except PostError as error:
            refused[address] = str(error)
            continue
        except Exception as error:
            down = error
            continue
        if name:
            waiting[name] = address
    if down is not None:
        raise down
    yield from refused.items()
    while waiting and clock.now() < end:
        for name, address in list(waiting.items()):
            try:
                replies = list(post.replies(name))
            except PostError as error:
                del waiting[name]
                yield address, str(error)
                continue
            for reply in replies:
                if name not in waiting or reply.to != name:
                    continue
                del waiting[name]
                if reply.sender in (None, address):
                    yield address, reply.content
        if waiting:
            clock.sleep(min(POLL, max(0.0, end - clock.now())))

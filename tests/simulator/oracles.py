"""What must hold at every moment, whatever goes wrong."""

import hashlib
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path

from dpsumm.exchange.codec import kind_of

# The real one: looking is no act of a simulated process.
_CONNECT = sqlite3.connect


class Violation(AssertionError):
    """Something that must never happen has happened."""


def rows_of(path: Path, query: str) -> list[tuple]:
    """Return what a query finds in a file; nothing before the file is made."""
    if not path.exists():
        return []
    with closing(_CONNECT(path, timeout=0)) as db:
        try:
            return db.execute(query).fetchall()
        except sqlite3.OperationalError as error:
            if "no such table" in str(error):
                return []
            raise


def is_torn(path: Path) -> bool:
    """Return whether the file waits for its owner to undo half a commit."""
    return path.with_name(f"{path.name}-journal").exists()


def digest(letter: Sequence[bytes]) -> bytes:
    """Return the journal's digest of what was asked: without the schema that is expected."""
    whole = hashlib.sha256()
    for message in letter:
        if kind_of(message) == "Expect":
            continue
        whole.update(len(message).to_bytes(8, "little"))
        whole.update(message)
    return whole.digest()


class Books:
    """A ledger as it stood when it was looked at last: releases and charges stay as they are."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._released: dict[tuple[str, str], tuple] = {}
        self._charged: dict[tuple[str, str], list[tuple]] = {}

    def look(self) -> None:
        """Compare with the last look.

        Raises
        ------
        Violation
            A release has other bytes than before, is gone, or was charged again.
        """
        if is_torn(self.path):
            return
        released = {
            (run, key): rest
            for run, key, *rest in rows_of(
                self.path, "SELECT run, key, binding, released FROM releases"
            )
        }
        charged = defaultdict(list)
        for run, key, *rest in rows_of(
            self.path, "SELECT run, key, id, protected, event, count FROM charges ORDER BY id"
        ):
            charged[run, key].append(rest)
        if lost := [name for name in self._released if released.get(name) != self._released[name]]:
            raise Violation(f"{self.path.name}: releases {lost} are gone or have other bytes")
        if more := [
            name for name in self._released if charged.get(name, []) != self._charged[name]
        ]:
            raise Violation(f"{self.path.name}: charges of {more} are not what they were")
        if loose := set(charged) - set(released):
            raise Violation(f"{self.path.name}: {sorted(loose)} were charged and not released")
        self._released = released
        self._charged = {name: charged.get(name, []) for name in released}

    def has_released(self, run: str) -> bool:
        """Return whether the books hold a release of a run."""
        return any(name[0] == run for name in self._released)

    def holds(self, run: str, payload: bytes) -> bool:
        """Return whether the books hold a charged release of a run with these bytes in it."""
        return any(
            name[0] == run and self._charged[name] and payload in released[1]
            for name, released in self._released.items()
        )


class Answers:
    """What owners answered, what the curator kept of it, and what it asked after that."""

    def __init__(self) -> None:
        self._produced: dict[tuple[str, str, bytes], bytes] = {}
        self._kept: set[tuple[str, str, bytes]] = set()

    def produced(self, run: str, owner: str, letter: Sequence[bytes], answer: bytes) -> None:
        """An owner gave an answer: the same whenever it is asked the same."""
        first = self._produced.setdefault((run, owner, digest(letter)), answer)
        if first != answer:
            raise Violation(f"{owner!r} gave two answers to one question")

    def asked(self, run: str, owner: str, letter: Sequence[bytes]) -> None:
        """The curator asks: never again what it has an answer to."""
        if (run, owner, digest(letter)) in self._kept:
            raise Violation(f"{owner!r} is asked again what it has answered")

    def look(self, path: Path) -> None:
        """Compare a journal with what owners answered."""
        if is_torn(path):
            return
        for run, owner, asked, answer in rows_of(
            path, "SELECT run, owner, asked, answer FROM answers"
        ):
            if self._produced.get((run, owner, asked)) != answer:
                raise Violation(f"an answer was kept that {owner!r} did not give to that question")
            self._kept.add((run, owner, asked))


def check_once(sent: Iterable[str], found: Sequence[str]) -> None:
    """Check that every record of a result was sent, and is there once."""
    if strange := set(found) - set(sent):
        raise Violation(f"{len(strange)} records of the result were sent by no owner")
    if len(set(found)) < len(found):
        raise Violation("a record is in the result twice")

"""What owners have answered, kept across the death of the curator's process.

The ledger keeps the releases. This keeps the answers. A curator that is started again
under the same run's name makes the same requests, from the ledger, and finds their answers here.
So nothing is charged twice and no collected answer is asked for again. The end of a run is kept
in place of its answers, so it sends no request a second time.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from dpsumm.errors import InvalidDataError, InvalidParameterError
from dpsumm.exchange.saving import saving
from dpsumm.exchange.statements import digest_of

_ANSWERS = """
CREATE TABLE IF NOT EXISTS answers (
    run TEXT NOT NULL,
    step INTEGER NOT NULL,
    owner TEXT NOT NULL,
    asked BLOB NOT NULL,
    answer BLOB NOT NULL,
    PRIMARY KEY (run, step, owner)
)
"""
_ENDS = "CREATE TABLE IF NOT EXISTS ends (run TEXT PRIMARY KEY, result TEXT NOT NULL)"
_FORGET = "DELETE FROM answers WHERE run = ?"
# A lock that cannot be taken for another reason than its holder is given up after so many failures.
_FAILURES = 3


def _make(path: Path, also: int = 0) -> None:
    """Make a file that its user alone may read, before SQLite makes it as the umask says."""
    os.close(os.open(path, os.O_CREAT | os.O_RDWR | also, 0o600))


def _identity(path: Path) -> tuple[int, int, int] | None:
    """Return which file is there: an inode's number is used again, but not at the same time."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino, found.st_ctime_ns


def _remove(path: Path) -> None:
    with suppress(OSError):  # as where an open file cannot be removed
        path.unlink()


class JournalError(InvalidDataError):
    """The journal could not be read or written. Its content is kept."""


class Journal(AbstractContextManager["Journal"]):
    """Answers of one run.

    Parameters
    ----------
    path
        SQLite file, made if absent and then readable by its user alone: it holds owners' records.
        None keeps it in memory, for a run that cannot be resumed.
    """

    def __init__(self, path: str | os.PathLike[str] | None, run: str) -> None:
        self._path, self._run = None if path is None else Path(path), run
        try:
            with ExitStack() as opened:
                if self._path is not None:
                    _make(self._path)
                    opened.enter_context(closing(self._locked(self._path)))
                    # Under the lock, so that nobody removes the file of another.
                    opened.callback(_remove, self._lock_file(self._path))
                self._db = opened.enter_context(
                    closing(
                        sqlite3.connect(self._path or ":memory:", timeout=60, isolation_level=None)
                    )
                )
                self._db.execute("PRAGMA synchronous=FULL")
                # What is forgotten is overwritten, not only unlisted.
                self._db.execute("PRAGMA secure_delete=ON")
                self._db.execute(_ANSWERS)
                self._db.execute(_ENDS)
                self._db.execute("SELECT run, step, owner, asked, answer FROM answers LIMIT 1")
                query = "SELECT result FROM ends WHERE run = ?"
                self._end = self._db.execute(query, (run,)).fetchone()
                self._opened = opened.pop_all()
        except (sqlite3.Error, OSError) as error:
            raise InvalidDataError(
                f"journal: {self._path} cannot be used as a journal ({type(error).__name__}). "
                "Nothing more was charged or sent. Give a path that does not exist yet or one that "
                f"dpsumm made, or put the disk right, and run again with run={self._run!r}"
            ) from None

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    def _lock_file(self, path: Path) -> Path:
        run = hashlib.sha256(self._run.encode()).hexdigest()[:16]
        return path.with_name(f"{path.name}.{run}.lock")

    def _locked(self, path: Path) -> sqlite3.Connection:
        """Keep a second curator out, whose coins would be sent and not paid for."""
        path, failed = self._lock_file(path), 0
        while True:
            with suppress(FileExistsError):
                _make(path, os.O_EXCL)  # closing a file that is there would end this process's lock
            before = _identity(path)
            try:
                lock = self._lock(path)
            except sqlite3.Error:
                # Removed by a curator that ended, as it was opened. A file that was made since may
                # look the same, with the inode's number and within a tick of the clock.
                failed += before == _identity(path)
                if failed == _FAILURES:
                    raise
                continue
            # The same if it was removed since: then this locks nothing.
            if before is not None and before == _identity(path):
                return lock
            lock.close()

    def _lock(self, path: Path) -> sqlite3.Connection:
        lock = sqlite3.connect(path, timeout=0, isolation_level=None)
        try:
            lock.execute("BEGIN EXCLUSIVE")
        except sqlite3.Error as error:
            lock.close()
            if "locked" not in str(error):
                raise
            raise InvalidDataError(
                f"journal: a curator of run {self._run!r} is at work already ({path} is locked). "
                "Wait for its end, or stop it (flwr stop)"
            ) from None
        return lock

    def known(self, step: int, asked: Mapping[str, Sequence[bytes]]) -> dict[str, bytes]:
        """Return the answers of a step that were recorded, by owner."""
        if self._end is not None:
            raise InvalidParameterError(
                f"run: {self._run!r} has ended, its result was saved as {self._end[0]}, and its "
                "answers are not kept any longer. Nobody was asked again and nothing was charged. "
                "Use that file, or give a new run another name"
            )
        rows = self._execute(
            "SELECT owner, asked, answer FROM answers WHERE run = ? AND step = ?", (self._run, step)
        )
        answers = {}
        for owner, digest, answer in rows:
            if owner not in asked:
                continue
            if digest != _digest(asked[owner]):
                raise InvalidParameterError(
                    f"journal: run {self._run!r} was begun with other parameters, or by a version "
                    "of dpsumm that asks otherwise. Resume it with those, or give the new run "
                    "another name"
                )
            answers[owner] = bytes(answer)
        return answers

    def record(self, step: int, owner: str, asked: Sequence[bytes], answer: bytes) -> None:
        """Keep an answer that the curator has accepted. On the disk when this returns."""
        self._execute(
            "INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, ?)",
            (self._run, step, owner, _digest(asked), answer),
        )

    def forget(self) -> None:
        """Remove this run's answers. It was not begun, or the ledger has its releases."""
        self._execute(_FORGET, (self._run,))

    def forget_rounds(self, before: int) -> None:
        """Remove the answers of exchanges from the first to the one before `before`."""
        self._execute(f"{_FORGET} AND step BETWEEN 1 AND ?", (self._run, before - 1))

    @contextmanager
    def ending(self, result: str | os.PathLike[str]) -> Iterator[None]:
        """Save the result of the run inside. Then the run has ended, and its answers go.

        Its end takes the place of the answers in one transaction. A run that died before it is
        resumed with all its answers, and one that died after it sends no request.
        """
        where = Path(result).absolute()
        with saving(where, self._run if self._path else None):
            yield
        try:
            self._db.execute("BEGIN IMMEDIATE")
            self._db.execute("INSERT OR REPLACE INTO ends VALUES (?, ?)", (self._run, str(where)))
            self._db.execute(_FORGET, (self._run,))
            self._db.execute("COMMIT")
        except sqlite3.Error as error:
            with suppress(sqlite3.Error):
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
            raise self._failed(
                error,
                f"The result is saved as {where} and charged. The parties' answers may still be in "
                f"the journal. Put the cause right and run again with run={self._run!r}: they are "
                "removed, and nobody is asked for them again",
            ) from None

    def _execute(self, statement: str, values: Sequence[object]) -> list[tuple[Any, ...]]:
        try:
            return self._db.execute(statement, values).fetchall()
        except sqlite3.Error as error:
            raise self._failed(
                error,
                "What the run has released is charged in its ledger and stays so (dpsumm ledger "
                "show lists it). Put the cause right, such as a full disk, and run again with "
                f"run={self._run!r}: what was collected is kept and nothing is charged twice",
            ) from None

    def _failed(self, error: sqlite3.Error, advice: str) -> JournalError:
        return JournalError(
            f"journal: {self._path} could not be read or written ({error}). {advice}"
        )


def _digest(messages: Sequence[bytes]) -> bytes:
    return bytes.fromhex(digest_of(messages))

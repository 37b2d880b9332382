"""The file of a ledger: made on purpose, written whole or not at all, not believed if damaged.

To open books and to begin them are two acts: a path that was mistyped must not become a book
without a cap. What the file looks like: `dpsumm.privacy.book_format`.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from dpsumm.errors import InvalidDataError, InvalidParameterError
from dpsumm.privacy import book_format
from dpsumm.privacy.chain import Rows, beside

# The second: a message of SQLite that quotes a damaged schema need not be text.
_UNREADABLE = (sqlite3.Error, UnicodeDecodeError)
# Of a file that is not a ledger or is damaged; other errors of SQLite are of the disk.
_DAMAGED = ("not a database", "malformed", "no such", "has no column", "constraint", "datatype")

T = TypeVar("T")


class Book:
    """An open ledger's file."""

    def __init__(self, path: Path | None, run: str) -> None:
        self._path, self._run = path, run
        self._lock = threading.RLock()
        self._changed = False
        if path is not None and not path.exists():
            raise InvalidParameterError(
                f"ledger: there is no ledger {path}. Correct the path, or make the ledger once, "
                f"with Ledger.create (dpsumm ledger create {path})"
            )
        with self._failures():
            self.db = connect(path)
        self.chain = Rows(self.db, path)
        try:
            with self._failures():
                if path is None:
                    book_format.create(self.db)
                    self.chain.add()
                self._refuse_faults()
        except BaseException:
            self.db.close()
            raise

    @staticmethod
    def create(path: Path, caps: Iterable[tuple[str, float, float]]) -> None:
        """Make the file of a new book with caps, readable by its user alone."""
        seen = beside(path)
        if seen.exists() and not path.exists():
            raise InvalidParameterError(
                f"ledger: {seen} is left of a ledger that was at {path}: put that back, give "
                "another path, or remove this file if nothing of that ledger counts any longer"
            )
        try:
            # SQLite gives its journal the permissions of the file.
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        except FileExistsError:
            raise InvalidParameterError(
                f"ledger: {path} exists already. Open it with Ledger, or give another path. If it "
                "cannot be opened because it is empty, a process ended while it made it: remove it"
            ) from None
        except OSError as error:
            raise InvalidDataError(
                f"ledger: {path} cannot be used as a ledger ({error.strerror}). Give a path in a "
                "directory that exists and may be written to"
            ) from None
        try:
            with closing(connect(path)) as db:
                db.execute("BEGIN IMMEDIATE")
                book_format.create(db)
                db.executemany(book_format.SET_CAP, caps)
                chain = Rows(db, path)
                chain.add()
                db.execute("COMMIT")
                chain.keep_head()
        except BaseException as error:
            with suppress(OSError):  # if not even that: an empty file, of which opening it tells
                path.unlink()
            if isinstance(error, (*_UNREADABLE, OSError)):
                raise InvalidDataError(
                    f"ledger: {path} cannot be written ({error}). It was not made"
                ) from None
            raise

    def unusable(self, reason: object) -> InvalidDataError:
        """Return the error to raise when the file is not a ledger that can be read."""
        return InvalidDataError(
            f"ledger: {self._path or 'the ledger'} cannot be used as a ledger ({reason}). Give the "
            "path of one that dpsumm made, or make one with Ledger.create (dpsumm ledger create)"
        )

    def _failed(self, error: Exception, fate: str) -> InvalidDataError:
        """Return the error to raise when SQLite fails; `fate` is that of the present release."""
        if isinstance(error, UnicodeDecodeError) or any(text in str(error) for text in _DAMAGED):
            return self.unusable(error)
        if "closed database" in str(error):
            return InvalidDataError(
                f"ledger: {self._path or 'the ledger'} was closed; {fate}, open it again"
            )
        if "locked" in str(error):
            return InvalidDataError(
                f"ledger: {self._path} is in use by another run; {fate}, try again"
            )
        return InvalidDataError(
            f"ledger: {self._path} could not be read or written ({error}); {fate}. What it has "
            "recorded stays charged (dpsumm ledger show lists it). Put the cause right, such as a "
            f"full disk, and run again with run={self._run!r}: what was released is sent again and "
            "not charged twice"
        )

    @contextmanager
    def _failures(self, fate: str = "nothing more was charged or sent") -> Iterator[None]:
        try:
            yield
        except _UNREADABLE as error:
            raise self._failed(error, fate) from None

    def read(self, decode: Callable[..., T], statement: str, *values: object) -> list[T]:
        """Return the rows that a query finds, each decoded."""
        with self._failures():
            # All rows first: a query that an error leaves half read keeps its lock on the file.
            rows = self.db.execute(statement, values).fetchall()
        try:
            return [decode(*row) for row in rows]
        except ValueError as error:
            raise self.unusable(error) from None

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Write all or nothing, and keep the mark of the last entry next to the file."""
        # One connection is one transaction: threads that share a ledger take turns.
        with self._lock:
            self._changed = False
            fate, added = "this was neither charged nor sent", False
            try:
                self.db.execute("BEGIN IMMEDIATE")
                yield
                if self._changed:
                    added = True
                    self.chain.add()
                fate = "this may have been charged and was not sent"
                self.db.execute("COMMIT")
            except BaseException as error:
                with suppress(sqlite3.Error):
                    if self.db.in_transaction:
                        self.db.execute("ROLLBACK")
                if added:  # whether it is on the disk is not known
                    self.chain.forget()
                if isinstance(error, _UNREADABLE):
                    raise self._failed(error, fate) from None
                raise
            if self._changed and self._path is not None:
                try:
                    self.chain.keep_head()
                except (OSError, InvalidParameterError, *_UNREADABLE) as error:
                    raise self._failed(error, "this was charged and not sent") from None

    def begin_change(self, *, accepted: bool = False) -> None:
        """Refuse a copy that was put back, before anything is written."""
        if (fault := self.loss()) and not accepted:
            raise InvalidDataError(
                f"ledger: {self._path} may have lost what was charged ({fault}). Nothing was "
                "charged or sent. Put the latest file and its mark back. Or, if they are lost, "
                f"accept this one with Ledger.accept (dpsumm ledger accept {self._path}) and "
                "lower its caps by what was spent without it"
            )
        self._changed = True
        if accepted:
            mark = secrets.token_hex(16)
            self.db.execute("INSERT INTO marks (mark, accepted) VALUES (?, 1)", (mark,))

    def loss(self) -> str | None:
        """Return how one sees that entries may be missing, as of a copy that was put back."""
        self._refuse_faults()  # since it was opened
        if (seen := self.chain.seen) is None:
            return None
        try:
            return self.chain.missing()
        except OSError as error:
            return f"{seen.name} cannot be read ({error.strerror})"

    def _refuse_faults(self) -> None:
        if fault := book_format.fault(self.db):
            raise self.unusable(fault)
        try:
            self.chain.advance()
        except ValueError as error:
            raise InvalidDataError(
                f"ledger: {self._path} was changed by something else than dpsumm ({error}). "
                "Nothing more was charged or sent. Put the latest whole file and its mark back"
            ) from None


def connect(path: Path | None) -> sqlite3.Connection:
    """Open a file that exists, or memory. Writers wait for each other, up to a minute."""
    where = ":memory:" if path is None else f"{path.resolve().as_uri()}?mode=rw"
    db = sqlite3.connect(
        where, timeout=60, isolation_level=None, check_same_thread=False, uri=path is not None
    )
    try:
        db.execute("PRAGMA synchronous=FULL")
    except BaseException:
        db.close()
        raise
    return db

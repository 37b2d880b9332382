"""What left an owner's machine and what was refused: a log that can only grow.

Every line has the digest of the line before it and a seal, the owner's signature. So a line that is
changed, removed, added or moved is noticed by whoever has the public key. What the owner's rules
count is counted from these lines: with a file that is missing, or does not hold together, nothing
is answered. Beside it lies ``<file>.seen``, by which lost last lines are noticed
(`dpsumm.privacy.seen`). That is no seal: who may write to both files can cut the last lines off and
set it back. Only a digest that was noted elsewhere shows that.

A line is on the disk before the answer that it is about exists for anybody else.
"""

from __future__ import annotations

import datetime
import hashlib
import os
import secrets
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import NamedTuple, Protocol

from dpsumm.errors import InvalidDataError, InvalidParameterError
from dpsumm.privacy.book import connect
from dpsumm.privacy.receipt import (
    AGAIN,
    ANSWERED,
    MADE,
    REFUSED,
    SEALED,
    Asked,
    IsSigned,
    Receipt,
    Sealed,
    fault,
)
from dpsumm.privacy.seen import Seen

# The view is what `Seen` reads.
_TABLES = (
    "CREATE TABLE receipts (number INTEGER PRIMARY KEY, body TEXT NOT NULL, digest TEXT NOT NULL, "
    "seal BLOB NOT NULL, salt BLOB NOT NULL)",
    "CREATE VIEW marks AS SELECT number AS rowid, digest AS mark FROM receipts",
)
_SALT_BYTES = 16


class Signer(Protocol):
    """Signs with the key that stays with the owner."""

    def sign(self, data: bytes) -> bytes:
        """Return the signature."""


class _Row(NamedTuple):
    """A line as the file has it: the body, and what lies beside it."""

    line: Receipt
    seal: bytes
    digest: str
    salt: bytes

    @property
    def whole(self) -> bool:
        return (self.digest, _digest(self.salt)) == (self.line.digest, self.line.salt)


@dataclass(frozen=True)
class Sent:
    """Records that have been counted: of all runs, of a consumer's runs, and of one of these."""

    ever: int
    consumer: int
    run: int


class Receipts(AbstractContextManager["Receipts"]):
    """An owner's log.

    Parameters
    ----------
    path
        SQLite file that `create` made.
    signer, is_signed
        Of the owner's key. No signer: the log is only read.

    Raises
    ------
    InvalidParameterError
        There is no file.
    InvalidDataError
        It cannot be read. Whether it holds together is looked at before every line that is added,
        and by `fault`.
    """

    def __init__(
        self, path: str | os.PathLike[str], signer: Signer | None, is_signed: IsSigned
    ) -> None:
        self.path = Path(path)
        self._signer, self._is_signed = signer, is_signed
        self._seen = Seen(self.path)
        if not self.path.is_file():
            raise InvalidParameterError(
                f"receipts: there is no file {self.path}; correct the path, or make it once with "
                "dpsumm node create"
            )
        with self._failures():
            self._db = connect(self.path)

    @classmethod
    def create(cls, path: str | os.PathLike[str], signer: Signer, is_signed: IsSigned) -> Receipts:
        """Make the file of a new log, readable by its user alone, and open it.

        Raises
        ------
        InvalidParameterError
            Something is at `path`, or a log was there before, or nothing can be written there.
        InvalidDataError
            The disk failed; nothing is left at `path` or beside it.
        """
        path = Path(path)
        if Seen(path).path.exists():
            raise InvalidParameterError(
                f"receipts: {Seen(path).path} is left of a log that was at {path}, and what it "
                "counted would be forgotten; put that back, or give another path"
            )
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        except OSError as error:
            raise InvalidParameterError(
                f"receipts: {path} cannot be made ({error.strerror}); give a path where nothing "
                "is yet, in a directory that may be written to"
            ) from None
        made = None
        try:
            made = cls(path, signer, is_signed)
            with made._writing() as write:
                for statement in _TABLES:
                    made._db.execute(statement)
                write([], Asked(), MADE)
        except BaseException:
            if made is not None:
                made.close()
            path.unlink()
            Seen(path).path.unlink(missing_ok=True)  # there was none
            raise
        return made

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def __exit__(self, *_: object) -> None:
        self.close()

    def lines(self) -> list[Sealed]:
        """Return all lines with their seals, oldest first.

        Raises
        ------
        InvalidDataError
            The file cannot be read.
        """
        return [(row.line, row.seal) for row in self._rows()]

    def fault(self) -> str | None:
        """Return what is wrong with the log, looking at every seal; None if it holds together."""
        return self._fault(self._rows())

    def check(self) -> None:
        """Refuse a log that does not hold together, before anything else is done.

        Looks at every seal. What adds a line looks at the last one alone, which covers all that is
        counted.

        Raises
        ------
        InvalidDataError
            It cannot be read, or does not hold together.
        """
        if wrong := self.fault():
            raise self._unusable(wrong)

    def refused(self, asked: Asked, why: str, outcome: str = REFUSED) -> None:
        """Add a request that was refused, or that failed.

        Raises
        ------
        InvalidDataError
            The log cannot be written, or does not hold together.
        """
        with self._writing() as write:
            write(self._checked(), asked, outcome, why=why)

    def send(
        self, asked: Asked, answer: bytes, records: int, refusal: Callable[[Sent], str | None]
    ) -> str | None:
        """Add an answer before it is sent; or its refusal, if it carries too many records.

        An answer that was sent before in a run, byte by byte, to the same consumer for the same
        purpose, is not counted again: nothing new leaves. Any other is, whatever the run's name.

        Parameters
        ----------
        asked
            The request.
        answer, records
            Its bytes, and how many records it carries.
        refusal
            Told what would be counted with it; returns why that is too much, or None.

        Returns
        -------
        Why it must not be sent, or None.

        Raises
        ------
        InvalidDataError
            The log cannot be written, or does not hold together: nothing may be sent.
        """
        with self._writing() as write:
            rows = self._checked()
            again = any(
                row.line.left
                and (row.line.consumer, row.line.key, row.line.run, row.line.purpose)
                == (asked.consumer, asked.key, asked.run, asked.purpose)
                and row.line.answer == _digest(row.salt, answer)
                for row in rows
            )
            counted = 0 if again else records
            if counted and (why := refusal(_sent(rows, asked, counted))):
                write(rows, asked, REFUSED, why=why)
                return why
            write(rows, asked, AGAIN if again else ANSWERED, answer, records, counted)
        return None

    def _rows(self) -> list[_Row]:
        with self._failures():
            rows = self._db.execute(
                "SELECT body, seal, digest, salt FROM receipts ORDER BY number"
            ).fetchall()
            try:
                return [
                    _Row(Receipt.parse(body), bytes(seal), str(digest), bytes(salt))
                    for body, seal, digest, salt in rows
                ]
            except (ValueError, TypeError):
                raise self._unusable("a line cannot be read") from None

    def _checked(self) -> list[_Row]:
        rows = self._rows()
        if wrong := self._fault(rows, last_only=True):
            raise self._unusable(wrong)
        return rows

    def _fault(self, rows: list[_Row], *, last_only: bool = False) -> str | None:
        lines = ((row.line, row.seal) for row in rows)
        if wrong := fault(lines, self._is_signed, last_only=last_only):
            return wrong
        for number, row in enumerate(rows, 1):
            if not row.whole:
                return f"the digest or the salt beside line {number} was changed"
        with self._failures():
            return self._seen.missing_from(self._db)

    @contextmanager
    def _writing(self) -> Iterator[Callable[..., None]]:
        """Give a function that adds a line; all of it is on the disk afterwards, or nothing."""
        with self._failures():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._add
                self._db.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    self._db.execute("ROLLBACK")
                raise
            try:
                self._seen.catch_up(self._db)
            except InvalidParameterError as error:  # the mark cannot be written
                raise self._unusable(str(error)) from None

    def _add(
        self,
        rows: list[_Row],
        asked: Asked,
        outcome: str,
        answer: bytes | None = None,
        records: int = 0,
        counted: int = 0,
        *,
        why: str = "",
    ) -> None:
        if self._signer is None:
            raise InvalidParameterError("receipts: opened without a key, for reading alone")
        salt = secrets.token_bytes(_SALT_BYTES)
        line = Receipt(
            **{field.name: getattr(asked, field.name) for field in fields(Asked)},
            number=len(rows) + 1,
            at=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            outcome=outcome,
            why=why,
            records=records,
            counted=counted,
            answer="" if answer is None else _digest(salt, answer),
            salt=_digest(salt),
            before=rows[-1].line.digest if rows else "",
        )
        seal = self._signer.sign(SEALED + line.body)
        self._db.execute(
            "INSERT INTO receipts VALUES (?, ?, ?, ?, ?)",
            (line.number, line.body.decode(), line.digest, seal, salt),
        )

    @contextmanager
    def _failures(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError, UnicodeDecodeError) as error:
            raise self._unusable(str(error)) from None

    def _unusable(self, why: str) -> InvalidDataError:
        return InvalidDataError(
            f"receipts: {self.path} cannot be used ({why}); nothing was sent. Put back the latest "
            "file and the .seen beside it; dpsumm node log shows what it holds"
        )


def _digest(salt: bytes, answer: bytes = b"") -> str:
    return hashlib.sha256(salt + answer).hexdigest()


def _sent(rows: Iterable[_Row], asked: Asked, more: int) -> Sent:
    ever = consumer = run = more
    for line in (row.line for row in rows):
        ever += line.counted
        if line.is_of(asked.consumer, asked.key):
            consumer += line.counted
            run += line.counted if line.run == asked.run else 0
    return Sent(ever, consumer, run)

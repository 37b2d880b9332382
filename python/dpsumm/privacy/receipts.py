"""A log of an owner's answers and refusals, which can only grow.

Every line has the digest of the line before it and a seal, the owner's signature. So a line that is
changed, removed, added or moved is noticed with the public key. The owner's rules count from these
lines. If the file is missing, or does not hold together, nothing is answered. Lost last lines are
noticed by the file ``<file>.seen`` next to it (`dpsumm.privacy.chain`). That is no seal, because
anyone who may write to both files can cut the last lines off and set it back. Only a digest that
was noted elsewhere shows that.

Requests that are refused do not fill the disk. The first `NOTED` of a consumer, or of all strangers
together, have a line each. Of the next, one in two has one on average, then one in four, and so on.

A line is on the disk before the answer that it is about exists for anybody else.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from dpsumm.errors import InvalidDataError, InvalidParameterError
from dpsumm.privacy.book import connect
from dpsumm.privacy.chain import Chain, beside, digest_of, now
from dpsumm.privacy.receipt import (
    AGAIN,
    ANSWERED,
    FAILED,
    MADE,
    REFUSED,
    SEALED,
    Asked,
    IsSigned,
    Receipt,
    Sealed,
    check_seal,
)

_TABLE = (
    "CREATE TABLE receipts (number INTEGER PRIMARY KEY, body TEXT NOT NULL, digest TEXT NOT NULL, "
    "seal BLOB NOT NULL, salt BLOB NOT NULL)"
)
_SALT_BYTES = 16
#: So many refusals of one consumer have a line each; of so many more every second one, and so on.
NOTED = 32
# Why a request is refused that was answered already.
USED = "this signature was used before; sign the request again"


class Signer(Protocol):
    """Signs with the key that stays with the owner."""

    def sign(self, data: bytes) -> bytes:
        """Return the signature."""


class _Row(NamedTuple):
    """A line, its seal, and the salt of its answer."""

    line: Receipt
    seal: bytes
    salt: bytes


class _Log(Chain):
    """The lines that were found whole, with what is counted from them."""

    table = "receipts"

    def __init__(self, db: sqlite3.Connection, path: Path, is_signed: IsSigned) -> None:
        self._is_signed = is_signed
        super().__init__(db, path)

    def forget(self) -> None:
        super().forget()
        self.rows: list[_Row] = []
        self.refusals: Counter[tuple[str, str]] = Counter()

    def check(self, body: str, *beside: Any) -> None:
        line, (seal, salt) = Receipt.parse(body), beside
        if line.body.decode() != body or digest_of(salt) != line.salt:
            raise ValueError(f"the body or the salt of line {line.number} was changed")
        check_seal(line, seal, self._is_signed)
        self.keep(_Row(line, seal, salt))

    def check_end(self) -> None:
        # The view is of older files.
        query = "SELECT type, name FROM sqlite_master"
        if not set(self.db.execute(query).fetchall()) <= {("table", "receipts"), ("view", "marks")}:
            raise ValueError("something was added that is no line")

    def keep(self, row: _Row) -> None:
        self.rows.append(row)
        if row.line.outcome in (REFUSED, FAILED):
            self.refusals[row.line.consumer, row.line.key] += 1

    def resume(self, known: _Log, same: Callable[[], bool]) -> None:
        """Take over what another connection of this process found, if the file is still the same.

        And if the owner's key is, which one seal tells.
        """
        (version,) = self.db.execute("PRAGMA data_version").fetchone()
        last = known.rows[-1]
        if same() and self._is_signed(SEALED + last.line.body, last.seal):
            self.head, self._version, self._digests = known.head, version, known._digests
            self.rows, self.refusals = known.rows, known.refusals

    @property
    def current(self) -> bool:
        """Whether all that is in the file was found whole."""
        version = self.db.execute("PRAGMA data_version").fetchone()
        return bool(self.head.number) and version == (self._version,)

    def may_note(self, asked: Asked) -> bool:
        """Return whether a refusal gets a line: the rarer, the more there are of that consumer."""
        doubled = self.refusals[asked.consumer, asked.key] // NOTED
        return secrets.randbelow(2**doubled) == 0


# Logs that this process found whole, by path: while the file is as it was left, what was looked at
# is not looked at again. A request costs the same however many came before it.
_WHOLE: dict[Path, tuple[object, _Log]] = {}


@dataclass(frozen=True)
class Sent:
    """Records that have been counted: of all runs, of a consumer's runs, and of one of these."""

    ever: int
    consumer: int
    run: int


class Receipts(AbstractContextManager["Receipts"]):
    """An owner's log."""

    def __init__(
        self, path: str | os.PathLike[str], signer: Signer | None, is_signed: IsSigned
    ) -> None:
        self.path = Path(path)
        self._signer, self._is_signed = signer, is_signed
        if not self.path.is_file():
            raise InvalidParameterError(
                f"receipts: there is no file {self.path}. Correct the path, or make it once with "
                "dpsumm node create"
            )
        with self._failures():
            self._db = connect(self.path)
        self._log = _Log(self._db, self.path, is_signed)
        with suppress(sqlite3.Error, OSError):
            stamp, known = _WHOLE.pop(self.path.resolve(), (None, None))
            if known is not None:
                self._log.resume(known, lambda: stamp == self._stamp())

    @classmethod
    def create(cls, path: str | os.PathLike[str], signer: Signer, is_signed: IsSigned) -> Receipts:
        """Make the file of a new log, readable by its user alone, and open it."""
        path = Path(path)
        if (seen := beside(path)).exists():
            raise InvalidParameterError(
                f"receipts: {seen} is left of a log that was at {path}, and what it "
                "counted would be forgotten. Put that back, or give another path"
            )
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        except OSError as error:
            raise InvalidParameterError(
                f"receipts: {path} cannot be made ({error.strerror}). Give a path where nothing "
                "is yet, in a directory that may be written to"
            ) from None
        made = None
        try:
            made = cls(path, signer, is_signed)
            with made._writing() as write:
                made._db.execute(_TABLE)
                write(Asked(), MADE)
        except BaseException:
            if made is not None:
                made.close()
            path.unlink()
            seen.unlink(missing_ok=True)  # there was none
            raise
        return made

    def close(self) -> None:
        """Close the file."""
        with suppress(sqlite3.Error, OSError):
            stamp = self._stamp()
            if self._log.current:
                _WHOLE[self.path.resolve()] = stamp, self._log
        self._db.close()

    def _stamp(self) -> object:
        """Return what differs once the file was written to: SQLite's counter among it."""
        with self.path.open("rb") as file:
            about = os.fstat(file.fileno())
            return file.read(28)[24:], about.st_ino, about.st_ctime_ns, about.st_size

    def __exit__(self, *_: object) -> None:
        self.close()

    def lines(self) -> list[Sealed]:
        """Return all lines with their seals, oldest first."""
        with self._failures():
            rows = self._db.execute("SELECT body, seal FROM receipts ORDER BY number").fetchall()
            try:
                return [(Receipt.parse(body), bytes(seal)) for body, seal in rows]
            except (ValueError, TypeError):
                raise self._unusable("a line cannot be read") from None

    def fault(self) -> str | None:
        """Return the first fault of the log, or None if it and all its seals are whole."""
        self._log.forget()
        return self._fault()

    def check(self) -> None:
        """Refuse a log that does not hold together, before anything else is done.

        Looks at every seal once in a process, and then at those of new lines.
        """
        if wrong := self._fault():
            raise self._unusable(wrong)

    def _fault(self) -> str | None:
        with self._failures():
            try:
                self._log.advance()
            except ValueError as error:
                return str(error)
            return self._log.missing()

    def refused(self, asked: Asked, why: str, outcome: str = REFUSED) -> None:
        """Add a request that was refused, or that failed, of many some."""
        with self._writing() as write:
            self.check()
            self._note(write, asked, outcome, why)

    def send(
        self,
        asked: Asked,
        answer: bytes,
        records: int,
        refusal: Callable[[Sent], str | None],
        *,
        once: bool = False,
    ) -> str | None:
        """Add an answer before it is sent, or its refusal if it carries too many records.

        An answer that was sent before in a run, byte by byte, to the same consumer for the same
        purpose, is not counted again, since nothing new leaves. Any other is, under any run's name.

        Parameters
        ----------
        answer, records
            Its bytes, and how many records it carries.
        once
            Refuse a claim that was answered before. Only this sees a request that came twice at the
            same moment.

        Returns
        -------
        Why it must not be sent, or None.
        """
        with self._writing() as write:
            self.check()
            rows = self._log.rows
            if once and any(row.line.left and row.line.claim == asked.claim for row in rows):
                self._note(write, asked, REFUSED, USED)
                return USED
            again = any(
                row.line.left
                and (row.line.consumer, row.line.key, row.line.run, row.line.purpose)
                == (asked.consumer, asked.key, asked.run, asked.purpose)
                and row.line.answer == digest_of(row.salt + answer)
                for row in rows
            )
            counted = 0 if again else records
            if counted and (why := refusal(_sent(rows, asked, counted))):
                self._note(write, asked, REFUSED, why)
                return why
            write(asked, AGAIN if again else ANSWERED, answer, records, counted)
        return None

    def _note(self, write: Callable[..., None], asked: Asked, outcome: str, why: str) -> None:
        if self._log.may_note(asked):
            write(asked, outcome, why=why)

    @contextmanager
    def _writing(self) -> Iterator[Callable[..., None]]:
        """Give a function that adds a line. All of it is on the disk afterwards, or nothing."""
        with self._failures():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._add
                self._db.execute("COMMIT")
            except BaseException:
                self._log.forget()  # what is on the disk is not known
                with suppress(sqlite3.Error):
                    self._db.execute("ROLLBACK")
                raise
            try:
                self._log.keep_head()
            except InvalidParameterError as error:  # the mark cannot be written
                raise self._unusable(str(error)) from None

    def _add(
        self,
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
            number=self._log.head.number + 1,
            at=now(),
            outcome=outcome,
            why=why,
            records=records,
            counted=counted,
            answer="" if answer is None else digest_of(salt + answer),
            salt=digest_of(salt),
            before=self._log.head.digest,
        )
        row = _Row(line, self._signer.sign(SEALED + line.body), salt)
        self._log.append(line.body.decode(), row.seal, salt)
        self._log.keep(row)

    @contextmanager
    def _failures(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError, UnicodeDecodeError) as error:
            raise self._unusable(str(error)) from None

    def _unusable(self, why: str) -> InvalidDataError:
        return InvalidDataError(
            f"receipts: {self.path} cannot be used ({why}). Nothing was sent. Put back the latest "
            "file and the .seen beside it. See its lines by dpsumm node log"
        )


def _sent(rows: Iterable[_Row], asked: Asked, more: int) -> Sent:
    ever = consumer = run = more
    for line in (row.line for row in rows):
        ever += line.counted
        if line.is_of(asked.consumer, asked.key):
            consumer += line.counted
            run += line.counted if line.run == asked.run else 0
    return Sent(ever, consumer, run)

"""One chain for a ledger and for an owner's log. Entries can only be added.

Every entry has the digest of the one before it, and its own digest stands next to it. So an entry,
or a row that it covers, which is changed, removed, added or moved is noticed when the file is
opened. The last digest, the head, is also written into a small file next to it, ``<file>.seen``. A
file without that entry has lost later ones, because it is an earlier copy, or of another file. One
whose ``.seen`` is missing was copied or moved alone, and the other may go on being spent from.

Not noticed: a chain that somebody computed anew, together with ``.seen``. Both files put back
(a snapshot of the disk), or both copied to another place and spent from there. The loss of an entry
whose process died before it wrote the head. A head that was noted elsewhere shows each of these.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from dpsumm.basics.atomic import write_text
from dpsumm.basics.documents import parse_json

# The smallest row number of SQLite; the first entry covers whatever is there.
_FIRST = -(2**63)


class Head(NamedTuple):
    """The last entry: its number, from 1 without gaps, and its digest. An empty chain has none."""

    number: int = 0
    digest: str = ""

    def then(self, body: str | bytes) -> Head:
        """Return the head after an entry; ValueError if the entry does not follow this one."""
        entry = parse_json(body)
        number = self.number + 1
        if not isinstance(entry, dict) or (entry.get("number"), entry.get("before")) != (
            number,
            self.digest,
        ):
            raise ValueError(
                f"line {number} does not follow the one before it: lines were removed or moved"
            )
        return Head(number, digest_of(body if isinstance(body, bytes) else body.encode()))


def digest_of(data: bytes) -> str:
    """Return the SHA-256 of bytes, hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def beside(path: Path) -> Path:
    """Return the path of a file's head, which is next to the file itself if `path` is a link."""
    path = path.resolve()
    return path.with_name(f"{path.name}.seen")


def now() -> str:
    """Return the date and time of the machine's clock, UTC."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


class Chain:
    """The entries of one file, and how far they were looked at.

    What was found whole is not looked at again on this connection, unless another one changed the
    file and added no entry.
    """

    #: Table with the columns ``number``, ``body`` and ``digest``.
    table = "chain"

    def __init__(self, db: sqlite3.Connection, path: Path | None) -> None:
        self.db = db
        self.seen = None if path is None else beside(path)
        #: How many entries were looked at on this connection.
        self.checked = 0
        self.forget()

    def forget(self) -> None:
        """Look at every entry again."""
        self.head, self._version = Head(), 0
        self._digests: set[str] = set()

    def check(self, body: str, *beside: Any) -> None:
        """Check an entry's content and the columns next to it. ValueError if they were changed."""
        raise NotImplementedError

    def check_end(self) -> None:
        """Look whether something stands behind the last entry; ValueError if so."""

    def advance(self) -> None:
        """Check the entries added since the last time."""
        with self._snapshot():
            (version,) = self.db.execute("PRAGMA data_version").fetchone()
            strange, self._version = version != self._version, version
            rows = self._from(self.head.number)
            if self.head.number:
                if not rows or (rows[0][0], rows[0][2]) != self.head:
                    self.forget()
                    raise ValueError("its last line was changed or removed")
                if strange and len(rows) == 1:
                    self.forget()
                    self._version = version
                    rows = self._from(0)
                else:
                    rows = rows[1:]
            try:
                for number, body, digest, *beside in rows:
                    head = self.head.then(body)
                    if not isinstance(body, str) or (number, digest) != tuple(head):
                        raise ValueError(f"line {head.number} or the digest beside it was changed")
                    self.check(body, *beside)
                    self.checked += 1
                    self.head = head
                    self._digests.add(head.digest)
                if not self.head.number:
                    raise ValueError("it has no line, not even the first")
                self.check_end()
            except (ValueError, TypeError, AttributeError, KeyError, RecursionError) as error:
                self.forget()
                known = type(error) is ValueError
                raise ValueError(str(error) if known else "a line cannot be read") from None

    @contextmanager
    def _snapshot(self) -> Iterator[None]:
        """Read one state of the file, whatever other processes write meanwhile."""
        if self.db.in_transaction:
            yield
            return
        self.db.execute("BEGIN")
        try:
            yield
        finally:
            self.db.execute("ROLLBACK")

    def _from(self, number: int) -> list[tuple[Any, ...]]:
        return self.db.execute(
            f"SELECT * FROM {self.table} WHERE number >= ? OR ? = 0 ORDER BY number",
            (number, number),
        ).fetchall()

    def append(self, body: str, *beside: object) -> None:
        """Add an entry inside the caller's transaction. After `advance` or as the first one."""
        head = self.head.then(body)
        row = (head.number, body, head.digest, *beside)
        self.db.execute(f"INSERT INTO {self.table} VALUES ({', '.join('?' * len(row))})", row)
        self.head = head
        self._digests.add(head.digest)

    def missing(self) -> str | None:
        """Return the fault if the file is not the one that was last written."""
        if self.seen is None:
            return None
        try:
            mark = self.seen.read_text(encoding="ascii", errors="replace").strip()
        except FileNotFoundError:
            return f"{self.seen.name}, which stood beside it, is missing: it was copied or moved"
        if mark in self._digests:
            return None
        return f"it lacks entries that {self.seen.name} knows of: a copy was put back"

    def keep_head(self) -> None:
        """Write the head next to the file, outside a transaction of the caller.

        Under the file's lock, so no process writes an older head over a newer one of another.
        """
        self.db.execute("BEGIN IMMEDIATE")
        try:
            query = f"SELECT digest FROM {self.table} ORDER BY number DESC LIMIT 1"
            self.write(*self.db.execute(query).fetchone())
        finally:
            self.db.execute("ROLLBACK")

    def write(self, mark: str) -> None:
        """Keep a head next to the file, on the disk when this returns."""
        if self.seen is not None:
            write_text(self.seen, f"{mark}\n")


class Rows(Chain):
    """A chain over all rows of all other tables of its file, and over what these tables are.

    An entry covers the rows that came since the entry before.
    """

    def forget(self) -> None:
        """Look at every entry again."""
        super().forget()
        self._ends: dict[str, int] = {}

    def check(self, body: str, *beside: Any) -> None:
        """Look at the rows that an entry covers; ValueError if they were changed."""
        entry = parse_json(body)
        ends = entry["ends"]
        if self._digest(ends) != entry["rows"]:
            raise ValueError(f"what entry {entry['number']} covers was changed, removed or moved")
        self._ends, self._tables = ends, entry["tables"]

    def check_end(self) -> None:
        """Look for rows and tables that no entry covers; ValueError if there are some."""
        if self._ends != self._last() or self._tables != self._schema():
            raise ValueError("rows were added or removed behind the last entry, or a table changed")

    def add(self) -> None:
        """Add an entry over the rows of the caller's transaction."""
        ends = self._last()
        number, before = self.head.number + 1, self.head.digest
        entry = {"number": number, "before": before, "at": now(), "ends": ends}
        # Heads are shown, and rows may be few bits that only one observer's charge is for: without
        # a salt, who knows all else could try them out.
        salt = secrets.token_hex(16)
        entry |= {"rows": self._digest(ends), "tables": self._schema(), "salt": salt}
        self.append(json.dumps(entry, sort_keys=True))
        self._ends, self._tables = ends, entry["tables"]

    def _last(self) -> dict[str, int]:
        query = "SELECT name FROM sqlite_master WHERE type = 'table' AND name != ? ORDER BY name"
        tables = [name for (name,) in self.db.execute(query, (self.table,)).fetchall()]
        last = {
            name: self.db.execute(f"SELECT max(rowid) FROM {_quoted(name)}").fetchone()[0]
            for name in tables
        }
        return {name: 0 if end is None else end for name, end in last.items()}

    def _schema(self) -> str:
        query = "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name"
        return digest_of(json.dumps(self.db.execute(query).fetchall()).encode())

    def _digest(self, ends: dict[str, int]) -> str:
        """Return the digest of the rows since the last entry, up to these of each table."""
        whole = hashlib.sha256()
        for name in sorted(ends):
            after = self._ends.get(name)
            if ends[name] == after:
                continue
            rows = self.db.execute(
                f"SELECT rowid, * FROM {_quoted(name)} WHERE rowid BETWEEN ? AND ? ORDER BY rowid",
                (_FIRST if after is None else after + 1, ends[name]),
            )
            for row in rows.fetchall():
                values = [{"sha256": digest_of(v)} if isinstance(v, bytes) else v for v in row]
                whole.update(json.dumps([name, *values]).encode() + b"\n")
        return whole.hexdigest()


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'

"""A mark beside the ledger, by which a copy that was put back is noticed.

Every transaction that writes to the ledger adds a random mark to it. After it the ledger's latest
mark is written into a small file beside it, ``<ledger>.seen``. A ledger that lacks the mark of that
file has lost entries: it is a copy from before, or of another ledger. One whose file of the mark is
missing was copied or moved alone, and the other one may go on being spent from.

Not noticed: the loss of an entry whose process died before it wrote the mark; both files put back
together (a snapshot of the disk), or both copied to another place and spent from there.
"""

from __future__ import annotations

import secrets
import sqlite3
from pathlib import Path

from dpsumm.atomic import write_text


class Seen:
    """The mark beside one ledger.

    Parameters
    ----------
    ledger
        Path of the ledger.
    """

    def __init__(self, ledger: Path) -> None:
        # Of the file itself: a ledger that is reached by a link has one mark, too.
        ledger = ledger.resolve()
        self.path = ledger.with_name(f"{ledger.name}.seen")

    def missing_from(self, db: sqlite3.Connection) -> str | None:
        """Return what is wrong if the ledger is not the one that was last written.

        Raises
        ------
        OSError
            The mark cannot be read.
        """
        try:
            mark = self.path.read_text(encoding="ascii", errors="replace").strip()
        except FileNotFoundError:
            if db.execute("SELECT 1 FROM marks LIMIT 1").fetchone() is None:
                return None  # never marked: it is of the version before marks
            return f"{self.path.name}, which stood beside it, is missing: it was copied or moved"
        if db.execute("SELECT 1 FROM marks WHERE mark = ?", (mark,)).fetchone() is None:
            return f"it lacks entries that {self.path.name} knows of: a copy was put back"
        return None

    def catch_up(self, db: sqlite3.Connection) -> None:
        """Write the ledger's latest mark, outside a transaction of the caller.

        Under the ledger's lock: no process writes an older mark over a newer one of another.

        Raises
        ------
        OSError, InvalidParameterError, sqlite3.Error
            The mark cannot be written, or the ledger cannot be locked or read.
        """
        db.execute("BEGIN IMMEDIATE")
        try:
            # Not by `id`, which a damaged file need not have.
            (mark,) = db.execute("SELECT mark FROM marks ORDER BY rowid DESC LIMIT 1").fetchone()
            self.write(mark)
        finally:
            db.execute("ROLLBACK")

    def write(self, mark: str) -> None:
        """Keep a mark, on the disk when this returns."""
        write_text(self.path, f"{mark}\n")


def add_mark(db: sqlite3.Connection, *, accepted: bool = False) -> None:
    """Add a fresh mark to a ledger inside the caller's transaction."""
    mark = secrets.token_hex(16)
    db.execute("INSERT INTO marks (mark, accepted) VALUES (?, ?)", (mark, int(accepted)))

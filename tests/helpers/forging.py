"""A ledger's chain computed anew, as whoever holds the machine can."""

import sqlite3
from contextlib import closing
from pathlib import Path

from dpsumm.privacy.chain import Rows


def forge(path):
    """Make a changed ledger look whole, with the mark beside it."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("DELETE FROM chain")
        chain = Rows(db, Path(path))
        chain.add()
        chain.write(chain.head.digest)

"""What a journal of answers holds."""

import sqlite3
from contextlib import closing


def answers_in(path):
    """How many answers a journal keeps, by the number of their exchange."""
    with closing(sqlite3.connect(path)) as db:
        return dict(db.execute("SELECT step, COUNT(*) FROM answers GROUP BY step").fetchall())

"""A ledger with one wrong cell: refused, or it counts as much as before. Never less."""

import math
import shutil
import sqlite3

import pytest

from dpsumm.errors import DpsummError, InvalidDataError
from dpsumm.privacy import (
    Approximate,
    BoundedRange,
    Charge,
    Gaussian,
    Ledger,
    Protected,
    Pure,
)
from dpsumm.privacy.accounting import compose
from helpers.forging import forge

SPENT = [Charge(Protected.TARGET, "a release", Pure(0.4)), Charge(Protected.OWNERS, "b", Pure(0.1))]
NEW = [Charge(Protected.TARGET, "a new one", Pure(0.4))]
COLUMNS = {
    "charges": "run protected message event count observer unit".split(),
    "releases": "run key binding released".split(),
    "runs": "run delta".split(),
    "caps": "protected epsilon delta".split(),
}
WRONG = [
    *(None, 0, -1, 1.5, 2**62, math.inf, -math.inf, "", "abc", b"abc", b"\xff\xfe"),
    *("5", "[]", "[" * 100_000, '{"kind":["Pure"]}', '{"kind":"Pure","epsilon":true}'),
    '{"epsilon":%s,"kind":"Pure"}' % ("9" * 400),
    '{"epsilon":"1","kind":"Pure"}',
    '{"epsilon":1e999,"kind":"Pure"}',
]


@pytest.fixture(scope="module")
def books(tmp_path_factory):
    """A ledger without the constraints of its schema: a damaged file obeys none."""
    path = tmp_path_factory.mktemp("ledger") / "books"
    with Ledger.create(path, run="r") as book:
        book.set_cap(Protected.TARGET, 0.7, 1e-3)
        book.release("a", SPENT, lambda: b"noisy")
    with sqlite3.connect(path) as db:
        for table in COLUMNS:
            rows = db.execute(f"SELECT * FROM {table}")
            names = ", ".join(column[0] for column in rows.description)
            marks = ", ".join("?" * len(rows.description))
            kept = rows.fetchall()
            db.execute(f"DROP TABLE {table}")
            db.execute(f"CREATE TABLE {table} ({names})")
            db.executemany(f"INSERT INTO {table} VALUES ({marks})", kept)
    db.close()
    return path


def copy(books, path):
    for end in ("", ".seen"):
        shutil.copy(f"{books}{end}", f"{path}{end}")


def spend(path, run):
    """Read everything and try to spend beyond the cap, as run `r` or as another one."""
    with Ledger(path, run=run) as book:
        book.runs()
        book.cap(Protected.TARGET)
        if run == "r":
            assert isinstance(book.release("a", SPENT, lambda: b"again"), bytes)
        book.release("b", NEW, lambda: b"above the cap")


@pytest.mark.parametrize(("table", "column"), [(t, c) for t in COLUMNS for c in COLUMNS[t]])
@pytest.mark.parametrize("chained", [False, True])
def test_a_wrong_cell_is_refused_or_counts(books, tmp_path, table, column, chained):
    path = tmp_path / "books"
    for value in WRONG:
        if chained and (table, column) == ("caps", "epsilon") and value in (1.5, 2**62):
            continue  # a larger cap cannot be told from a good one
        for run in ("r", "s"):
            copy(books, path)
            with sqlite3.connect(path) as db:
                db.execute(f"UPDATE {table} SET {column} = ?", (value,))
            db.close()
            if chained:  # what is read is looked at, too, not its chain alone
                forge(path)
            with pytest.raises(DpsummError) as caught:
                spend(path, run)
            assert "noisy" not in str(caught.value)


def test_a_charge_whose_run_is_lost_is_not_forgotten(books, tmp_path):
    path = tmp_path / "books"
    copy(books, path)
    with sqlite3.connect(path) as db:
        db.execute("DELETE FROM runs")
    db.close()
    forge(path)
    with Ledger(path, run="s") as book, pytest.raises(InvalidDataError, match="never begun"):
        book.release("b", NEW, lambda: b"above the cap")


EXTREME = [5e-324, 1e-160, 1e-20, 1e-9, 1e9, 1e160, 1.7e308]


@pytest.mark.parametrize("kind", [Gaussian, BoundedRange, Pure])
@pytest.mark.parametrize("count", [1, 7, 2**62])
def test_absurd_events_have_a_figure_that_is_true(kind, count):
    """Infinity is true; a figure too small or an exception of the arithmetic is not."""
    cheap = [(Approximate(0.0, 1e-9), 1), (Pure(0.01), 1)]
    for value in EXTREME:
        alone = compose([(kind(value), count)], 1e-5)
        beside = compose([(kind(value), count), *cheap], 1e-5)
        assert alone >= 0
        assert beside >= 0
        costly = value < 1e-3 if kind is Gaussian else value > 1e3
        assert not costly or alone > 100
        assert not costly or beside > 100

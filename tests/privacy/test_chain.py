"""The chain of a ledger and of an owner's log: an edit by SQL is noticed, and it stays cheap."""

import json
import shutil
import sqlite3
from contextlib import closing
from itertools import pairwise

import pytest

from dpsumm.errors import InvalidDataError
from dpsumm.exchange.journal import Journal
from dpsumm.privacy import Charge, Gaussian, Ledger, Protected, Pure
from dpsumm.privacy.chain import Rows
from dpsumm.privacy.receipt import Asked
from dpsumm.privacy.receipts import NOTED, Receipts
from helpers.forging import forge

SPENT = [Charge(Protected.TARGET, "m", Gaussian(4.0)), Charge(Protected.OWNERS, "n", Pure(0.1))]


class Key:
    def sign(self, data):
        return b"seal"


def is_signed(data, seal):
    return seal == b"seal"


def must_not_draw():
    raise AssertionError("drawn although it must not be")


def new_ledger(path):
    with Ledger.create(path, caps={"target": (3, 1e-4), "owners": (5, 1e-4)}, run="a") as book:
        book.hold_to("summarize", {"size": "5"})
        book.release("k", SPENT, lambda: b"x")
        book.release("l", SPENT, lambda: b"y")
        book.set_cap("target", 4, 1e-3)
    for _ in range(2):
        path.with_name(f"{path.name}.seen").write_text("another\n")
        with Ledger(path, run="b") as book:
            assert book.accept()
    with Ledger(path, run="b") as book:
        book.release("k", SPENT, lambda: b"z")


def use_ledger(path):
    with Ledger(path, run="c") as book:
        book.release("k", SPENT, must_not_draw)


def new_receipts(path):
    with Receipts.create(path, Key(), is_signed) as log:
        for number in range(3):
            log.send(Asked("clinic", str(number)), b"x", 5, lambda sent: None)
            log.refused(Asked(), "a stranger")


def use_receipts(path):
    with Receipts(path, Key(), is_signed) as log:
        log.send(Asked("clinic", "new"), b"x", 5, lambda sent: None)


KINDS = {"ledger": (new_ledger, use_ledger), "receipts": (new_receipts, use_receipts)}


def edits_of(path):
    """All rows removed, repeated, exchanged and changed in each column, of every table there is.

    Without the constraints of the tables, which a damaged file need not obey.
    """
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        tables = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE sql > ''")]
        for table in tables:
            kinds = dict(
                db.execute("SELECT name, type FROM pragma_table_info(?)", (table,)).fetchall()
            )
            rows = [row for (row,) in db.execute(f"SELECT rowid FROM {table}")]
            assert len(rows) > 1, table
            yield f"DELETE FROM {table}"
            yield f"DROP TABLE {table}"
            yield f"ALTER TABLE {table} ADD COLUMN more"
            yield f"CREATE TRIGGER t AFTER INSERT ON {table} BEGIN DELETE FROM {table}; END"
            for row in rows:
                here = f"WHERE rowid = {row}"
                yield f"DELETE FROM {table} {here}"
                new = {}
                for column, kind in kinds.items():
                    number = kind in ("REAL", "INTEGER")
                    new[column] = f"{column} * 2 + 1000" if number else f"{column} || 'x'"
                    yield f"UPDATE {table} SET {column} = {new[column]} {here}"
                    other = "TEXT" if kind == "BLOB" else "BLOB"
                    yield f"UPDATE {table} SET {column} = CAST({column} AS {other}) {here}"
                others = {c: v for c, v in new.items() if c not in ("id", "number")}
                for at in (-5, 1000):
                    yield (
                        f"INSERT INTO {table} (rowid, {', '.join(others)}) "
                        f"SELECT {at}, {', '.join(others.values())} FROM {table} {here}"
                    )
            for one, other in pairwise(rows):
                yield (
                    f"UPDATE {table} SET rowid = -1 WHERE rowid = {one};"
                    f"UPDATE {table} SET rowid = {one} WHERE rowid = {other};"
                    f"UPDATE {table} SET rowid = {other} WHERE rowid = -1"
                )


@pytest.mark.parametrize("kind", KINDS)
def test_every_edit_by_sql_is_refused_before_anything_is_drawn(tmp_path, kind):
    new, use = KINDS[kind]
    whole, path = tmp_path / "whole", tmp_path / "books"
    new(whole)
    tried = 0
    for edit in edits_of(whole):
        for end in ("", ".seen"):
            shutil.copy(f"{whole}{end}", f"{path}{end}")
        with closing(sqlite3.connect(path, isolation_level=None)) as db:
            db.execute("PRAGMA ignore_check_constraints = ON")
            db.execute("PRAGMA synchronous = OFF")
            try:
                for statement in edit.split(";") if "TRIGGER" not in edit else [edit]:
                    db.execute(statement)
            except sqlite3.IntegrityError:  # the file does not take it
                continue
        tried += 1
        try:
            use(path)
        except InvalidDataError:
            continue
        except AssertionError:
            pass
        pytest.fail(f"unnoticed: {edit}")
    assert tried > 50


def test_a_file_is_looked_at_again_if_it_was_changed_while_it_was_open(tmp_path):
    def edit(name, table):
        with closing(sqlite3.connect(tmp_path / name, isolation_level=None)) as db:
            db.execute(f"DELETE FROM {table} WHERE rowid = 2")

    new_ledger(tmp_path / "books")
    with Ledger(tmp_path / "books", run="c") as book:
        book.release("k", SPENT, lambda: b"x")
        edit("books", "charges")
        with pytest.raises(InvalidDataError):
            book.release("l", SPENT, must_not_draw)
    new_receipts(tmp_path / "log")
    with Receipts(tmp_path / "log", Key(), is_signed) as log:
        log.check()
        edit("log", "receipts")
        with pytest.raises(InvalidDataError):
            log.check()


def test_who_computes_the_chain_anew_is_not_noticed_but_by_a_head_noted_elsewhere(tmp_path):
    """The limit that the documentation states."""
    path = tmp_path / "books"
    new_ledger(path)
    with Ledger(path) as book:
        noted = book.head
    with sqlite3.connect(path) as db:
        db.execute("DELETE FROM charges")
    db.close()
    forge(path)
    with Ledger(path) as book:
        assert book.charges() == ()
        assert book.head != noted


def test_a_chain_cannot_be_taken_off(tmp_path):
    """A file that says it is of the format before the chain is refused."""
    path = tmp_path / "books"
    new_ledger(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("DROP TABLE chain")
        db.execute("PRAGMA user_version = 1")
    with pytest.raises(InvalidDataError, match="its format 1 is that of another version"):
        use_ledger(path)


def test_who_has_the_file_alone_cannot_vouch_for_a_changed_one(tmp_path):
    """The head stands in the file, too; copied among the marks it says nothing."""
    path = tmp_path / "books"
    new_ledger(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        (head,) = db.execute("SELECT digest FROM chain ORDER BY number DESC").fetchone()
        db.execute("DELETE FROM charges")
        db.execute("INSERT INTO marks (mark, accepted) VALUES (?, 0)", (head,))
        db.execute("DELETE FROM chain")
        Rows(db, None).add()
    with pytest.raises(InvalidDataError, match="a copy was put back"):
        use_ledger(path)


def test_a_run_looks_at_each_entry_once(tmp_path):
    with Ledger.create(tmp_path / "books", run="a") as book:
        for number in range(40):
            book.release(str(number), SPENT, lambda: b"x")
        # Its own entries need no look; of another process's, each is looked at once.
        assert book._book.chain.checked == 1
        with Ledger(tmp_path / "books", run="b") as other:
            assert other._book.chain.checked == 41
            for number in range(10):
                other.release(str(number), SPENT, lambda: b"x")
                book.release(f"after {number}", SPENT, lambda: b"x")
            assert other._book.chain.checked == 41 + 9
        assert book._book.chain.checked == 1 + 10


def test_a_strangers_requests_cost_the_same_however_many_came_before(tmp_path, monkeypatch):
    seals = []

    def counted(data, seal):
        seals.append(data)
        return seal == b"seal"

    Receipts.create(tmp_path / "log", Key(), counted).close()
    costs = []
    for _ in range(20 * NOTED):  # every exchange opens the log
        seals.clear()
        with Receipts(tmp_path / "log", Key(), counted) as log:
            log.check()
            log.refused(Asked(run="r"), "no consumer has signed it")
        costs.append(len(seals))
    assert max(costs) <= 1
    with Receipts(tmp_path / "log", Key(), counted) as log:
        assert log.fault() is None
        lines = len(log.lines())
        assert NOTED < lines < 9 * NOTED  # about 4.4 times as many
        # And another's are noted all the same.
        log.refused(Asked("clinic", key="k"), "why")
        assert len(log.lines()) == lines + 1
        # Another key finds what it did not seal.
    with Receipts(tmp_path / "log", Key(), lambda data, seal: False) as log:
        assert "line 1 was changed" in log.fault()


def test_a_head_confirms_no_guess_at_what_was_released(tmp_path):
    """Dossiers show heads; the rows may be a few bits that are another observer's."""
    new_ledger(tmp_path / "books")
    with closing(sqlite3.connect(tmp_path / "books")) as db:
        entries = [json.loads(body) for (body,) in db.execute("SELECT body FROM chain")]
    salts = [bytes.fromhex(entry["salt"]) for entry in entries]
    assert len(set(salts)) == len(salts) > 3
    assert {len(salt) for salt in salts} == {16}


@pytest.mark.parametrize("kept", ["", "\n", " ", "0", "half"])
@pytest.mark.parametrize(("make", "use"), [(new_ledger, use_ledger), (new_receipts, use_receipts)])
def test_a_note_that_is_empty_or_cut_vouches_for_nothing(tmp_path, make, use, kept):
    path = tmp_path / "books"
    make(path)
    seen = path.with_name("books.seen")
    whole = seen.read_text().strip()
    seen.write_text(whole[: len(whole) // 2] if kept == "half" else kept)
    with pytest.raises(InvalidDataError, match="a copy was put back"):
        use(path)


def test_what_is_committed_is_on_the_disk(tmp_path):
    """A charge that a dead machine forgets was never made. 2 is FULL."""
    new_ledger(tmp_path / "books")
    new_receipts(tmp_path / "log")
    with (
        Ledger(tmp_path / "books") as book,
        Receipts(tmp_path / "log", Key(), is_signed) as log,
        Journal(tmp_path / "answers", "r") as journal,
    ):
        for db in (book._book.db, log._db, journal._db):
            assert db.execute("PRAGMA synchronous").fetchone() == (2,)

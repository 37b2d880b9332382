"""The disk that the other tests here fail: it fails what it is told to, and no more."""

import sqlite3
from pathlib import Path

import pytest

from dpsumm.basics.atomic import write_text
from dpsumm.errors import InvalidDataError
from dpsumm.exchange.journal import Journal
from helpers.disk import Disk, Fault, Killed, from_then_on, once


@pytest.fixture
def disk():
    with Disk() as disk:
        yield disk


def test_every_statement_and_file_is_a_point(tmp_path, disk):
    with disk.process("curator"), Journal(tmp_path / "answers", "r") as journal:
        journal.record(0, "a", [b"asked"], b"answer")
    write_text(tmp_path / "text", "whole")
    whats = [(act.process, act.kind, act.what.split()[0]) for act in disk.log]
    assert whats[:5] == [
        ("curator", "file", "open"),  # its lock
        ("curator", "file", "open"),  # the file itself, its user's alone from the beginning
        ("curator", "sql", "connect"),
        ("curator", "sql", "BEGIN"),
        ("curator", "sql", "connect"),
    ]
    assert ("curator", "sql", "INSERT") in whats
    assert [what for process, _, what in whats if process == ""] == [
        *("open", "open", "fsync", "replace"),
        *("open", "fsync"),
    ]
    assert [act.number for act in disk.log] == list(range(len(disk.log)))


@pytest.mark.parametrize("fault", Fault)
def test_an_act_is_done_or_not_as_the_fault_says(tmp_path, disk, fault):
    path, done = tmp_path / "answers", fault in (Fault.LATE_ERROR, Fault.KILL_AFTER)
    killed = fault in (Fault.KILL_BEFORE, Fault.KILL_AFTER)
    disk.plan = lambda act: fault if act.what.startswith("INSERT") else None
    with (
        pytest.raises(Killed if killed else InvalidDataError),
        disk.process("curator"),
        Journal(path, "r") as journal,
    ):
        journal.record(0, "a", [b"asked"], b"answer")
    disk.plan = None
    with Journal(path, "r") as journal:
        assert journal.known(0, {"a": [b"asked"]}) == ({"a": b"answer"} if done else {})


def test_a_dead_process_does_nothing_more_and_holds_no_lock(tmp_path, disk):
    path, text = tmp_path / "books", tmp_path / "text"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE t (x)")
    db.close()

    def dies():
        with disk.process("curator"):
            db = sqlite3.connect(path, isolation_level=None)
            db.execute("BEGIN EXCLUSIVE")
            db.execute("INSERT INTO t VALUES (1)")
            try:
                write_text(text, "half")
            finally:
                db.execute("COMMIT")

    disk.begin(lambda act: Fault.KILL_BEFORE if act.what.startswith("replace") else None)
    with pytest.raises(Killed):
        dies()
    assert disk.log[-1].what.startswith("replace")
    disk.begin()
    with sqlite3.connect(path, timeout=0) as db:
        assert db.execute("SELECT count(*) FROM t").fetchone() == (0,)
    db.close()
    # Nobody tidied up after it, and nobody took the half for the whole.
    assert not text.exists()
    assert len(list(tmp_path.glob(".*.part"))) == 1


def test_a_party_that_dies_takes_nobody_with_it(disk):
    disk.plan = once(0, Fault.KILL_AFTER)
    with disk.process("curator"):
        with pytest.raises(Killed), disk.process("owner"):
            disk.act("send", "first", lambda: None)
        assert disk.act("send", "second", lambda: "done") == "done"


def test_a_disk_that_went_bad_stays_bad(tmp_path, disk):
    disk.plan = from_then_on(1, Fault.FULL, "file")
    with pytest.raises(OSError, match="No space left"):
        write_text(tmp_path / "text", "whole")
    assert disk.act("send", "a message", lambda: "sent") == "sent"
    assert not Path(tmp_path / "text").exists()

"""One curator of a run at a time, and nothing that stays of a lock."""

import os
import sqlite3
import subprocess
import sys

import pytest

from dpsumm.errors import InvalidDataError
from dpsumm.exchange.journal import Journal

# Opens and closes the journal of one run, and ends with 1 if another process has it open too.
CURATOR = """
import os, sys
from dpsumm.errors import InvalidDataError
from dpsumm.exchange.journal import Journal

path, got = sys.argv[1], 0
while got < 60:
    try:
        with Journal(path, "r"):
            os.close(os.open(path + ".alone", os.O_CREAT | os.O_EXCL))
            os.unlink(path + ".alone")
            got += 1
    except InvalidDataError as error:
        assert "at work already" in str(error), error
"""


def test_a_run_leaves_no_lock_file(tmp_path):
    path = tmp_path / "a.db"
    for i in range(5):
        with Journal(path, f"run {i}"):
            assert len(list(tmp_path.glob("*.lock"))) == 1
            with pytest.raises(InvalidDataError, match="at work already"):
                Journal(path, f"run {i}")
            with Journal(path, "another run"):
                pass
            with pytest.raises(InvalidDataError, match="at work already"):
                Journal(path, f"run {i}")
    assert os.listdir(tmp_path) == ["a.db"]


def test_the_lock_of_a_removed_file_is_none(tmp_path, monkeypatch):
    """The file that was opened may be removed by the curator that ends, and made by a third."""
    path, lock, others = tmp_path / "a.db", Journal._lock, []

    def overtaken(journal, file):
        mine = lock(journal, file)
        if not others:
            file.unlink()
            others.append(lock(journal, file))
        return mine

    monkeypatch.setattr(Journal, "_lock", overtaken)
    with pytest.raises(InvalidDataError, match="at work already"):
        Journal(path, "r")
    others[0].close()
    with Journal(path, "r"):
        pass


@pytest.mark.parametrize("failures", [2, 3])
def test_a_file_that_looks_like_the_removed_one_is_tried_again(failures, tmp_path, monkeypatch):
    """One that ends may remove the file between opening and locking; a broken disk goes on."""
    lock, seen = Journal._lock, []

    def failing(journal, file):
        seen.append(file)
        if len(seen) <= failures:
            raise sqlite3.OperationalError("disk I/O error")
        return lock(journal, file)

    monkeypatch.setattr(Journal, "_lock", failing)
    if failures == 2:
        with Journal(tmp_path / "a.db", "r"):
            pass
    else:
        with pytest.raises(InvalidDataError, match="cannot be used as a journal"):
            Journal(tmp_path / "a.db", "r")
    assert len(seen) == 3


def test_processes_that_open_and_end_are_never_two_at_once(tmp_path):
    given = [sys.executable, "-c", CURATOR, str(tmp_path / "a.db")]
    at_work = [subprocess.Popen(given, stderr=subprocess.PIPE, text=True) for _ in range(3)]
    for one in at_work:
        _, said = one.communicate(timeout=120)
        assert one.returncode == 0, said
    assert os.listdir(tmp_path) == ["a.db"]

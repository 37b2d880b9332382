"""More than one process at a ledger: caps under competition, kills at any moment."""

import multiprocessing
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dpsumm.errors import BudgetExceededError
from dpsumm.privacy import Charge, Ledger, Protected, Pure
from dpsumm.privacy.accounting import compose
from helpers import releasing
from helpers.patience import PATIENCE

RELEASING = Path(releasing.__file__)


def charge(epsilon=0.1):
    return Charge(Protected.TARGET, "a test release", Pure(epsilon))


def must_not_draw():
    raise AssertionError("drawn although it must not be")


def start(*arguments):
    return subprocess.Popen([sys.executable, RELEASING, *map(str, arguments)])


def transcript_of(path):
    """Lines that are complete; a kill may cut the last one."""
    whole = path.read_text().split("\n")[:-1] if path.exists() else []
    return [tuple(line.split(" ")) for line in whole]


def assert_charged(ledger, transcript):
    """Everything that left is in the books: charged, and with the bytes that left."""
    with sqlite3.connect(ledger) as db:
        for run, key, released in transcript:
            rows = db.execute("SELECT 1 FROM charges WHERE run = ? AND key = ?", (run, key))
            assert len(rows.fetchall()) == 1
            stored = db.execute(
                "SELECT released FROM releases WHERE run = ? AND key = ?", (run, key)
            )
            assert stored.fetchone()[0].hex() == released
    db.close()


def test_processes_at_once_never_exceed_the_cap(tmp_path):
    ledger = tmp_path / "books"
    with Ledger.create(ledger, run="cap") as book:
        book.set_cap(Protected.TARGET, epsilon=0.4, delta=1.0 - 1e-9)
    runs = [start(ledger, f"run-{i}", tmp_path / f"sent {i}", 60, 0.001) for i in range(3)]
    assert [run.wait(PATIENCE) for run in runs] == [0, 0, 0]
    sent = [line for i in range(3) for line in transcript_of(tmp_path / f"sent {i}")]
    assert_charged(ledger, sent)
    with Ledger(ledger, run="last") as book:
        assert len(book.charges()) == len(sent)
        spent = [
            compose([(c.event, c.count) for c in book.charges(run=run)], 1e-5)
            for run in book.runs()
        ]
        assert sum(spent) <= 0.4
        # Not one more: the processes together used the cap up.
        assert len(sent) >= 39
        with pytest.raises(BudgetExceededError):
            book.release("one more", [charge(0.01)], must_not_draw)


def test_one_run_in_two_processes_sends_one_release_per_key(tmp_path):
    ledger = tmp_path / "books"
    Ledger.create(ledger).close()
    both = [start(ledger, "same", tmp_path / f"sent {i}", 100) for i in range(2)]
    assert [process.wait(PATIENCE) for process in both] == [0, 0]
    first, second = (transcript_of(tmp_path / f"sent {i}") for i in range(2))
    assert first == second
    with Ledger(ledger) as book:
        assert len(book.charges()) == 100


@pytest.fixture
def forks(monkeypatch):
    """Processes from a server that has the package loaded already: quick to start."""
    monkeypatch.setenv("PYTHONPATH", str(RELEASING.parents[1]), prepend=os.pathsep)
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["helpers.releasing"])
    return context


def test_killed_at_any_moment_what_left_was_charged(tmp_path, rng, forks):
    ledger, sent = tmp_path / "books", tmp_path / "sent"
    Ledger.create(ledger).close()
    kills, before = 0, 0
    # Two at a time, so that kills also hit processes that wait for the lock.
    for round_ in range(25):
        pair = [
            forks.Process(target=releasing.main, args=(ledger, f"run-{round_}-{i}", sent, 10**6))
            for i in range(2)
        ]
        for process in pair:
            process.start()
        deadline = time.monotonic() + PATIENCE
        while len(transcript_of(sent)) < before + 3 and time.monotonic() < deadline:
            time.sleep(0.002)
        time.sleep(rng.uniform(0, 0.02))
        for process in pair:
            process.kill()
            process.join(PATIENCE)
            kills += process.exitcode == -signal.SIGKILL
        lines = transcript_of(sent)
        assert len(lines) >= before + 3
        before = len(lines)
    assert kills == 50
    # Writers append to one file in whole lines; only a kill can cut one.
    lines = [line for line in transcript_of(sent) if len(line) == 3 and len(line[2]) == 32]
    assert len(lines) >= 75
    assert_charged(ledger, lines)
    # At most one charged release a kill never left: the books err on the safe side only.
    with Ledger(ledger, run="last") as book:
        assert len(lines) <= len(book.charges()) <= len(lines) + kills
        assert book.release("a", [charge()], lambda: b"still works") == b"still works"


def test_the_kill_test_would_notice_charging_after_sending(tmp_path):
    """Control: a line that nobody charged fails the check."""
    with Ledger.create(tmp_path / "books", run="r") as book:
        book.release("a", [charge()], lambda: b"x")
    assert_charged(tmp_path / "books", [("r", "a", b"x".hex())])
    for wrong in (("r", "b", b"x".hex()), ("r", "a", b"y".hex())):
        with pytest.raises((AssertionError, TypeError)):
            assert_charged(tmp_path / "books", [wrong])

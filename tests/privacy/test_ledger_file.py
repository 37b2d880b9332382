"""The file of the ledger: made on purpose, private, of a known format, and not an older copy."""

import os
import shutil
import sqlite3
import stat

import pytest

import dpsumm
from dpsumm.errors import BudgetExceededError, InvalidDataError, InvalidParameterError
from dpsumm.privacy import (
    Approximate,
    BoundedRange,
    Charge,
    Gaussian,
    Ledger,
    NonPrivate,
    Protected,
    Pure,
    Seeded,
)
from helpers import old_runs
from helpers.forging import forge


def charge(epsilon=0.1):
    return Charge(Protected.TARGET, "a test release", Pure(epsilon))


def must_not_draw():
    raise AssertionError("drawn although it must not be")


def mode(path):
    return oct(stat.S_IMODE(os.stat(path).st_mode))


@pytest.fixture
def path(tmp_path):
    with Ledger.create(tmp_path / "books.db", caps={"target": (1.0, 1e-4)}) as book:
        book.release("a", [charge()], lambda: b"x")
    return tmp_path / "books.db"


# --- made on purpose --------------------------------------------------------------------------


def test_a_path_without_a_ledger_is_refused_and_none_is_made(tmp_path):
    way_out = r"no ledger .*boooks\.db. .*Ledger\.create"
    with pytest.raises(InvalidParameterError, match=way_out):
        Ledger(tmp_path / "boooks.db")
    with pytest.raises(InvalidParameterError, match=way_out):
        dpsumm.summarize(
            old_runs.OWNERS,
            old_runs.TARGET,
            size=5,
            kernel=dpsumm.RBF(0.3),
            ledger=tmp_path / "boooks.db",
            run="r",
        )
    with pytest.raises(InvalidParameterError, match=way_out):
        old_runs.resume(tmp_path / "boooks.db", "offers")
    assert list(tmp_path.iterdir()) == []


def test_what_exists_is_not_made_anew(path, tmp_path):
    before = path.read_bytes()
    with pytest.raises(InvalidParameterError, match="exists already"):
        Ledger.create(path)
    assert path.read_bytes() == before
    # A ledger that is lost is not forgotten: its mark is still there.
    path.unlink()
    with pytest.raises(InvalidParameterError, match=r"books\.db\.seen is left"):
        Ledger.create(path)
    for bad in (tmp_path / "no" / "books.db", tmp_path):
        with pytest.raises((InvalidDataError, InvalidParameterError), match="ledger: "):
            Ledger.create(bad)


@pytest.mark.parametrize(
    "cap",
    [
        {"nobody": (1, 1e-5)},
        {"target": (0, 1e-5)},
        {"owners": (1, 1)},
        {"target": 1},
        {"target": (1,)},
        (1, 1e-5),
    ],
)
def test_a_cap_that_is_none_makes_no_file(cap, tmp_path):
    with pytest.raises(InvalidParameterError, match=r"^caps"):
        Ledger.create(tmp_path / "books.db", caps=cap)
    assert list(tmp_path.iterdir()) == []


def test_an_open_or_closed_ledger_is_told_from_a_path(path):
    book = Ledger(path)
    with pytest.raises(InvalidParameterError, match="the path of a ledger, got Ledger"):
        Ledger(book)
    book.close()
    with pytest.raises(InvalidDataError, match=r"was closed; nothing more .* open it again"):
        book.spent("target")


def test_an_empty_file_is_no_ledger(tmp_path):
    (tmp_path / "empty").touch()
    with pytest.raises(InvalidDataError, match="it is empty"):
        Ledger(tmp_path / "empty")


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_all_its_files_are_readable_by_their_user_alone(tmp_path):
    before = os.umask(0)
    try:
        seen = {}

        def draw():
            seen.update({file.name: mode(file) for file in tmp_path.iterdir()})
            return b"x"

        with Ledger.create(tmp_path / "books.db") as book:
            book.release("a", [charge()], draw)
            book.release("b", [charge()], draw)
        seen.update({file.name: mode(file) for file in tmp_path.iterdir()})
    finally:
        os.umask(before)
    assert seen == dict.fromkeys(("books.db", "books.db-journal", "books.db.seen"), "0o600")


# --- a copy that was put back -----------------------------------------------------------------


def test_a_copy_that_was_put_back_is_refused_until_it_is_accepted(path):
    shutil.copy(path, path.with_name("copy"))
    with Ledger(path, run="r") as book:
        book.release("b", [charge(0.5)], lambda: b"left")
    shutil.copy(path.with_name("copy"), path)
    with Ledger(path, run="r") as book:
        assert len(book.charges()) == 1  # it may be read
        for change in (
            lambda: book.release("b", [charge(0.5)], must_not_draw),
            lambda: book.set_cap("target", 2, 1e-4),
        ):
            with pytest.raises(InvalidDataError, match=r"a copy was put back.*ledger accept"):
                change()
        assert book.cap("target") == (1.0, 1e-4)
        assert len(book.charges()) == 1
        assert book.accept()
        assert not book.accept()  # once is enough, and a ledger that lacks nothing stays as it is
        book.release("b", [charge(0.5)], lambda: b"new")
        assert len(book.accepted()) == 1
    with Ledger(path) as book:
        book.set_cap("target", 2, 1e-4)


def test_another_ledger_is_not_put_in_its_place(path):
    """Though it has as many entries."""
    other = path.with_name("other.db")
    with Ledger.create(other) as book:
        for key in "abc":
            book.release(key, [charge()], lambda: b"x")
    shutil.copy(other, path)
    with (
        Ledger(path, run="new") as book,
        pytest.raises(InvalidDataError, match="a copy was put back"),
    ):
        book.release("new", [charge()], must_not_draw)


def test_a_ledger_copied_alone_is_refused_and_both_together_are_not_noticed(path, tmp_path):
    there = tmp_path / "there"
    there.mkdir()
    shutil.copy(path, there / "books.db")
    with (
        Ledger(there / "books.db", run="r") as book,
        pytest.raises(InvalidDataError, match=r"books\.db\.seen.* is missing"),
    ):
        book.release("b", [charge()], must_not_draw)
    # The limit that the documentation states.
    shutil.copy(f"{path}.seen", there / "books.db.seen")
    with Ledger(there / "books.db", run="r") as book:
        book.release("b", [charge()], lambda: b"x")


def test_a_link_leads_to_the_same_mark(path, tmp_path):
    (tmp_path / "link").symlink_to(path)
    for name in (tmp_path / "link", path):
        with Ledger(name, run=name.name) as book:
            book.release("b", [charge()], lambda: b"x")
    assert not (tmp_path / "link.seen").exists()


def test_a_mark_that_cannot_be_written_stops_the_release_and_a_resumed_run_sends_it(path):
    (path.parent / "books.db.seen").chmod(0o600)
    with Ledger(path, run="r") as book:
        real = book._book.chain.write
        book._book.chain.write = lambda mark: (_ for _ in ()).throw(OSError(28, "No space left"))
        with pytest.raises(InvalidDataError, match=r"books\.db.*charged and not sent.*run='r'"):
            book.release("b", [charge()], lambda: b"first")
        book._book.chain.write = real
        assert book.release("b", [charge()], must_not_draw) == b"first"
        book.release("c", [charge()], lambda: b"x")
        assert len(book.charges()) == 3


class Slow:
    """A connection whose process is held up right after it has committed."""

    def __init__(self, db, meanwhile):
        self.db, self.meanwhile = db, [meanwhile]

    def __getattr__(self, name):
        return getattr(self.db, name)

    def execute(self, statement, *values):
        found = self.db.execute(statement, *values)
        if statement == "COMMIT" and self.meanwhile:
            self.meanwhile.pop()()
        return found


def test_no_mark_is_written_over_a_newer_one_of_another_process(path):
    """Else a copy that lacks the other's entry could be put back unnoticed."""

    def other_process():
        shutil.copy(path, path.with_name("copy"))
        with Ledger(path, run="fast") as book:
            book.release("b", [charge(0.5)], lambda: b"left")

    with Ledger(path, run="slow") as book:
        book._book.db = Slow(book._book.db, other_process)
        book.release("a", [charge()], lambda: b"x")
    shutil.copy(path.with_name("copy"), path)
    with (
        Ledger(path, run="new") as book,
        pytest.raises(InvalidDataError, match="a copy was put back"),
    ):
        book.release("new", [charge()], must_not_draw)


def test_opening_and_sending_again_write_nothing(path):
    with Ledger(path, run="r") as book:
        book.release("b", [charge()], lambda: b"x")
    before = {file.name: file.read_bytes() for file in path.parent.iterdir()}
    with Ledger(path, run="r") as book:
        book.release("b", [charge()], must_not_draw)
        book.lines(), book.spent("target"), book.cap_changes()
    assert {file.name: file.read_bytes() for file in path.parent.iterdir()} == before


# --- caps and lines ---------------------------------------------------------------------------


def test_changes_of_a_cap_are_kept_with_their_dates(path):
    with Ledger(path) as book:
        book.set_cap("target", 3, 1e-3)
        book.set_cap("owners", 2, 1e-3)
        changes = book.cap_changes()
        assert [(c.protected.value, c.epsilon, c.delta) for c in changes] == [
            ("target", 1.0, 1e-4),
            ("target", 3.0, 1e-3),
            ("owners", 2.0, 1e-3),
        ]
        assert all(c.at.endswith("Z") and c.at.startswith("2") for c in changes)
        assert book.cap("target") == (3.0, 1e-3)
        book.set_cap("target", 0.05, 1e-3)  # the last one counts, not the largest
        with pytest.raises(BudgetExceededError):
            book.release("b", [charge()], must_not_draw)


def test_a_line_has_its_date_run_and_epsilon(path):
    with Ledger(path, run="second", delta=1e-6) as book:
        book.release("b", [charge(0.25)], lambda: b"x")
        first, second = book.lines()
    assert second.charge == charge(0.25)
    assert (second.run, second.delta) == ("second", 1e-6)
    assert second.epsilon == pytest.approx(0.25)
    assert first.at <= second.at
    assert len(second.at) == len("2026-01-01T00:00:00.000Z")


# --- the format -------------------------------------------------------------------------------


def test_the_names_in_the_file_are_its_own(tmp_path):
    """Golden: whoever renames a class must not change these texts."""
    events = {
        '{"kind": "gaussian", "noise_multiplier": 2.5}': Gaussian(2.5),
        '{"epsilon": 0.5, "kind": "bounded range"}': BoundedRange(0.5),
        '{"epsilon": 0.25, "kind": "pure"}': Pure(0.25),
        '{"delta": 1e-07, "epsilon": 0.5, "kind": "approximate"}': Approximate(0.5, 1e-7),
        '{"kind": "no guarantee", "reason": "a seed"}': NonPrivate("a seed"),
        '{"kind": "seeded"}': Seeded(),
    }
    path = tmp_path / "books.db"
    with Ledger.create(path, run="r") as book:
        book.release("a", [Charge(Protected.TARGET, "m", e) for e in events.values()], lambda: b"")
    with sqlite3.connect(path) as db:
        texts = [text for (text,) in db.execute("SELECT event FROM charges ORDER BY id")]
        rest = db.execute("SELECT DISTINCT protected, observer, unit FROM charges").fetchall()
        assert db.execute("PRAGMA user_version").fetchone() == (2,)
    db.close()
    assert texts == list(events)
    assert rest == [("target", "an owner", "replace one record")]


@pytest.mark.parametrize("version", [0, 1, 3, 99, -1])
def test_another_format_is_refused_not_guessed(path, version):
    with sqlite3.connect(path) as db:
        db.execute(f"PRAGMA user_version = {version}")
    db.close()
    before = path.read_bytes()
    with pytest.raises(InvalidDataError, match=f"format {version} .*another version of dpsumm"):
        Ledger(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "event",
    [
        '{"epsilon": 0.1, "kind": "shuffled"}',
        '{"epsilon": 0.1, "kind": "pure", "times": 5}',
        '{"epsilon": 0.1, "kind": "approximate"}',
    ],
)
def test_an_event_of_another_version_never_counts_as_nothing(path, event):
    with sqlite3.connect(path) as db:
        db.execute("UPDATE charges SET event = ?", (event,))
    db.close()
    forge(path)
    with Ledger(path) as book:
        for call in (book.charges, book.lines, lambda: book.spent("target")):
            with pytest.raises(InvalidDataError, match="in a charge"):
                call()
        with pytest.raises(InvalidDataError, match="in a charge"):
            book.release("b", [charge()], must_not_draw)

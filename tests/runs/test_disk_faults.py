"""A disk that fails at any statement of ledger or journal: a clear error, and the run goes on."""

import sqlite3

import pytest

from dpsumm import Auction, Offers
from dpsumm.errors import DpsummError
from dpsumm.privacy import Ledger
from helpers.silo_curator import Loopback, run

REAL = sqlite3.connect
PROTOCOLS = {"offers": Offers(n_features=64), "auction": Auction(batch=3, n_features=16)}


class Disk:
    """Fails at statement number `fails_at`, from 0; None never. `log` has what was executed."""

    def __init__(self, monkeypatch):
        self.fails_at, self.log = None, []
        disk = self

        class Connection(sqlite3.Connection):
            def execute(self, statement, *values):
                disk.log.append(statement)
                if disk.fails_at == len(disk.log) - 1:
                    raise sqlite3.OperationalError("disk I/O error")
                # Nothing is lost here that a real disk would have to hold.
                return super().execute(
                    statement.replace("synchronous=FULL", "synchronous=OFF"), *values
                )

        monkeypatch.setattr(
            sqlite3, "connect", lambda *a, **k: REAL(*a, **{**k, "factory": Connection})
        )


@pytest.mark.parametrize("kind", PROTOCOLS)
def test_a_statement_that_fails_is_told_and_the_run_is_resumed(tmp_path, monkeypatch, kind):
    disk = Disk(monkeypatch)

    def go(folder):
        return run(
            Loopback(),
            protocol=PROTOCOLS[kind],
            ledger=folder / "books.db",
            run="r",
            out=folder / "s.csv",
        )

    whole = tmp_path / "whole"
    whole.mkdir()
    Ledger.create(whole / "books.db").close()
    disk.log.clear()
    charges = go(whole).privacy.charges
    statements = list(disk.log)
    assert sum(text.startswith("BEGIN") for text in statements) >= 2
    # Each statement the first time and the last time: all of them take minutes.
    last = {text: point for point, text in enumerate(statements)}
    points = {*map(statements.index, last), *last.values()}
    for point in sorted(points):
        folder = tmp_path / str(point)
        folder.mkdir()
        Ledger.create(folder / "books.db").close()
        disk.log.clear()
        disk.fails_at = point
        with pytest.raises(DpsummError) as caught:
            go(folder)
        disk.fails_at = None
        text = str(caught.value)
        assert f"{folder / 'books.db'}" in text, (statements[point], text)
        assert "charged" in text or "summary is written" in text
        assert "run='r'" in text or "summary is written" in text
        with Ledger(folder / "books.db") as book:
            spent = book.charges()
        assert spent == charges[: len(spent)]
        go(folder)
        with Ledger(folder / "books.db") as book:
            assert book.charges() == charges
        assert (folder / "s.csv").exists()

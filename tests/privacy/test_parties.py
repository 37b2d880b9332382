"""Whose records are protected: a subsystem names its parties, and nobody else's name passes."""

import copy
import pickle
import sqlite3

import pytest

from dpsumm.errors import BudgetExceededError, InvalidDataError, InvalidParameterError
from dpsumm.privacy import Charge, Gaussian, Ledger, Protected
from helpers.forging import forge


@pytest.fixture
def records(monkeypatch):
    """A party of another subsystem, named for one test."""
    monkeypatch.setattr(Protected, "_known", dict(Protected._known))
    return Protected.named("joined records")


def test_a_party_of_a_subsystem_has_its_own_books(tmp_path, records):
    path = tmp_path / "books"
    Ledger.create(path, caps={records: (1.5, 1e-4)})
    with Ledger(path, run="r", delta=1e-5) as book:
        book.release("a", [Charge(records, "tables", Gaussian(5.0))], lambda: b"drawn")
        spent, _ = book.spent("joined records")
        assert 0.5 < spent < 1.5
        assert book.spent(Protected.TARGET)[0] == book.spent("owners")[0] == 0
        with pytest.raises(BudgetExceededError, match="spent on the joined records"):
            book.release("b", [Charge(records, "again", Gaussian(1.0))], lambda: b"")
    with Ledger(path) as book:
        assert [charge.protected for charge in book.charges()] == [records]


def test_without_the_subsystem_its_rows_are_refused_not_left_out(tmp_path, records, monkeypatch):
    path = tmp_path / "books"
    Ledger.create(path)
    with Ledger(path, run="r", delta=1e-5) as book:
        book.release("a", [Charge(records, "tables", Gaussian(5.0))], lambda: b"drawn")
    monkeypatch.setattr(Protected, "_known", {"target": Protected.TARGET})
    with Ledger(path) as book, pytest.raises(InvalidDataError):
        book.spent("target")
    # Nor is a damaged name another party's.
    monkeypatch.undo()
    with sqlite3.connect(path) as db:
        db.execute("UPDATE charges SET protected = 'targeu'")
    forge(path)
    with Ledger(path) as book, pytest.raises(InvalidDataError):
        book.spent("target")


@pytest.mark.parametrize("name", ["targets", "Target", "", None, 1, b"target"])
def test_a_name_that_nobody_gave_is_refused(name):
    with pytest.raises(InvalidParameterError, match="must be 'target' or 'owners'"):
        Protected(name)


@pytest.mark.parametrize("name", ["", "Records", "a  b", "a\n", "-a", "records2"])
def test_a_name_is_of_plain_words(name):
    with pytest.raises(InvalidParameterError, match="words of small letters"):
        Protected.named(name)


def test_a_party_is_one_value_however_it_is_reached():
    party = Protected.OWNERS
    assert Protected("owners") is Protected.named("owners") is party
    assert pickle.loads(pickle.dumps(party)) is copy.deepcopy(party) is party
    assert type(party.value) is str
    assert Protected.known()[:2] == (Protected.TARGET, party)

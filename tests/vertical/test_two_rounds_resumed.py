"""Rows in two rounds whose process dies, in one process and across machines."""

import numpy as np
import polars as pl
import pytest

from dpsumm import Column, Schema, Tables, synthesize
from dpsumm.errors import ProtocolError
from dpsumm.exchange.across import Channel, answer_all
from dpsumm.privacy import Ledger
from dpsumm.vertical.helper import Helper
from dpsumm.vertical.messages import Refine, TwoWay
from dpsumm.vertical.owner import Owner
from dpsumm.vertical.silos import SiloOwner, synthesize_silos
from dpsumm.vertical.wire import CODEC

COLUMNS = {"bank": [f"b{j}" for j in range(13)], "clinic": [f"c{j}" for j in range(12)]}
SCHEMAS = {
    name: Schema([Column(column, categories=(0, 1)) for column in columns])
    for name, columns in COLUMNS.items()
}
KEYS = {"bank": b"b" * 32, "clinic": b"c" * 32}
FAST = Tables(keep=0.0, components=1, max_steps=2)
CHARGES = ["one-way tables", "two-way tables", "two-way tables"]


def frames(seed=0):
    draws = np.random.default_rng(seed)
    return {
        name: pl.DataFrame({column: draws.integers(0, 2, 500) for column in columns})
        for name, columns in COLUMNS.items()
    }


def books_in(folder):
    folder.mkdir()
    for name in SCHEMAS:
        # Room for one run.
        Ledger.create(folder / name, caps={"records": (1.05, 1e-5)}).close()
    return {name: folder / name for name in SCHEMAS}


def charged(books):
    for path in books.values():
        with Ledger(path) as book:
            yield [charge.message.split(" (")[0] for charge in book.charges()]


def tables_of(made):
    both = {**made.tables.coarse, **{(*pair, "bins"): t for pair, t in made.tables.pairs.items()}}
    return {pair: table.tolist() for pair, table in both.items()}


def here(books, seed=0):
    return tables_of(synthesize(frames(seed), schema=SCHEMAS, protocol=FAST, ledger=books, run="r"))


@pytest.mark.parametrize("answers", [1, 2, 3, 4])
def test_a_run_that_died_in_a_round_goes_on_and_is_charged_once(tmp_path, monkeypatch, answers):
    """After so many answers with two-way tables, whatever the records of the day are."""
    books, given = books_in(tmp_path / "run"), []

    def dying(self, request, answer=Owner.answer):
        given.append(answer(self, request))
        if [type(one) for one in given].count(TwoWay) == answers:
            raise KeyboardInterrupt
        return given[-1]

    with monkeypatch.context() as patch:
        patch.setattr(Owner, "answer", dying)
        with pytest.raises(KeyboardInterrupt):
            here(books)
    made = here(books, seed=1)
    assert here(books, seed=2) == made
    assert len([pair for pair in made if len(pair) == 2]) == 25 * 24 / 2
    assert len([pair for pair in made if len(pair) == 3]) == 3 * 25
    assert list(charged(books)) == [CHARGES, CHARGES]


def test_the_first_round_of_an_earlier_life_chooses(tmp_path, monkeypatch):
    """Its coarse tables are kept before they choose; others that are opened later do not count."""
    books, asked = books_in(tmp_path / "run"), []

    def listening(self, request, answer=Owner.answer):
        if isinstance(request, Refine):
            asked.append(CODEC.encode(request))
            if len(asked) == 1:
                raise KeyboardInterrupt
        return answer(self, request)

    monkeypatch.setattr(Owner, "answer", listening)
    with pytest.raises(KeyboardInterrupt):
        here(books)
    here(books, seed=1)
    assert asked[0] == asked[1]


class Silos(Channel):
    """Every party fresh for every exchange. One answer gets lost."""

    def __init__(self, books, loses=None):
        self.books, self.loses, self.sent = books, loses, []

    def ask(self, messages):
        data = frames()
        for name, given in messages.items():
            party = Helper(KEYS) if name == "helper" else SiloOwner(
                name, data[name], SCHEMAS[name],
                ledger=self.books[name], secret=KEYS[name], alignment=b"a" * 32,
            )  # fmt: skip
            self.sent.append(answer_all(party, given, max_bytes=2**24, max_records=0))
            yield name, "gave up" if len(self.sent) - 1 == self.loses else self.sent[-1]


def across(channel, folder):
    made = synthesize_silos(channel, SCHEMAS, protocol=FAST, journal=folder / "answers", run="r")
    return tables_of(made)


def test_across_machines_every_answer_may_get_lost_once(tmp_path):
    books = books_in(tmp_path / "whole")
    whole = Silos(books)
    across(whole, tmp_path / "whole")
    assert list(charged(books)) == [CHARGES, CHARGES]
    assert len(whole.sent) == 11  # join, count, start, finish and refine, and the helper's
    for loses in range(len(whole.sent)):
        books = books_in(tmp_path / str(loses))
        first, second = Silos(books, loses), Silos(books)
        with pytest.raises(ProtocolError, match="gave up"):
            across(first, tmp_path / str(loses))
        across(second, tmp_path / str(loses))
        assert first.sent[loses] in second.sent
        assert list(charged(books)) == [CHARGES, CHARGES]

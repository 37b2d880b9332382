"""Ledgers of formats before the chain are refused, and written anew by the evidence's converter."""

import json
import math
from pathlib import Path

import pytest
from evidence.old_ledger import convert

from dpsumm.errors import InvalidDataError
from dpsumm.privacy import Ledger, Pure

FIXTURES = Path(__file__).parent.parent / "fixtures"
OLD = FIXTURES / "old_books.db"
SAYS = json.loads((FIXTURES / "old_books.json").read_text())
ADDED = "added"  # its charge is for a record that is added or removed


def test_an_old_ledger_is_refused():
    with pytest.raises(InvalidDataError, match=r"format 0 .*another version of dpsumm"):
        Ledger(OLD)


def test_a_converted_ledger_says_the_same_or_more(tmp_path):
    before, new = OLD.read_bytes(), tmp_path / "new.db"
    convert(OLD, new)
    assert OLD.read_bytes() == before
    with Ledger(new, run="next") as book:
        assert sorted(book.runs()) == sorted(SAYS["runs"])
        for run, known in SAYS["runs"].items():
            assert len(book.charges(run=run)) == known["charges"]
            assert book.delta_of(run) == known["delta"]
            for party in ("target", "owners"):
                spent = book.spent(party, run=run)
                if run == ADDED and known[party][0]:
                    assert spent[0] == math.inf
                    continue
                # Laplace noise is charged as its epsilon. The old figure covered the rounding of
                # a privacy loss distribution, up to 2e-8 of it.
                assert spent[0] >= known[party][0] * (1 - 1e-7)
                assert spent[1] == pytest.approx(known[party][1])
        for party in ("target", "owners"):
            cap = SAYS["caps"][party]
            assert book.cap(party) == (None if cap is None else tuple(cap))
        assert Pure(1 / 5) in [charge.event for charge in book.charges()]
        assert book.head

"""Books and journals that an old version wrote: they compose to the same, and runs are resumed."""

import json
import shutil
from pathlib import Path

import pytest

from dpsumm import RBF, Offers, summarize
from dpsumm.errors import InvalidParameterError
from dpsumm.privacy import Charge, Ledger, PrivacyReport, Protected, Seeded
from helpers import old_runs

FIXTURES = Path(__file__).parent.parent / "fixtures"
SAYS = json.loads((FIXTURES / "old_books.json").read_text())


@pytest.fixture
def old(tmp_path):
    for file in FIXTURES.glob("*.db*"):
        shutil.copy(file, tmp_path)
    return tmp_path


# A PLD's figure now covers the PLD's own error, which those of old did not.
ROOM = 1e-5


def assert_says(path, says):
    with Ledger(path) as book:
        assert sorted(book.runs()) == sorted(says["runs"])
        for run, known in says["runs"].items():
            assert len(book.charges(run=run)) == known["charges"]
            assert book.delta_of(run) == known["delta"]
            for party in ("target", "owners"):
                assert book.spent(party, run=run) == pytest.approx(known[party], rel=ROOM)
        for party in ("target", "owners"):
            assert book.spent(party) == pytest.approx(says["total"][party], rel=ROOM)
            cap = says["caps"][party]
            assert book.cap(party) == (None if cap is None else tuple(cap))


@pytest.mark.parametrize("name", ["old_books.db", "old_silos.db"])
def test_an_old_ledger_composes_to_the_same(old, name):
    assert_says(old / name, SAYS[name])


def test_an_old_seeded_release_is_read_as_seeded(old):
    charge = Charge(Protected.OWNERS, "a seeded release", Seeded())
    with Ledger(old / "old_silos.db", run="not private") as book:
        assert book.charges(run="not private") == (charge,)
        assert book.release("seeded", [charge], bytes) == b"released"
        assert PrivacyReport(book.charges(), 1e-5, "").seeded


def test_an_old_run_whose_requests_would_be_others_is_not_resumed_and_not_charged(old):
    with pytest.raises(InvalidParameterError, match="a version of dpsumm that asks otherwise"):
        old_runs.resume(old / "old_silos.db", "offers")
    assert_says(old / "old_silos.db", SAYS["old_silos.db"])


def test_an_old_finished_run_is_resumed_and_held_to_its_owners_from_then_on(old):
    path = old / "old_books.db"
    given = {"protocol": Offers(n_features=32, features="random"), "kernel": RBF(0.3)}
    given |= {"ledger": path, "run": "offers"}
    with Ledger(path) as book:
        assert not book.has("public settings")
    assert summarize(old_runs.OWNERS, old_runs.TARGET, size=8, **given).record.resumed
    with pytest.raises(InvalidParameterError, match=r"other parameters \(owners\)"):
        summarize({"z": old_runs.OWNERS["a"]}, old_runs.TARGET, size=8, **given)
    assert_says(path, SAYS["old_books.db"])


def test_an_old_run_is_resumed_without_a_charge(old):
    path = old / "old_silos.db"
    summary, asked = old_runs.resume(path, "auction")
    known = SAYS["resumed"]["auction"]
    assert summary.owner.tolist() == known["owner"]
    assert summary.index.tolist() == known["index"]
    # What was collected is not asked for again.
    assert [list(item) for item in asked] == known["asked"]
    assert_says(path, SAYS["old_silos.db"])

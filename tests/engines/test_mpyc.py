"""MPyC opens the integers that the dealer's pads open: `make engines`. Real processes."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from dpsumm import Column, Schema, Tables, synthesize
from dpsumm.errors import ProtocolError
from dpsumm.privacy import Ledger
from dpsumm.vertical import Mpyc
from dpsumm.vertical.mpyc import Meeting, MpycOwner
from dpsumm.vertical.mpyc_party import HELPER, LEFT, MODULUS, RIGHT
from helpers.patience import PATIENCE

pytest.importorskip("mpyc")


# No level is merged, whatever the noise is.
ALL = Tables(keep=0, bins=5)
BY_MPYC = replace(ALL, secret_product=Mpyc())


def owners(rng, names, n=300):
    """Return data and schemas of owners with two columns each."""
    data, schemas = {}, {}
    for name in names:
        data[name] = np.stack([rng.integers(0, 3, n), rng.integers(0, 5, n)], axis=1).astype(float)
        columns = [Column(f"{name}0", categories=(0, 1, 2)), Column(f"{name}1", bounds=(0, 4))]
        schemas[name] = Schema(columns)
    return data, schemas


def test_mpyc_and_dealer_open_the_same_integers_between_three_owners(rng):
    data, schemas = owners(rng, "abc")
    tables = [
        synthesize(data, schema=schemas, seed=3, protocol=protocol).tables.pairs
        for protocol in (ALL, BY_MPYC)
    ]
    assert len(tables[0]) == 15
    for pair, table in tables[0].items():
        np.testing.assert_array_equal(table, tables[1][pair])


def test_a_run_by_mpyc_is_charged_as_any_and_resumed_with_the_same_tables(rng, tmp_path):
    data, schemas = owners(rng, "ab")
    books = {name: tmp_path / name for name in data}
    for path in books.values():
        Ledger.create(path).close()
    kept = {"schema": schemas, "ledger": books, "run": "one", "protocol": BY_MPYC}
    first, again = (synthesize(data, **kept) for _ in range(2))
    for pair, table in first.tables.pairs.items():
        np.testing.assert_array_equal(table, again.tables.pairs[pair])
    spent = []
    for path in books.values():
        with Ledger(path) as book:
            assert len(book.charges()) == 2
            spent.append(book.spent("records")[0])
    assert max(spent) == pytest.approx(first.privacy.epsilon(), rel=1e-3)
    assert "no two work together" in " ".join(first.privacy.statements())
    changed = synthesize({**data, "a": data["a"][::-1].copy()}, **kept)
    np.testing.assert_array_equal(changed.tables.pairs[0, 1], first.tables.pairs[0, 1])
    with Ledger(books["a"], run="one") as book:
        assert not book.has("noise")  # it would undo the tables


def test_a_run_that_died_by_mpyc_goes_on_under_a_cap_without_more_room(rng, tmp_path, monkeypatch):
    """Its noise is charged before the tables are there: that is not asked for twice."""
    data, schemas = owners(rng, "ab")
    books = {name: tmp_path / name for name in data}
    for path in books.values():
        Ledger.create(path).close()
    given = {"schema": schemas, "ledger": books, "run": "one", "protocol": BY_MPYC}

    def died(self, request):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(MpycOwner, "_finish", died)
        with pytest.raises(KeyboardInterrupt):
            synthesize(data, **given)
    for path in books.values():
        with Ledger(path) as book:
            assert len(book.charges()) == 2
            book.set_cap("records", *book.spent("records"))
    assert synthesize(data, **given).tables.pairs


def test_large_counts_and_noise_come_out_with_their_sign():
    given = {"widths": [1, 2], "n": 3}
    noise = np.array([[-(2**59), 2**59]])
    with Meeting(60) as meeting:
        pair = ("a", "b")
        left = {"codes": np.zeros((3, 1), np.int64), "noise": noise}
        right = {"codes": np.array([[0], [1], [1]]), "noise": noise // 8}
        for side, own in ((LEFT, left), (RIGHT, right), (HELPER, {})):
            meeting.start(pair, side, given | own)
        found = [meeting.end(pair, side) for side in (LEFT, RIGHT, HELPER)]
    assert found[0].tolist() == [[1 - 2**59 - 2**56, 2 + 2**59 + 2**56]]
    assert not found[1].size
    assert not found[2].size
    assert MODULUS > 2 * (2**59 + 2**56)


def test_who_waits_in_vain_is_ended():
    with Meeting(4) as meeting:
        meeting.start(("a", "b"), HELPER, {"widths": [1, 1], "n": 1})
        with pytest.raises(ProtocolError, match="did not end in 4 seconds"):
            meeting.end(("a", "b"), HELPER)


@pytest.mark.parametrize(
    "words",
    [["-M2", "-I0", "--ssl"], ["-M3", "-I0"], ["-M3", "-I0", "-T0", "--ssl"]],
    ids=["two parties", "no TLS", "threshold 0"],
)
def test_a_party_refuses_to_meet_where_nothing_is_secret(words):
    ended = subprocess.run(
        [sys.executable, "-m", "dpsumm.vertical.mpyc_party", *words, "--no-log"],
        input=b"",
        capture_output=True,
        check=False,
        timeout=PATIENCE,
    )
    assert ended.returncode == 1
    assert b"keep no secret" in ended.stderr

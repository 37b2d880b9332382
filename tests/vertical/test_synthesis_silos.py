"""Owners and a helper elsewhere, fresh for every exchange; answers that are lost."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from dpsumm import Column, Schema, Tables, synthesize
from dpsumm.errors import (
    DpsummError,
    InvalidDataError,
    InvalidParameterError,
    ProtocolError,
)
from dpsumm.exchange.across import Channel, answer_all
from dpsumm.privacy import Ledger
from dpsumm.vertical.helper import Helper
from dpsumm.vertical.keys import read_key
from dpsumm.vertical.messages import ColumnCounts, CountColumns, Join
from dpsumm.vertical.rows import KEPT, Rows
from dpsumm.vertical.silos import SiloOwner, synthesize_silos
from dpsumm.vertical.wire import CODEC
from helpers.command_line import dpsumm

PERSON = Column("person", "ignore")
SCHEMAS = {
    "bank": Schema([PERSON, Column("income", bounds=(0, 100)), Column("owns", categories=(0, 1))]),
    "clinic": Schema([PERSON, Column("smokes", categories=(0, 1))]),
}
KEYS = {"bank": b"b" * 32, "clinic": b"c" * 32}
PARTIES = (*SCHEMAS, "helper")
# The fit is nothing here.
PROTOCOL = Tables(bins=4, keep=0.0, rows=200, components=2, max_steps=5)


def frames(n=300):
    rng = np.random.default_rng(0)
    smokes = rng.integers(0, 2, n)
    income, owns = rng.integers(0, 60, n) + 40 * smokes, rng.integers(0, 2, n)
    people = np.arange(n)
    return {
        "bank": pl.DataFrame({"person": people, "income": income, "owns": owns})[::-1],
        "clinic": pl.DataFrame({"person": people, "smokes": smokes}),
    }


class Loopback(Channel):
    """Every party fresh for every exchange, its books in a folder; a transcript."""

    def __init__(self, folder, data=None, fails=None):
        self.folder, self.data, self.fails = Path(folder), data or frames(), fails
        self.schemas, self.alignment = SCHEMAS, dict.fromkeys(SCHEMAS, b"a" * 32)
        self.asked, self.sent = [], []
        for name in SCHEMAS:
            path = self.folder / f"{name}.db"
            if not path.exists():
                Ledger.create(path, caps={"records": (99.0, 0.1)}).close()

    def party(self, name):
        if name == "helper":
            return Helper(KEYS)
        return SiloOwner(
            name,
            self.data[name],
            self.schemas[name],
            ledger=self.folder / f"{name}.db",
            secret=KEYS[name],
            alignment=self.alignment[name],
        )

    def ask(self, messages):
        for name, given in messages.items():
            self.asked.append((name, CODEC.decode(given[-1])))
            try:
                answer = answer_all(self.party(name), given, max_bytes=2**24, max_records=0)
            except DpsummError as error:
                yield name, str(error)
                continue
            self.sent.append((name, len(given), answer))
            if self.fails == len(self.sent) - 1:
                # It was computed, kept and charged, and nobody got it.
                yield name, "gave up"
                continue
            yield name, answer

    def charges(self):
        found = {}
        for name in SCHEMAS:
            with Ledger(self.folder / f"{name}.db") as book:
                found[name] = book.charges()
        return found


def go(channel, **more):
    given = {"ids": "person", "protocol": PROTOCOL, "run": "r", "epsilon": 2.0}
    journal = channel.folder / "answers"
    return synthesize_silos(channel, SCHEMAS, **given | {"journal": journal} | more)


def exact(released, data):
    """Exact counts of income's bins by whether they smoke."""
    bank = data["bank"].sort("person")
    bins = np.clip(bank["income"].to_numpy() // 25, 0, 3)
    smokes = data["clinic"]["smokes"].to_numpy()
    return np.array([[((bins == i) & (smokes == j)).sum() for j in (0, 1)] for i in range(4)])


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run without a fault, and all that was sent in it."""
    channel = Loopback(tmp_path_factory.mktemp("whole"))
    return channel, go(channel, out=channel.folder / "rows.csv", rows=50)


def test_a_budget_that_promises_nothing_is_refused_before_a_release(tmp_path):
    channel = Loopback(tmp_path)
    with pytest.raises(InvalidParameterError, match=r"epsilon 12 .*allow_weak_privacy=True"):
        go(channel, epsilon=12.0)
    assert channel.asked == []
    with pytest.raises(InvalidParameterError, match=r"delta 0\.01 is not below 1 / 300"):
        go(channel, delta=0.01)
    assert channel.charges() == {"bank": (), "clinic": ()}
    synthetic = go(channel, delta=0.01, run="s", allow_weak_privacy=True)
    assert any("Delta 0.01 is not below 1 / 300" in note for note in synthetic.notes)


def test_owners_and_coordinator_count_a_label_that_the_schema_names(tmp_path):
    owns = Column("owns", "label", categories=(0, 1))
    channel = Loopback(tmp_path)
    bank = Schema([one if one.name != "owns" else owns for one in SCHEMAS["bank"].columns])
    channel.schemas = {**SCHEMAS, "bank": bank}
    synthetic = synthesize_silos(
        channel, channel.schemas, ids="person", protocol=PROTOCOL, journal=tmp_path / "answers"
    )
    assert synthetic.label_model is not None
    assert synthetic.to_frame().columns == ["income", "owns", "smokes"]


def test_rows_come_from_afar(whole):
    channel, synthetic = whole
    rows = pl.read_csv(channel.folder / "rows.csv")
    assert rows.columns == ["income", "owns", "smokes"]
    assert len(rows) == 50
    noise = synthetic.tables.pairs[0, 2] - exact(synthetic.tables, channel.data)
    assert abs(noise).max() < 7 * synthetic.tables.plan.pair_std[1] * 2**0.5
    assert noise.any()
    assert synthetic.privacy.epsilon() <= 2
    charges = channel.charges()
    assert [len(found) for found in charges.values()] == [2, 2]
    here = synthesize(channel.data, schema=SCHEMAS, ids="person", protocol=PROTOCOL, epsilon=2.0)
    assert here.tables.plan == synthetic.tables.plan
    # Requests to each: join, count, start, next rows, finish; the helper once.
    assert [sum(name == party for name, _ in channel.asked) for party in PARTIES] == [5, 5, 1]


def test_a_dossier_says_that_ledgers_are_with_their_owners(whole):
    channel, _ = whole
    text = {}
    for given in ((), ("--ledger", "bank=bank.db", "--ledger", "clinic=clinic.db")):
        done = dpsumm("dossier", "rows.csv", *given, cwd=channel.folder)
        assert done.returncode == 0, done.stderr
        text[given] = (channel.folder / "dossier.html").read_text("utf-8")
        assert "Describe" not in text[given]  # this run opens with Join
    alone, checked = text.values()
    assert "ledgers of bank, clinic, which are not at hand" in alone
    assert "Ledgers are with the owners (bank, clinic)" in alone
    assert "nothing confirms its numbers" in alone.partition("What is guaranteed")[0]
    assert "nothing confirms its numbers" not in checked
    assert "Nothing was charged" not in alone + checked
    assert "not at hand" not in checked.partition("Audits of")[0]
    for page in text.values():
        assert "on machines of their own" in page
        # No results were given.
        assert "synthesize: a column of the first owner, towards the other" not in page
        assert "Another owner, who knows its own noise" in page
    assert checked.count("two-way tables (") == 2 > alone.count("two-way tables (")


def test_no_key_and_no_identifier_goes_through_the_coordinator(whole):
    channel, _ = whole
    everything = b"".join(answer for _, _, answer in channel.sent)
    for key in (*KEYS.values(), b"a" * 32):
        assert key not in everything
        assert key.hex().encode() not in everything


def test_an_answer_that_is_lost_is_sent_again_byte_for_byte(tmp_path, whole):
    """At each message in turn: the run stops, goes on under its name, and is charged once."""
    messages = len(whole[0].sent)
    assert messages == 11
    for point in range(messages):
        folder = tmp_path / str(point)
        folder.mkdir()
        first = Loopback(folder, fails=point)
        with pytest.raises(ProtocolError, match=r"failed. The run needs .*same name.*gave up"):
            go(first)
        second = Loopback(folder)
        synthetic = go(second)
        charges = second.charges()
        assert [len(found) for found in charges.values()] == [2, 2], point
        assert charges == whole[0].charges()
        lost = first.sent[point]
        assert lost in second.sent
        # The journal has the others: they are not asked again.
        kept = [sent for sent in first.sent if sent != lost]
        assert not set(kept) & set(second.sent)
        noise = synthetic.tables.pairs[0, 2] - exact(synthetic.tables, first.data)
        assert abs(noise).max() < 7 * synthetic.tables.plan.pair_std[1] * 2**0.5


def test_without_the_journal_everything_is_sent_again_byte_for_byte(tmp_path):
    first, second = Loopback(tmp_path), Loopback(tmp_path)
    one, other = go(first), go(second, journal=None)
    assert first.sent == second.sent
    for pair, table in one.tables.pairs.items():
        np.testing.assert_array_equal(table, other.tables.pairs[pair])
    assert [len(found) for found in second.charges().values()] == [2, 2]


def test_a_run_is_about_the_records_of_its_first_release(tmp_path, whole):
    """Whatever becomes of the data: changed, fewer or gone. The outcome is the same for everybody.

    Rows that are hidden and rows that are multiplied would otherwise differ, and the opened table
    would then show a peer, who knows its own pad, which record changed and how.
    """
    points = range(2, len(whole[0].sent))
    for point in points:
        folder = tmp_path / str(point)
        folder.mkdir()
        first = Loopback(folder, fails=point)
        with pytest.raises(ProtocolError, match="gave up"):
            go(first)
        with Ledger(folder / "bank.db", run="r") as one, Ledger(folder / "clinic.db", run="r") as b:
            released = {"bank": one.has("one-way"), "clinic": b.has("one-way")}
        changed = frames()
        if released["bank"]:
            changed["bank"] = changed["bank"].with_columns(pl.lit(7).alias("income"))
        if released["clinic"]:
            changed["clinic"] = changed["clinic"][:10]
        second = Loopback(folder, data=changed)
        synthetic = go(second)
        assert first.sent[point] in second.sent
        noise = synthetic.tables.pairs[0, 2] - exact(synthetic.tables, first.data)
        assert abs(noise).max() < 7 * synthetic.tables.plan.pair_std[1] * 2**0.5
        assert [len(found) for found in second.charges().values()] == [2, 2]


def test_an_owner_whose_rows_are_gone_does_not_go_on(tmp_path):
    go(Loopback(tmp_path))
    folder = tmp_path / "clinic.db.rows"
    (rows,) = folder.iterdir()
    assert [path.stat().st_mode & 0o777 for path in (folder, rows)] == [0o700, 0o600]
    go(Loopback(tmp_path), run="later", journal=tmp_path / "later")
    go(Loopback(tmp_path), journal=tmp_path / "without")  # runs do not disturb each other
    (other,) = set(folder.iterdir()) - {rows}
    for number, spoil in enumerate(
        (
            lambda: rows.write_bytes(other.read_bytes()),
            lambda: rows.write_bytes(b"PK"),
            lambda: rows.write_bytes(b""),
            rows.unlink,
        )
    ):
        spoil()
        with pytest.raises(ProtocolError, match="its rows are not in"):
            go(Loopback(tmp_path), journal=tmp_path / f"journal {number}")


def test_rows_of_old_runs_are_removed(tmp_path):
    for number in range(KEPT + 2):
        Rows(f"run {number}", np.zeros((1, 1), np.uint32), "", "0" * 32).write(tmp_path / "rows")
    assert len(list((tmp_path / "rows").iterdir())) == KEPT
    assert Rows.read(tmp_path / "rows", f"run {KEPT + 1}").nonce == "0" * 32
    with pytest.raises(InvalidDataError, match="Give the new run another name"):
        Rows.read(tmp_path / "rows", "run 0")


def test_a_cap_without_room_for_the_run_is_found_before_anybody_spends(tmp_path):
    """At the owner who is asked last, whose cap has room for the first tables."""
    Ledger.create(tmp_path / "clinic.db", caps={"records": (1.9, 1e-5)}).close()
    channel = Loopback(tmp_path)
    with pytest.raises(
        ProtocolError, match=r"'clinic' failed: ledger of 'clinic': the whole run.*Nothing was sent"
    ):
        go(channel)
    assert not any(channel.charges().values())
    assert {type(request) for _, request in channel.asked} == {Join}
    with Ledger(tmp_path / "clinic.db") as book:
        book.set_cap("records", 2.0, 1e-5)
    go(channel)
    assert [len(found) for found in channel.charges().values()] == [2, 2]


class Lowered(Loopback):
    """The bank's cap is lowered after its first tables."""

    def ask(self, messages):
        for name, answer in super().ask(messages):
            if (name, type(self.asked[-1][1])) == ("bank", CountColumns):
                with Ledger(self.folder / "bank.db") as book:
                    book.set_cap("records", 1.0, 1e-5)
            yield name, answer


def test_the_cap_reached_at_the_second_release_stops_there(tmp_path):
    channel = Lowered(tmp_path)
    with pytest.raises(
        ProtocolError, match=r"'bank' failed: ledger of 'bank': two-way tables.*cap.*earlier"
    ):
        go(channel)
    charges = channel.charges()
    assert [charge.message for charge in charges["bank"]] == ["one-way tables (2)"]
    # Found before anybody made its two-way tables.
    assert len(charges["clinic"]) == 1
    kinds = [
        type(CODEC.decode(answer)).__name__ for name, _, answer in channel.sent if name == "bank"
    ]
    assert "TwoWay" not in kinds
    with Ledger(tmp_path / "bank.db") as book:
        book.set_cap("records", 3.0, 1e-4)
    go(channel)
    assert [len(found) for found in channel.charges().values()] == [2, 2]


def other_schema(channel):
    channel.schemas = {**SCHEMAS, "clinic": Schema([PERSON, Column("drinks", categories=(0, 1))])}


def other_records(channel):
    channel.data = {**channel.data, "clinic": channel.data["clinic"][1:]}


def other_people(channel):
    moved = channel.data["clinic"].with_columns(pl.col("person") + 1)
    channel.data = {**channel.data, "clinic": moved}


def twice(channel):
    same = channel.data["clinic"].with_columns(pl.lit(1).alias("person"))
    channel.data = {**channel.data, "clinic": same}


def other_alignment(channel):
    channel.alignment = {**channel.alignment, "clinic": b"x" * 32}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (other_schema, "'clinic' failed: the run is for columns smokes, and this owner's schema"),
        (other_records, "'clinic' has 299 records and 'bank' has 300"),
        (other_people, "ids: those of 'clinic' are not those of 'bank'"),
        (other_alignment, "ids: those of 'clinic' are not those of 'bank'"),
        (twice, "'clinic' failed: .*has an identifier twice"),
    ],
)
def test_owners_that_do_not_fit_are_put_right_under_the_same_name(tmp_path, change, message):
    channel = Loopback(tmp_path)
    right = channel.data, channel.schemas, channel.alignment
    change(channel)
    with pytest.raises((InvalidDataError, ProtocolError), match=message):
        go(channel)
    assert not any(channel.charges().values())
    channel.data, channel.schemas, channel.alignment = right
    go(channel)
    assert [len(found) for found in channel.charges().values()] == [2, 2]


def test_a_helper_with_another_key_is_noticed(tmp_path, monkeypatch):
    monkeypatch.setitem(KEYS, "clinic", b"d" * 32)
    channel = Loopback(tmp_path)
    channel.party = lambda name, make=channel.party: (
        Helper({**KEYS, "clinic": b"e" * 32}) if name == "helper" else make(name)
    )
    with pytest.raises(ProtocolError, match="out of all bounds"):
        go(channel)


def test_owners_refuse_what_they_did_not_agree_to(tmp_path):
    channel = Loopback(tmp_path)
    owner = channel.party("clinic")
    with pytest.raises(ProtocolError, match="before a run begins"):
        owner.answer(CountColumns(1.0))
    for changes, message in (
        ({"columns": ("drinks",)}, "the run is for columns drinks"),
        ({"ids": "smokes"}, "no column 'smokes' of kind 'ignore'"),
    ):
        given = {"columns": ("smokes",), "edges": (np.zeros(0),)} | changes
        with pytest.raises(ProtocolError, match=message):
            owner.answer(Join("r", "0" * 32, 1.0, **given))
    with pytest.raises(InvalidParameterError, match="secret: it is the owners' common key"):
        SiloOwner(
            "x", channel.data["bank"], SCHEMAS["bank"],
            ledger=tmp_path / "bank.db", secret=b"k" * 32, alignment=b"k" * 32,
        )  # fmt: skip


def test_an_owner_without_a_cap_takes_part_in_no_run(tmp_path):
    """Its data are not read, and nobody is asked for more."""
    Ledger.create(tmp_path / "clinic.db").close()
    channel = Loopback(tmp_path, data={**frames(), "clinic": tmp_path / "no such file"})
    with pytest.raises(ProtocolError, match=r"'clinic' failed: ledger: it has no cap on records"):
        go(channel)
    assert not any(channel.charges().values())
    Ledger(tmp_path / "clinic.db").set_cap("records", 5.0, 1e-3)
    go(Loopback(tmp_path))


def test_keys_are_read_from_files(tmp_path):
    (tmp_path / "good").write_text("ab" * 32 + "\n")
    assert read_key(tmp_path / "good") == b"\xab" * 32
    for name, text in (("short", "ab"), ("words", "secret"), ("none", None)):
        if text is not None:
            (tmp_path / name).write_text(text)
        with pytest.raises(InvalidParameterError, match=f"{name}: not a key.*openssl") as caught:
            read_key(tmp_path / name)
        assert "secret" not in str(caught.value)


def test_nonces_are_fresh_under_one_name_of_a_run(tmp_path):
    """They make the pads: a run that is made anew elsewhere has other records under other pads."""
    seen = []
    for part in ("one", "other"):
        (tmp_path / part).mkdir()
        channel = Loopback(tmp_path / part)
        go(channel)
        answers = [CODEC.decode(answer) for _, _, answer in channel.sent]
        seen += [one.nonce for one in answers if isinstance(one, ColumnCounts)]
    assert len(set(seen)) == len(seen) == 4

"""Runs whose owners are elsewhere: failures, garbage, second answers, resumption."""

import multiprocessing
import os
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from dpsumm import RBF, Column, Offers, Schema, summarize
from dpsumm.data.inputs import read_table
from dpsumm.errors import DpsummError, InvalidDataError, InvalidParameterError, ProtocolError
from dpsumm.exchange.across import answer_all
from dpsumm.exchange.journal import Journal
from dpsumm.exchange.messages import Describe, Expect
from dpsumm.papers import Auction
from dpsumm.privacy import Ledger
from dpsumm.summary.protocols import Owner
from dpsumm.summary.protocols.messages import Bids, DrawRequest, Points, SendRequest
from dpsumm.summary.protocols.wire import decode, encode
from dpsumm.summary.silos import summarize_silos
from helpers import silo_curator
from helpers.journals import answers_in
from helpers.patience import PATIENCE
from helpers.silo_curator import NAMES, SCHEMA, Loopback, owners_of, run

AUCTION = Auction(batch=3, n_features=16)
DESCRIBE, FIRST = 0, 1  # numbers of exchanges


class Faulty(Loopback):
    """Replaces what an owner answers in one exchange; None: it stays silent."""

    def __init__(self, name, step, make):
        super().__init__()
        self._fault = name, step, make

    def ask(self, messages):
        name, step, make = self._fault
        for who, answer in super().ask(messages):
            if (who, self.steps - 1) != (name, step):
                yield who, answer
            elif make is not None:
                yield from ((who, item) for item in make(answer))


BOUNDED = Schema([Column("x0", bounds=(-1.0, 1.0), missing=()), *SCHEMA.columns[1:]])


def points(rows=3, columns=3, value=0.5):
    return encode(Points(np.arange(rows), np.full((rows, columns), value), None))


GARBAGE = {
    "nothing": lambda _: [],
    "gave up": lambda _: ["the owner's process died"],
    "no message": lambda _: [b"garbage"],
    "empty": lambda _: [b""],
    "cut short": lambda answer: [answer[:-1]],
    "too long": lambda answer: [answer + b"x"],
    "a request": lambda _: [encode(DrawRequest(3))],
    "bids": lambda _: [encode(Bids((1,), (1,)))],
    "too much": lambda _: [points(rows=40)],
    "too little": lambda _: [points(rows=0)],
    "another width": lambda _: [points(columns=2)],
    "not a number": lambda _: [points(value=np.nan)],
    "too many bytes": lambda _: [points(rows=10**5)],
}


@pytest.mark.parametrize("protocol", [Offers(), AUCTION], ids=["offers", "auction"])
def test_the_summary_is_that_of_one_process(protocol):
    data, target = owners_of()
    across = run(Loopback(), protocol=protocol, seed=4)
    here = summarize(
        data, target, size=9, protocol=protocol, kernel=RBF(0.3), schema=SCHEMA, seed=4
    )
    np.testing.assert_array_equal(across.points, here.points)
    np.testing.assert_array_equal(across.owner, here.owner)
    np.testing.assert_array_equal(across.index, here.index)
    assert across.mmd2 == here.mmd2
    assert across.n_records == here.n_records
    assert across.privacy.charges == here.privacy.charges


@pytest.mark.parametrize("step", [DESCRIBE, FIRST])
@pytest.mark.parametrize("fault", GARBAGE)
def test_offers_go_on_without_a_failed_owner(fault, step):
    if fault == "too many bytes":
        channel = Faulty("b", step, GARBAGE[fault])
        summary = run(channel, seed=1, max_bytes=10**5)
    else:
        channel = Faulty("b", step, GARBAGE[fault])
        summary = run(channel, seed=1)
    assert 1 not in summary.owner
    assert len(summary.points) == 9
    assert any("'b' was left out" in warning for warning in summary.notes)
    # To the others nothing differs.
    whole = Loopback()
    run(whole, seed=1)
    for name in ("a", "c", "d"):
        assert channel.received[name] == whole.received[name]


def test_nothing_is_made_up_about_an_owner_that_could_not_describe_its_data():
    everything = Offers(reads_per_record=1000)
    summary = run(Faulty("b", DESCRIBE, GARBAGE["nothing"]), protocol=everything, seed=1)
    assert summary.n_records == (30, 0, 30, 30)
    # All that the others have was read, and the report says so.
    assert summary.accesses == 90
    assert summary.privacy.accesses_everything
    # Nor does it decide whether there are records enough.
    channel = Faulty("b", DESCRIBE, GARBAGE["nothing"])
    assert len(run(channel, protocol=everything, size=100, seed=1)) == 90


def test_a_broadcast_is_kept_once_for_all_owners():
    class Kept(Loopback):
        def ask(self, messages):
            requests = [items[-1] for items in messages.values()]
            self.distinct = len({id(request) for request in requests})
            self.equal = len(set(requests))
            yield from super().ask(messages)

    for protocol, alike in ((Offers(), True), (AUCTION, False)):
        channel = Kept()
        run(channel, protocol=protocol, seed=4)
        assert channel.distinct == (1 if alike else len(NAMES))
        assert channel.equal == 1 or not alike


def test_a_second_answer_does_not_count():
    first = run(Loopback(), seed=1)
    again = run(Faulty("b", FIRST, lambda a: [a, points(), b"garbage"]), seed=1)
    np.testing.assert_array_equal(first.points, again.points)


def test_an_answer_of_an_owner_never_asked_is_ignored():
    class Guest(Loopback):
        def ask(self, messages):
            yield "nobody", points()
            yield from super().ask(messages)

    np.testing.assert_array_equal(run(Guest(), seed=1).points, run(Loopback(), seed=1).points)


@pytest.mark.parametrize("protocol", [Offers(), AUCTION], ids=["offers", "auction"])
def test_below_the_minimum_there_is_no_summary(protocol):
    with pytest.raises(ProtocolError, match=r"3 parties are left|failed"):
        run(Faulty("b", FIRST, GARBAGE["nothing"]), protocol=protocol, seed=1, minimum=4)


def test_nothing_is_released_when_no_owner_can_be_asked(tmp_path):
    Ledger.create(tmp_path / "books").close()

    class Dead(Loopback):
        def ask(self, messages):
            return iter(())

    with pytest.raises(ProtocolError, match="nothing was released"):
        run(Dead(), ledger=tmp_path / "books", run="r")
    with Ledger(tmp_path / "books") as book:
        assert book.charges() == ()


@pytest.mark.parametrize("step", [1, 2, 3])
def test_a_failed_owner_stops_the_auction(step):
    with pytest.raises(ProtocolError, match="the run must stop"):
        run(Faulty("b", step, GARBAGE["nothing"]), protocol=AUCTION, seed=1)


@pytest.mark.parametrize("step", [1, 2, 3])
def test_the_auction_goes_on_if_it_was_planned_and_paid(step):
    protocol = Auction(batch=3, n_features=16, spare_rounds=1)
    channel = Faulty("b", step, GARBAGE["nothing"])
    summary = run(channel, protocol=protocol, seed=1)
    assert len(summary.points) == 9
    # Rounds after it: nothing more is sent to the one that was dropped.
    assert len(channel.received["b"]) == step + 1
    assert len(channel.received["a"]) == 1 + 6 + (2 if step == 2 else 1)


def test_the_auction_begins_with_all_owners_or_not_at_all(tmp_path):
    Ledger.create(tmp_path / "books").close()
    channel = Faulty("b", DESCRIBE, GARBAGE["nothing"])
    with pytest.raises(ProtocolError, match="nothing was released"):
        run(channel, protocol=AUCTION, ledger=tmp_path / "books", run="r")
    assert all(len(got) == 1 for got in channel.received.values())


def test_owners_with_another_schema_are_left_out():
    data, _ = owners_of()
    values, labels = data["b"], np.arange(len(data["b"]))
    others = {
        "columns": (values[:, :2], Schema.numbers(("x0", "x1"))),
        "names": (values, Schema.numbers(("x0", "x1", "y"))),
        "bounds": (values, BOUNDED),
        "labels": ((values, labels), Schema.numbers(("x0", "x1", "x2"), label="y")),
    }
    for source, schema in others.values():
        channel = Loopback()
        channel.tables["b"] = read_table(source, name="b", schema=schema)
        summary = run(channel, seed=1)
        assert 1 not in summary.owner
        assert any(schema.fingerprint in warning for warning in summary.notes)


def test_labels_and_carried_columns_come_along():
    schema = Schema(
        [
            Column("age", bounds=(0, 90)),
            Column("sex", categories=("f", "m")),
            Column("note", "ignore"),
            Column("ill", "label"),
        ]
    )
    rng = np.random.default_rng(8)

    def frame(name, count=40):
        return pl.DataFrame(
            {
                "age": rng.integers(0, 90, count),
                "sex": rng.choice(["f", "m"], count),
                "note": [f"{name} {i}" for i in range(count)],
                "ill": rng.choice(["yes", "no"], count),
            }
        )

    frames, target = {name: frame(name) for name in NAMES}, frame("target")
    channel = Loopback()
    channel.tables = {n: read_table(f, name=n, schema=schema) for n, f in frames.items()}
    across = summarize_silos(channel, NAMES, target, schema=schema, size=9, seed=2)
    here = summarize(frames, target, schema=schema, size=9, seed=2)
    assert across.to_frame().equals(here.to_frame())
    for row in across.to_frame().iter_rows(named=True):
        assert row["note"] == f"{row['owner']} {row['index']}"


def test_marks_of_no_value_are_told_by_the_points_read(rng):
    """Owners send all their rows, and their tables are not here."""
    data = {name: rng.uniform(0, 90, (40, 1)) for name in NAMES}
    schema = Schema([Column("age", bounds=(0, 90))])
    data["b"][:4] = 999
    channel = Loopback()
    channel.tables = {n: read_table(f, name=n, schema=schema) for n, f in data.items()}
    target = rng.uniform(0, 90, (40, 1))
    summary = summarize_silos(channel, NAMES, target, schema=schema, size=40)
    said = "At 'b', several records have the same value of age, far from all others"
    assert sum(said in note for note in summary.notes) == 1
    data["b"][:4] = 50
    channel.tables["b"] = read_table(data["b"], name="b", schema=schema)
    summary = summarize_silos(channel, NAMES, target, schema=schema, size=40)
    assert not any("far from all others" in note for note in summary.notes)


def test_an_owner_sends_no_more_than_it_wants():
    data, _ = owners_of()
    owner = Owner(read_table(data["a"], name="a", schema=SCHEMA), seed=0)
    sends = {"max_bytes": 10**6, "max_records": 10}
    assert len(decode(answer_all(owner, [encode(DrawRequest(10))], **sends)).rows) == 10
    with pytest.raises(ProtocolError, match="more records"):
        answer_all(owner, [encode(DrawRequest(11))], **sends)
    # Only under the schema of the run; and something must be asked.
    same, other = (encode(Expect(x)) for x in (SCHEMA.fingerprint, "0" * 12))
    assert len(decode(answer_all(owner, [same, encode(DrawRequest(10))], **sends)).rows) == 10
    with pytest.raises(ProtocolError, match="its schema is another one"):
        answer_all(owner, [other, encode(DrawRequest(1))], **sends)
    with pytest.raises(ProtocolError, match="no request among"):
        answer_all(owner, [same], **sends)
    # Also in pieces.
    with pytest.raises(ProtocolError, match="more records"):
        answer_all(owner, [encode(DrawRequest(6))] * 2, **sends)
    for bad in ([], [b"garbage"], [encode(SendRequest((True,)))], [points()], [b"x" * 10**7]):
        with pytest.raises(DpsummError):
            answer_all(owner, bad, **sends)


def test_a_run_is_resumed_without_a_charge(tmp_path):
    Ledger.create(tmp_path / "books").close()
    ledger = tmp_path / "books"
    with pytest.raises(ProtocolError, match="run again under the same name"):
        run(Faulty("b", FIRST, GARBAGE["nothing"]), ledger=ledger, run="r", minimum=4)
    with Ledger(ledger) as book:
        spent = book.charges()
    assert len(spent) == 1
    channel = Loopback()
    summary = run(channel, ledger=ledger, run="r", minimum=4, out=tmp_path / "s.csv")
    assert len(summary.points) == 9
    with Ledger(ledger) as book:
        assert book.charges() == spent
    # Only the one that had not answered is asked, and nobody describes data again.
    assert {name: len(got) for name, got in channel.received.items()} == dict(
        zip(NAMES, (0, 1, 0, 0), strict=True)
    )
    # The summary is written: what owners sent is not kept any longer.
    rows = Path(f"{ledger}.answers").read_bytes()
    assert rows.count(b"dpsm\x02") == 0


def test_a_start_that_failed_keeps_its_answers(tmp_path):
    """Descriptions that came are kept: who gave one is not asked again."""
    Ledger.create(tmp_path / "books").close()
    given = {"protocol": AUCTION, "ledger": tmp_path / "books", "run": "r"}
    with pytest.raises(ProtocolError, match="needs all its owners at the beginning"):
        run(Faulty("b", DESCRIBE, GARBAGE["nothing"]), **given)
    assert answers_in(tmp_path / "books.answers") == {DESCRIBE: 3}
    with Ledger(tmp_path / "books") as book:
        assert book.charges() == ()
    channel = Loopback()
    run(channel, **given)
    described = [decode(got[0][-1]) for got in channel.received.values()]
    assert [isinstance(one, Describe) for one in described] == [False, True, False, False]


def test_a_run_is_not_resumed_with_other_parameters(tmp_path):
    Ledger.create(tmp_path / "books").close()
    given = {"ledger": tmp_path / "books", "run": "r"}
    run(Loopback(), **given)
    with pytest.raises(InvalidParameterError, match="other parameters"):
        run(Loopback(), protocol=Offers(spread=0.9), **given)


@pytest.mark.parametrize("finished", [False, True])
@pytest.mark.parametrize("protocol", [Offers(), AUCTION], ids=["offers", "auction"])
def test_other_owners_or_another_size_under_a_runs_name_ask_nobody(tmp_path, protocol, finished):
    Ledger.create(tmp_path / "books").close()
    given = {"protocol": protocol, "ledger": tmp_path / "books", "run": "r"}
    run(Loopback(), **given, **({"out": tmp_path / "s.csv"} if finished else {}))
    with Ledger(tmp_path / "books") as book:
        spent = book.charges()
    Path(tmp_path / "books.answers").unlink()  # as if it were of another machine
    for name, other in (("owners", NAMES[:-1]), ("size", 8)):
        channel = Loopback()
        with pytest.raises(InvalidParameterError, match=rf"other parameters \({name}\)"):
            run(channel, **given, **{name: other})
        assert not any(channel.received.values())
    with Ledger(tmp_path / "books") as book:
        assert book.charges() == spent


@pytest.fixture
def forks(monkeypatch):
    """Processes from a server that has the package loaded already: quick to start."""
    monkeypatch.setenv(
        "PYTHONPATH", str(Path(silo_curator.__file__).parents[1]), prepend=os.pathsep
    )
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["helpers.silo_curator"])
    return context


@pytest.mark.parametrize("protocol", [Offers(), AUCTION], ids=["offers", "auction"])
def test_two_curators_of_one_run_at_once_pay_once(tmp_path, forks, protocol):
    """Started twice by mistake: one works."""
    Ledger.create(tmp_path / "books").close()
    Ledger.create(tmp_path / "whole").close()
    whole = run(Loopback(), protocol=protocol, ledger=tmp_path / "whole", run="r")
    kind = type(protocol).__name__
    both = [forks.Process(target=silo_curator.main, args=(tmp_path, kind)) for _ in range(2)]
    for process in both:
        process.start()
    for process in both:
        process.join(PATIENCE)
    # The second one is refused, unless it came when the first had ended.
    assert 0 in [process.exitcode for process in both]
    with Ledger(tmp_path / "books") as book:
        assert book.charges() == whole.privacy.charges
    first = {}
    for line in (tmp_path / "asked").read_text().splitlines():
        name, step, digest = line.split()
        assert first.setdefault((name, step), digest) == digest


def test_a_second_curator_of_a_run_is_refused(tmp_path):
    with Journal(tmp_path / "answers", "r"):
        with pytest.raises(InvalidDataError, match="at work already"):
            Journal(tmp_path / "answers", "r")
        Journal(tmp_path / "answers", "another").__exit__(None, None, None)
    Journal(tmp_path / "answers", "r").__exit__(None, None, None)


@pytest.mark.parametrize("protocol", [Offers(), AUCTION], ids=["offers", "auction"])
def test_an_owner_whose_schema_was_put_right_is_asked_again(tmp_path, protocol):
    Ledger.create(tmp_path / "books").close()
    data, _ = owners_of()
    wrong = BOUNDED
    channel = Loopback()
    channel.tables["b"] = read_table(data["b"], name="b", schema=wrong)
    given = {"protocol": protocol, "ledger": tmp_path / "books", "run": "r"}
    with pytest.raises(ProtocolError, match=wrong.fingerprint):
        run(channel, minimum=4, **given)
    summary = run(Loopback(), minimum=4, out=tmp_path / "s.csv", **given)
    assert summary.n_records[1] == 30


@pytest.mark.parametrize("step", [1, 2, 3, 4])
def test_owners_that_fail_together_cost_one_spare_round(step):
    protocol = Auction(batch=3, n_features=16, spare_rounds=1)

    class Both(Loopback):
        def ask(self, messages):
            for who, answer in super().ask(messages):
                if not (self.steps - 1 == step and who in "bc"):
                    yield who, answer

    assert len(run(Both(), protocol=protocol, seed=1).points) == 9


def test_a_long_reason_of_an_owner_is_cut():
    summary = run(Faulty("b", FIRST, lambda _: ["x" * 10**6]), seed=1)
    assert max(map(len, summary.notes)) < 1000


def test_a_journal_is_for_its_user_alone(tmp_path):
    path = tmp_path / "answers"
    with Journal(path, "r") as journal:
        journal.record(1, "a", [b"asked"], b"answer")
        assert path.stat().st_mode & 0o077 == 0
        assert journal.known(1, {"a": [b"asked"]}) == {"a": b"answer"}
        assert journal.known(1, {"b": [b"asked"]}) == {}
        with pytest.raises(InvalidParameterError, match="other parameters"):
            journal.known(1, {"a": [b"asked", b"more"]})
    with Journal(path, "another") as journal:
        assert journal.known(1, {"a": [b"asked"]}) == {}
    path.write_bytes(b"this is no database" * 100)
    # The second time too: a file that cannot be used leaves no lock behind.
    for wrong in (path, path, tmp_path / "nowhere" / "answers"):
        with pytest.raises(InvalidDataError, match="cannot be used as a journal"):
            Journal(wrong, "r")


@pytest.mark.parametrize(
    "wrong",
    [
        {"minimum": 0},
        {"minimum": 5},
        {"size": 0},
        {"seed": 1, "ledger": "books"},
        {"owners": ["a", "a"]},
        {"owners": []},
    ],
)
def test_parameters_are_checked_before_anybody_is_asked(wrong):
    channel = Loopback()
    with pytest.raises(InvalidParameterError):
        run(channel, **wrong)
    assert channel.steps == 0


def test_a_description_is_of_public_facts():
    table = read_table(owners_of()[0]["a"], name="a", schema=SCHEMA)
    told = Owner(table).answer(Describe())
    assert (told.n_records, told.schema) == (len(table), SCHEMA.fingerprint)

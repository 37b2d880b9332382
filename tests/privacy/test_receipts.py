"""An owner's log: what it counts, over runs and processes, and every way to tamper with it."""

import csv
import hashlib
import hmac
import io
import itertools
import json
import multiprocessing
import sqlite3
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.helpers.effort import examples

from dpsumm.errors import InvalidDataError, InvalidParameterError
from dpsumm.privacy import receipts as module
from dpsumm.privacy.receipt import Asked, fault, from_csv, to_csv
from dpsumm.privacy.receipts import Receipts
from helpers.patience import PATIENCE


class Key:
    """Seals of a secret that the test shares with itself; the real ones are Ed25519."""

    def sign(self, data):
        return hmac.digest(b"secret", data, "sha256")


def is_signed(data, seal):
    return hmac.compare_digest(Key().sign(data), seal)


A = Asked("clinic", "run-1", "care", "claim", "00")
NO_LIMIT = lambda sent: None  # noqa: E731


def at_most(limit):
    return lambda sent: "too many" if sent.ever > limit else None


@pytest.fixture
def path(tmp_path):
    Receipts.create(tmp_path / "receipts.db", Key(), is_signed).close()
    return tmp_path / "receipts.db"


def opened(path, signer=None):
    return Receipts(path, signer or Key(), is_signed)


def outcomes(path):
    with opened(path) as log:
        assert log.fault() is None
        return [(line.outcome, line.records, line.counted) for line, _ in log.lines()]


def test_what_is_sent_is_counted_once_in_a_run(path):
    with opened(path) as log:
        assert log.send(A, b"x", 5, NO_LIMIT) is None
    # The owner's process starts anew for every exchange.
    with opened(path) as log:
        assert log.send(A, b"x", 5, NO_LIMIT) is None
        assert log.send(A, b"y", 4, NO_LIMIT) is None
    assert outcomes(path) == [
        ("made", 0, 0), ("answered", 5, 5), ("again", 5, 0), ("answered", 4, 4),
    ]  # fmt: skip


@pytest.mark.parametrize("field", ["consumer", "key", "run", "purpose"])
def test_the_same_answer_to_another_is_counted(path, field):
    with opened(path) as log:
        log.send(A, b"x", 5, NO_LIMIT)
        log.send(replace(A, **{field: "another"}), b"x", 5, NO_LIMIT)
    assert [counted for _, _, counted in outcomes(path)] == [0, 5, 5]


def test_totals_are_of_all_runs_of_the_consumer_and_of_the_run(path):
    told = []
    with opened(path) as log:
        for number, (consumer, run) in enumerate(itertools.product("ab", "12")):
            asked = replace(A, consumer=consumer, key=consumer, run=run)
            for part in (b"x", b"y"):
                log.send(asked, part, 10**number, told.append)
    assert [(s.ever, s.consumer, s.run) for s in told] == [
        (1, 1, 1), (2, 2, 2), (12, 12, 10), (22, 22, 20),
        (122, 100, 100), (222, 200, 200), (1222, 1200, 1000), (2222, 2200, 2000),
    ]  # fmt: skip


def test_a_consumer_with_another_name_or_another_key_keeps_its_count(path):
    told = []
    with opened(path) as log:
        for name, key in (("a", "1"), ("b", "1"), ("a", "2"), ("c", "3")):
            log.send(replace(A, consumer=name, key=key), name.encode(), 1, told.append)
    # By the key, and by the name; the run is of the consumer, under whatever name.
    assert [(s.ever, s.consumer, s.run) for s in told] == [
        (1, 1, 1), (2, 2, 2), (3, 2, 2), (4, 1, 1),
    ]  # fmt: skip


def test_the_limit_holds_over_runs_and_a_refusal_costs_nothing(path):
    with opened(path) as log:
        assert log.send(A, b"x", 6, at_most(10)) is None
        assert log.send(replace(A, run="run-2"), b"y", 5, at_most(10)) == "too many"
        assert log.send(replace(A, run="run-2"), b"z", 4, at_most(10)) is None
        # At the limit: what carries no record is answered, and a resumed run gets what it had.
        assert log.send(replace(A, run="run-3"), b"", 0, at_most(10)) is None
        assert log.send(A, b"x", 6, at_most(10)) is None
        assert log.send(A, b"w", 1, at_most(10)) == "too many"
    assert [(o, c) for o, _, c in outcomes(path)] == [
        ("made", 0), ("answered", 6), ("refused", 0), ("answered", 4), ("answered", 0),
        ("again", 0), ("refused", 0),
    ]  # fmt: skip


SENDING = st.tuples(
    st.sampled_from("ab"), st.sampled_from("12"), st.sampled_from("pq"), st.integers(0, 3)
)


@examples(15)
@given(limit=st.integers(0, 12), sendings=st.lists(SENDING, max_size=8))
def test_any_sequence_is_counted_as_by_a_plain_set(tmp_path_factory, limit, sendings):
    """Its twin keeps the set of what has left; an answer carries as many records as its number."""
    folder = tmp_path_factory.mktemp("log")
    Receipts.create(folder / "log", Key(), is_signed).close()
    left = set()
    for consumer, run, purpose, number in sendings:
        one = (consumer, run, purpose, number)
        total = sum(records for *_, records in left | {one})
        with opened(folder / "log") as log:
            asked = Asked(consumer, run, purpose)
            refused = log.send(asked, bytes([number]), number, at_most(limit))
        assert (refused is not None) == (number > 0 and one not in left and total > limit)
        if refused is None:
            left.add(one)
    counted = sum(counted for _, _, counted in outcomes(folder / "log"))
    assert counted == sum(records for *_, records in left) <= limit


def test_a_cap_counted_for_each_run_alone_would_be_noticed(path, monkeypatch):
    """The planted bug: earlier runs are forgotten."""
    right = module._sent

    def of_this_run(lines, asked, more):
        return right([row for row in lines if row.line.run == asked.run], asked, more)

    monkeypatch.setattr(module, "_sent", of_this_run)
    with pytest.raises(AssertionError):
        test_the_limit_holds_over_runs_and_a_refusal_costs_nothing(path)


def test_what_is_refused_or_fails_is_in_the_log(path):
    with opened(path) as log:
        log.refused(Asked(), "nobody signed")
        log.refused(A, "InvalidDataError", "failed")
    assert [outcome for outcome, _, _ in outcomes(path)] == ["made", "refused", "failed"]


def test_the_salted_digest_of_an_answer_confirms_no_guess(path):
    with opened(path) as log:
        log.send(A, b"yes", 1, NO_LIMIT)
        log.send(replace(A, run="b"), b"yes", 1, NO_LIMIT)
        first, second = [line.answer for line, _ in log.lines()][1:]
        text = to_csv(log.lines())
    assert len({first, second, hashlib.sha256(b"yes").hexdigest()}) == 3
    with sqlite3.connect(path) as db:
        salts = [salt for (salt,) in db.execute("SELECT salt FROM receipts")]
    db.close()
    assert not any(salt.hex() in text for salt in salts)


def fill(path, count=4, first=0):
    with opened(path) as log:
        for i in range(first, first + count):
            log.send(replace(A, run=str(i)), bytes([i]), i + 1, NO_LIMIT)


def tampered(path, *statements):
    db = sqlite3.connect(path, isolation_level=None)
    for statement, *values in statements:
        db.execute(statement, values)
    db.close()


def body_of(path, number):
    with opened(path) as log:
        return json.loads(log.lines()[number - 1][0].body)


def edited(path, number, **changes):
    return json.dumps({**body_of(path, number), **changes}, sort_keys=True)


def seen(path):
    return path.with_name(f"{path.name}.seen").read_text().strip()


SWAP = (
    ("UPDATE receipts SET number = -1 WHERE number = 2",),
    ("UPDATE receipts SET number = 2 WHERE number = 3",),
    ("UPDATE receipts SET number = 3 WHERE number = -1",),
)
TAMPERING = {
    "edited": lambda p: tampered(
        p, ("UPDATE receipts SET body = ? WHERE number = 3", edited(p, 3, counted=0))
    ),
    "last edited": lambda p: tampered(
        p, ("UPDATE receipts SET body = ? WHERE number = 5", edited(p, 5, counted=0))
    ),
    "removed": lambda p: tampered(p, ("DELETE FROM receipts WHERE number = 3",)),
    "removed and renumbered": lambda p: tampered(
        p,
        ("DELETE FROM receipts WHERE number = 3",),
        ("UPDATE receipts SET number = number - 1 WHERE number > 3",),
    ),
    "first removed": lambda p: tampered(p, ("DELETE FROM receipts WHERE number = 1",)),
    "last removed": lambda p: tampered(p, ("DELETE FROM receipts WHERE number = 5",)),
    "all removed": lambda p: tampered(p, ("DELETE FROM receipts",)),
    "swapped": lambda p: tampered(p, *SWAP),
    "repeated": lambda p: tampered(
        p,
        (
            "INSERT INTO receipts SELECT 6, body, 'another', seal, salt FROM receipts "
            "WHERE number = 5",
        ),
    ),
    "garbage": lambda p: tampered(p, ("UPDATE receipts SET body = 'x' WHERE number = 2",)),
    "repeated as it is": lambda p: tampered(
        p,
        ("INSERT INTO receipts SELECT 6, body, digest, seal, salt FROM receipts WHERE number = 5",),
    ),
    "end removed and the mark forged": lambda p: tampered(
        p,
        ("DELETE FROM receipts WHERE number >= 4",),
        ("UPDATE receipts SET digest = ? WHERE number = 3", seen(p)),
    ),
    "a digest": lambda p: tampered(p, ("UPDATE receipts SET digest = 'x' WHERE number = 2",)),
    "a salt": lambda p: tampered(p, ("UPDATE receipts SET salt = x'00' WHERE number = 2",)),
    "another key": lambda p: tampered(p, ("UPDATE receipts SET seal = x'00' WHERE number = 5",)),
    "a copy put back": None,
    "no table": lambda p: tampered(p, ("DROP TABLE receipts",)),
}


@pytest.mark.parametrize("how", TAMPERING)
def test_a_log_that_was_tampered_with_counts_nothing_and_says_so(path, how):
    fill(path, 2)
    before = path.read_bytes()
    fill(path, 2, first=2)
    if TAMPERING[how] is None:
        path.write_bytes(before)
    else:
        TAMPERING[how](path)
    with opened(path) as log:
        try:
            wrong = log.fault()
        except InvalidDataError as error:
            wrong = str(error)
        assert wrong
        for add in (lambda: log.send(A, b"new", 1, NO_LIMIT), lambda: log.refused(A, "why")):
            with pytest.raises(InvalidDataError, match="Nothing was sent"):
                add()


def test_a_seal_in_the_middle_is_looked_at_by_who_checks(path):
    """Adding a line looks at the last seal alone, which covers the bodies before it; a node checks
    before that."""
    fill(path)
    tampered(path, ("UPDATE receipts SET seal = x'00' WHERE number = 2",))
    with opened(path) as log:
        assert "line 2 was changed" in log.fault()
        with pytest.raises(InvalidDataError, match=r"line 2 was changed.*Nothing was sent"):
            log.check()


def test_a_mark_that_is_not_compared_with_the_log_would_be_noticed(path, monkeypatch):
    """The planted bug: what stands beside the file is not looked at."""
    monkeypatch.setattr(module.Chain, "missing", lambda self: None)
    with pytest.raises(AssertionError):
        test_a_log_that_was_tampered_with_counts_nothing_and_says_so(path, "last removed")


def test_an_end_that_was_cut_off_with_its_mark_is_shown_by_a_digest_noted_elsewhere_alone(path):
    """No claim is made against it: it needs no key (docs/privacy/threat-model.md)."""
    fill(path)
    with opened(path) as log:
        lines = log.lines()
    earlier, noted = lines[2][0].digest, lines[-1][0].digest
    tampered(path, ("DELETE FROM receipts WHERE number > 3",))
    path.with_name(f"{path.name}.seen").write_text(f"{earlier}\n")
    with opened(path) as log:
        assert log.fault() is None
        assert noted not in {line.digest for line, _ in log.lines()}


def spliced(path, tmp_path):
    """Two histories of one log, sealed with its key: the third line of one in the other."""
    fill(path, 1)
    copy = tmp_path / "copy.db"
    for suffix in ("", ".seen"):
        (tmp_path / f"copy.db{suffix}").write_bytes(
            (tmp_path / f"receipts.db{suffix}").read_bytes()
        )
    fill(path, 2, first=1)
    fill(copy, 2, first=8)
    with opened(path) as log, opened(copy) as other:
        lines, others = log.lines(), other.lines()
    return [*lines[:2], others[2], *lines[3:]]


def test_a_line_of_another_history_is_noticed(path, tmp_path):
    assert "line 4 does not follow" in fault(spliced(path, tmp_path), is_signed)


def test_a_log_that_is_not_chained_would_be_noticed(tmp_path, monkeypatch):
    """The planted bug: a line does not carry the digest of the one before."""
    monkeypatch.setattr("dpsumm.privacy.chain.digest_of", lambda data: "")
    Receipts.create(tmp_path / "receipts.db", Key(), is_signed).close()
    with pytest.raises(TypeError):  # no fault is found in it
        test_a_line_of_another_history_is_noticed(tmp_path / "receipts.db", tmp_path)


def test_an_exported_log_can_be_checked_and_tampering_is_noticed(path):
    fill(path)
    with opened(path) as log:
        log.refused(replace(A, purpose='a, "quoted" purpose\u00e9'), "why,\nhow")
        lines = log.lines()
    text = to_csv(lines)
    assert from_csv(text) == lines
    assert fault(from_csv(text), is_signed) is None
    rows = text.splitlines(keepends=True)
    for changed in (
        rows[:2] + rows[3:],
        [*rows[:2], rows[3], rows[2], *rows[4:]],
        [rows[0], *rows[2:]],
        [rows[0]],
        [row.replace("run-1", "x") if i == 6 else row for i, row in enumerate(rows)],
        [row.replace("answered,,4,4", "answered,,4,3") for row in rows],
    ):
        if changed != rows:
            assert fault(from_csv("".join(changed)), is_signed)
    assert any("answered,,4,4" in row for row in rows)
    assert fault(from_csv(""), is_signed)
    for broken in ("x,y\n1,2\n", text.replace("answered,,4,4", "answered,,4,x")):
        with pytest.raises(InvalidDataError, match="not a log"):
            from_csv(broken)


@pytest.mark.parametrize(
    "run", ["=1+1", "+1", "-1", "@x", "\t=1", "\r=1", "'=1", "'", "''x", "a=1"]
)
def test_no_text_of_a_consumer_is_a_formula_in_an_exported_log(path, run):
    with opened(path) as log:
        log.refused(replace(A, run=run, purpose=run), "why")
        lines = log.lines()
    text = to_csv(lines)
    for row in csv.reader(io.StringIO(text, newline="")):
        assert not any(field.startswith(("=", "+", "-", "@", "\t", "\r")) for field in row)
    assert from_csv(text) == lines
    assert fault(from_csv(text), is_signed) is None


def test_a_log_is_made_once_and_not_forgotten(path, tmp_path):
    with pytest.raises(InvalidParameterError, match="left of a log"):
        Receipts.create(path, Key(), is_signed)
    assert path.stat().st_mode & 0o077 == 0
    path.unlink()
    with pytest.raises(InvalidParameterError, match="make it once"):
        opened(path)
    with pytest.raises(InvalidParameterError, match=r"receipts\.db\.seen is left of a log"):
        Receipts.create(path, Key(), is_signed)
    with pytest.raises(InvalidParameterError, match="cannot be made"):
        Receipts.create(tmp_path / "no" / "log", Key(), is_signed)
    (tmp_path / "text").write_text("no database at all, however long it may be" * 30)
    with pytest.raises(InvalidDataError, match="cannot be used"), opened(tmp_path / "text") as log:
        log.lines()


def send_some(path, name, accepted):
    with Receipts(path, Key(), is_signed) as log:
        for i in range(10):
            asked = replace(A, run=f"{name}-{i}")
            if log.send(asked, f"{name} {i}".encode(), 3, at_most(40)) is None:
                accepted.put(3)
    accepted.close()


def test_runs_at_the_same_time_share_the_limit(path):
    context = multiprocessing.get_context("spawn")
    accepted = context.Queue()
    workers = [context.Process(target=send_some, args=(path, n, accepted)) for n in "abc"]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(PATIENCE)
    assert [worker.exitcode for worker in workers] == [0, 0, 0]
    counted = [accepted.get(timeout=PATIENCE) for _ in range(13)]
    assert accepted.empty()
    assert sum(counted) == 39
    lines = outcomes(path)
    assert len(lines) == 31
    assert sum(c for _, _, c in lines) == 39

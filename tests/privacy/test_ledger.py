"""The ledger: charged before it leaves, once, under the cap, whatever dies and whoever competes."""

import math
import sqlite3
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest

import dpsumm
from dpsumm.errors import BudgetExceededError, InvalidDataError, InvalidParameterError
from dpsumm.privacy import (
    Charge,
    Gaussian,
    Ledger,
    NonPrivate,
    Protected,
    Pure,
    Seeded,
    Unit,
)
from dpsumm.privacy.accounting import compose
from dpsumm.privacy.events import Approximate, BoundedRange, Observer
from dpsumm.privacy.ledger import OtherReleaseError
from dpsumm.summary.kernel import RBF
from dpsumm.summary.protocols import Offers
from helpers.forging import forge
from helpers.settings import setting_of


def charge(epsilon=0.1, protected=Protected.TARGET):
    return Charge(protected, "a test release", Pure(epsilon))


def must_not_draw():
    raise AssertionError("drawn although it must not be")


def test_whose_records_may_be_said_in_words():
    with Ledger(run="r") as book:
        book.set_cap("target", epsilon=1, delta=1e-4)
        book.release("a", [charge()], lambda: b"x")
        assert book.cap("target") == book.cap(Protected.TARGET) == (1, 1e-4)
        assert book.spent("target") == book.spent(Protected.TARGET)
        assert book.spent("target")[0] > 0
        assert book.spent("owners") == (0, 0)
        for call in (book.cap, book.spent, lambda who: book.set_cap(who, 1, 1e-4)):
            with pytest.raises(InvalidParameterError, match="protected must be 'target' or"):
                call("targets")


# --- once, and charged ------------------------------------------------------------------------


def test_the_charge_is_in_the_file_before_the_release_is_returned(tmp_path):
    path = tmp_path / "books"
    with Ledger.create(path, run="r") as book:
        assert book.release("a", [charge()], lambda: b"noisy") == b"noisy"
        # Another connection: what a reader would find if this process died now.
        with Ledger(path, run="other") as reader:
            assert reader.charges(run="r") == (charge(),)


def test_the_draw_happens_under_a_lock_and_an_open_transaction(tmp_path):
    path = tmp_path / "books"

    def draw():
        with sqlite3.connect(path, timeout=0, isolation_level=None) as db:
            with pytest.raises(sqlite3.OperationalError, match="locked"):
                db.execute("BEGIN IMMEDIATE")
            assert db.execute("SELECT count(*) FROM releases").fetchone() == (0,)
        db.close()
        return b"x"

    with Ledger.create(path) as book:
        book.release("a", [charge()], draw)


def test_the_same_key_returns_the_same_bytes_without_draw_or_charge(tmp_path):
    path = tmp_path / "books"
    with Ledger.create(path, run="r") as book:
        first = book.release("a", [charge()], lambda: b"first")
        assert book.release("a", [charge()], must_not_draw) == first
    with Ledger(path, run="r") as book:
        assert book.release("a", [charge()], must_not_draw) == first
        assert book.charges() == (charge(),)
        assert book.release("b", [charge()], lambda: b"second") == b"second"
    with Ledger(path, run="another run") as book:
        assert book.release("a", [charge()], lambda: b"third") == b"third"
        assert len(book.charges()) == 3
        assert book.runs() == ("r", "another run")


@pytest.mark.parametrize(
    "other",
    [
        [],
        [charge(0.2)],
        [charge(), charge()],
        [charge(protected=Protected.OWNERS)],
        [Charge(Protected.TARGET, "a test release", Pure(0.1), count=2)],
        [Charge(Protected.TARGET, "a test release", Pure(0.1), unit=Unit.WHOLE_OWNER)],
    ],
)
def test_the_same_key_with_other_charges_is_refused(other):
    with Ledger(run="r") as book:
        book.release("a", [charge()], lambda: b"first")
        with pytest.raises(InvalidParameterError, match="other parameters"):
            book.release("a", other, must_not_draw)
        assert book.charges() == (charge(),)


@pytest.mark.parametrize("count", [0, -5, 2**53 + 1, 2**70, 1.0, True])
def test_a_count_that_is_none_makes_no_charge(count):
    with pytest.raises(InvalidParameterError, match=r"count must be .* from 1 to 2\*\*53"):
        Charge(Protected.TARGET, "m", Pure(0.1), count)


def test_a_draw_that_raises_leaves_neither_charge_nor_release(tmp_path):
    path = tmp_path / "books"

    def fail():
        raise KeyboardInterrupt

    with Ledger.create(path) as book:
        with pytest.raises(KeyboardInterrupt):
            book.release("a", [charge()], fail)
        assert book.charges() == ()
        assert book.release("a", [charge()], lambda: b"x") == b"x"


def test_every_event_comes_back_as_it_was_written(tmp_path):
    charges = [
        Charge(Protected.OWNERS, "m", event, count, observer, unit)
        for event, count, observer, unit in (
            (Gaussian(1 / 3), 1, Observer.OWNER, Unit.REPLACE_RECORD),
            (Pure(math.pi), 7, Observer.PUBLIC, Unit.WHOLE_OWNER),
            (BoundedRange(1e-300), 2**40, Observer.OWNER, Unit.WHOLE_OWNER),
            (Pure(0.1 + 0.2), 1, Observer.OWNER, Unit.REPLACE_RECORD),
            (Approximate(0.0, 1e-17), 1, Observer.OWNER, Unit.REPLACE_RECORD),
            (
                NonPrivate('a "reason" with ünïcode; DROP TABLE charges'),
                1,
                Observer.OWNER,
                Unit("replace one record"),
            ),
        )
    ]
    path = tmp_path / "books"
    with Ledger.create(path, run="r") as book:
        book.release("a", charges, lambda: b"")
    with Ledger(path, run="r") as book:
        assert list(book.charges(run="r")) == charges


# --- the cap ----------------------------------------------------------------------------------


def test_the_cap_refuses_before_drawing_and_records_nothing(tmp_path):
    path = tmp_path / "books"
    with Ledger.create(path, run="r", delta=1e-6) as book:
        book.set_cap(Protected.TARGET, epsilon=0.25, delta=1e-5)
        for key in "ab":
            book.release(key, [charge()], lambda: b"x")
        with pytest.raises(BudgetExceededError, match=r"0\.3 .*cap of \(0\.25"):
            book.release("c", [charge()], must_not_draw)
        # Others' records have their own cap, here none; and a free message is always free.
        book.release("d", [charge(9.0, Protected.OWNERS)], lambda: b"x")
        book.release("e", [], lambda: b"x")
    with Ledger(path, run="next", delta=1e-6) as book:
        assert len(book.charges()) == 3
        with pytest.raises(BudgetExceededError):
            book.release("c", [charge()], must_not_draw)
        assert len(book.charges()) == 3
        book.release("c", [charge(0.04)], lambda: b"x")


def test_room_is_looked_at_and_nothing_is_charged(tmp_path):
    """Before the run's first release and after it, and by a reader of the file as it was."""
    path = tmp_path / "books"
    with Ledger.create(path, caps={"target": (0.25, 1e-4)}, run="first") as book:
        book.release("a", [charge()], lambda: b"x")
    before = path.read_bytes()
    with Ledger(path, run="r") as book:
        book.check_room([charge(0.14)])
        for whole in ([charge(0.16)], [charge(), charge()]):
            with pytest.raises(BudgetExceededError, match=r"Nothing was sent"):
                book.check_room(whole)
        assert book.spent("target", run="r") == (0, 0)
        assert path.read_bytes() == before
        book.release("a", [charge()], lambda: b"x")
        book.check_room([charge(0.04)])
        with pytest.raises(BudgetExceededError, match=r"Nothing of it was sent"):
            book.check_room([charge(0.06)])
        assert len(book.charges()) == 2


def test_deltas_of_runs_add_up_too(tmp_path):
    path = tmp_path / "books"
    Ledger.create(path).close()
    for i in range(3):
        with Ledger(path, run=f"run {i}", delta=1e-6) as book:
            book.set_cap(Protected.TARGET, epsilon=100, delta=2e-6)
            if i < 2:
                book.release("a", [charge()], lambda: b"x")
            else:
                with pytest.raises(BudgetExceededError, match="delta 3e-06"):
                    book.release("a", [charge()], must_not_draw)


def test_no_guarantee_fits_under_no_cap():
    with Ledger() as book:
        book.set_cap(Protected.TARGET, epsilon=1e6, delta=0.5)
        seeded = Charge(Protected.TARGET, "m", Seeded())
        with pytest.raises(BudgetExceededError):
            book.release("a", [seeded], must_not_draw)


def test_a_cap_lowered_below_what_was_spent_refuses_all_that_follows():
    with Ledger() as book:
        book.release("a", [charge(1.0)], lambda: b"x")
        book.set_cap(Protected.TARGET, epsilon=0.5, delta=1e-4)
        assert book.cap(Protected.TARGET) == (0.5, 1e-4)
        with pytest.raises(BudgetExceededError):
            book.release("b", [charge(1e-9)], must_not_draw)
        assert book.release("a", [charge(1.0)], must_not_draw) == b"x"


# --- files ------------------------------------------------------------------------------------


@pytest.mark.parametrize("digits", [3.730631638213178, 3.73063164194])
def test_a_release_recorded_with_a_multiplier_of_all_digits_is_found_again(digits):
    old, new = (Charge(Protected.TARGET, "a release", Gaussian(z)) for z in (digits, 3.73064))
    with Ledger() as book:
        assert book.release("a", [old], lambda: b"noisy") == b"noisy"
        assert book.release("a", [new], must_not_draw) == b"noisy"
        # What counts is what it was made with.
        assert book.charges() == (old,)
        for other in (
            Charge(Protected.TARGET, "a release", Gaussian(3.731)),
            Charge(Protected.TARGET, "another release", Gaussian(3.73064)),
            Charge(Protected.OWNERS, "a release", Gaussian(3.73064)),
            Charge(Protected.TARGET, "a release", Pure(3.73064)),
        ):
            with pytest.raises(InvalidParameterError, match="other parameters"):
                book.release("a", [other], must_not_draw)
        for charges in ([], [new, new]):
            with pytest.raises(InvalidParameterError, match="other parameters"):
                book.release("a", charges, must_not_draw)


def test_other_and_broken_files_are_refused_and_left_alone(tmp_path):
    text = tmp_path / "text"
    text.write_text("not a ledger, but somebody's notes\n" * 50)
    broken = tmp_path / "broken"
    with Ledger.create(broken) as book:
        book.release("a", [charge()], lambda: b"x" * 10_000)
    data = bytearray(broken.read_bytes())
    data[:200] = b"\xff" * 200
    broken.write_bytes(data)
    directory = tmp_path / "directory"
    directory.mkdir()
    for path in (text, broken, directory, tmp_path / "no" / "such" / "directory"):
        before = path.read_bytes() if path.is_file() else None
        with pytest.raises((InvalidDataError, InvalidParameterError), match="ledger"):
            Ledger(path)
        assert (path.read_bytes() if path.is_file() else None) == before


def test_a_database_of_another_program_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "theirs"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE customers (name TEXT)")
    db.close()
    before = path.read_bytes()
    with pytest.raises(InvalidDataError, match="ledger"):
        Ledger(path)
    assert path.read_bytes() == before


def test_a_ledger_damaged_inside_is_refused_not_believed(tmp_path):
    path = tmp_path / "books"
    with Ledger.create(path, run="r") as book:
        for i in range(200):
            book.release(f"k{i}", [charge()], lambda: b"x" * 1000)
    data = bytearray(path.read_bytes())
    data[4096 : len(data)] = b"\x55" * (len(data) - 4096)
    path.write_bytes(data)
    with pytest.raises(InvalidDataError, match="ledger"), Ledger(path, run="r") as book:
        book.release("new", [charge()], must_not_draw)


def test_reading_leaves_the_file_as_it_was(tmp_path):
    path = tmp_path / "books"
    with Ledger.create(path, run="r", delta=1e-6) as book:
        book.release("a", [charge(0.5), charge(0.25, Protected.OWNERS)], lambda: b"x")
    before = path.read_bytes()
    with Ledger(path) as book:
        assert book.spent(Protected.TARGET) == book.spent(Protected.TARGET, run="r")
        assert book.spent(Protected.TARGET) == (pytest.approx(0.5), 1e-6)
        assert book.spent(Protected.OWNERS) == (pytest.approx(0.25), 1e-6)
        assert book.delta_of("r") == 1e-6
        with pytest.raises(InvalidParameterError, match="nobody"):
            book.delta_of("nobody")
    assert path.read_bytes() == before


def test_an_unreadable_charge_is_refused_not_skipped(tmp_path):
    path = tmp_path / "books"
    with Ledger.create(path, run="r") as book:
        book.release("a", [charge()], lambda: b"x")
        book.set_cap(Protected.TARGET, epsilon=1, delta=1e-4)
    for column, value in (("event", '{"kind": "Gratis"}'), ("event", "{"), ("protected", "nobody")):
        with sqlite3.connect(path) as db:
            old = db.execute(f"SELECT {column} FROM charges").fetchone()
            db.execute(f"UPDATE charges SET {column} = ?", (value,))
        forge(path)
        with Ledger(path, run="r") as book:
            with pytest.raises(InvalidDataError, match="ledger"):
                book.charges()
            with pytest.raises(InvalidDataError, match="ledger"):
                book.release("b", [charge()], must_not_draw)
        with sqlite3.connect(path) as db:
            db.execute(f"UPDATE charges SET {column} = ?", old)
        db.close()


def test_a_release_is_not_given_under_another_binding():
    """Its bytes would be read with other public parameters than they were made with."""
    with Ledger() as book:
        book.release("a", [charge()], lambda: b"x", binding="one digest")
        assert book.release("a", [charge()], must_not_draw, binding="one digest") == b"x"
        for binding in ("another digest", ""):
            with pytest.raises(OtherReleaseError, match="with other parameters"):
                book.release("a", [charge()], must_not_draw, binding=binding)


def test_a_charge_counts_as_often_as_it_says(tmp_path):
    seven = Charge(Protected.TARGET, "a test release", Pure(0.1), count=7)
    with Ledger.create(tmp_path / "books", caps={"target": (1.0, 1e-4)}, run="r") as book:
        with pytest.raises(BudgetExceededError):
            book.release("too many", [replace(seven, count=11)], must_not_draw)
        book.release("a", [seven], lambda: b"x")
        once = compose([(Pure(0.1), 1)], book.delta)
        assert book.spent("target")[0] == compose([(Pure(0.1), 7)], book.delta) > 5 * once
        assert book.spent("target", new=[seven])[0] > 1
        with pytest.raises(BudgetExceededError):
            book.release("b", [seven], must_not_draw)


def test_a_run_keeps_its_delta(tmp_path):
    path = tmp_path / "books"
    with (
        Ledger.create(path, run="r", delta=1e-6) as book,
        Ledger(path, run="r", delta=1e-5) as other,
    ):
        book.release("a", [charge()], lambda: b"x")
        with pytest.raises(InvalidParameterError, match="begun with delta 1e-06"):
            other.release("b", [charge()], must_not_draw)
    with pytest.raises(InvalidParameterError, match="begun with delta 1e-06"):
        Ledger(path, run="r", delta=1e-5)
    with pytest.raises(InvalidParameterError, match="delta"):
        Ledger(path, delta=0.0)


# --- runs -------------------------------------------------------------------------------------


def test_a_resumed_run_sends_the_identical_broadcast(tmp_path, rng):
    target = rng.normal(size=(100, 3))
    sizes = {"a": 30, "b": 40}
    sent = []
    Ledger.create(tmp_path / "books").close()
    for run in ("died", "died", "another"):
        with Ledger(tmp_path / "books", run=run) as book:
            request = Offers(n_features=32).curator(setting_of(target, sizes, book)).send()["a"]
            sent.append((request.target.to_bytes(), request.feature_map, request.noise))
    assert sent[0] == sent[1]
    assert sent[0][0] != sent[2][0]
    with Ledger(tmp_path / "books") as book:
        assert len(book.charges()) == 2


def test_a_resumed_run_with_other_features_or_size_is_refused(tmp_path, rng):
    target = rng.normal(size=(100, 3))
    with Ledger.create(tmp_path / "books", run="r") as book:
        Offers(n_features=32).curator(setting_of(target, {"a": 30}, book)).send()
        for protocol, points in (
            (Offers(n_features=64), target),
            (Offers(n_features=32), target[1:]),
        ):
            with pytest.raises(InvalidParameterError, match="other parameters"):
                protocol.curator(setting_of(points, {"a": 30}, book)).send()


def kept(path):
    with closing(sqlite3.connect(path)) as db:
        return db.execute("SELECT run, key FROM releases").fetchall()


def test_a_run_is_held_to_the_public_settings_that_it_released_with(tmp_path):
    path = tmp_path / "books"
    Ledger.create(path).close()
    with Ledger(path, run="r") as book:
        book.hold_to("summarize", {"owners": "b", "size": "3"})
        with pytest.raises(ZeroDivisionError):
            book.release("a", [charge()], lambda: b"%d" % (1 // 0))
    assert kept(path) == []  # nothing was released, so other settings are free to begin it
    with Ledger(path, run="r") as book:
        book.hold_to("summarize", {"owners": "a", "size": "3"})
        book.release("a", [charge()], lambda: b"x")
        book.release("b", [charge()], lambda: b"y")
    for other, named in (
        ({"owners": "z", "size": "3"}, "owners"),
        ({"owners": "a", "size": "4"}, "size"),
        ({"owners": "z"}, "owners, size"),
    ):
        with (
            Ledger(path, run="r") as book,
            pytest.raises(OtherReleaseError, match=rf"'r' .* \({named}\). .* another name"),
        ):
            book.hold_to("summarize", other)
    with Ledger(path, run="r") as book, pytest.raises(OtherReleaseError, match=r"\(product\)"):
        book.hold_to("learn", {"owners": "a", "size": "3"})
    with Ledger(path, run="r") as book:
        # What a later version knows beside is not compared.
        book.hold_to("summarize", {"size": "3", "owners": "a", "new": "x"})
        assert book.release("a", [charge()], must_not_draw) == b"x"
    with Ledger(path, run="another") as book:
        book.hold_to("summarize", {"owners": "z", "size": "3"})
        assert len(book.charges()) == 2
    assert {*kept(path)} == {("r", "public settings"), ("r", "a"), ("r", "b")}


@pytest.mark.parametrize("key", ["a", "b"])
def test_two_that_begin_a_run_at_once_are_held_to_the_same_settings(tmp_path, key):
    path = tmp_path / "books"
    Ledger.create(path).close()
    with Ledger(path, run="r") as one, Ledger(path, run="r") as two, Ledger(path, run="r") as same:
        one.hold_to("summarize", {"size": "3"})
        two.hold_to("summarize", {"size": "4"})
        same.hold_to("summarize", {"size": "3"})
        one.release("a", [charge()], lambda: b"x")
        with pytest.raises(OtherReleaseError, match="size"):
            two.release(key, [charge()], lambda: b"y")
        same.release(key, [charge()], lambda: b"x")


def test_a_run_begun_without_settings_is_held_to_those_that_it_is_resumed_with(tmp_path):
    path = tmp_path / "books"
    with Ledger.create(path, run="r") as book:
        book.release("a", [charge()], lambda: b"x")
    with Ledger(path, run="r") as book:
        book.hold_to("summarize", {"size": "3"})
        assert book.release("a", [charge()], must_not_draw) == b"x"
    with Ledger(path, run="r") as book, pytest.raises(OtherReleaseError, match="size"):
        book.hold_to("summarize", {"size": "4"})


def _points(path):
    rng = np.random.default_rng(0)
    owners = [rng.normal(size=(200, 2)) for _ in range(3)]
    dpsumm.summarize(
        owners, rng.normal(size=(100, 2)), size=5, kernel=dpsumm.RBF(0.3), ledger=path, run="r"
    )


def _votes(path):
    rng = np.random.default_rng(0)
    parties = {
        f"p{i}": (x := rng.normal(size=(30, 2)), (x[:, 0] > 0).astype(int)) for i in range(50)
    }
    dpsumm.learn(parties, rng.normal(size=(100, 2)), classes=[0, 1], ledger=path, run="r")


def _rows(path):
    rng = np.random.default_rng(0)
    schema = {name: dpsumm.Schema([dpsumm.Column(name, categories=(0, 1))]) for name in "ab"}
    data = {name: rng.integers(2, size=(500, 1)) for name in "ab"}
    dpsumm.synthesize(data, schema=schema, ledger={"a": path, "b": path.parent / "other"}, run="r")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("first", "second"), [(_points, _votes), (_votes, _points), (_rows, _points), (_votes, _rows)]
)
def test_a_run_is_of_one_product(tmp_path, first, second):
    """All that a run releases adds up as one plan, which a second product would change."""
    for name in ("books", "other"):
        Ledger.create(tmp_path / name).close()
    first(tmp_path / "books")
    with Ledger(tmp_path / "books") as book:
        before = book.charges()
    with pytest.raises(InvalidParameterError, match="another name"):
        second(tmp_path / "books")
    with Ledger(tmp_path / "books") as book:
        assert book.charges() == before != ()


def test_settings_that_are_none_are_refused(tmp_path):
    path = tmp_path / "books"
    with Ledger.create(path, run="r") as book:
        book.release("public settings", (), lambda: b"garbage")
    with Ledger(path, run="r") as book, pytest.raises(InvalidDataError, match="public settings"):
        book.hold_to("summarize", {"size": "3"})


def test_summarize_is_refused_by_the_cap_before_anything_is_sent(tmp_path, rng):
    path = tmp_path / "books"
    owners = [rng.normal(size=(50, 3)) for _ in range(2)]
    target = rng.normal(size=(60, 3))
    with Ledger.create(path) as book:
        book.set_cap(Protected.TARGET, epsilon=1.5, delta=1e-4)
    dpsumm.summarize(owners, target, size=5, kernel=RBF(0.2), ledger=path)
    with pytest.raises(BudgetExceededError):
        dpsumm.summarize(owners, target, size=5, kernel=RBF(0.2), ledger=path)
    with Ledger(path) as book:
        assert len(book.charges()) == 1


def test_the_file_holds_nothing_of_the_data(tmp_path):
    """Planted values: neither as text nor as the bytes of a float, in any order."""
    path = tmp_path / "books"
    Ledger.create(path).close()
    planted = np.array([12345.678, 9.87654321e-3, 777.125])
    target = np.tile(planted, (40, 1)) * np.linspace(0.5, 2, 40)[:, None]
    target[7] = planted
    owners = {"a": target[:20] + 1e-3, "b": target[20:] * 1.01}
    dpsumm.summarize(owners, target, size=5, kernel=RBF(0.2), ledger=path)
    auction = dpsumm.papers.Auction(n_features=8, requests=dpsumm.papers.Requests.PRIVATE)
    dpsumm.summarize(owners, target, size=5, kernel=RBF(0.2), ledger=path, protocol=auction)
    data = path.read_bytes()
    assert len(data) > 4096
    for values in (target, owners["a"], owners["b"]):
        for value in values.ravel():
            for dtype in ("<f8", ">f8"):
                assert np.asarray(value).astype(dtype).tobytes() not in data
            assert repr(float(value))[:8].encode() not in data


def test_under_a_cap_the_charges_on_a_party_have_one_unit():
    """A sum over two units holds for neither: 0.5 and 0.49 passed a cap of 1."""
    added = Charge(Protected.TARGET, "m", Pure(0.49), unit=Unit.WHOLE_OWNER)
    with Ledger(run="first") as book:
        book.release("without a cap", [charge(0.5)], lambda: b"x")
        book.release("owners", [charge(0.5, Protected.OWNERS)], lambda: b"x")
        book.set_cap("target", 1, 1e-4)
        for charges in ([added], [added, charge()], [charge(), added]):
            with pytest.raises(InvalidParameterError, match=r"unit: .*one unit to a ledger"):
                book.release("a", charges, must_not_draw)
        assert book.spent("target")[0] == pytest.approx(0.5)
        book.release("a", [charge(0.4)], lambda: b"x")
    with Ledger(run="both at once") as book:
        book.set_cap("target", 1, 1e-4)
        with pytest.raises(InvalidParameterError, match="unit: "):
            book.release("a", [added, charge()], must_not_draw)

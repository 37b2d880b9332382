"""Owners that hold the same columns of different records, and one owner alone."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy import stats

from dpsumm import Column, Schema, Tables, plan_synthesis, synthesize
from dpsumm.errors import DpsummError, InvalidDataError, InvalidParameterError, ProtocolError
from dpsumm.exchange.across import Channel, answer_all
from dpsumm.privacy import Ledger
from dpsumm.vertical import Mpyc
from dpsumm.vertical.messages import ColumnCounts, Finish, Joined, TwoWay
from dpsumm.vertical.owner import Owner
from dpsumm.vertical.silos import SiloOwner, synthesize_silos
from dpsumm.vertical.way import Way
from helpers.chance import FALSE_ALARM
from helpers.columns import World
from helpers.command_line import dpsumm

SCHEMA = Schema(
    [
        Column("ward", categories=tuple("abcdefghij")),
        Column("age", bounds=(20, 80), whole=True),
        Column("ill", categories=("no", "yes")),
    ]
)
NAMES = ("north", "south", "west")
SCHEMAS = dict.fromkeys(NAMES, SCHEMA)
# The fit is nothing here.
FAST = Tables(components=2, max_steps=5)


def people(n, seed=0):
    draws = np.random.default_rng(seed)
    age = draws.integers(20, 80, n)
    ward = np.minimum(draws.integers(0, 10, n), age // 8)
    ill = draws.random(n) < age / 100
    return pl.DataFrame(
        {
            "ward": np.array(list("abcdefghij"))[ward],
            "age": age,
            "ill": np.where(ill, "yes", "no"),
        }
    )


def hospitals(n=1000, seed=0):
    return {name: people(n + 100 * k, 10 * seed + k) for k, name in enumerate(NAMES)}


def test_rows_of_hospitals_are_like_their_records(rng):
    data = hospitals(20_000, int(rng.integers(2**32)))
    made = synthesize(data, schema=SCHEMAS, label="ill", epsilon=3.0)
    real, rows = pl.concat(data.values()), made.sample(backend="polars")
    assert (made.n_records, made.columns) == (len(real), ("ward", "age", "ill"))
    for frame in (real, rows):
        assert frame.filter(ill="yes")["age"].mean() - frame.filter(ill="no")["age"].mean() > 8
    assert abs(rows["age"].mean() - real["age"].mean()) < 1
    assert made.verdict.level == "useful"
    assert made.label_model is not None


def test_one_schema_is_that_of_all_owners(tmp_path):
    data = hospitals()
    short = {"ward": list("abcdefghij"), "age": {"bounds": (20, 80), "whole": True}}
    short["ill"] = ["no", "yes"]
    SCHEMA.save(tmp_path / "schema.toml")
    wanted = synthesize(data, schema=SCHEMAS, protocol=FAST, seed=1).sample(50, seed=1)
    for schema in (SCHEMA, tmp_path / "schema.toml", short):
        found = synthesize(data, schema=schema, protocol=FAST, seed=1).sample(50, seed=1)
        assert found.equals(wanted)
    for schema in ({"north": SCHEMA}, {"nord": SCHEMA}, {"north": short, "ward": list("ab")}):
        with pytest.raises(InvalidParameterError, match="that of all owners, or a dict of each"):
            synthesize(data, schema=schema)
    words = [f"--owner={name}={name}.csv" for name in data]
    for name, frame in data.items():
        frame.write_csv(tmp_path / f"{name}.csv")
    done = dpsumm(
        "synthesize", *words, "--schema", "schema.toml", "--out", "rows.csv", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert set(pl.read_csv(tmp_path / "rows.csv").columns) == {"ward", "age", "ill"}


@pytest.mark.parametrize("owners", [1, 2, 3])
def test_the_noise_of_the_sums_is_that_of_all_owners(rng, owners):
    world = World(rng, [[12, 9, 7]] * owners, 300, same_columns=True)
    released = world.run()
    every, plan = np.vstack(world.codes), released.plan
    exact = [np.bincount(codes, minlength=n) for codes, n in zip(every.T, (12, 9, 7), strict=True)]
    found = [(released.one_way - np.concatenate(exact)) / plan.one_way_std]
    for index, pair in enumerate(plan.pairs):
        table = np.zeros_like(released.pairs[pair])
        np.add.at(table, tuple(every[:, pair].T), 1)
        found.append((released.pairs[pair] - table).ravel() / math.sqrt(plan.variance(index)))
    assert released.n_records == len(every)
    assert plan.adds == len(world.codes)
    squares = np.concatenate(found) ** 2
    tails = stats.chi2(len(squares)).cdf(squares.sum())
    assert FALSE_ALARM < tails < 1 - FALSE_ALARM


def test_every_owner_is_charged_for_the_budget_and_no_more(tmp_path):
    books = {name: tmp_path / name for name in NAMES}
    for path in books.values():
        Ledger.create(path, caps={"records": (1.0, 1e-5)}).close()
    synthesize(hospitals(), schema=SCHEMAS, label="ill", protocol=FAST, ledger=books, run="r")
    for path in books.values():
        with Ledger(path) as book:
            assert 0.99 < book.spent("records")[0] <= 1.0
            assert [c.message.split(" (")[0] for c in book.charges()] == [
                "one-way tables",
                "two-way tables",
            ]


@pytest.mark.parametrize("answers", range(1, 13))
def test_a_run_that_died_goes_on_with_the_same_tables(tmp_path, monkeypatch, answers):
    """After so many answers of three owners; the records of the day do not matter."""
    books = {name: tmp_path / name for name in NAMES}
    for path in books.values():
        Ledger.create(path, caps={"records": (1.0, 1e-5)}).close()
    sent = {}

    def listening(self, request, answer=Owner.answer):
        made = answer(self, request)
        if isinstance(made, ColumnCounts | TwoWay):
            numbers = made.counts if isinstance(made, ColumnCounts) else made.within
            before = sent.setdefault((self.name, type(made)), numbers)
            np.testing.assert_array_equal(numbers, before)
        return made

    def dying(self, request, given=[]):  # noqa: B006
        given.append(listening(self, request))
        if len(given) == answers:
            raise KeyboardInterrupt
        return given[-1]

    def go(seed=0):
        data = hospitals(seed=seed)
        return synthesize(data, schema=SCHEMAS, protocol=FAST, ledger=books, run="r").tables

    monkeypatch.setattr(Owner, "answer", dying)
    with pytest.raises(KeyboardInterrupt):
        go()
    monkeypatch.setattr(Owner, "answer", listening)
    made, again = go(seed=1), go(seed=2)
    np.testing.assert_array_equal(made.one_way, again.one_way)
    for pair, table in made.pairs.items():
        np.testing.assert_array_equal(table, again.pairs[pair])
    for path in books.values():
        with Ledger(path) as book:
            assert len(book.charges()) == 2


def test_two_rounds_count_the_sums(rng):
    columns = [Column(f"x{j}", categories=(0, 1, 2)) for j in range(26)]
    frames = {}
    for name in NAMES:
        codes = rng.integers(0, 3, (4000, 26))
        codes[:, 1] = codes[:, 0]
        frames[name] = pl.DataFrame({f"x{j}": codes[:, j] for j in range(26)})
    made = synthesize(frames, schema=dict.fromkeys(NAMES, Schema(columns)), protocol=FAST)
    assert made.tables.plan.rounds == 2
    assert (0, 1) in made.tables.pairs
    table = made.tables.pairs[0, 1] / made.n_records
    assert abs(np.trace(table) - 1) < 0.1


def test_a_page_and_notes_speak_of_sums(tmp_path):
    made = synthesize(hospitals(), schema=SCHEMAS, protocol=FAST, run="r")
    made.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    elsewhere = replace(made.privacy, way=Way.SUMS)
    for word in ("two owners", "same order", "mask", "elper"):
        assert word not in page
        assert word not in " ".join([*made.notes, *elsewhere.statements()])
    assert "has all records" in page
    replace(made, privacy=elsewhere).report(tmp_path / "afar.html")
    assert "adds them up" in (tmp_path / "afar.html").read_text()
    assert made.record.parties == NAMES
    assert made.record.protocol == "Sums of tables in one process"


def test_a_plan_has_the_noise_of_all_owners():
    one, four = (
        plan_synthesis(dict.fromkeys(names, SCHEMA), 4000, label="ill") for names in ("a", "abcd")
    )
    assert four.single_std == pytest.approx(2 * one.single_std)
    for mine, theirs in zip(one.tables, four.tables, strict=True):
        assert theirs.noise_std == pytest.approx(2 * mine.noise_std)
    assert four.mean_errors["age"] == pytest.approx(2 * one.mean_errors["age"])
    assert set(four.sent_bytes) == set("abcd")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"ids": "person"}, "ids: all owners have one schema"),
        ({"protocol": Tables(secret_product=Mpyc())}, "secret_product must be left out"),
        ({"schema": {**SCHEMAS, "west": Schema(SCHEMA.columns[:2])}}, "need equal schemas"),
    ],
)
def test_what_does_not_fit_is_refused(changes, message):
    with pytest.raises(InvalidParameterError, match=message):
        synthesize(hospitals(50), **{"schema": SCHEMAS} | changes)


def test_no_owner_has_the_name_of_all():
    with pytest.raises(InvalidParameterError, match=r"'all owners'. Rename"):
        synthesize({"all owners": people(50)}, schema={"all owners": SCHEMA})


class Wrong(Owner):
    """One of the owners answers something else."""

    def answer(self, request):
        made = super().answer(request)
        if self.name != "clinic":
            return made
        if isinstance(made, Joined) and self.wrong == "schema":
            return Joined(made.n_records, "b" * 12, made.order)
        if isinstance(request, Finish) and self.wrong == "size":
            return TwoWay(made.within[:-1, :-1], ())
        if isinstance(made, ColumnCounts) and self.wrong == "counts":
            return ColumnCounts(made.counts[:-1], made.nonce)
        if isinstance(made, ColumnCounts) and self.wrong == "kind":
            return TwoWay(np.zeros((0, 0), np.int64), ())
        return made


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        ("schema", InvalidDataError, "schema: 'clinic' reads its data by another schema"),
        ("size", ProtocolError, "different sizes"),
        ("counts", ProtocolError, "different sizes"),
        ("kind", ProtocolError, "different sizes"),
    ],
)
def test_a_wrong_answer_is_refused(rng, wrong, error, message):
    world = World(rng, [[3, 2]] * 2, 50, same_columns=True)
    world.owner_kind = type("One", (Wrong,), {"wrong": wrong})
    with pytest.raises(error, match=message):
        world.run()


class Loopback(Channel):
    """Every owner fresh for every exchange, without a key."""

    def __init__(self, folder, schemas=SCHEMAS):
        self.folder, self.schemas, self.asked = Path(folder), schemas, []
        for name in NAMES:
            Ledger.create(self.folder / f"{name}.db", caps={"records": (1.0, 1e-5)}).close()

    def ask(self, messages):
        for name, given in messages.items():
            self.asked.append(name)
            ledger = self.folder / f"{name}.db"
            party = SiloOwner(name, hospitals()[name], self.schemas[name], ledger=ledger)
            try:
                answer = answer_all(party, given, max_bytes=2**24, max_records=0)
            except DpsummError as error:
                answer = str(error)
            yield name, answer


def test_owners_elsewhere_need_no_helper_and_no_keys(tmp_path):
    channel = Loopback(tmp_path)
    made = synthesize_silos(
        channel, SCHEMAS, protocol=FAST, run="r", journal=tmp_path / "j", out=tmp_path / "rows.csv"
    )
    assert made.n_records == 3300
    assert made.record.protocol == "Sums of tables"
    assert set(channel.asked) == set(NAMES)
    assert len(pl.read_csv(tmp_path / "rows.csv")) == 3300
    for name in NAMES:
        with Ledger(tmp_path / f"{name}.db") as book:
            assert 0.99 < book.spent("records")[0] <= 1.0


def test_an_owner_without_a_key_sends_no_masked_rows(rng):
    world = World(rng, [[3, 2], [4]], 50)
    world.secrets["clinic"] = None
    with pytest.raises(ProtocolError, match="no key that a helper shares"):
        world.run()


def test_the_command_takes_one_schema_for_all(tmp_path):
    SCHEMA.save(tmp_path / "schema.toml")
    words = []
    for name, frame in hospitals(300).items():
        frame.write_csv(tmp_path / f"{name}.csv")
        words += ["--schema", f"{name}=schema.toml", "--owner", f"{name}={name}.csv"]
    done = dpsumm("synthesize", *words, "--label", "ill", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(pl.read_parquet(tmp_path / "synthetic.parquet")) == 1200
    assert "3 of 3 owners, 1,200 records" in done.stdout

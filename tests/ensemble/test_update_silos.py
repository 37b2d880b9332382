"""Private updates with parties elsewhere: as in one process, faults are zeros, dead runs go on."""

import logging
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import dpsumm
from dpsumm import Column, Schema, Updates, Voting
from dpsumm.data.inputs import read_owners
from dpsumm.ensemble import load_model
from dpsumm.ensemble.holder import CODEC, Holder
from dpsumm.ensemble.messages import VoteTask
from dpsumm.ensemble.once import Once
from dpsumm.ensemble.silos import learn_silos
from dpsumm.ensemble.terms import Terms
from dpsumm.ensemble.updates.messages import Update, UpdateTask
from dpsumm.ensemble.updates.model import UpdatesModel
from dpsumm.errors import InvalidParameterError, ProtocolError
from dpsumm.exchange.across import Channel, answer_all, reason
from dpsumm.exchange.messages import Describe
from dpsumm.privacy import Ledger
from helpers.journals import answers_in
from helpers.kept import kept_by

SCHEMA = Schema([Column("a", bounds=(-4, 4)), Column("b", bounds=(-4, 4)), Column("sick", "label")])
NAMES = tuple(f"clinic-{i:02d}" for i in range(12))
RECORD = {"unit": "replace one record", "protocol": Updates(records_per_owner=60)}
ROUNDS = 8
pytestmark = pytest.mark.filterwarnings("ignore:learn")


def people(rng, n):
    x = rng.normal(size=(n, 2)).clip(-4, 4)
    sick = np.array(["no", "yes"])[(x[:, 0] + x[:, 1] > 0).astype(int)]
    return pl.DataFrame({"a": x[:, 0], "b": x[:, 1], "sick": sick})


@pytest.fixture(scope="module")
def frames():
    rng = np.random.default_rng(3)
    return {name: people(rng, 60) for name in NAMES}, people(rng, 400).drop("sick")


class DiedError(Exception):
    """The curator's process was killed."""


class Loopback(Channel):
    """Parties made anew for every exchange.

    Parameters
    ----------
    faults
        By (name, round): answers in place of the right one.
    dies
        Number of the exchange in the middle of which the curator dies.
    """

    def __init__(self, frames, faults=None, dies=None):
        self.tables = {one.name: one for one in read_owners(frames, schema=SCHEMA)}
        self.faults, self.dies = faults or {}, dies
        self.asked, self.kept = [], kept_by(self)

    def ask(self, messages):
        self.asked.append({name: list(items) for name, items in messages.items()})
        for i, (name, items) in enumerate(messages.items()):
            if self.dies == len(self.asked) and i == len(messages) // 2:
                raise DiedError
            last = CODEC.decode(items[-1])
            number = last.step.number if isinstance(last, UpdateTask) else None
            try:
                answer = self.answer(name, items)
            except Exception as error:
                answer = reason(error)
            yield from ((name, one) for one in self.faults.get((name, number), [answer]))

    def answer(self, name, items):
        role = Once(Holder(self.tables[name]), name, f"{self.kept}.{name}")
        return answer_all(role, items, max_bytes=2**24, max_records=60)


def learn(channel, points, **given):
    usual = {"schema": SCHEMA, "classes": ["no", "yes"], "epsilon": 4}
    return learn_silos(channel, NAMES, points, **(usual | given))


@pytest.fixture(scope="module")
def whole(frames):
    """What is learnt when all come."""
    parties, points = frames
    return learn(Loopback(parties), points, seed=5)


@pytest.fixture
def book(tmp_path):
    Ledger.create(tmp_path / "books.db").close()
    return {"ledger": tmp_path / "books.db", "run": "spring"}


@pytest.mark.parametrize("unit", [{}, RECORD])
def test_as_in_one_process(frames, unit, tmp_path):
    parties, points = frames
    channel = Loopback(parties)
    model = learn(channel, points, seed=5, **unit)
    given = {"schema": SCHEMA, "classes": ["no", "yes"], "epsilon": 4, "seed": 5}
    here = dpsumm.learn(parties, points, **given, **{k: unit[k] for k in ("unit",) if k in unit})
    assert isinstance(model, UpdatesModel)
    np.testing.assert_array_equal(model.votes.sums, here.votes.sums)
    assert len(channel.asked) == 1 + ROUNDS
    # A round's request is all that a party gets, with the schema that it must have.
    assert {len(items) for asked in channel.asked[1:] for items in asked.values()} == {2}
    model.save(tmp_path / "model.dpsumm")
    again = load_model(tmp_path / "model.dpsumm")
    np.testing.assert_array_equal(again.predict(points), model.predict(points))
    assert model.record.across


def test_what_is_of_votes_asks_for_votes_and_sizes_are_declared(frames):
    parties, points = frames
    assert not isinstance(learn(Loopback(parties), points, protocol=Voting(grid=3)), UpdatesModel)
    channel = Loopback(parties)
    for given, match in (
        ({"unit": RECORD["unit"]}, "records_per_owner.*needed where they are not"),
        ({"protocol": Voting(learner="tree")}, "learner: each party says its own"),
        ({"protocol": "other"}, "protocol must be"),
    ):
        with pytest.raises(InvalidParameterError, match=match):
            learn(channel, points, **given)
    assert channel.asked == []


def changed(**change):
    """An update of a strange kind, as bytes."""
    usual = {"run": "r", "digest": "0" * 64, "number": 2, "vector": np.zeros((3, 2), np.int64)}
    return CODEC.encode(Update(**(usual | change)))


FAULTS = {
    "silent": [],
    "gave up": ["its process died"],
    "garbage": [b"garbage"],
    "another run": [changed(run="x")],
    "other points": [changed()],
    "huge": [changed(vector=np.full((3, 2), 2**62))],
}


@pytest.mark.parametrize("fault", FAULTS)
def test_who_fails_in_a_round_is_zero_from_it_on_and_nobody_is_told(frames, whole, fault, caplog):
    parties, points = frames
    channel = Loopback(parties, {("clinic-03", 2): FAULTS[fault]})
    with caplog.at_level(logging.WARNING, logger="dpsumm"):
        model = learn(channel, points, seed=5)
    same = (model.votes.sums == whole.votes.sums).all(1)
    assert same[:2].all()
    assert not same[2]
    asked = ["clinic-03" in exchange for exchange in channel.asked]
    assert asked == [True] * 4 + [False] * 5
    assert "'clinic-03' counts as absent" in caplog.text
    said = "\n".join([*model.notes, *model.privacy.statements(), repr(model), model.verdict.text])
    assert "clinic-03" not in said
    assert model.foreseen == whole.foreseen


def test_nobody_came_and_the_run_ends_all_the_same(frames, book):
    parties, points = frames
    faults = {(name, None): [] for name in NAMES}
    # Of noise alone one run in ten is a warning only: not this one.
    assert not learn(Loopback(parties, faults), points, seed=6).verdict.good
    assert len(learn(Loopback(parties, faults), points, **book).privacy.charges) == ROUNDS


@pytest.mark.parametrize("dies", [1, 2, 5, 9])
def test_a_killed_curator_goes_on_where_it_was(frames, book, dies):
    """Of the open round only those are asked who had not answered; nothing is paid twice."""
    parties, points = frames
    answers = f"{book['ledger']}.answers"
    channel = Loopback(parties, dies=dies)
    with pytest.raises(DiedError):
        learn(channel, points, **book)
    with Ledger(book["ledger"]) as ledger:
        paid = ledger.charges()
    assert len(paid) == max(dies - 2, 0)
    # Of the rounds before nothing is kept.
    half = len(NAMES) // 2
    described = {0: len(NAMES)} if dies > 1 else {}
    assert answers_in(answers) == {**described, dies - 1: half}
    went, channel.dies = channel.asked, None
    channel.asked = []
    model = learn(channel, points, **book)
    assert len(channel.asked[0]) == half
    assert channel.asked[0].items() <= went[-1].items()
    assert len(channel.asked) == 1 + ROUNDS - (dies - 1)
    assert model.privacy.charges[: len(paid)] == paid
    assert len(model.privacy.charges) == ROUNDS
    assert answers_in(answers) == {}
    idle = Loopback(parties)
    again = learn(idle, points, **book)
    assert idle.asked == []
    np.testing.assert_array_equal(again.votes.sums, model.votes.sums)


def test_a_party_remembers_its_rounds_and_the_terms(frames, tmp_path):
    parties, points = frames
    channel = Loopback(parties)
    learn(channel, points, run="r", seed=5)
    first, second = (channel.asked[i]["clinic-00"][-1] for i in (1, 2))
    task = CODEC.decode(second)
    assert channel.answer("clinic-00", [second]) == channel.answer("clinic-00", [second])
    (other,) = read_owners({"clinic-00": people(np.random.default_rng(9), 60)}, schema=SCHEMA)
    kept = channel.answer("clinic-00", [second])
    channel.tables = {**channel.tables, "clinic-00": other}
    assert channel.answer("clinic-00", [second]) == kept
    step = replace(task.step, weights=task.step.weights + 1e-9)
    votes = Terms.of(np.zeros((20, 2)), ("no", "yes"), 30)
    fresh = replace(task.step, number=7)
    for wrong in (
        replace(task, step=step),
        # In a round that was not asked yet: of another budget, or other terms.
        replace(task, step=fresh, recipe=replace(task.recipe, epsilon=9.0)),
        replace(task, step=fresh, terms=replace(task.terms, n_parties=31)),
        VoteTask("r", votes, np.zeros((20, 2))),
    ):
        with pytest.raises(ProtocolError, match="answers once"):
            channel.answer("clinic-00", [CODEC.encode(wrong)])
    assert channel.answer("clinic-00", [first])
    assert channel.answer("clinic-00", [CODEC.encode(Describe())])


def test_parties_receive_the_same_whatever_the_others_do(frames):
    """In the first round; what they receive later is made of noisy sums (the audit)."""
    parties, points = frames
    channels = [
        Loopback(parties),
        Loopback(parties, {("clinic-04", None): [], ("clinic-05", 0): [b"garbage"]}),
    ]
    for channel in channels:
        learn(channel, points, run="r")
    asked = [channel.asked[1] for channel in channels]
    assert asked[0].keys() - asked[1].keys() == {"clinic-04"}
    assert asked[1].items() <= asked[0].items()

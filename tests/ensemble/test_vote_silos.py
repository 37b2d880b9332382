"""Parties elsewhere: faults are zero rows, resumed runs release once, nothing tells who came."""

import logging
from dataclasses import replace
from datetime import datetime
from types import SimpleNamespace

import matplotlib as mpl
import numpy as np
import polars as pl
import pytest

import dpsumm
from dpsumm import Column, Schema, Voting
from dpsumm.data.inputs import read_owners
from dpsumm.ensemble import Spectral
from dpsumm.ensemble.messages import CODEC, Votes
from dpsumm.ensemble.once import Once
from dpsumm.ensemble.release import release_votes
from dpsumm.ensemble.silos import learn_silos
from dpsumm.ensemble.trainer import Trainer
from dpsumm.errors import InvalidDataError, InvalidParameterError
from dpsumm.exchange.across import Channel, answer_all, reason
from dpsumm.privacy import Ledger
from helpers.journals import answers_in
from helpers.kept import kept_by
from helpers.votes import by_votes

SCHEMA = Schema([Column("a", bounds=(-4, 4)), Column("b", bounds=(-4, 4)), Column("sick", "label")])
NAMES = tuple(f"clinic-{i:02d}" for i in range(50))
FAST = Spectral(("linear",))


def people(rng, n):
    x = rng.normal(size=(n, 2)).clip(-4, 4)
    sick = np.array(["no", "yes"])[(x[:, 0] + x[:, 1] > 0).astype(int)]
    return pl.DataFrame({"a": x[:, 0], "b": x[:, 1], "sick": sick})


@pytest.fixture(scope="module")
def frames():
    """The parties' tables, read once, and the public points."""
    rng = np.random.default_rng(3)
    parties = {name: people(rng, 30) for name in NAMES}
    tables = {one.name: one for one in read_owners(parties, schema=SCHEMA)}
    return tables, people(rng, 1000).drop("sick")


@pytest.fixture(scope="module")
def whole(frames):
    """What is learnt when all come."""
    parties, points = frames
    return learn(Loopback(parties), points, seed=5)


class Loopback(Channel):
    """Parties made anew for every exchange; `faults` by name: answers in place of the right one."""

    def __init__(self, tables, **faults):
        self.tables = tables
        self.faults = {name.replace("_", "-"): fault for name, fault in faults.items()}
        self.asked = []
        self.kept = kept_by(self)

    def ask(self, messages):
        self.asked.append({name: list(items) for name, items in messages.items()})
        for name, items in messages.items():
            task = b"Task" in items[-1][:2000]
            try:
                answer = self.answer(name, items)
            except Exception as error:
                answer = reason(error)
            fault = self.faults.get(name)
            if fault is None or not task:
                yield name, answer
            else:
                yield from ((name, item) for item in fault(answer))

    def answer(self, name, items):
        role = Once(Trainer(self.tables[name], "bayes", seed=1), name, self.kept)
        return answer_all(role, items, max_bytes=2**24, max_records=10**6)


def learn(channel, points, names=NAMES, **given):
    usual = {"schema": SCHEMA, "classes": ["no", "yes"], "epsilon": 4}
    return learn_silos(channel, names, points, **(usual | by_votes(given, student=FAST)))


def test_as_in_one_process(frames, whole):
    parties, points = frames
    raw = np.random.default_rng(3)
    here = dpsumm.learn(
        {name: people(raw, 30) for name in NAMES},
        points,
        schema=SCHEMA,
        classes=["no", "yes"],
        epsilon=4,
        protocol=Voting(student=FAST, learner="bayes"),
        seed=5,
    )
    np.testing.assert_array_equal(whole.votes.counts, here.votes.counts)
    assert whole.verdict.good
    hidden = learn(Loopback(parties), points, seed=5, points_are="consumer")
    np.testing.assert_array_equal(hidden.votes.counts, here.votes.counts)


def other(answer, **change):
    votes = CODEC.decode(answer)
    given = {"run": votes.run, "digest": votes.digest, "votes": votes.votes} | change
    return CODEC.encode(Votes(**given))


FAULTS = {
    "silent": lambda answer: [],
    "gave up": lambda answer: ["its process died"],
    "garbage": lambda answer: [b"garbage"],
    "cut short": lambda answer: [answer[:-1]],
    "another run": lambda answer: [other(answer, run="x")],
    "other points": lambda answer: [other(answer, digest="0" * 64)],
    "too many votes": lambda answer: [other(answer, votes=CODEC.decode(answer).votes * 2)],
    "fewer points": lambda answer: [other(answer, votes=CODEC.decode(answer).votes[:-1])],
    "another class list": lambda answer: [
        other(answer, votes=np.pad(CODEC.decode(answer).votes, ((0, 0), (0, 1))))
    ],
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_party_that_fails_is_a_row_of_zeros_and_nobody_is_told(frames, whole, fault, caplog):
    parties, points = frames
    with caplog.at_level(logging.WARNING, logger="dpsumm"):
        model = learn(Loopback(parties, clinic_03=FAULTS[fault]), points, seed=5)
    # The noise is that of the seed: what is left is the party's own votes, each 1 or -1.
    missing = whole.votes.counts - model.votes.counts
    assert set(np.unique(missing)) == {-1, 1}
    # For the curator alone.
    assert "'clinic-03' counts as absent" in caplog.text
    said = "\n".join([*model.notes, *model.privacy.statements(), repr(model), model.verdict.text])
    assert "clinic-03" not in said
    assert model.foreseen == whole.foreseen
    assert model.votes.terms == whole.votes.terms


def test_a_second_answer_does_not_count(frames, whole):
    parties, points = frames
    twice = Loopback(parties, clinic_03=lambda answer: [answer, answer])
    np.testing.assert_array_equal(learn(twice, points, seed=5).votes.counts, whole.votes.counts)


def test_nobody_came_and_the_run_ends_all_the_same(frames):
    parties, points = frames
    faults = {name.replace("-", "_"): FAULTS["silent"] for name in NAMES}
    # Of noise alone one run in ten is a warning only: not this one.
    model = learn(Loopback(parties, **faults), points, seed=5)
    assert not model.verdict.good
    assert "Do not use this model: the noise hides what the votes say" in model.notes[0]
    assert learn(Loopback(parties, **faults), points).privacy.epsilon() > 3.9


def test_another_schema_is_an_absence_and_labels_of_another_type_a_silent_one(
    frames, whole, caplog
):
    """A library's type may hang on one record, so it must not refuse: no label is listed."""
    parties, points = frames
    wider = Schema([*SCHEMA.columns[:1], Column("b", bounds=(-5, 5)), SCHEMA.columns[2]])
    changed = people(np.random.default_rng(1), 30)
    numbers = changed.with_columns(sick=pl.Series(np.arange(30) % 2))
    (one,) = read_owners({"clinic-00": changed}, schema=wider)
    (two,) = read_owners({"clinic-01": numbers}, schema=SCHEMA)
    with caplog.at_level(logging.WARNING, logger="dpsumm"):
        model = learn(Loopback({**parties, one.name: one, two.name: two}), points, seed=5)
    assert "'clinic-00' counts as absent: failed: its schema has fingerprint" in caplog.text
    assert "clinic-01" not in caplog.text
    assert 1 <= np.abs(whole.votes.counts - model.votes.counts).max() <= 2


def test_parties_receive_the_same_whatever_the_others_do(frames):
    """And nothing of the points where these are the consumer's."""
    parties, points = frames
    channels = [
        Loopback(parties),
        Loopback(parties, clinic_04=FAULTS["silent"], clinic_05=FAULTS["garbage"]),
    ]
    for channel in channels:
        learn(channel, points, run="r")
    first, second = channels
    assert first.asked == second.asked
    moved = Loopback(parties)
    learn(moved, points.with_columns(pl.col("a") / 2), run="r", points_are="consumer")
    hidden = Loopback(parties)
    learn(hidden, points, run="r", points_are="consumer")
    assert hidden.asked == moved.asked


class Midnight(datetime):
    """A clock that stands."""

    @classmethod
    def now(cls, tz=None):
        return cls(2000, 1, 1, tzinfo=tz)


def leaving(model, folder, caplog):
    """All that a consumer gets of a run, or gives away, as bytes and texts."""
    model.report(folder / "page.html")
    model.save(folder / "model")
    for file in ("rows.parquet", "rows.csv"):
        model.save_predictions(folder / file)
    written = {
        file.name: file.read_bytes()
        for file in folder.iterdir()
        if not file.name.startswith("books")  # the curator's
    }
    with Ledger(folder / "books.db") as book:
        spent = [(line.run, line.charge) for line in book.lines()]
    return {
        **written,
        "spent": spent,
        "log": [
            one.getMessage()
            for one in caplog.records
            if one.name.startswith("dpsumm") and "counts as absent" not in one.msg
        ],
        "notes": [*model.notes, *model.foreseen, *model.privacy.statements()],
        "shown": [repr(model), repr(model.votes), repr(model.candidates), model.verdict.text],
        "strength": model.strength.ratio,
    }


@pytest.mark.deep
def test_nothing_that_leaves_tells_of_agreement_attendance_or_accuracy(
    frames, tmp_path, monkeypatch, caplog
):
    """Noise that happens to make the same noisy votes of other ones: all the rest is the same."""
    parties, points = frames
    swapped = {
        name: replace(one, labels=np.where(one.labels == "yes", "no", "yes"))
        for name, one in parties.items()
    }
    absent = {name.replace("-", "_"): FAULTS["silent"] for name in NAMES[5:18]}
    absent["clinic_30"] = FAULTS["garbage"]
    counts = np.random.default_rng(0).integers(-90, 90, (1000, 1))
    real, held = release_votes, [True]
    for module in ("ensemble.vote", "report.parts"):
        monkeypatch.setattr(f"dpsumm.{module}.datetime", Midnight)
    # Else the salt of a digest of the rows is random, and so are names inside pictures.
    monkeypatch.setattr("dpsumm.data.written.secrets", SimpleNamespace(token_bytes=bytes))
    monkeypatch.setitem(mpl.rcParams, "svg.hashsalt", "the same")

    def same(*given, **named):
        made = real(*given, **named)
        return replace(made, counts=counts) if held[0] else made

    monkeypatch.setattr("dpsumm.ensemble.curator.release_votes", same)
    labelled = people(np.random.default_rng(1), 100)
    seen = []
    for world, faults in ((parties, {}), (swapped, absent), (parties, {})):
        held[0] = len(seen) < 2
        caplog.clear()
        with caplog.at_level(logging.DEBUG, logger="dpsumm"):
            folder = tmp_path / f"w{len(seen)}"
            folder.mkdir()
            Ledger.create(folder / "books.db").close()
            model = learn(
                Loopback(world, **faults),
                points,
                run="r",
                ledger=folder / "books.db",
                validation=labelled,
            )
        seen.append(leaving(model, folder, caplog))
    for what, found in seen[0].items():
        assert found == seen[1][what], what
    # It has power: other noisy votes are told of, in every file and by the verdict.
    for what in ("page.html", "model", "rows.csv", "strength"):
        assert seen[2][what] != seen[0][what], what


@pytest.mark.filterwarnings("ignore:learn")  # 49 parties are few
def test_a_run_that_died_goes_on_and_pays_once(frames, tmp_path):
    parties, points = frames
    books = tmp_path / "books.db"
    Ledger.create(books, caps={"owners": (4, 1e-5)}).close()

    class Dies(Loopback):
        def ask(self, messages):
            for count, one in enumerate(super().ask(messages)):
                if len(self.asked) == 2 and count == 20:
                    raise KeyboardInterrupt
                yield one

    with pytest.raises(KeyboardInterrupt):
        learn(Dies(parties), points, ledger=books, run="r")
    with Ledger(books) as book:
        assert book.charges() == ()
    # What came is kept while the ledger has no votes: all descriptions, and twenty answers.
    assert answers_in(f"{books}.answers") == {0: len(NAMES), 1: 20}
    again = Loopback(parties)
    model = learn(again, points, ledger=books, run="r")
    assert answers_in(f"{books}.answers") == {}
    # Those that had answered are not asked again.
    assert [len(asked) for asked in again.asked] == [30]
    # Released: nobody is asked, the same votes, no second charge; the answers are gone.
    idle = Loopback({})
    third = learn(idle, points, ledger=books, run="r")
    assert idle.asked == []
    np.testing.assert_array_equal(third.votes.counts, model.votes.counts)
    assert "was resumed" in third.foreseen[-1]
    with Ledger(books) as book:
        assert len(book.charges()) == 1
    assert b"Votes" not in (tmp_path / "books.db.answers").read_bytes()
    # Other points, or other parties, in the same run.
    for change in ({"points": points.reverse()}, {"names": NAMES[:-1]}):
        with pytest.raises(InvalidParameterError, match="other parameters"):
            learn(idle, **({"points": points} | change), ledger=books, run="r")


def test_a_second_task_in_a_run_is_refused(frames):
    parties, points = frames
    asked, told = Loopback(parties), []
    first = learn(asked, points, run="r", seed=1)
    learn(asked, points.reverse(), run="r", on_absent=lambda *one: told.append(one))
    assert len(told) == len(NAMES)
    assert all("answers once" in why for _, why in told)
    again = learn(asked, points, run="r", seed=1)
    np.testing.assert_array_equal(again.votes.counts, first.votes.counts)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"names": ["a", "a"]}, "distinct names"),
        ({"names": ["a"]}, "at least two"),
        ({"schema": SCHEMA.for_target()}, "kind 'label'"),
        ({"epsilon": 11}, "next to nothing"),
        (
            {"validation": pl.DataFrame({"a": [1.0], "b": [1.0], "sick": [1]})},
            "its labels are not among",
        ),
        ({"points": [[np.nan, 1.0]] * 30}, "missing|infinite"),
    ],
)
def test_refused_before_anybody_is_asked(frames, change, match):
    parties, points = frames
    channel = Loopback(parties)
    given = {"points": points} | change
    if isinstance(given["points"], list):
        given["points"] = pl.DataFrame(given["points"], schema=["a", "b"], orient="row")
    with pytest.raises((InvalidParameterError, InvalidDataError), match=match):
        learn(channel, **given)
    assert channel.asked == []

"""Rounds as state machines: what is charged when, what is refused, who stays away, what resumes."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from dpsumm import Column, Schema, Updates
from dpsumm.ensemble.inputs import read_parties
from dpsumm.ensemble.rounds import recipe_of
from dpsumm.ensemble.terms import Terms
from dpsumm.ensemble.updates.clipping import LEVELS
from dpsumm.ensemble.updates.curator import UpdateCurator
from dpsumm.ensemble.updates.messages import CODEC, NoisyMoments, Update, UpdateTask
from dpsumm.ensemble.updates.party import Updater
from dpsumm.ensemble.updates.recipe import Recipe
from dpsumm.ensemble.updates.release import release_round
from dpsumm.ensemble.vote import Asked
from dpsumm.errors import BudgetExceededError, InvalidParameterError, ProtocolError
from dpsumm.exchange.messages import Describe
from dpsumm.privacy import Ledger, Unit
from helpers.updates import carried, people, roles

UNITS = pytest.mark.parametrize("unit", [Unit.WHOLE_OWNER, Unit.REPLACE_RECORD])


@pytest.fixture
def owners(rng):
    return {f"p{i}": people(rng, 12) for i in range(5)}


@pytest.fixture
def points(rng):
    return rng.normal(size=(40, 2))


@UNITS
def test_every_round_is_charged_before_its_sum_leaves(owners, points, unit):
    with Ledger() as book:
        curator, parties = roles(owners, points, 3, book, unit=unit)
        counts = []
        while requests := curator.send():
            counts.append(len(book.charges()))
            for name, request in requests.items():
                curator.receive(name, parties[name].answer(request))
        assert counts == list(range(8))
        charges = book.charges()
        assert len(charges) == 8
        assert {c.unit for c in charges} == {unit}
        noisy = curator.result()
    assert sum(1 / c.event.noise_multiplier**2 for c in charges) == pytest.approx(
        8 / noisy.noise_multiplier**2
    )
    least = 2 * LEVELS * noisy.noise_multiplier
    assert least <= noisy.noise_std <= least * (1 + 2e-5)


def test_a_repeated_round_has_the_same_bytes_and_another_sum_changes_nothing(owners, points):
    with Ledger() as book:
        curator, parties = roles(owners, points, 3, book)
        carried(curator, parties)
        first = curator.result()
        shape, names = curator.course.shape, curator.names
        given = (curator.terms, curator.recipe)
        for number in (0, 7):
            again = release_round(
                np.ones(shape, np.int64), *given, number, parties=names, ledger=book
            )
            assert np.array_equal(again.ravel(), first.sums[number])
        assert len(book.charges()) == 8
        with pytest.raises(InvalidParameterError):
            release_round(np.ones(shape, np.int64), *given, 0, parties=names[1:], ledger=book)


@pytest.mark.parametrize("died", [1, 4])
def test_a_run_that_died_goes_on_without_a_second_draw(owners, points, died, tmp_path):
    class Died(Exception):
        pass

    def run(stop):
        with Ledger(tmp_path / "l.db", run="r") as book:
            curator, parties = roles(owners, points, 3, book)
            asked = []
            while requests := curator.send():
                asked.append(next(iter(requests.values())).step)
                if len(asked) == stop:
                    raise Died
                for name, request in requests.items():
                    curator.receive(name, parties[name].answer(request))
            return asked, curator.result(), book.charges()

    Ledger.create(tmp_path / "l.db").close()
    with pytest.raises(Died):
        run(died + 1)
    asked, noisy, charges = run(0)
    assert [step.number for step in asked] == list(range(died, 8))
    assert len(charges) == 8
    _, again, same = run(0)
    assert np.array_equal(again.sums, noisy.sums)
    assert same == charges


def test_who_stays_away_is_the_zero_vector_and_stays_charged(owners, points):
    absent = {(0, "p1"), (3, "p0"), *((5, f"p{i}") for i in range(5))}
    with Ledger() as book:
        curator, parties = roles(owners, points, 3, book, epsilon=1e6)
        asked = carried(curator, parties, absent)
        noisy = curator.result()
        assert len(book.charges()) == 8
    assert len(asked) == 6
    exact = sum(parties[f"p{i}"].answer(asked[4]).vector for i in (2, 3, 4))
    assert abs(noisy.sums[4] - exact.ravel()).max() < 6 * noisy.noise_std + 1
    assert abs(noisy.sums[5:]).max() < 6 * noisy.noise_std + 1


def test_empty_and_strange_parties_are_zero_and_the_run_ends(points, rng):
    x, y = people(rng, 20)
    owners = {
        "none listed": (x, np.full(20, 9)),
        "one class": (x, np.zeros(20, int)),
        "huge": (x * 1e14, y),
        "one record": (x[:1], y[:1]),
    }
    with Ledger() as book:
        curator, parties = roles(owners, points, 3, book)
        asked = carried(curator, parties)
        # Before the first round all classes are equally likely, and that is what it says.
        assert not parties["none listed"].answer(asked[0]).vector.any()
        assert parties["none listed"].answer(asked[7]).vector.any()
        assert np.isfinite(curator.course.weights).all()
        assert curator.result().sums.shape[0] == 8


def test_a_party_answers_a_round_once(owners, points):
    with Ledger() as book:
        curator, parties = roles(owners, points, 3, book)
        task, second, *_ = carried(curator, parties)
    party = parties["p0"]
    assert party.answer(task) is party.answer(task)
    assert party.answer(Describe()).n_records == 12
    other = replace(second.step, weights=second.step.weights + 1e-9)
    for wrong, why in (
        (replace(second, step=other), "another model"),
        (replace(second, step=replace(second.step, number=8)), "none of those"),
        (replace(second, step=replace(other, number=7, clip=np.nan)), "does not fit"),
        (replace(second, step=replace(other, weights=other.weights * np.inf)), "does not fit"),
        (replace(second, run="another"), "one run"),
        (replace(second, terms=replace(task.terms, n_parties=6)), "one run"),
        (replace(second, recipe=replace(task.recipe, epsilon=9.0)), "one run"),
    ):
        with pytest.raises(ProtocolError, match=why):
            party.answer(wrong)


def test_what_no_party_can_have_made_is_refused_and_changes_nothing(owners, points):
    with Ledger() as book:
        curator, parties = roles(owners, points, 3, book)
        requests = curator.send()
        right = parties["p0"].answer(requests["p0"])
        for wrong in (
            replace(right, vector=right.vector * 0 + LEVELS),
            replace(right, vector=right.vector.astype(np.int32)),
            replace(right, vector=right.vector[1:]),
            replace(right, vector=np.full_like(right.vector, -(2**63))),
            replace(right, number=1),
            replace(right, run="another"),
            Describe(),
        ):
            with pytest.raises(ProtocolError):
                curator.receive("p0", wrong)
        curator.receive("p0", right)
        with pytest.raises(ProtocolError, match="no answer"):
            curator.receive("p0", right)
        with pytest.raises(ProtocolError, match="open"):
            curator.send()
        with pytest.raises(ProtocolError, match="open"):
            curator.result()


def test_a_cap_stops_a_run_before_its_first_round(owners, points, tmp_path):
    with Ledger.create(tmp_path / "l.db", caps={"owners": (0.9, 1e-5)}) as book:
        with pytest.raises(BudgetExceededError):
            roles(owners, points, 3, book, epsilon=1.0)
        assert not book.charges()


@UNITS
def test_requests_are_functions_of_released_sums(owners, points, unit, rng):
    """Other records, the same released sums: the same requests, to the bit."""
    with Ledger() as book:
        curator, parties = roles(owners, points, 3, book, unit=unit)
        asked = carried(curator, parties)
        released = curator.result()
        replayed, _ = roles({n: people(rng, 12) for n in owners}, points, 3, book, unit=unit)
        for request, noisy in zip(asked, released.sums, strict=True):
            assert replayed.course.step.same_as(request.step)
            replayed.course.take(noisy.reshape(replayed.course.shape))
        assert np.array_equal(replayed.course.weights, curator.course.weights)


def test_messages_survive_the_wire(owners, points):
    with Ledger() as book:
        curator, parties = roles(owners, points, 3, book)
        task, second, *_ = carried(curator, parties)
        noisy = curator.result()
    answer = parties["p0"].answer(second)
    for message in (task, second, answer, noisy):
        data = CODEC.encode(message)
        assert CODEC.encode(CODEC.decode(data)) == data
        with pytest.raises(ProtocolError):
            CODEC.decode(data[:-1])
    read = CODEC.decode(CODEC.encode(task))
    np.testing.assert_array_equal(read.basis.of(points), task.basis.of(points))
    for wrong in (
        replace(task, step=replace(task.step, number=8)),
        replace(task, gains=task.gains[1:]),
        replace(task, basis=replace(task.basis, whiten=task.basis.whiten[1:])),
        replace(second, step=replace(second.step, weights=second.step.weights * np.nan)),
        replace(answer, vector=answer.vector.astype(float)),
        replace(noisy, sums=noisy.sums[1:]),
    ):
        assert isinstance(wrong, (UpdateTask, Update, NoisyMoments))
        with pytest.raises(ProtocolError):
            CODEC.encode(wrong)


def test_a_record_that_becomes_unusable_changes_no_other_and_no_public_number(rng):
    """Its row stays, as one that says nothing: so neither sizes nor the others' features tell."""
    schema = Schema(
        [
            Column("a", bounds=(-9, 9), when_missing="drop"),
            Column("b", bounds=(-9, 9)),
            Column("y", "label", when_missing="drop"),
        ]
    )
    points = rng.normal(size=(40, 2))
    frames = {}
    for name in ("p0", "p1"):
        x, y = people(rng, 30)
        frames[name] = pl.DataFrame({"a": x[:, 0], "b": x[:, 1], "y": y})
    hurt = frames["p0"].with_columns(a=pl.Series([None, *frames["p0"]["a"][1:]]))
    vectors, records = [], []
    for first in (frames["p0"], hurt):
        given = read_parties(frames | {"p0": first}, points, schema=schema)
        asked = Asked.of(range(3), unit=Unit.REPLACE_RECORD)
        records.append(recipe_of(asked, Updates(), 2, given.n_given).records)
        terms = Terms.of(given.points, range(3), 2)
        recipe = Recipe(Unit.REPLACE_RECORD.value, 1.0, 1e-5, 60)
        with Ledger() as book:
            curator = UpdateCurator(given.points, terms, recipe, given.names, ledger=book)
            task = curator.send()["p0"]
            vectors.append(Updater(given.tables["p0"]).answer(task).vector)
    assert records == [60, 60]
    table = read_parties(frames, points, schema=schema).tables["p0"]
    alone = Updater(table.take(np.array([0]))).answer(task).vector
    assert alone.any()
    assert np.abs(vectors[0] - vectors[1] - alone).max() <= 1

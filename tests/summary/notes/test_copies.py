"""Records that are there twice are told of, and coincidences are not."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tests.helpers.effort import examples
from tests.helpers.noted import ALARM, GREEDY, INFO, WARNING, found, frame, run

import dpsumm
from dpsumm.data.hashes import row_hashes
from dpsumm.data.twice import _others
from dpsumm.errors import InvalidParameterError, ProtocolError


def test_a_target_that_is_also_an_owner_is_an_alarm(rng):
    target = frame(rng)
    summary = run({"a": target, "b": frame(rng)}, target)
    assert found(summary, "60 of 120 points read equal a target record in every column") is ALARM
    assert found(summary, "held by two owners") is None
    clean = run([frame(rng), frame(rng)], target)
    assert found(clean, "equal") is None


def test_one_file_as_two_owners_is_an_alarm(rng):
    twice = frame(rng)
    summary = run({"a": twice, "b": twice, "c": frame(rng)}, frame(rng))
    assert found(summary, "120 of 180 points read are held by two owners or more") is ALARM


def test_records_that_a_file_holds_twice_are_told_of(rng):
    once, few = frame(rng, 30), frame(rng, 59)
    summary = run({"a": pl.concat([once, once]), "b": frame(rng)}, frame(rng))
    said = "60 of 120 points read equal another one of the same owner in every column"
    assert found(summary, said) is ALARM
    assert found(summary, "held by two owners") is None
    summary = run({"a": pl.concat([few, few[:1]]), "b": frame(rng)}, frame(rng))
    assert found(summary, "2 of 120 points read equal another one of the same owner") is WARNING


def test_records_of_few_categories_are_equal_by_chance(rng):
    def coarse():
        return pl.DataFrame({"a": rng.integers(0, 2, 60) * 1.0, "b": rng.integers(0, 3, 60) * 1.0})

    summary = run([coarse(), coarse()], coarse(), schema={"a": (0, 2), "b": (0, 3)})
    assert found(summary, "equal") is None


WHOLE = {"age": (18, 95), "pressure": (60, 240), "pulse": (30, 200)}


def whole_numbers(rng, n, slope=1.0):
    """Return people of three whole numbers each, of which some are equal where the target is."""
    age = rng.normal(62, 11, n).clip(18, 95).round()
    pressure = (130 + slope * (age - 62) + rng.normal(0, 10, n)).clip(60, 240).round()
    pulse = (70 + rng.normal(0, 9, n)).round()
    return pl.DataFrame({"age": age, "pressure": pressure, "pulse": pulse})


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    "protocol",
    [dpsumm.Offers(), dpsumm.summary.Uniform(), GREEDY],
    ids=["offers", "uniform", "greedy"],
)
def test_points_of_whole_numbers_are_equal_by_chance_and_copies_are_found(protocol, seed):
    rng = np.random.default_rng(seed)
    owners = {"a": whole_numbers(rng, 1200, -1), "b": whole_numbers(rng, 900)}
    owners["c"], target = whole_numbers(rng, 700), whole_numbers(rng, 220)
    given = {"size": 60, "schema": WHOLE, "seed": seed}
    given |= {"protocol": protocol, "delta": 1e-5}
    assert found(run(owners, target, **given), "equal") is None
    if not isinstance(protocol, dpsumm.summary.Uniform):  # which reads few of a file's rows twice
        twice = run(owners | {"d": owners["a"]}, target, **given)
        assert found(twice, "held by two owners or more") is ALARM
        assert found(twice, "equal a target record") is None
        copied = run(owners | {"d": target}, target, **given)
        assert found(copied, "equal a target record") is not None


@given(
    arrays(np.uint64, st.tuples(st.integers(1, 12), st.just(2)), elements=st.integers(0, 2)),
    st.data(),
)
@examples(60)
def test_others_that_equal_a_row_are_those_of_the_definition(rows, data):
    party = np.array(
        data.draw(st.lists(st.integers(-1, 2), min_size=len(rows), max_size=len(rows)))
    )
    rows, party = rows[np.argsort(party, kind="stable")], np.sort(party)
    found = _others(row_hashes(rows), party)
    slow = {kind: [] for kind in found}
    for i, j in enumerate(party.tolist()):
        equal = [party[k] for k in range(len(rows)) if k != i and rows[k].sum() == rows[i].sum()]
        kinds = {"pasted": [-1]} if j < 0 else {"copied": [-1], "again": [j]}
        if j >= 0:
            kinds["shared"] = [other for other in range(3) if other != j]
        for kind, owners in kinds.items():
            slow[kind].append(sum(equal.count(owner) for owner in owners))
    assert {kind: counts.tolist() for kind, counts in found.items()} == slow


def test_a_target_that_was_pasted_twice_hides_no_copies_and_is_told_of(rng):
    once, owner = frame(rng), frame(rng)
    summary = run({"a": once, "b": owner, "c": owner}, pl.concat([once, once[:40]]))
    assert found(summary, "80 of the target's 100 records equal another one in every") is ALARM
    assert found(summary, "60 of 180 points read equal a target record in every column") is ALARM
    assert found(summary, "120 of 180 points read are held by two owners or more") is ALARM
    often = run([frame(rng)], pl.concat([once, once[:3], once[:1], once[:1]]))
    assert found(often, "8 of the target's 65 records equal another one") is ALARM
    few = run([frame(rng)], pl.concat([once, once[:1]]))
    assert found(few, "2 of the target's 61 records equal another one") is WARNING


@pytest.mark.parametrize(
    "protocol",
    [
        dpsumm.Offers(n_features=64),
        dpsumm.papers.Auction(batch=5, n_features=16),
        dpsumm.Pool(),
        GREEDY,
    ],
    ids=lambda protocol: protocol.name,
)
def test_copies_of_the_target_are_left_out_at_no_cost(rng, protocol):
    target = frame(rng)
    owners = {"a": target, "b": frame(rng)}
    given = {"protocol": protocol, "size": 20, "seed": 1}
    plain = run(owners, target, **given)
    summary = run(owners, target, drop_target_copies=True, **given)
    theirs = set(map(tuple, target.rows()))
    assert any(tuple(point) in theirs for point in plain.points.tolist())
    assert not any(tuple(point) in theirs for point in summary.points.tolist())
    assert found(summary, "were left out") is INFO
    assert found(summary, "holds the target's own data") is None
    # What owners see is the same: the same points were read, at the same charges.
    assert summary.privacy.charges == plain.privacy.charges
    np.testing.assert_array_equal(summary.pool.scaled, plain.pool.scaled)
    with pytest.raises(InvalidParameterError, match="drop_target_copies"):
        summary.private_model([0, 1])


def test_copies_cannot_be_left_out_while_messages_follow_or_if_nothing_is_left(rng):
    target = frame(rng)
    first = dpsumm.papers.Auction(batch=5, n_features=16, reselect=False)
    with pytest.raises(InvalidParameterError, match="reselect=True"):
        run([target], target, protocol=first, drop_target_copies=True)
    with pytest.raises(ProtocolError, match="Leave out the owner"):
        run([target], target, drop_target_copies=True)

"""Offers released in landmark features: when, with which noise, from which recipe."""

import copy
import dataclasses
import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpsumm
from dpsumm import RBF, Column, Offers, Schema
from dpsumm.data import Stream
from dpsumm.data.inputs import read_inputs
from dpsumm.data.schema import uniform_points
from dpsumm.errors import InvalidParameterError, ProtocolError
from dpsumm.papers import Auction, Mwem
from dpsumm.privacy import Ledger
from dpsumm.summary.embedding import Embedding
from dpsumm.summary.mechanisms import Exact, Gaussian
from dpsumm.summary.protocols import Owner
from dpsumm.summary.protocols.features import are_worth_it, features_of
from dpsumm.summary.protocols.messages import FeatureMap, LandmarkMap
from dpsumm.summary.protocols.owner import Scores
from dpsumm.summary.protocols.wire import decode, encode
from dpsumm.summary.release import LEVELS, TARGET, Draw
from helpers.settings import setting_of

SCHEMA = Schema(
    [
        Column("age", bounds=(0, 100)),
        Column("dose", bounds=(0, 10), when_missing="encode"),
        Column("kind", categories=("a", "b", "c")),
    ]
)
KERNEL = RBF.for_schema(SCHEMA)


def records(rng, n, shift=0.0):
    return {
        "age": rng.normal(50 + 20 * shift, 15, n).round(1).tolist(),
        "dose": [None if rng.random() < 0.1 else float(x) for x in rng.normal(5, 2, n).round(2)],
        "kind": rng.choice(["a", "b", "c"], n, p=[0.5 - 0.2 * shift, 0.3, 0.2 + 0.2 * shift]),
    }


@pytest.fixture
def tables(rng):
    import pandas as pd

    owners = {f"o{i}": pd.DataFrame(records(rng, 150, i - 1)) for i in range(3)}
    return read_inputs(owners, pd.DataFrame(records(rng, 60, 0.7)), schema=SCHEMA)


def setting(tables, book, **more):
    made, goal = tables
    given = {"schema": SCHEMA, "columns": made[0].columns, "kernel": KERNEL} | more
    return setting_of(goal.scaled, {table.name: len(table) for table in made}, book, **given)


def asked(protocol, tables, **more):
    with Ledger(run="a public name") as book:
        curator = protocol.curator(setting(tables, book, **more))
        request = curator.send()["o0"]
        return request, curator, book.charges()


# --- which features ---------------------------------------------------------------------------


def numbers(n_columns):
    return Schema([Column(f"c{j}", bounds=(0, 1)) for j in range(n_columns)])


def test_landmarks_are_for_tables_that_they_can_fill():
    for schema in (SCHEMA, numbers(1), numbers(10)):
        assert are_worth_it(schema, RBF.for_schema(schema).gamma, 1024)
    # Pixels; too narrow a kernel; too few landmarks; one for which nothing can be proved.
    assert not are_worth_it(numbers(64), RBF.for_schema(numbers(64)).gamma, 1024)
    assert not are_worth_it(SCHEMA, 300.0, 1024)
    assert not are_worth_it(numbers(10), 0.6, 8)
    assert not are_worth_it(SCHEMA, 1e30, 1024)
    assert not are_worth_it(Schema([Column("free"), Column("age", bounds=(0, 1))]), 1.0, 1024)
    # What could not be held in memory is not tried.
    wide = Schema([Column("c", categories=tuple(range(200_000)))])
    assert not are_worth_it(wide, 1.0, 1024)


def test_the_choice_is_made_by_public_facts(tables):
    chosen, _, _ = asked(Offers(), tables)
    assert isinstance(chosen.feature_map, LandmarkMap)
    assert chosen.feature_map.n_features == 1024
    assert chosen.feature_map.schema == SCHEMA.fingerprint
    for protocol, more in (
        (Offers(features="random"), {}),
        (Offers(release=Mwem(3, 0.1, 0.1)), {}),
        (Offers(n_features=8), {}),
        (Offers(), {"schema": None}),
    ):
        made, _, _ = asked(protocol, tables, **more)
        assert isinstance(made.feature_map, FeatureMap)
        assert made.feature_map.n_features == (protocol.n_features or 2048)
    few, _, _ = asked(Offers(features="landmarks", n_features=7), tables)
    assert (few.feature_map.n_features, len(few.target.steps)) == (7, 7)
    # Another target: the same recipe.
    made, goal = tables
    other = dataclasses.replace(goal, values=np.repeat(goal.values[:1], len(goal), axis=0))
    again, _, _ = asked(Offers(), (made, other))
    assert encode(dataclasses.replace(again, target=chosen.target)) == encode(chosen)


def test_the_auction_keeps_the_paper_s_features(tables):
    assert isinstance(asked(Auction(batch=2), tables)[0].feature_map, FeatureMap)


# --- the noise --------------------------------------------------------------------------------


def test_the_noise_is_for_what_one_record_moves(tables):
    request, curator, charges = asked(Offers(), tables)
    features = features_of(request.feature_map, SCHEMA)
    multiplier = charges[0].event.noise_multiplier
    moved = features.grid_difference(LEVELS)
    assert TARGET.steps(features) == moved
    assert request.noise == pytest.approx(multiplier * moved / (LEVELS * 60), rel=1e-12)
    exact = Exact().draw(Draw(features, curator.setting.target, TARGET, 60))
    noise = (request.target.steps - exact.steps) / (multiplier * moved)
    # 1024 standard normals: mean square 1, six standard errors.
    assert abs(np.mean(noise**2) - 1) < 6 * math.sqrt(2 / 1024)
    assert "1024 landmark features" in charges[0].message


def test_it_is_about_two_thirds_of_that_of_random_features(tables):
    landmarks, random = (asked(Offers(features=f), tables)[0] for f in ("auto", "random"))
    assert 0.5 < landmarks.noise / random.noise < math.sqrt(0.5) + 1e-3


@given(seed=st.integers(0, 2**32), extreme=st.booleans())
def test_one_replaced_record_of_the_schema_moves_a_release_by_no_more(seed, extreme):
    rng = np.random.default_rng(seed)
    features = features_of(LandmarkMap(KERNEL.gamma, 6, 200, 5, SCHEMA.fingerprint), SCHEMA)
    ages = [0.0, 100.0, -1e9, 1e9] if extreme else rng.normal(50, 30, 4)
    codes = np.array(
        [[rng.choice(ages), rng.choice([0, 10, np.nan, 3]), rng.integers(3)] for _ in range(5)]
    )
    points = SCHEMA.encode(codes)
    sums = [features.sum_on_grid(np.delete(points, i, axis=0), LEVELS) for i in (0, 1)]
    moved = math.sqrt(sum(int(x) ** 2 for x in sums[0] - sums[1]))
    assert moved <= TARGET.steps(features)


# --- the recipe -------------------------------------------------------------------------------


def test_every_party_builds_the_same_map(tables):
    request, curator, _ = asked(Offers(), tables)
    received = decode(encode(request)).feature_map
    mine = curator.features(request.feature_map)
    theirs = features_of(received, copy.deepcopy(SCHEMA))
    assert mine.to_bytes() == theirs.to_bytes()
    landmarks = uniform_points(SCHEMA, 1024, received.seed)
    np.testing.assert_array_equal(mine.landmarks, landmarks)
    # As a worker of Shards has it.
    scores = Scores(request.feature_map, SCHEMA, np.ones((2, 1024)))
    sent = pickle.loads(pickle.dumps(scores))
    np.testing.assert_array_equal(sent(landmarks[:9]), scores(landmarks[:9]))


def test_a_sample_travels_whole(rng, tables):
    sample = uniform_points(SCHEMA, 40, 9)
    protocol = Offers(sample=sample.tolist(), n_features=30)
    request, curator, charges = asked(protocol, tables)
    received = decode(encode(request)).feature_map
    np.testing.assert_array_equal(received.sample, sample[:30])
    made = features_of(received, SCHEMA)
    assert made.to_bytes() == curator.features(request.feature_map).to_bytes()
    assert made.region == SCHEMA.region
    assert "30 landmark features" in charges[0].message
    # Data of which no bounds are known: any two records may be as far apart as the kernel allows.
    owners = {name: rng.normal(size=(30, 4)) for name in "ab"}
    tables = read_inputs(owners, rng.normal(size=(20, 4)))
    free = {"schema": tables[0][0].schema, "columns": tables[0][0].columns}
    with Ledger() as book:
        curator = Offers(sample=rng.normal(size=(25, 4))).curator(
            setting_of(tables[1].scaled, {"a": 30, "b": 30}, book, **free)
        )
        asked_free = curator.send()["a"]
    made = curator.features(asked_free.feature_map)
    assert made.region is None
    assert TARGET.steps(made) == pytest.approx(math.sqrt(2) * LEVELS, rel=1e-4)
    answer = Owner(tables[0][0]).answer(decode(encode(asked_free)))
    assert len(answer) == curator.count("a")


def test_an_owner_with_another_schema_refuses(tables):
    request, _, _ = asked(Offers(), tables)
    other = Schema([*SCHEMA.columns[:2], Column("kind", categories=("a", "b", "d"))])
    table = dataclasses.replace(tables[0][0], schema=other)
    with pytest.raises(ProtocolError, match="Compare the schemas"):
        Owner(table).answer(request)


def test_a_resumed_run_does_not_take_the_release_of_another_map(tables, tmp_path):
    book = tmp_path / "book.sqlite"
    Ledger.create(book).close()

    def begin(protocol):
        with Ledger(book, run="one") as ledger:
            return protocol.curator(setting(tables, ledger)).send()["o0"]

    first = begin(Offers())
    assert encode(begin(Offers())) == encode(first)
    for other in (Offers(features="random"), Offers(n_features=512), Offers(n_features=1000)):
        with pytest.raises(InvalidParameterError):
            begin(other)


# --- whole runs -------------------------------------------------------------------------------


def test_a_stream_offers_what_the_same_rows_in_memory_do(rng, tmp_path):
    rows = [rng.uniform(size=(700, 3)) for _ in range(2)]
    np.save(tmp_path / "a.npy", rows[0])
    target = rng.uniform(0.5, 1, size=(50, 3))
    picks = []
    for first in (rows[0], Stream(tmp_path / "a.npy", block_rows=100)):
        made = dpsumm.summarize(
            {"a": first, "b": rows[1]},
            target,
            size=20,
            schema=dict.fromkeys(("x0", "x1", "x2"), (0.0, 1.0)),
            protocol=Offers(features="landmarks", n_features=64),
            seed=4,
        )
        picks.append((made.owner.tolist(), made.index.tolist()))
    assert picks[0] == picks[1]


@pytest.mark.same_draws
def test_selection_with_the_release_alone_follows_the_target(rng):
    schema = numbers(2)
    owners = {n: rng.uniform(size=(400, 2)) for n in "ab"}
    target = rng.uniform(0.6, 1, size=(300, 2))
    made, goal = read_inputs(owners, target, schema=schema)
    with Ledger() as book:
        curator = Offers(exact_selection=False).curator(
            setting_of(
                goal.scaled,
                {"a": 400, "b": 400},
                book,
                schema=made[0].schema,
                columns=made[0].columns,
                kernel=RBF.for_schema(schema),
                epsilon=20.0,
                size=40,
            )
        )
        for name, request in curator.send().items():
            curator.receive(name, Owner(made["ab".index(name)]).answer(request))
        picked = curator.result().scaled
    assert (picked > 0.5).all(axis=1).mean() > 0.8


# --- refusals ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Offers(features="pond"), "features must be"),
        (lambda: Offers(features="landmarks", n_features=8193), "n_features"),
        (lambda: Offers(features="landmarks", n_features=0), "n_features"),
        (lambda: Offers(n_features=7), "n_features"),
        (lambda: Offers(sample=np.zeros((3, 2)), n_features=4), "n_features"),
        (lambda: Offers(sample=np.zeros((3, 2)), features="random"), "sample"),
        (lambda: Offers(sample=np.zeros((0, 2))), "sample"),
        (lambda: Offers(sample=np.zeros((8193, 1))), "sample"),
        (lambda: Offers(sample=np.full((3, 2), np.nan)), "sample"),
        (lambda: Offers(sample=np.zeros(3)), "sample"),
        (lambda: Offers(features="landmarks", release=Mwem(3, 0.1, 0.1)), "release"),
        (lambda: Offers(sample=np.zeros((3, 2)), release=Mwem(3, 0.1, 0.1)), "release"),
    ],
)
def test_parameters_out_of_range_are_refused(make, message):
    with pytest.raises(InvalidParameterError, match=message):
        make()


def test_what_does_not_fit_the_data_is_refused_before_anything_is_charged(tables):
    for protocol, more, message in (
        (Offers(features="landmarks"), {"schema": None}, "bounds or categories"),
        (Offers(sample=np.zeros((3, 2))), {}, "sample must have 6 columns"),
        (Offers(features="landmarks", release=Gaussian(1.0)), {"kernel": RBF(1e30)}, "gamma"),
    ):
        with Ledger() as book:
            with pytest.raises(InvalidParameterError, match=message):
                protocol.curator(setting(tables, book, **more)).send()
            assert not book.charges()


def test_a_less_trusted_curator_gets_no_landmarks(rng):
    data = [rng.normal(size=(40, 3)) for _ in range(2)]
    kernel = RBF(0.3)
    secret = Embedding.draw(kernel, 3, 64)
    for protocol in (Offers(features="landmarks"), Offers(sample=np.zeros((3, 64)))):
        with pytest.raises(InvalidParameterError, match="embedding"):
            dpsumm.summarize(data, data[0], size=5, protocol=protocol, kernel=secret)
    made = dpsumm.summarize(data, data[0], size=5, kernel=secret)
    assert "landmark" not in made.privacy.charges[0].message

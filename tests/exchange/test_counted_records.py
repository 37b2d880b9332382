"""Attacks on an owner's limit by answers without a record in them: they count as all records."""

from itertools import count

import numpy as np
import polars as pl
import pytest

from dpsumm import Column, Schema
from dpsumm.data.inputs import read_owners
from dpsumm.ensemble.messages import CODEC as VOTES
from dpsumm.ensemble.messages import ClassifierTask, VoteTask
from dpsumm.ensemble.once import Once
from dpsumm.ensemble.terms import Terms
from dpsumm.ensemble.trainer import Trainer
from dpsumm.errors import ProtocolError
from dpsumm.exchange.across import answer_all
from dpsumm.summary.protocols.features import random_features
from dpsumm.summary.protocols.messages import BidRequest, FeatureMap
from dpsumm.summary.protocols.owner import Owner
from dpsumm.summary.protocols.wire import CODEC

N, COLUMNS = 240, 4
rng = np.random.default_rng(7)
POINTS = rng.uniform(0, 100, (N, COLUMNS))
LABELS = np.array(("no", "yes"))[rng.integers(0, 2, N)]
MAP = FeatureMap(gamma=2e-4, n_columns=COLUMNS, n_features=2 * COLUMNS, seed=7)


def owner():
    (table,) = read_owners({"north": POINTS})
    return Owner(table)


def bid(j):
    """A request for all records' scores along one coordinate of the features."""
    zero = np.zeros(2 * COLUMNS, np.int64)
    return CODEC.encode(BidRequest(MAP, np.eye(2 * COLUMNS, dtype=np.int64)[j], zero, 1, 0, N))


@pytest.fixture
def once(tmp_path):
    """A party that remembers what it answered, in a file of its own."""
    numbers = count()
    return lambda party: Once(party, "north", tmp_path / f"{next(numbers)}.db")


def trainer(shards):
    """A party, and a request for its classifiers of so many shards."""
    (table,) = read_owners({"north": (POINTS, LABELS)})
    party = Trainer(table, "bayes", seed=1, least=1)
    return party, ClassifierTask("run", ("no", "yes"), 1, shards, COLUMNS)


def under(most, party, messages):
    """Answer under a limit, and return what is counted of the answer."""
    counted = []
    answer = answer_all(
        party, messages, max_bytes=2**26, max_records=most, before=lambda _, n: counted.append(n)
    )
    return answer, *counted


def test_bids_count_as_all_records_each_time():
    with pytest.raises(ProtocolError, match="more records are asked for"):
        under(N - 1, owner(), [bid(0)])
    assert under(N, owner(), [bid(0)])[1] == N
    with pytest.raises(ProtocolError, match="more records are asked for"):
        under(8 * N - 1, owner(), [bid(j) for j in range(8)])
    assert under(None, owner(), [bid(j) for j in range(8)])[1] == N


def test_what_bids_tell_is_every_record():
    """Why they count so: the scores of a few requests are the features, and these the records."""
    scores = np.zeros((N, 2 * COLUMNS))
    for j in range(2 * COLUMNS):
        bids = CODEC.decode(under(None, owner(), [bid(j)])[0])
        scores[list(bids.rows), j] = bids.scores
    features = random_features(MAP).on_grid(owner().table.scaled)
    assert np.array_equal(scores, features)


def test_classifiers_count_as_all_records(once):
    party, task = trainer(N // 2)
    with pytest.raises(ProtocolError, match="more records are asked for"):
        under(N - 1, once(party), [VOTES.encode(task)])
    party, task = trainer(N // 2)
    answer, counted = under(N, once(party), [VOTES.encode(task)])
    assert counted == N
    # Why: of two records of two classes the means are the records.
    made = VOTES.decode(answer).classifiers
    means = made.mean.reshape(N // 2, 2, COLUMNS)[made.known.all(1)]
    found = {tuple(mean.round(6)) for pair in means for mean in pair}
    assert len(found & {tuple(x.round(6)) for x in POINTS}) == len(found) > N / 4


def test_a_task_of_small_shards_is_refused_before_anything_is_trained(once):
    (table,) = read_owners({"north": (POINTS, LABELS)})
    for shards, passes in ((N // 20, True), (N // 20 + 1, False)):
        task = VOTES.encode(ClassifierTask("run", ("no", "yes"), 1, shards, COLUMNS))
        if passes:
            under(N, once(Trainer(table, "bayes", seed=1)), [task])
            continue
        with pytest.raises(ProtocolError, match="fewer than 20 records") as told:
            under(N, once(Trainer(table, "bayes", seed=1)), [task])
        assert str(N) not in str(told.value)


@pytest.mark.parametrize(
    ("rare", "classes"), [((1, 1), ("a", "b")), ((1, 0), ("a", "no")), ((4, 19), ("a", "b"))]
)
def test_a_task_that_names_rare_classes_reads_no_record(once, rare, classes):
    """Whoever names the classes names which records a classifier is of."""
    labels = LABELS.copy()
    labels[: rare[0]], labels[rare[0] : sum(rare)] = "a", "b"
    (table,) = read_owners({"north": (POINTS, labels)})
    task = VOTES.encode(ClassifierTask("run", classes, 1, 1, COLUMNS))
    made = VOTES.decode(under(N, once(Trainer(table, "bayes", seed=1)), [task])[0]).classifiers
    assert not made.known[0, classes.index("a")]
    if "no" not in classes:
        assert not made.known.any() or rare[1] >= 20


def test_enough_records_of_a_class_make_a_classifier(once):
    labels = LABELS.copy()
    labels[:5], labels[5:20] = "a", "b"
    (table,) = read_owners({"north": (POINTS, labels)})
    task = VOTES.encode(ClassifierTask("run", ("a", "b"), 1, 1, COLUMNS))
    made = VOTES.decode(under(N, once(Trainer(table, "bayes", seed=1)), [task])[0]).classifiers
    assert made.known.all()


@pytest.mark.parametrize("classes", [("no", "rare"), ("no", "yes"), ("no", "rare", "typo", "yes")])
def test_other_classes_than_the_schema_s_are_refused(once, classes):
    schema = Schema(
        [Column(f"x{j}", bounds=(0, 100)) for j in range(COLUMNS)]
        + [Column("sick", "label", categories=("no", "yes", "rare"))]
    )
    data = pl.DataFrame({f"x{j}": POINTS[:, j] for j in range(COLUMNS)} | {"sick": LABELS})
    (table,) = read_owners({"north": data}, schema=schema)
    for named in (classes, ("no", "rare", "yes")):
        task = VOTES.encode(ClassifierTask("run", named, 1, 1, COLUMNS))
        party = once(Trainer(table, "bayes", seed=1))
        if named != classes:
            under(N, party, [task])
            continue
        with pytest.raises(ProtocolError, match="Name the same ones"):
            under(N, party, [task])


def test_votes_count_as_all_records(once):
    party, task = trainer(3)
    points = rng.uniform(0, 100, (20, COLUMNS))
    terms = Terms.of(points, task.classes, 2, shards=3)
    request = VOTES.encode(VoteTask("run", terms, points))
    with pytest.raises(ProtocolError, match="more records are asked for"):
        under(N - 1, once(party), [request])
    assert under(N, once(trainer(3)[0]), [request])[1] == N

"""A party that is made anew for every exchange, as a node makes it, votes once in a run."""

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest

from dpsumm.data.inputs import read_owners
from dpsumm.ensemble.messages import CODEC, ClassifierTask, VoteTask
from dpsumm.ensemble.once import Once
from dpsumm.ensemble.party import Voter
from dpsumm.ensemble.terms import Terms
from dpsumm.ensemble.trainer import Trainer
from dpsumm.errors import DpsummError, InvalidDataError, ProtocolError
from dpsumm.exchange.across import answer_all
from dpsumm.exchange.journal import Journal
from dpsumm.exchange.messages import Describe

SENDS = {"max_bytes": 2**24, "max_records": 100}


@pytest.fixture
def points():
    return np.random.default_rng(1).normal(size=(40, 2))


@pytest.fixture
def file(tmp_path):
    return tmp_path / "kept"


def table(seed=0):
    rng = np.random.default_rng(seed)
    (made,) = read_owners({"north": (rng.normal(size=(60, 2)), rng.integers(0, 2, 60))})
    return made


def task(points, run="run", claimed=None):
    return CODEC.encode(VoteTask(run, claimed or Terms.of(points, (0, 1), 2), points))


def asked(file, *messages, records=0, learner="forest"):
    """What a fresh node answers; its learner draws coins of its own."""
    return answer_all(Once(Trainer(table(records), learner), "north", file), messages, **SENDS)


def test_other_points_are_refused_and_the_same_get_the_same_bytes(file, points):
    first = asked(file, task(points))
    others = [
        task(points + 1),
        task(points + 1, claimed=Terms.of(points, (0, 1), 2)),  # under the digest of the first
        task(points, claimed=Terms.of(points, (0, 1), 3)),
        task(points, claimed=Terms.of(points, (0, 1), 2, grid=5)),
        CODEC.encode(ClassifierTask("run", (0, 1), 1, 1, 2)),
    ]
    for other in others:
        with pytest.raises(ProtocolError, match="answers once"):
            asked(file, other)
        with pytest.raises(ProtocolError, match="answers once"):
            asked(file, task(points), other)
    assert asked(file, task(points)) == first
    # Nor do changed records, which a refusal would tell of.
    assert asked(file, task(points), records=1) == first
    assert asked(file, task(points + 1, run="another")) != first


def test_describing_data_is_no_vote(file, points):
    for _ in range(2):
        asked(file, CODEC.encode(Describe()))
    assert not file.exists()
    asked(file, CODEC.encode(Describe()), task(points))
    assert stat.S_IMODE(os.stat(file).st_mode) == 0o600


@pytest.mark.parametrize("party", [Trainer(table()), Voter([])])
def test_without_a_file_a_fresh_party_answers_nothing(party, points):
    with pytest.raises(ProtocolError, match="file to remember by"):
        answer_all(party, [task(points)], **SENDS)


def test_nothing_leaves_that_was_not_written(file, points, monkeypatch):
    def full(*_):
        raise InvalidDataError("disk full")

    with monkeypatch.context() as patch:
        patch.setattr(Journal, "record", full)
        with pytest.raises(InvalidDataError):
            asked(file, task(points))
    asked(file, task(points + 1))
    file.write_bytes(b"no database" * 100)
    with pytest.raises(InvalidDataError, match="cannot be used"):
        asked(file, task(points + 1))


def test_two_exchanges_at_a_time_give_one_answer(file):
    start = Barrier(4)

    def node(k):
        points = np.random.default_rng(k).normal(size=(40, 2))
        start.wait()
        try:
            return asked(file, task(points), learner="bayes")
        except DpsummError:
            return None

    with ThreadPoolExecutor(4) as nodes:
        given = list(nodes.map(node, range(4)))
    assert sum(one is not None for one in given) == 1

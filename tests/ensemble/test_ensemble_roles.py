"""Party, curator and consumer as state machines; what each refuses, and what a party is sent."""

import dataclasses

import numpy as np
import pytest

from dpsumm.ensemble.consumer import Consumer
from dpsumm.ensemble.curator import VoteCurator
from dpsumm.ensemble.messages import CODEC, NoisyVotes, Votes, VoteTask
from dpsumm.ensemble.once import Once
from dpsumm.ensemble.party import Voter
from dpsumm.ensemble.terms import Terms
from dpsumm.errors import InvalidParameterError, ProtocolError
from dpsumm.exchange.across import Channel, answer_all, run_across
from dpsumm.exchange.driver import run_in_process
from dpsumm.exchange.journal import Journal
from dpsumm.exchange.messages import Describe
from dpsumm.privacy import Ledger, Unit
from helpers.kept import kept_by
from helpers.votes import answers, curator, exact_counts, one_hot, voters

N = 30


@pytest.fixture
def points(rng):
    return rng.normal(size=(N, 2))


def random_votes(rng, n_parties, n_classes=3, n=N):
    return [one_hot(rng.integers(n_classes, size=n), n_classes) for _ in range(n_parties)]


def test_all_three_roles_in_one_process(points, rng):
    terms = Terms.of(points, "abc", 5)
    votes = random_votes(rng, 5)
    with Ledger() as book:
        noisy = run_in_process(curator(points, terms, book, epsilon=1e6), voters(votes))
    consumer = Consumer(points, terms)
    with pytest.raises(ProtocolError, match="no noisy votes"):
        consumer.votes  # noqa: B018
    consumer.receive(noisy)
    consumer.receive(NoisyVotes.from_bytes(noisy.to_bytes()))
    assert abs(consumer.votes.counts - exact_counts(votes, terms)).max() < 6 * noisy.noise_std + 1


class Loopback(Channel):
    """Fresh parties at every exchange; `faults`: name to what comes in place of the votes."""

    def __init__(self, votes, **faults):
        self.votes, self.faults, self.seen = votes, faults, []
        self.kept = kept_by(self)

    def ask(self, messages):
        for name, given in messages.items():
            self.seen.append((name, tuple(given)))
            fault = self.faults.get(name)
            if fault == "silence":
                continue
            party = Once(voters(self.votes)[name], name, self.kept)
            good = answer_all(party, given, max_bytes=10**6, max_records=None)
            yield name, good if fault is None else fault
            if fault is None:
                yield name, good  # a second answer, which must not count


def test_what_parties_are_sent_is_the_same_whatever_the_others_do(points, rng):
    terms = Terms.of(points, "abc", 4)
    votes, others = random_votes(rng, 4), random_votes(rng, 4)
    bad = CODEC.encode(Votes("another", terms.digest, votes[0].astype(np.uint16)))
    seen = []
    for held, faults in (
        (votes, {}),
        (others, {}),
        (votes, {"p1": "silence", "p2": bad, "p3": b"garbage"}),
        (votes, {"p0": CODEC.encode(Describe()), "p1": "it died"}),
    ):
        channel = Loopback(held, **faults)
        with Ledger(run="r") as book, Journal(None, "r") as journal:
            noisy, failed = run_across(
                curator(points, terms, book, seed=1), channel, journal, minimum=0
            )
        seen.append(sorted(channel.seen))
        assert set(failed) == set(faults)
        came = [v for i, v in enumerate(held) if f"p{i}" not in faults]
        # Same coins in all runs: what is left after them is the sum of those that came.
        if not faults and held is votes:
            noise = noisy.counts - exact_counts(came, terms)
        assert (noisy.counts - noise == exact_counts(came, terms)).all()
        assert noisy.terms.n_parties == 4
    assert all(one == seen[0] for one in seen)


def test_nobody_came_is_no_reason_to_stop(points):
    terms = Terms.of(points, "abc", 3)
    with Ledger() as book:
        noisy = answers(curator(points, terms, book), [None] * 3).result()
        assert noisy.counts.shape == (N, 3)
        assert len(book.charges()) == 1


def test_the_party_votes_once(points, rng):
    terms = Terms.of(points, "abc", 3)
    drawn = iter(random_votes(rng, 9))
    party = Voter([lambda points, terms: next(drawn)])  # coins of its own
    first = party.answer(VoteTask("r", terms, points))
    again = party.answer(VoteTask("r", terms, points))
    assert CODEC.encode(first) == CODEC.encode(again)
    other = Terms.of(points + 1, "abc", 3)
    for task in (VoteTask("r", other, points + 1), VoteTask("s", terms, points)):
        with pytest.raises(ProtocolError, match="votes once"):
            party.answer(task)
    # Other points under the digest of the first: the first answer, nothing is voted on anew.
    assert party.answer(VoteTask("r", terms, points + 1)) is first


def test_the_party_refuses_what_it_did_not_agree_to(points):
    terms = Terms.of(points, "abc", 3, shards=2)
    ballot = voters([one_hot(np.zeros(N, int), 3)])["p0"]._ballots[0]
    with pytest.raises(ProtocolError, match="task is for 2 shards, this party has 1"):
        Voter([ballot]).answer(VoteTask("r", terms, points))
    with pytest.raises(ProtocolError, match="not those that this party agreed to"):
        Voter([ballot] * 2, ["a", "b"]).answer(VoteTask("r", terms, points))
    with pytest.raises(ProtocolError, match="no answer to a Describe"):
        Voter([ballot]).answer(Describe())


BAD_VOTES = {
    "shape": lambda v: v[:-1],
    "a class more": lambda v: np.hstack([v, v * 0]),
    "twice the grid": lambda v: v * 2,
    "part of a grid": lambda v: np.where(np.arange(N)[:, None] == 3, v // 2 + v % 2, v),
    "another type": lambda v: v.astype(np.int64),
    "wraps around to the grid": lambda v: v + np.array([0, 2**15, 2**15], np.uint16),
}


@pytest.mark.parametrize("fault", BAD_VOTES.values(), ids=BAD_VOTES.keys())
def test_votes_that_do_not_fit_are_refused_and_change_nothing(points, rng, fault):
    terms = Terms.of(points, "abc", 2, grid=10)
    votes = [10 * v for v in random_votes(rng, 2)]
    with Ledger() as book:
        made = curator(points, terms, book, seed=3)
        task = made.send()["p0"]
        good = votes[0].astype(np.uint16)
        with pytest.raises(ProtocolError, match=r"votes must (be of shape|add up)") as error:
            made.receive("p0", Votes(task.run, terms.digest, fault(good)))
        assert not any(f" {number}" in str(error.value) for number in (20, 2**15))
        made.receive("p0", Votes(task.run, terms.digest, good))
        made.receive("p1", Votes(task.run, terms.digest, votes[1].astype(np.uint16)))
        noisy = made.result()
    with Ledger() as book:
        honest = answers(curator(points, terms, book, seed=3), votes).result()
    assert (noisy.counts == honest.counts).all()


def test_negative_votes_cannot_even_be_written(points, rng):
    with pytest.raises(ProtocolError, match="Votes is malformed"):
        CODEC.encode(Votes("r", "0" * 64, random_votes(rng, 1)[0] - 1))


def test_the_curator_keeps_to_its_states(points, rng):
    terms = Terms.of(points, "abc", 2)
    votes = random_votes(rng, 2)
    with Ledger(run="r") as book:
        made = curator(points, terms, book)
        answer = Votes("r", terms.digest, votes[0].astype(np.uint16))
        with pytest.raises(ProtocolError, match="no answer is expected"):
            made.receive("p0", answer)
        with pytest.raises(ProtocolError, match="vote is open"):
            made.result()
        assert set(made.send()) == {"p0", "p1"}
        assert made.send() == {}
        with pytest.raises(ProtocolError, match="no answer is expected"):
            made.receive("stranger", answer)
        for change, match in (
            ({"run": "s"}, "another run"),
            ({"digest": "1" * 64}, "other points"),
        ):
            with pytest.raises(ProtocolError, match=match):
                made.receive("p0", dataclasses.replace(answer, **change))
        made.receive("p0", answer)
        with pytest.raises(ProtocolError, match="no answer is expected"):  # twice
            made.receive("p0", answer)
        with pytest.raises(ProtocolError, match="vote is open"):
            made.result()
        assert not book.charges()
        made.drop("p1")
        with pytest.raises(ProtocolError, match="no answer is expected"):  # late
            made.receive("p1", answer)
        assert made.result().to_bytes() == made.result().to_bytes()
        assert len(book.charges()) == 1


def test_names_are_those_of_the_terms(points):
    terms = Terms.of(points, "abc", 3)
    with Ledger() as book:
        for names in (["a", "b"], ["a", "b", "b"]):
            with pytest.raises(InvalidParameterError, match="3 different names"):
                VoteCurator(
                    points,
                    terms,
                    names,
                    unit=Unit.WHOLE_OWNER,
                    epsilon=1,
                    delta=1e-5,
                    ledger=book,
                )


def test_the_consumer_refuses_votes_on_other_points_and_a_second_release(points, rng):
    terms = Terms.of(points, "abc", 2)
    with Ledger() as one, Ledger() as two:
        first, second = (
            answers(curator(points, terms, book), random_votes(rng, 2)).result()
            for book in (one, two)
        )
    with pytest.raises(ProtocolError, match="not on this consumer's points"):
        Consumer(points, Terms.of(points + 1, "abc", 2)).receive(first)
    consumer = Consumer(points, terms)
    consumer.receive(first)
    with pytest.raises(ProtocolError, match="have come before"):
        consumer.receive(second)


def test_messages_survive_the_wire_and_damaged_ones_do_not(points, rng):
    terms = Terms.of(points, [False, True], 2)
    task = VoteTask("r", terms, points)
    read = CODEC.decode(CODEC.encode(task))
    assert read.terms == terms
    assert (read.points == points).all()
    assert type(read.terms.classes[0]) is bool
    with Ledger() as book:
        votes = random_votes(rng, 2, 2)
        noisy = answers(curator(points, terms, book), votes).result()
    read = NoisyVotes.from_bytes(noisy.to_bytes())
    assert (read.counts == noisy.counts).all()
    with pytest.raises(ProtocolError, match="VoteTask is no NoisyVotes"):
        NoisyVotes.from_bytes(CODEC.encode(task))
    for change in (
        {"terms": dataclasses.replace(terms, n_points=N + 1)},
        {"terms": dataclasses.replace(terms, classes=(True, False))},
        {"terms": dataclasses.replace(terms, grid=0)},
        {"terms": dataclasses.replace(terms, digest="x" * 64)},
        {"points": points * np.nan},
        {"run": ""},
    ):
        with pytest.raises(ProtocolError, match="VoteTask is malformed"):
            CODEC.encode(dataclasses.replace(task, **change))
    for change in (
        {"noise_std": 0.0},
        {"noise_std": 1e-200},
        {"noise_std": 1e154},
        {"unit": "a whim"},
        {"counts": noisy.counts[1:]},
    ):
        with pytest.raises(ProtocolError, match="NoisyVotes is malformed"):
            CODEC.encode(dataclasses.replace(noisy, **change))

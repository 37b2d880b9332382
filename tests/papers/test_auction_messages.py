"""The Auction, message by message: verification, failures, what an owner receives."""

import dataclasses

import numpy as np
import pytest

from dpsumm.errors import ProtocolError
from dpsumm.papers import Auction, Requests
from dpsumm.privacy import Ledger
from dpsumm.summary.mechanisms import Exact
from dpsumm.summary.protocols.messages import BidRequest, Bids, SendRequest
from dpsumm.summary.protocols.owner import points_of
from helpers import transcripts


class Run:
    """A run of the whole Auction, message by message."""

    def __init__(self, rng, protocol=None, *, size=6, dtype=np.float64, **more):
        self.owners = {n: rng.normal(size=(12, 3)).astype(dtype) for n in ("a", "b", "c")}
        target = rng.normal(size=(30, 3)).astype(dtype)
        self.roles = transcripts.roles_of(self.owners, target)
        self.book = Ledger(run=more.pop("run", None))
        sizes = {name: len(points) for name, points in self.owners.items()}
        protocol = protocol or Auction(n_features=16, reselect=False, **more)
        setting = transcripts.setting_of(target, sizes, self.book, size=size)
        self.curator = protocol.curator(setting)

    def step(self, skip=()):
        """Send one kind of message and take the answers, but for those of `skip`."""
        requests = self.curator.send()
        answers = {name: self.roles[name].answer(request) for name, request in requests.items()}
        for name, answer in answers.items():
            if name not in skip:
                self.curator.receive(name, answer)
        return requests, answers

    def finish(self):
        while self.step()[0]:
            pass
        return self.curator.result()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", ["paired", "phase"])
def test_bids_are_reproduced_bit_for_bit(kind, dtype, rng):
    for _ in range(5):
        run = Run(rng, dtype=dtype, feature_kind=kind, size=12, batch=2)
        assert len(run.finish().records) == 12


def wrong_answers(points):
    """Answers that are not the point that was bid."""
    other = points.values.copy()
    other[0, 0] = np.nextafter(other[0, 0] + 1e-3, np.inf)
    nan, infinite = points.values.copy(), points.values.copy()
    nan[0, 1], infinite[0, 1] = np.nan, np.inf
    yield "value", dataclasses.replace(points, values=other)
    yield "NaN", dataclasses.replace(points, values=nan)
    yield "infinity", dataclasses.replace(points, values=infinite)
    yield "row", dataclasses.replace(points, rows=points.rows + 1)
    yield "none", dataclasses.replace(points, rows=points.rows[:0], values=points.values[:0])
    yield "columns", dataclasses.replace(points, values=points.values[:, :2])
    yield "precision", dataclasses.replace(points, values=points.values.astype(np.float16))
    yield "labels", dataclasses.replace(points, labels=np.zeros(len(points.rows)))
    yield "kind", Bids((1,), (0,))


def test_a_point_that_is_not_the_one_bid_is_refused_and_changes_nothing(rng):
    run = Run(rng)
    run.step()
    _, answers = run.step(skip=("b",))
    for what, answer in wrong_answers(answers["b"]):
        with pytest.raises(ProtocolError, match="'b'"):
            run.curator.receive("b", answer)
        assert run.curator._picks == [], what
    with pytest.raises(ProtocolError, match="outstanding"):
        run.curator.send()
    run.curator.receive("b", answers["b"])
    assert len(run.curator._picks) == 1
    run.finish()


def test_bids_out_of_form_are_refused(rng):
    run = Run(rng, batch=2)
    _, answers = run.step(skip=("a",))
    good = answers["a"]
    (high, low), (first, second) = good.scores, good.rows
    for scores, rows in (
        ((low, high), (second, first)),
        ((high, high), (first, first)),
        ((high,), (first,)),
        ((high, low, low), (first, second, 11)),
        ((high, low), (-1, second)),
        ((2**126, low), (first, second)),
        ((high, low), (first,)),
    ):
        with pytest.raises(ProtocolError, match="'a'"):
            run.curator.receive("a", Bids(scores, rows))
    with pytest.raises(ProtocolError):
        run.curator.receive("a", points_of(run.roles["a"].table, np.array([0])))
    with pytest.raises(ProtocolError, match="no request"):
        run.curator.receive("b", answers["b"])
    run.curator.receive("a", good)


def test_a_row_that_was_sent_cannot_be_bid_again(rng):
    run = Run(rng)
    run.step()
    run.step()
    _, answers = run.step(skip=("a",))
    sent = run.curator._received["a"].rows
    with pytest.raises(ProtocolError, match="not sent yet"):
        run.curator.receive("a", Bids(answers["a"].scores, (sent[0],)))


# --- failures ---------------------------------------------------------------------------------


def test_without_spare_rounds_a_failure_ends_the_run(rng):
    run = Run(rng)
    run.step(skip=("b",))
    with pytest.raises(ProtocolError, match="must stop"):
        run.curator.drop("b")


@pytest.mark.parametrize("when", ["bids", "points"])
def test_a_dropped_owner_repeats_the_round_under_the_same_release(when, rng):
    run = Run(rng, spare_rounds=1)
    for _ in range(4):
        run.step()
    before, charged = list(run.curator._picks), run.book.charges()
    if when == "points":
        requests, _ = run.step()
        run.step(skip=("b",))
    else:
        requests, _ = run.step(skip=("b",))
    shown = next(iter(requests.values()))
    charged = run.book.charges()
    run.curator.drop("b")
    assert run.curator._picks == before
    repeated, _ = run.step()
    assert set(repeated) == {"a", "c"}
    again = next(iter(repeated.values()))
    assert isinstance(again, BidRequest)
    assert transcripts.encoded(again) == transcripts.encoded(shown)
    assert run.book.charges() == charged
    with pytest.raises(ProtocolError, match="no request"):
        run.curator.receive("b", Bids((0,), (0,)))
    with pytest.raises(ProtocolError, match="dropped before"):
        run.curator.drop("b")
    with pytest.raises(ProtocolError, match="must stop"):
        run.curator.drop("c")
    selection = run.finish()
    assert len(selection.records) == 6
    # What it had in the summary before stays; nothing comes after.
    late = selection.owner[len(before) :]
    assert not (late == 1).any()


def test_points_that_came_before_a_drop_stay_available(rng):
    """Else what is available would depend on the coins, and Lemma 1 would fail."""
    run = Run(rng, spare_rounds=1)
    run.step()
    _, answers = run.step(skip=("b",))
    run.curator.drop("b")
    _, bids = run.step()
    for name in "ac":
        sent = set(answers[name].rows)
        assert sent <= set(run.curator._received[name].rows)
        assert not sent & set(bids[name].rows)
    run.finish()


def test_a_drop_waits_for_the_answers_of_the_others(rng):
    run = Run(rng, spare_rounds=1)
    run.step()
    run.step(skip=("b", "c"))
    with pytest.raises(ProtocolError, match="outstanding"):
        run.curator.drop("b")


# --- what an owner receives -------------------------------------------------------------------


def test_a_resumed_run_sends_the_same_messages(rng, tmp_path):
    owners = {n: rng.normal(size=(15, 3)) for n in "abcdefgh"}
    target = rng.normal(size=(30, 3))
    sizes = {name: 15 for name in owners}
    received = []
    Ledger.create(tmp_path / "books").close()
    for steps in (7, 100):
        roles = transcripts.roles_of(owners, target)
        with Ledger(tmp_path / "books", run="died") as book:
            protocol = Auction(requests=Requests.PRIVATE, epsilon_owners=20.0, n_features=16)
            setting = transcripts.setting_of(target, sizes, book, size=6)
            curator, messages = protocol.curator(setting), []
            assert curator._plan.profile.probability.min() < 0.9
            while len(messages) < steps and (requests := curator.send()):
                messages.append([transcripts.encoded(r) for r in requests.values()])
                for name, request in requests.items():
                    curator.receive(name, roles[name].answer(request))
            received.append(messages)
    assert received[1][:7] == received[0]
    assert len(received[1]) == 12


def test_with_all_requests_the_bits_are_constant(rng):
    run = Run(rng, batch=2)
    while requests := run.step()[0]:
        for request in requests.values():
            if isinstance(request, SendRequest):
                assert request.wanted == (True, True)
    assert {c.message.split(" (")[0] for c in run.book.charges()} == {
        "target's noisy mean embedding",
        "noisy mean embedding of the summary so far",
    }


def test_exact_releases_are_charged_as_infinite(rng):
    run = Run(rng, target_release=Exact(), summary_release=Exact())
    run.finish()
    assert all(type(c.event).__name__ == "NonPrivate" for c in run.book.charges())

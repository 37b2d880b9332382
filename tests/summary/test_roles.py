"""Roles as state machines: what a curator refuses, and that a refusal changes nothing."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from dpsumm import RBF, Offers, Pool
from dpsumm.data.inputs import read_table
from dpsumm.errors import ProtocolError
from dpsumm.exchange.messages import Request
from dpsumm.papers import Auction
from dpsumm.privacy.ledger import Ledger
from dpsumm.summary import Greedy, Uniform
from dpsumm.summary.protocols import Owner
from dpsumm.summary.protocols.messages import Bids, Points
from helpers.settings import setting_of

SECRET = 987654.321


@pytest.fixture
def ledger():
    with Ledger() as books:
        yield books


def make(protocol, ledger, labelled=False, size=9):
    """A curator and its three owners; seeded, so that two of them tell the same story."""
    rng = np.random.default_rng(0)
    owners = {}
    for i, name in enumerate("abc"):
        data = rng.normal(i, 1, (20, 2))
        source = (data, np.arange(20)) if labelled else data
        owners[name] = Owner(read_table(source, name=name), seed=i)
    target, sizes = rng.normal(1.5, 1, (50, 2)), dict.fromkeys("abc", 20)
    given = {"size": size, "kernel": RBF(0.3), "labelled": labelled, "seed": 1}
    setting = setting_of(target, sizes, ledger, **given)
    return protocol.curator(setting), owners


def swapped(rows):
    return np.concatenate([rows[1::-1], rows[2:]])


# Ways to spoil an answer of at least two points.
SPOILT = {
    "not points": lambda p: None,
    "bids": lambda p: Bids((1,), (1,)),
    "narrow": lambda p: replace(p, values=p.values[:, :1]),
    "wide": lambda p: replace(p, values=np.hstack([p.values, p.values])),
    "flat": lambda p: replace(p, values=p.values.ravel()),
    "list": lambda p: replace(p, values=p.values.tolist()),
    "NaN": lambda p: replace(p, values=np.where(p.values == p.values[0, 0], np.nan, p.values)),
    "infinity": lambda p: replace(p, values=np.where(p.values == p.values[0, 0], np.inf, p.values)),
    "objects": lambda p: replace(p, values=p.values.astype(object)),
    "text": lambda p: replace(p, values=p.values.astype(str)),
    "integers": lambda p: replace(p, values=p.values.astype(int)),
    "complex": lambda p: replace(p, values=p.values.astype(complex)),
    "other precision": lambda p: replace(p, values=p.values.astype(np.float16)),
    "too few": lambda p: Points(p.rows[:0], p.values[:0], None),
    "too many": lambda p: Points(np.arange(99), np.full((99, 2), SECRET), None),
    "unsorted": lambda p: replace(p, rows=swapped(p.rows)),
    "unsorted, unsigned": lambda p: replace(p, rows=swapped(p.rows).astype(np.uint64)),
    "repeated": lambda p: replace(p, rows=np.full_like(p.rows, p.rows[0])),
    "negative": lambda p: replace(p, rows=p.rows - 100),
    "fractions": lambda p: replace(p, rows=p.rows + 0.5),
    "rows as list": lambda p: replace(p, rows=p.rows.tolist()),
    "rows in two dimensions": lambda p: replace(p, rows=p.rows[:, None]),
    "fewer rows than values": lambda p: replace(p, rows=p.rows[:-1]),
    "labels not asked for": lambda p: replace(p, labels=np.ones(len(p.rows))),
}


def refused(curator, name, answer):
    with pytest.raises(ProtocolError) as caught:
        curator.receive(name, answer)
    assert "98765" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("protocol", [Offers(), Pool(), Uniform(), Greedy()])
def test_collecting_curator_refuses_and_stays_as_it_was(protocol, ledger):
    curator, owners = make(protocol, ledger)
    requests = curator.send()
    answers = {name: owners[name].answer(request) for name, request in requests.items()}
    before = {name: replace(answer) for name, answer in answers.items()}
    assert "'nobody'" in refused(curator, "nobody", answers["a"])
    for name, answer in answers.items():
        for way, spoil in SPOILT.items():
            assert repr(name) in refused(curator, name, spoil(answer)), way
        curator.receive(name, answer)
        assert "already" in refused(curator, name, answer)
    plain, owners = make(protocol, ledger)
    for name, request in plain.send().items():
        answer = owners[name].answer(request)
        np.testing.assert_array_equal(answer.rows, before[name].rows)
        plain.receive(name, answer)
    np.testing.assert_array_equal(curator.result().records.values, plain.result().records.values)


def test_labels_must_come_when_they_were_agreed(ledger):
    curator, owners = make(Offers(), ledger, labelled=True)
    answer = owners["a"].answer(curator.send()["a"])
    for labels in (None, answer.labels[:-1], answer.labels[:, None], answer.labels.astype(object)):
        refused(curator, "a", replace(answer, labels=labels))
    curator.receive("a", answer)


@pytest.mark.parametrize("protocol", [Offers(), Pool(), Uniform(), Greedy()])
def test_nothing_is_sent_twice(protocol, ledger):
    curator, owners = make(protocol, ledger)
    refused(curator, "a", None)  # before anything was asked
    requests = curator.send()
    assert set(requests) == set("abc")
    charges = ledger.charges()
    assert curator.send() == {}
    for name, request in requests.items():
        curator.receive(name, owners[name].answer(request))
        assert curator.send() == {}
    curator.result()
    assert curator.send() == {}
    assert ledger.charges() == charges
    refused(curator, "a", owners["a"].answer(requests["a"]))


def test_offers_broadcast_is_one_message_for_all(ledger):
    curator, _ = make(Offers(), ledger)
    first, *others = curator.send().values()
    assert all(other is first for other in others)


def test_an_absent_owner_changes_nothing_for_the_others(ledger):
    curator, owners = make(Offers(), ledger)
    requests = curator.send()
    for name in "ac":
        curator.receive(name, owners[name].answer(requests[name]))
    selection = curator.result()
    assert set(selection.owner) <= {0, 2}
    empty, _ = make(Offers(), ledger)
    empty.send()
    with pytest.raises(ProtocolError, match="no owner sent any point"):
        empty.result()


def spoilt_bids(bids):
    (s0, s1, *_), (r0, r1, *_) = bids.scores, bids.rows
    yield None
    yield Bids(bids.scores[:-1], bids.rows[:-1])
    yield Bids((*bids.scores, 0), (*bids.rows, 19))
    yield Bids(bids.scores, bids.rows[:-1])
    yield Bids((s1, s0), (r1, r0))  # worst first
    yield Bids((s0, s0), (r0, r0))  # twice the same
    yield Bids((s0, s1), (r0, -1))
    yield Bids((2**126, s1), (r0, r1))


def test_auction_curator_refuses_and_stays_as_it_was(ledger):
    curator, owners = make(Auction(batch=2), ledger, size=4)
    plain, others = make(Auction(batch=2), ledger, size=4)
    refused(curator, "a", Bids((), ()))
    for _ in range(2):
        requests, same = curator.send(), plain.send()
        with pytest.raises(ProtocolError, match="3 answers are outstanding"):
            curator.send()
        refused(curator, "nobody", Bids((1, 0), (0, 1)))
        for name, request in requests.items():
            bids = owners[name].answer(request)
            for wrong in spoilt_bids(bids):
                refused(curator, name, wrong)
            refused(curator, name, Points(np.arange(2), np.zeros((2, 2)), None))
            curator.receive(name, bids)
            refused(curator, name, bids)
            plain.receive(name, others[name].answer(same[name]))
        requests, same = curator.send(), plain.send()
        assert requests == same
        for name, request in requests.items():
            points = owners[name].answer(request)
            for way, spoil in SPOILT.items():
                assert refused(curator, name, spoil(points)), way
            moved = points.values.copy()
            moved[0, 0] += 1.0
            assert "does not match its bid" in refused(curator, name, replace(points, values=moved))
            other_rows = np.setdiff1d(np.arange(20), points.rows)[:2]
            assert "not the rows" in refused(curator, name, replace(points, rows=other_rows))
            curator.receive(name, points)
            refused(curator, name, points)
            plain.receive(name, others[name].answer(same[name]))
    assert curator.send() == {} == plain.send()
    np.testing.assert_array_equal(curator.result().records.values, plain.result().records.values)


def test_an_owner_refuses_what_does_not_fit_its_data(ledger):
    curator, _ = make(Offers(), ledger)
    with Ledger() as other:
        auction, _ = make(Auction(), other)
        requests = (curator.send()["a"], auction.send()["a"])
    narrow = Owner(read_table(np.full((4, 1), SECRET), name="n"))
    for request in requests:
        with pytest.raises(ProtocolError, match=r"2 columns.*1") as caught:
            narrow.answer(request)
        assert "98765" not in str(caught.value)


def test_an_owner_refuses_a_request_that_it_does_not_know():
    @dataclass(frozen=True)
    class SendEverything(Request):
        wanted: tuple[bool, ...]

    owner = Owner(read_table(np.full((4, 1), SECRET), name="n"))
    with pytest.raises(ProtocolError, match="no answer to a SendEverything"):
        owner.answer(SendEverything((True,) * 4))


def test_an_owner_never_bids_a_point_that_it_sent(ledger):
    curator, owners = make(Auction(batch=3), ledger, size=9)
    sent = {name: set() for name in owners}
    while requests := curator.send():
        for name, request in requests.items():
            answer = owners[name].answer(request)
            rows = {int(row) for row in answer.rows}
            assert not rows & sent[name]
            if isinstance(answer, Points):
                sent[name] |= rows
            curator.receive(name, answer)
    assert sum(map(len, sent.values())) >= 9

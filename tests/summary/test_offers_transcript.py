"""Offers and the baselines: what an owner receives does not depend on any other owner's data."""

import dataclasses

import numpy as np
import pytest

from dpsumm import Offers, Pool
from dpsumm.errors import ProtocolError
from dpsumm.papers import Mwem
from dpsumm.privacy import Ledger
from dpsumm.summary import Greedy, Uniform
from dpsumm.summary.protocols.messages import Points
from dpsumm.summary.protocols.offers import OffersCurator
from helpers import transcripts

PROTOCOLS = [
    Offers(n_features=64),
    Offers(n_features=64, reads_per_record=1, spread=0),
    Offers(n_features=64, reads_per_record=9, spread=1),
    Offers(n_features=32, release=Mwem(20, 0.1, 0.1)),
    Offers(n_features=32, exact_selection=False),
    Pool(reads_per_record=2),
    Uniform(),
    Greedy(),
]
SIZES = {"me": 40, "other": 60, "third": 25}


def worlds(rng):
    """The same first owner and target; the others' data differ in everything but their sizes."""
    mine, target = rng.normal(size=(SIZES["me"], 3)), rng.normal(1, 1, (80, 3))
    near = {n: rng.normal(1, 0.5, (SIZES[n], 3)) for n in ("other", "third")}
    far = {n: rng.normal(-90, 3, (SIZES[n], 3)) for n in ("other", "third")}
    copied = {n: np.resize(target, (SIZES[n], 3)) for n in ("other", "third")}
    return target, [{"me": mine, **others} for others in (near, far, copied)]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_an_owner_receives_the_same_bytes_whatever_the_others_hold(protocol, rng, seed):
    target, owners = worlds(rng)
    runs = [transcripts.run(protocol, world, target, seed=seed) for world in owners]
    first = runs[0][0]["me"]
    assert len(first) == 1
    assert all(received["me"] == first for received, _ in runs)
    # Power: the worlds do differ, in what the curator makes of them.
    assert not np.array_equal(runs[0][1].records.values, runs[1][1].records.values)
    # And a transcript that depended on the run's coins would differ, if it uses any.
    if isinstance(protocol, Offers):
        other = transcripts.run(protocol, owners[0], target, seed=seed + 1)[0]["me"]
        assert other != first


def test_all_owners_receive_one_broadcast(rng):
    target, (owners, *_) = worlds(rng)
    received, _ = transcripts.run(Offers(n_features=64), owners, target)
    assert received["me"] == received["other"] == received["third"]


def started(protocol, owners, target, book):
    sizes = {name: len(table) for name, table in owners.items()}
    curator = protocol.curator(transcripts.setting_of(target, sizes, book))
    return curator, curator.send()


def test_the_curator_is_silent_after_the_broadcast(rng):
    target, (owners, *_) = worlds(rng)
    roles = transcripts.roles_of(owners, target)
    with Ledger() as book:
        curator, requests = started(Offers(n_features=64), owners, target, book)
        charged = book.charges()
        assert curator.send() == {}
        for name, request in requests.items():
            curator.receive(name, roles[name].answer(request))
            assert curator.send() == {}
        curator.result()
        curator.result()
        assert curator.send() == {}
        assert book.charges() == charged


def test_too_few_offers_bring_no_second_request(rng):
    target, (owners, *_) = worlds(rng)
    owners = {name: points[:2] for name, points in owners.items()} | {"big": owners["other"]}
    received, selection = transcripts.run(Offers(n_features=64, reads_per_record=1), owners, target)
    assert len(selection.records) < 10
    assert all(len(messages) == 1 for messages in received.values())


def test_a_failed_owner_changes_nothing_for_the_others(rng):
    target, (owners, *_) = worlds(rng)
    roles = transcripts.roles_of(owners, target)
    with Ledger() as book:
        curator, requests = started(Offers(n_features=64), owners, target, book)
        nonsense = Points(np.array([0]), np.full((1, 3), np.nan), None)
        with pytest.raises(ProtocolError):
            curator.receive("other", nonsense)
        assert curator.send() == {}
        curator.receive("me", roles["me"].answer(requests["me"]))
        assert set(curator.result().owner) == {0}
        assert curator.send() == {}


def test_answers_are_taken_once_and_only_from_owners(rng):
    target, (owners, *_) = worlds(rng)
    roles = transcripts.roles_of(owners, target)
    with Ledger() as book:
        curator, requests = started(Offers(n_features=64), owners, target, book)
        answer = roles["me"].answer(requests["me"])
        curator.receive("me", answer)
        for name in ("me", "stranger"):
            with pytest.raises(ProtocolError):
                curator.receive(name, answer)


class AsksAgain(OffersCurator):
    """Broken on purpose: asks for more when what it got from one owner does not look useful."""

    def send(self):
        first = super().send()
        if first or getattr(self, "asked", False):
            return first
        self.asked = True
        if self._received["other"].values.mean() > -10:
            return {}
        request = self._sent["me"]
        self._received = {}
        return dict.fromkeys(self.names, dataclasses.replace(request, noise=2 * request.noise))


def test_a_second_request_would_be_noticed(rng, seed):
    """Control: the comparison above sees a curator that asks again."""
    target, (near, far, _) = worlds(rng)
    runs = [
        transcripts.run(Offers(n_features=64), world, target, seed=seed, curator=AsksAgain)[0]["me"]
        for world in (near, far)
    ]
    assert runs[0] != runs[1]
    assert [len(messages) for messages in runs] == [1, 2]

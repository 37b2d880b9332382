"""One ledger for several threads, and runs that cannot be resumed."""

import threading

import numpy as np
import pytest

from dpsumm.errors import BudgetExceededError, ProtocolError
from dpsumm.papers import Auction, Requests
from dpsumm.privacy import Charge, Ledger, Protected, Pure
from helpers import transcripts


def test_threads_that_share_a_ledger_never_exceed_the_cap(tmp_path):
    with Ledger.create(tmp_path / "books", delta=1e-6) as book:
        book.set_cap(Protected.TARGET, 3.5, 0.1)
        given, refused = [], []
        barrier = threading.Barrier(8)

        def ask(i):
            charge = Charge(Protected.TARGET, "a release", Pure(1.0))
            barrier.wait()
            for attempt in range(3):
                try:
                    given.append(book.release(f"r{i}-{attempt}", [charge], lambda: b"x"))
                except BudgetExceededError:
                    refused.append(i)

        threads = [threading.Thread(target=ask, args=(i,)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(given) == 3 == len(book.charges())
        assert len(refused) == 21
        assert book.spent(Protected.TARGET)[0] <= 3.5


def test_a_run_that_dropped_an_owner_is_not_resumed(tmp_path, rng):
    """Its coins are keyed by what was dropped: a resumed run would draw new ones, uncharged."""
    owners = {name: rng.normal(size=(15, 3)) for name in "abcd"}
    target = rng.normal(size=(30, 3))
    sizes = {name: 15 for name in owners}
    protocol = Auction(requests=Requests.PRIVATE, n_features=16, spare_rounds=1)
    with Ledger.create(tmp_path / "books", run="died") as book:
        curator = protocol.curator(transcripts.setting_of(target, sizes, book, size=6))
        curator.send()
        curator.drop("b")
        assert curator.send()
    with Ledger(tmp_path / "books", run="died") as book:
        assert book.resumed
        again = protocol.curator(transcripts.setting_of(target, sizes, book, size=6))
        with pytest.raises(ProtocolError, match="dropped an owner"):
            again.send()


def test_a_stopped_run_stays_stopped(rng):
    """When the best points are not in hand, the data changed: nothing more may be sent."""
    owners = {name: rng.normal(size=(15, 3)) for name in "abc"}
    roles = transcripts.roles_of(owners, rng.normal(size=(30, 3)))
    setting = transcripts.setting_of(rng.normal(size=(30, 3)), dict.fromkeys(owners, 15), Ledger())
    curator = Auction(n_features=16).curator(setting)
    for name, request in curator.send().items():
        curator.receive(name, roles[name].answer(request))
    requests = curator.send()
    curator._round.left = [[(2**100, 0, 0)]]
    answers = {name: roles[name].answer(request) for name, request in requests.items()}
    last = answers.popitem()
    for name, answer in answers.items():
        curator.receive(name, answer)
    with pytest.raises(ProtocolError, match="not in hand"):
        curator.receive(*last)
    with pytest.raises(ProtocolError, match="stopped"):
        curator.send()
    assert np.array_equal(curator.names, ("a", "b", "c"))

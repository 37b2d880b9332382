"""The curator's processes are killed: the run goes on under its name, and pays once."""

from contextlib import contextmanager

import polars as pl
import pytest
from curating import count_answers, curator_file, last_asked, transcript
from deployment import kill, wait_for

from dpsumm.flower.gate import open_receipts, read_policy
from dpsumm.privacy import Ledger

pytestmark = pytest.mark.timeout(1200)


@contextmanager
def two_of_three_answered(deployment, books):
    """A run under way, with what it has spent; an owner that hangs keeps the curator waiting."""
    with deployment.misbehaving(west="hang"):
        deployment.begin()
        wait_for(lambda: count_answers(books, step=1) == 2, what="two answers")
        with Ledger(books) as book:
            spent = book.charges()
        yield spent


def test_a_killed_curator_resumes_and_pays_once(deployment):
    """Kill -9 of the ServerApp when one of the owners has answered; then the run again."""
    books = deployment.folder / "curator" / "kill.db"
    folder = curator_file(deployment, out="kill.parquet", ledger="kill.db", run="r")
    with two_of_three_answered(deployment, books) as spent:
        (curator,) = deployment.processes("flwr-serverapp")
        curator.kill()
    assert len(spent) == 1
    again = deployment.begin()
    assert deployment.finish(again) == "finished:completed"
    with Ledger(books) as book:
        assert book.charges() == spent
    frame = pl.read_parquet(folder / "kill.parquet")
    assert len(frame) == 12
    # What was collected is removed once the summary is written.
    assert count_answers(books, step=1) == 0


def test_a_curator_killed_within_an_auction_resumes_with_the_same_bytes(deployment):
    books = deployment.folder / "curator" / "rounds.db"
    folder = curator_file(deployment, out="rounds.parquet", ledger="rounds.db", run="rounds")
    auction = {"protocol": "auction", "batch": 6, "requests": "all"}
    transcript(deployment, "east")
    deployment.begin(**auction)
    # The first round is over, and the second one has begun.
    wait_for(lambda: count_answers(books, step=3) >= 1, what="the second round")
    (curator,) = deployment.processes("flwr-serverapp")
    curator.kill()
    with Ledger(books) as book:
        spent = book.charges()
    first = last_asked(deployment, "east")
    assert deployment.finish(deployment.begin(**auction)) == "finished:completed"
    second = last_asked(deployment, "east")
    # Who answered in the second round may be another owner.
    assert len(first) >= 3
    assert len(second) == 5  # the schema that is expected, and two requests in each round
    assert second[: len(first)] == first
    assert len(pl.read_parquet(folder / "rounds.parquet")) == 12
    with Ledger(books) as book:
        assert spent
        assert book.charges()[: len(spent)] == spent
    with open_receipts(read_policy(deployment.folder / "east" / "policy.toml")) as receipts:
        sent = [line for line, _ in receipts.lines() if line.run == "rounds"]
    # Bids count as all 60 records, twice, and two batches as 12: what was asked for again after the
    # death was not counted again.
    assert sum(line.counted for line in sent) == 2 * 60 + 12


def test_the_superlink_is_killed_and_comes_back(deployment):
    """Its keys are registered again; what was collected is kept, and paid for once."""
    books = deployment.folder / "curator" / "link.db"
    folder = curator_file(deployment, out="link.parquet", ledger="link.db", run="r")
    with two_of_three_answered(deployment, books) as spent:
        kill(deployment.superlink)
    deployment.start_superlink()
    for name in deployment.names:
        deployment.register(name)
    deployment.restart_node("west")
    transcript(deployment, "east")
    assert deployment.finish(deployment.begin()) == "finished:completed"
    assert len(pl.read_parquet(folder / "link.parquet")) == 12
    with Ledger(books) as book:
        assert book.charges() == spent
    # Its answer was kept: it is not asked again.
    assert transcript(deployment, "east") == []

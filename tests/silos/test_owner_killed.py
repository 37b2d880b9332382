"""Owners' nodes are killed: Offers go on when Flower has not heard of one for a minute."""

import polars as pl
import pytest
from curating import count_answers, curator_file, received, transcript
from deployment import wait_for

pytestmark = pytest.mark.timeout(1200)


def owners_of_run(deployment, out, run):
    assert deployment.finish(run) == "finished:completed"
    return set(pl.read_parquet(deployment.folder / "curator" / out)["owner"])


def test_offers_go_on_without_an_owner_killed_before(deployment):
    curator_file(deployment, out="before.parquet", ledger="before.db", run="r")
    wait_for(lambda: "SuperNode ID" in deployment.log("west"), what="the node")
    deployment.kill_node("west")
    run = deployment.begin()
    assert owners_of_run(deployment, "before.parquet", run) <= {"east", "north"}
    # By now Flower takes it back.
    deployment.start_node("west")


def test_offers_go_on_without_an_owner_killed_while_it_answers(deployment):
    curator_file(deployment, out="during.parquet", ledger="during.db", run="r")
    transcript(deployment, "west")
    with deployment.misbehaving(west="hang"):
        run = deployment.begin()
        wait_for(lambda: len(received(deployment, "west")) == 2, what="the second request")
        deployment.kill_node("west")
        assert owners_of_run(deployment, "during.parquet", run) <= {"east", "north"}


def test_what_an_owner_sent_before_it_was_killed_is_used(deployment):
    here = ("east", "north")
    folder = curator_file(deployment, out="after.parquet", ledger="after.db", run="r", owners=here)
    # East keeps the curator waiting while north, which has answered, is killed; then it fails.
    with deployment.misbehaving(east="hang"):
        run = deployment.begin()
        wait_for(lambda: count_answers(folder / "after.db", 1, "north"), what="the answer")
        deployment.kill_node("north")
        with deployment.misbehaving(east="raise"):
            assert owners_of_run(deployment, "after.parquet", run) == {"north"}

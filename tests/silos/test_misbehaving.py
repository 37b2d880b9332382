"""Owners that misbehave, and a node that refuses a curator's app."""

import sys

import polars as pl
import pytest
from curating import curator_file, transcript
from deployment import wait_for

from dpsumm.flower.gate import open_receipts, read_policy
from dpsumm.flower.project import write_project

pytestmark = pytest.mark.timeout(1200)


def test_a_node_with_a_policy_runs_no_other_app(deployment):
    """The watched app is another one: west, started as owners start it, refuses it unrun."""
    folder = curator_file(deployment, out="app.parquet", ledger="app.db", run="r")
    script = deployment.folder / "west" / "supernode.sh"
    watched = script.read_text()
    own = f"{sys.executable} -m dpsumm.flower.supernode"
    script.write_text(watched.replace("do flower-supernode", f"do {own}"))
    deployment.restart_node("west")
    transcript(deployment, "west")
    wait_for(lambda: "trial may ask, for summarize" in deployment.log("west"), what="the policy")
    run = deployment.begin()
    assert deployment.finish(run) == "finished:completed"
    assert "The FAB could not be verified" in deployment.logs(run)
    assert "refused an app that is not dpsumm's own" in deployment.log("west")
    assert transcript(deployment, "west") == []
    assert set(pl.read_parquet(folder / "app.parquet")["owner"]) <= {"east", "north"}
    # The app as it is: answered under the policy, and in the log.
    curator_file(deployment, out="app.parquet", ledger="app.db", run="own")
    project, deployment.project = deployment.project, deployment.folder / "own"
    write_project(deployment.project)
    run = deployment.begin()
    assert deployment.finish(run) == "finished:completed"
    assert "failed" not in deployment.logs(run)
    deployment.project = project
    script.write_text(watched)
    deployment.restart_node("west")
    with open_receipts(read_policy(script.parent / "policy.toml")) as receipts:
        assert receipts.fault() is None
        line = receipts.lines()[-1][0]
    assert (line.outcome, line.consumer, line.run) == ("answered", "trial", "own")
    assert line.counted > 0


@pytest.mark.parametrize(
    "faults",
    [
        {"north": "garbage", "west": "hang"},
        {"north": "too much", "west": "raise"},
    ],
    ids=" ".join,
)
def test_offers_go_on_without_owners_that_misbehave(deployment, faults):
    """A fault of each kind; more of them in test_channel.py and tests/exchange/test_across.py."""
    name = " and ".join(faults.values())
    folder = curator_file(deployment, out="faults.parquet", ledger="faults.db", run=name)
    with deployment.misbehaving(**faults):
        # The others answer in much less; who hangs is waited for.
        run = deployment.begin(**({"timeout": 90.0} if "hang" in faults.values() else {}))
        assert deployment.finish(run) == "finished:completed"
    assert set(pl.read_parquet(folder / "faults.parquet")["owner"]) == {"east"}
    assert deployment.logs(run).count("was left out") == 2


def test_below_the_minimum_there_is_no_summary_and_the_auction_stops(deployment):
    folder = curator_file(deployment, out="none.parquet", ledger="none.db", run="r")
    with deployment.misbehaving(west="garbage"):
        run = deployment.begin(**{"min-owners": 3})
        assert deployment.finish(run) == "finished:failed"
        assert not (folder / "none.parquet").exists()
        transcript(deployment, "east")
        folder = curator_file(deployment, out="none.parquet", ledger="auction.db", run="r")
        run = deployment.begin(protocol="auction", batch=6)
        assert deployment.finish(run) == "finished:failed"
    # East was asked for its description and one batch of bids, and told nothing more.
    assert len(transcript(deployment, "east")) == 2

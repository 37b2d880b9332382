"""Two nodes with one key over a real SuperLink: who has an owner's key twice, or has stolen it."""

import re

import polars as pl
import pytest
from curating import curator_file, received
from deployment import kill, wait_for

pytestmark = [pytest.mark.timeout(1200), pytest.mark.slow]


def test_a_second_node_with_an_owners_key_is_refused_while_the_first_is_there(deployment):
    """So an owner's records are counted in one log; its twin reads no message of a run."""
    north, twin = deployment.folder / "north", deployment.folder / "twin"
    twin.mkdir()
    for name in ("ca.pem", "key", "key.pub", "node.toml"):
        (twin / name).write_bytes((north / name).read_bytes())
    (twin / "key").chmod(0o600)
    script = (north / "supernode.sh").read_text()
    port = re.search(r"--host 127.0.0.1 --port (\d+)", script)[1]
    script = script.replace(f"--port {port}", f"--port {deployment.ports.last}")
    (twin / "supernode.sh").write_text(script.replace(str(north), str(twin)))
    wait_for(lambda: "SuperNode ID" in deployment.log("north"), what="north")
    process = deployment.start(
        "twin", "bash", twin / "supernode.sh", WATCHED=deployment.folder / "twin.received"
    )
    wait_for(lambda: "Exit Code" in deployment.log("twin"), what="the refusal")
    folder = curator_file(deployment, out="twin.parquet", ledger="twin.db", run="twin")
    assert deployment.finish(deployment.begin()) == "finished:completed"
    kill(process)
    assert "SuperNode ID" not in deployment.log("twin")
    assert received(deployment, "twin") == []
    assert len(received(deployment, "north")) == 2
    assert "north" in set(pl.read_parquet(folder / "twin.parquet")["owner"])

"""Real processes on loopback: TLS, keys, and what an owner is told. Minutes, not seconds."""

import contextlib
import os
import re
import shutil
import ssl
from pathlib import Path

import httpx
import numpy as np
import polars as pl
import pytest
from cryptography.hazmat.primitives.serialization import load_ssh_private_key
from curating import assert_same, curator_file, here, received, transcript
from deployment import NAMES, kill, listening, wait_for, write_csv
from flwr.proto.node_pb2 import Node
from flwr.proto.run_pb2 import GetRunRequest
from flwr.supercore.interceptors import RuntimeVersionHttpInterceptor
from flwr.supernode.fleet_http_client import FleetHttpClient
from flwr.supernode.node_auth_http_interceptor import NodeAuthHttpInterceptor

import dpsumm
from dpsumm.flower.certificates import make_key_pair
from dpsumm.privacy import Ledger

pytestmark = pytest.mark.timeout(1200)


def test_offers_equal_those_of_one_process(deployment):
    folder = curator_file(deployment, out="offers.parquet")
    assert deployment.finish(deployment.begin(seed=3)) == "finished:completed"
    assert_same(pl.read_parquet(folder / "offers.parquet"), here(deployment, NAMES, seed=3))


def test_the_auction_equals_that_of_one_process(deployment):
    """One round; the next test of an Auction has two."""
    folder = curator_file(deployment, out="auction.parquet")
    run = deployment.begin(seed=3, protocol="auction", batch=12, **{"requests": "all"})
    assert deployment.finish(run) == "finished:completed"
    protocol = dpsumm.papers.Auction(batch=12)
    assert_same(
        pl.read_parquet(folder / "auction.parquet"),
        here(deployment, NAMES, seed=3, protocol=protocol),
    )


def test_an_unregistered_owner_is_refused(deployment):
    stranger = deployment.folder / "stranger"
    stranger.mkdir()
    make_key_pair(stranger)
    script = (deployment.folder / "east" / "supernode.sh").read_text()
    (stranger / "supernode.sh").write_text(
        script.replace(f"--port {deployment.port + 1}", f"--port {deployment.ports.last}")
    )
    for name in ("ca.pem", "node.toml"):
        (stranger / name).write_bytes((deployment.folder / "east" / name).read_bytes())
    process = deployment.start("stranger", "bash", stranger / "supernode.sh")
    wait_for(lambda: "Exit Code: 305" in deployment.log("stranger"), what="the refusal")
    kill(process)
    assert "SuperNode ID" not in deployment.log("stranger")


def nginx():
    """Return Debian's nginx, if it is installed."""
    return shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")


@pytest.mark.skipif(nginx() is None, reason="nginx is not installed")
def test_an_owner_behind_the_proxy_reaches_its_own_interface_alone(deployment):
    """The file of the project, with this machine's ports and paths."""
    folder = deployment.folder / "nginx"
    folder.mkdir()
    port, curator = deployment.ports.last, deployment.folder / "curator"
    server = (Path(__file__).parents[2] / "deploy" / "flower" / "nginx.conf").read_text()
    for old, new in (
        ("listen 9443", f"listen 127.0.0.1:{port}"),
        ("https://127.0.0.1:8000", f"https://127.0.0.1:{deployment.port}"),
        ("/etc/dpsumm/", f"{curator}/"),
    ):
        assert old in server
        server = server.replace(old, new)
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    temporary = "".join(f"{kind}_temp_path {folder};\n" for kind in kinds)
    (folder / "nginx.conf").write_text(
        f"daemon off; master_process off; pid {folder}/pid;\nevents {{}}\n"
        f"http {{ access_log off; {temporary} {server} }}\n"
    )
    proxy = deployment.start(
        "nginx", nginx(), "-p", folder, "-e", folder / "errors", "-c", folder / "nginx.conf"
    )
    wait_for(lambda: listening(port), what="nginx")
    authority = ssl.create_default_context(cafile=str(curator / "ca.pem"))
    with httpx.Client(base_url=f"https://127.0.0.1:{port}", verify=authority) as client:
        for path in ("/", "/v1/control/start-run", "/v1/runtime/pull-task-input"):
            assert client.post(path).text.count("nginx") == 1, path
        # The owners' interface answers itself: it wants a registered key.
        assert "nginx" not in client.post("/v1/fleet/pull-messages").text
    script = deployment.folder / "west" / "supernode.sh"
    direct = script.read_text()
    script.write_text(direct.replace(f":{deployment.port} ", f":{port} "))
    deployment.restart_node("west")
    transcript(deployment, "west")
    curator_file(deployment, out="proxy.parquet", ledger="proxy.db", run="r")
    run = deployment.begin()
    assert deployment.finish(run) == "finished:completed"
    assert len(transcript(deployment, "west")) == 2
    assert "left out" not in deployment.logs(run)
    script.write_text(direct)
    deployment.restart_node("west")
    kill(proxy)


def test_what_an_owner_receives_does_not_depend_on_the_others(deployment):
    """Two runs with the same released target, private noise, and other data at the others."""
    given = {"ledger": "same.db", "run": "r"}
    data = deployment.folder / "data"
    others = {name: (data / f"{name}.csv").read_bytes() for name in ("north", "west")}
    worlds = []
    transcript(deployment, "east")
    for world in (0, 1):
        folder = curator_file(deployment, out=f"world-{world}.parquet", **given)
        assert deployment.finish(deployment.begin()) == "finished:completed"
        worlds.append(transcript(deployment, "east"))
        # With the answers goes what tells that the run has ended: it is repeated here on purpose.
        (folder / "same.db.answers").unlink()
        for i, name in enumerate(others):
            rows = np.random.default_rng(9).normal(-2 + i, 0.5, (45 + 10 * i, 3))
            write_csv(data / f"{name}.csv", rows)
    for name, rows in others.items():
        (data / f"{name}.csv").write_bytes(rows)
    assert len(worlds[0]) == 2
    assert worlds[0] == worlds[1]
    first, second = (pl.read_parquet(folder / f"world-{world}.parquet") for world in (0, 1))
    assert not first.equals(second)
    with Ledger(folder / "same.db") as book:
        assert len(book.charges()) == 1


def test_an_owner_is_not_told_how_much_the_others_sent(deployment):
    """Flower's GetRun, which a proxy must let pass, would tell its running totals."""
    curator_file(deployment, out="totals.parquet")
    folder = deployment.folder / "east"
    key = load_ssh_private_key((folder / "key").read_bytes(), None)
    wait_for(lambda: "SuperNode ID" in deployment.log("east"), what="the node")
    node = int(re.findall(r"SuperNode ID: (\d+)", deployment.log("east"))[-1])
    client = FleetHttpClient.from_server_address(
        f"127.0.0.1:{deployment.port}",
        False,
        (folder / "ca.pem").read_bytes(),
        interceptors=[
            RuntimeVersionHttpInterceptor(component_name="SuperNode"),
            NodeAuthHttpInterceptor(key, key.public_key()),
        ],
    )
    transcript(deployment, "west")
    run = deployment.begin()
    told = set()
    with client:
        request = GetRunRequest(node=Node(node_id=node), run_id=int(run))

        def ask():
            # Refused until the run has begun.
            with contextlib.suppress(httpx.HTTPStatusError):
                found = client.GetRun(request).run
                told.add((found.bytes_sent, found.bytes_recv, found.clientapp_runtime))

        # West has described its data, which was one answer, and was asked again.
        wait_for(lambda: ask() or len(received(deployment, "west")) == 2, what="the exchanges")
    assert told == {(0, 0, 0.0)}
    assert deployment.finish(run) == "finished:completed"

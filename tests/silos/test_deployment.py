"""Real processes on loopback: TLS, keys, faults, kills. Minutes, not seconds."""

import contextlib
import json
import os
import re
import shutil
import sqlite3
import ssl
import sys
from pathlib import Path

import httpx
import numpy as np
import polars as pl
import pytest
from cryptography.hazmat.primitives.serialization import load_ssh_private_key
from deployment import (
    BOUNDS,
    SCHEMA,
    Deployment,
    free_port,
    kill,
    listening,
    make_data,
    wait_for,
    write_csv,
)
from flwr.proto.node_pb2 import Node
from flwr.proto.run_pb2 import GetRunRequest
from flwr.supercore.interceptors import RuntimeVersionHttpInterceptor
from flwr.supernode.fleet_http_client import FleetHttpClient
from flwr.supernode.node_auth_http_interceptor import NodeAuthHttpInterceptor

import dpsumm
from dpsumm.flower.certificates import make_key_pair
from dpsumm.flower.gate import open_receipts, read_policy
from dpsumm.flower.project import write_project
from dpsumm.privacy import Ledger

NAMES = ("east", "north", "west")
pytestmark = pytest.mark.timeout(280)


@pytest.fixture(scope="module")
def deployment(tmp_path_factory):
    folder = tmp_path_factory.mktemp("deployment")
    make_data(folder / "data", NAMES)
    with Deployment(folder, NAMES) as started:
        yield started


def curator_file(deployment, **values):
    """Write the curator's settings; a run and its ledger unless they are left out."""
    names = ", ".join(f'"{name}"' for name in values.pop("owners", deployment.names))
    values = {
        "target": str(deployment.folder / "data" / "target.csv"),
        "schema": "schema.toml",
        "key": "consumer.key",
        **values,
    }
    text = "\n".join(f'{key} = "{value}"' for key, value in values.items())
    path = deployment.folder / "curator" / "curator.toml"
    if "ledger" in values and not (path.parent / values["ledger"]).exists():
        Ledger.create(path.parent / values["ledger"]).close()
    path.write_text(f"{text}\nowners = [{names}]\n")
    return path.parent


def here(deployment, names, **more):
    """The same run in this process."""
    data = deployment.folder / "data"
    return dpsumm.summarize(
        {name: data / f"{name}.csv" for name in names},
        data / "target.csv",
        size=12,
        schema=SCHEMA,
        **more,
    )


def assert_same(frame, summary):
    np.testing.assert_array_equal(frame.select(list(BOUNDS)).to_numpy(), summary.points)
    assert frame["owner"].to_list() == [summary.names[i] for i in summary.owner]
    assert frame["index"].to_list() == summary.index.tolist()


def test_offers_equal_those_of_one_process(deployment):
    folder = curator_file(deployment, out="offers.parquet")
    assert deployment.finish(deployment.begin(seed=3)) == "finished:completed"
    assert_same(pl.read_parquet(folder / "offers.parquet"), here(deployment, NAMES, seed=3))


def test_the_auction_equals_that_of_one_process(deployment):
    """One round; the next test of an Auction has two."""
    folder = curator_file(deployment, out="auction.parquet")
    run = deployment.begin(seed=3, protocol="auction", batch=12, **{"requests": "all"})
    assert deployment.finish(run, 150) == "finished:completed"
    protocol = dpsumm.Auction(batch=12)
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
        script.replace(f"--port {deployment.port + 1}", f"--port {deployment.port + 90}")
    )
    for name in ("ca.pem", "node.toml"):
        (stranger / name).write_bytes((deployment.folder / "east" / name).read_bytes())
    process = deployment.start("stranger", "bash", stranger / "supernode.sh")
    wait_for(lambda: "Exit Code: 305" in deployment.log("stranger"), what="the refusal")
    kill(process)
    assert "SuperNode ID" not in deployment.log("stranger")


def test_a_killed_curator_resumes_and_pays_once(deployment):
    """Kill -9 of the ServerApp when one of the owners has answered; then the run again."""
    books = deployment.folder / "curator" / "kill.db"
    folder = curator_file(deployment, out="kill.parquet", ledger="kill.db", run="r")
    # An owner that does not answer keeps the curator waiting, at a place of our choosing.
    with deployment.misbehaving(west="hang"):
        deployment.begin(timeout=120.0)
        wait_for(lambda: count_answers(books, step=1) == 2, 120, "two answers")
        (curator,) = deployment.processes("flwr-serverapp")
        curator.kill()
    with Ledger(books) as book:
        spent = book.charges()
    assert len(spent) == 1
    again = deployment.begin(timeout=120.0)
    assert deployment.finish(again, 120) == "finished:completed"
    with Ledger(books) as book:
        assert book.charges() == spent
    frame = pl.read_parquet(folder / "kill.parquet")
    assert len(frame) == 12
    # What was collected is removed once the summary is written.
    assert count_answers(books, step=1) == 0


def count_answers(books, step, owner="%"):
    """Answers in the journal beside a ledger."""
    path = books.with_name(books.name + ".answers")
    if not path.exists():
        return 0
    db = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=10)
    try:
        (count,) = db.execute(
            "SELECT count(*) FROM answers WHERE step = ? AND owner LIKE ?", (step, owner)
        ).fetchone()
    except sqlite3.OperationalError:  # no table yet
        count = 0
    finally:
        db.close()
    return count


def received(deployment, name):
    """What arrived at an owner, a line for each exchange."""
    path = deployment.folder / f"{name}.received"
    return path.read_text().splitlines() if path.exists() else []


def transcript(deployment, name):
    """The same, and forget it."""
    lines = received(deployment, name)
    (deployment.folder / f"{name}.received").unlink(missing_ok=True)
    return lines


def test_a_curator_killed_within_an_auction_resumes_with_the_same_bytes(deployment):
    books = deployment.folder / "curator" / "rounds.db"
    folder = curator_file(deployment, out="rounds.parquet", ledger="rounds.db", run="rounds")
    auction = {"protocol": "auction", "batch": 6, "requests": "all", "timeout": 120.0}
    transcript(deployment, "east")
    deployment.begin(**auction)
    # The first round is over, and the second one has begun.
    wait_for(lambda: count_answers(books, step=3) >= 1, 120, "the second round")
    (curator,) = deployment.processes("flwr-serverapp")
    curator.kill()
    with Ledger(books) as book:
        spent = book.charges()
    first = last_asked(deployment, "east")
    assert deployment.finish(deployment.begin(**auction), 150) == "finished:completed"
    second = last_asked(deployment, "east")
    assert len(first) >= 3
    assert len(second) == 4
    assert second[: len(first)] == first
    assert len(pl.read_parquet(folder / "rounds.parquet")) == 12
    with Ledger(books) as book:
        assert spent
        assert book.charges()[: len(spent)] == spent
    with open_receipts(read_policy(deployment.folder / "east" / "policy.toml")) as receipts:
        sent = [line for line, _ in receipts.lines() if line.run == "rounds"]
    # Two batches: what was asked for again after the death was not counted again.
    assert sum(line.counted for line in sent) == 12


def last_asked(deployment, name):
    """All requests of the latest exchange, which repeats those before it; forgets them."""
    return json.loads(transcript(deployment, name)[-1])["messages"]


def test_the_superlink_is_killed_and_comes_back(deployment):
    """Its keys are registered again; what was collected is kept, and paid for once."""
    books = deployment.folder / "curator" / "link.db"
    folder = curator_file(deployment, out="link.parquet", ledger="link.db", run="r")
    with deployment.misbehaving(west="hang"):
        deployment.begin(timeout=120.0)
        wait_for(lambda: count_answers(books, step=1) == 2, 120, "two answers")
        with Ledger(books) as book:
            spent = book.charges()
        kill(deployment.superlink)
    deployment.start_superlink()
    for name in deployment.names:
        deployment.register(name)
    deployment.restart_node("west")
    transcript(deployment, "east")
    assert deployment.finish(deployment.begin(timeout=120.0), 150) == "finished:completed"
    assert len(pl.read_parquet(folder / "link.parquet")) == 12
    with Ledger(books) as book:
        assert book.charges() == spent
    # Its answer was kept: it is not asked again.
    assert transcript(deployment, "east") == []


def nginx():
    """Return Debian's nginx, if it is installed."""
    return shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")


@pytest.mark.skipif(nginx() is None, reason="nginx is not installed")
def test_an_owner_behind_the_proxy_reaches_its_own_interface_alone(deployment):
    """The file of the project, with this machine's ports and paths."""
    folder = deployment.folder / "nginx"
    folder.mkdir()
    port, curator = free_port(), deployment.folder / "curator"
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
    assert deployment.finish(run, 120) == "finished:completed"
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
    run = deployment.begin(timeout=120.0)
    told = set()
    with client:
        request = GetRunRequest(node=Node(node_id=node), run_id=int(run))

        def ask():
            # Refused until the run has begun.
            with contextlib.suppress(httpx.HTTPStatusError):
                found = client.GetRun(request).run
                told.add((found.bytes_sent, found.bytes_recv, found.clientapp_runtime))

        # West has described its data, which was one answer, and was asked again.
        wait_for(lambda: ask() or len(received(deployment, "west")) == 2, 90, "the exchanges")
    assert told == {(0, 0, 0.0)}
    assert deployment.finish(run) == "finished:completed"


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
    run = deployment.begin(timeout=120.0)
    assert deployment.finish(run, 150) == "finished:completed"
    assert "The FAB could not be verified" in deployment.logs(run)
    assert "refused an app that is not dpsumm's own" in deployment.log("west")
    assert transcript(deployment, "west") == []
    assert set(pl.read_parquet(folder / "app.parquet")["owner"]) <= {"east", "north"}
    # The app as it is: answered under the policy, and in the log.
    curator_file(deployment, out="app.parquet", ledger="app.db", run="own")
    project, deployment.project = deployment.project, deployment.folder / "own"
    write_project(deployment.project)
    run = deployment.begin(timeout=120.0)
    assert deployment.finish(run, 150) == "finished:completed"
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
    folder = curator_file(deployment, out="faults.parquet", ledger="faults.db", run=str(faults))
    with deployment.misbehaving(**faults):
        run = deployment.begin(timeout=30.0 if "hang" in faults.values() else 120.0)
        assert deployment.finish(run, 200) == "finished:completed"
    assert set(pl.read_parquet(folder / "faults.parquet")["owner"]) == {"east"}
    assert deployment.logs(run).count("was left out") == 2


def test_below_the_minimum_there_is_no_summary_and_the_auction_stops(deployment):
    folder = curator_file(deployment, out="none.parquet", ledger="none.db", run="r")
    with deployment.misbehaving(west="garbage"):
        run = deployment.begin(timeout=120.0, **{"min-owners": 3})
        assert deployment.finish(run, 120) == "finished:failed"
        assert not (folder / "none.parquet").exists()
        transcript(deployment, "east")
        folder = curator_file(deployment, out="none.parquet", ledger="auction.db", run="r")
        run = deployment.begin(timeout=120.0, protocol="auction", batch=6)
        assert deployment.finish(run, 120) == "finished:failed"
    # East was asked for its description and one batch of bids, and told nothing more.
    assert len(transcript(deployment, "east")) == 2


# The last ones: Flower takes a killed node back only when its last sign of life is a minute old.
def owners_of_run(deployment, out, run):
    assert deployment.finish(run, 120) == "finished:completed"
    return set(pl.read_parquet(deployment.folder / "curator" / out)["owner"])


def test_offers_go_on_without_an_owner_killed_while_it_answers(deployment):
    curator_file(deployment, out="during.parquet", ledger="during.db", run="r")
    transcript(deployment, "west")
    with deployment.misbehaving(west="hang"):
        run = deployment.begin(timeout=30.0)
        wait_for(lambda: len(received(deployment, "west")) == 2, 90, "the second request")
        kill(deployment.nodes["west"])
    assert owners_of_run(deployment, "during.parquet", run) <= {"east", "north"}


def test_offers_go_on_without_an_owner_killed_before(deployment):
    curator_file(deployment, out="before.parquet", ledger="before.db", run="r")
    kill(deployment.nodes["west"])
    run = deployment.begin(timeout=30.0)
    assert owners_of_run(deployment, "before.parquet", run) <= {"east", "north"}


def test_what_an_owner_sent_before_it_was_killed_is_used(deployment):
    folder = curator_file(deployment, out="after.parquet", ledger="after.db", run="r")
    # East keeps the curator waiting while north, which has answered, is killed.
    with deployment.misbehaving(east="hang"):
        run = deployment.begin(timeout=30.0)
        wait_for(lambda: count_answers(folder / "after.db", 1, "north"), 90, "the answer")
        kill(deployment.nodes["north"])
        assert owners_of_run(deployment, "after.parquet", run) == {"north"}

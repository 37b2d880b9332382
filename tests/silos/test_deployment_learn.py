"""Learning over a real SuperLink on loopback: as in one process, and with parties that fail."""

import numpy as np
import polars as pl
import pytest
from deployment import NAMES, Deployment

import dpsumm
from dpsumm.privacy import Ledger

BOUNDS = {"bounds": (-3, 3)}
COLUMNS = [dpsumm.Column("a", **BOUNDS), dpsumm.Column("b", **BOUNDS)]
SCHEMA = dpsumm.Schema([*COLUMNS, dpsumm.Column("sick", "label")])
pytestmark = [pytest.mark.timeout(1200), pytest.mark.filterwarnings("ignore:learn")]


@pytest.fixture(scope="module")
def deployment(tmp_path_factory):
    folder = tmp_path_factory.mktemp("votes")
    (folder / "data").mkdir()
    rng = np.random.default_rng(2)
    for name in (*NAMES, "public"):
        x = rng.normal(size=(300, 2)).clip(-3, 3)
        frame = pl.DataFrame({"a": x[:, 0], "b": x[:, 1], "sick": np.where(x[:, 0] > 0, "y", "n")})
        frame.write_csv(folder / "data" / f"{name}.csv")
    schema = folder / "schema.toml"
    SCHEMA.save(schema)
    with Deployment(folder, NAMES, task="learn", schema=schema, classes="n,y") as started:
        yield started


@pytest.mark.parametrize("protocol", ["updates", "votes"])
def test_as_in_one_process(deployment, protocol):
    curator, data = deployment.folder / "curator", deployment.folder / "data"
    own = (curator / "curator.toml").read_text()
    # A seed is for books of nobody.
    plain = [line for line in own.splitlines() if not line.startswith(("ledger", "run"))]
    (curator / "curator.toml").write_text("\n".join(plain))
    run = deployment.begin(seed=3, protocol=protocol)
    assert deployment.finish(run) == "finished:completed"
    (curator / "curator.toml").write_text(own)
    here = dpsumm.learn(
        {name: data / f"{name}.csv" for name in NAMES},
        data / "public.csv",
        classes=["n", "y"],
        schema=SCHEMA,
        seed=3,
        protocol=protocol,
    )
    frame = pl.read_parquet(curator / "predictions.parquet")
    np.testing.assert_allclose(frame["p_y"], here.to_frame()["p_y"], atol=1e-9)


def test_with_parties_that_fail(deployment):
    """One answers garbage, one is told to raise; the run ends, and pays once."""
    curator, data = deployment.folder / "curator", deployment.folder / "data"
    own = (curator / "curator.toml").read_text()
    votes = {"protocol": "votes"}
    with deployment.misbehaving(north="garbage", west="raise"):
        run = deployment.begin(**votes)
        assert deployment.finish(run) == "finished:completed"
    said = deployment.logs(run)
    assert said.count("counts as absent") == 2
    page = (curator / "report.html").read_text()
    assert not any(name in page for name in NAMES)
    with Ledger(curator / "books.db") as book:
        assert len(book.charges()) == 1
    # Other points under the same name, from a curator with other books: who has voted refuses.
    pl.read_csv(data / "public.csv").reverse().write_csv(data / "public.csv")
    Ledger.create(curator / "other.db").close()
    (curator / "curator.toml").write_text(own.replace('"books.db"', '"other.db"'))
    run = deployment.begin(**votes)
    assert deployment.finish(run) == "finished:completed"
    assert deployment.logs(run).count("answers once") == len(NAMES) - 2

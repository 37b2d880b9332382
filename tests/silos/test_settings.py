"""Configurations of curator and owners: strict, and an owner's data are its own to name."""

import tomllib
from pathlib import Path

import pytest

from dpsumm import Auction, Offers, Schema
from dpsumm.errors import InvalidParameterError
from dpsumm.flower.settings import CuratorFile, OwnerConfig, Public
from dpsumm.flower.trial import make_trial, write_project
from dpsumm.summary import Requests

PROJECT = Path(__file__).parents[2] / "deploy" / "flower" / "pyproject.toml"
DEFAULTS = tomllib.loads(PROJECT.read_text())["tool"]["flwr"]["app"]["config"]


def test_the_ready_project_has_every_parameter():
    public = Public.read(DEFAULTS)
    assert public.protocol == Offers()
    assert (public.size, public.seed, public.kernel) == (100, None, None)


def test_the_ready_project_is_the_one_that_a_trial_gets(tmp_path):
    write_project(tmp_path / "app")
    made = {p.relative_to(tmp_path / "app"): p.read_text() for p in (tmp_path / "app").rglob("*.*")}
    for path, text in made.items():
        assert (PROJECT.parent / path).read_text() == text
    assert len(made) == 4


def test_the_auction_and_its_parameters():
    given = {"protocol": "auction", "batch": 5, "requests": "private", "spare-rounds": 2, "seed": 3}
    public = Public.read({**DEFAULTS, **given})
    assert public.protocol == Auction(batch=5, requests=Requests.PRIVATE, spare_rounds=2)
    assert public.seed == 3


@pytest.mark.parametrize(
    "wrong",
    [
        {"protocol": "pool"},
        {"protocol": "telepathy"},
        {"requests": "all"},
        {"spare-rounds": 1},
        {"size": "9"},
        {"size": True},
        {"timeout": 0.0},
        {"max-answer-mb": 0},
        {"unknown": 1},
        {"batch": 3},
    ],
)
def test_a_wrong_parameter_is_refused(wrong):
    with pytest.raises(InvalidParameterError):
        Public.read({**DEFAULTS, **wrong})


def test_a_missing_parameter_is_named():
    with pytest.raises(InvalidParameterError, match="epsilon is missing"):
        Public.read({k: v for k, v in DEFAULTS.items() if k != "epsilon"})


NODE = {
    "name": "north",
    "data": "/data/north.csv",
    "schema": "/data/schema.toml",
    "max-points": 9,
}


def test_an_owners_data_are_named_by_its_node_alone():
    config = OwnerConfig.read({**NODE, "partition-id": 1, "num-partitions": 2})
    assert config.data == Path("/data/north.csv")
    assert (config.schema, config.max_points) == (Path("/data/schema.toml"), 9)
    for key in ("data", "schema", "max-points"):
        with pytest.raises(InvalidParameterError, match=f"{key} is missing"):
            OwnerConfig.read({k: v for k, v in NODE.items() if k != key})
    with pytest.raises(InvalidParameterError, match="unknown key"):
        OwnerConfig.read({**NODE, "maxpoints": 3})


def test_a_simulated_owner_has_the_file_of_its_number(monkeypatch, tmp_path):
    for name in ("b.csv", "a.csv", "schema.toml"):
        (tmp_path / name).touch()
    monkeypatch.setenv("DPSUMM_SIMULATION", str(tmp_path))
    config = OwnerConfig.read({"partition-id": 1})
    assert (config.name, config.data) == ("b", tmp_path / "b.csv")


GIVEN = 'target = "t.csv"\nschema = "s.toml"\nout = "s.csv"\nowners = ["a"]\n'


def read_curator(monkeypatch, path, text):
    path.write_text(text)
    for name in ("t.csv", "s.toml"):
        (path.parent / name).touch()
    monkeypatch.setenv("DPSUMM_CURATOR", str(path))
    return CuratorFile.read()


def test_the_curators_file(monkeypatch, tmp_path):
    path = tmp_path / "curator.toml"
    own = read_curator(monkeypatch, path, GIVEN + 'ledger = "l"\nrun = "r"\n')
    assert (own.target, own.ledger, own.run) == (tmp_path / "t.csv", tmp_path / "l", "r")
    assert own.owners == ("a",)
    assert not own.claimed_names
    for wrong in (
        "not toml",
        GIVEN + 'ledger = "l"\n',
        GIVEN + "more = 1\n",
        GIVEN.replace("s.csv", "s.txt"),
        GIVEN.replace("t.csv", "no.csv"),
        GIVEN.replace("s.toml", "no.toml"),
        GIVEN.replace("s.csv", "nowhere/s.csv"),
        GIVEN.replace('["a"]', '"a"'),
        GIVEN.replace('target = "t.csv"\n', ""),
    ):
        with pytest.raises(InvalidParameterError):
            read_curator(monkeypatch, path, wrong)
    monkeypatch.delenv("DPSUMM_CURATOR")
    with pytest.raises(InvalidParameterError, match="DPSUMM_CURATOR"):
        CuratorFile.read()


def test_secrets_of_a_trial_are_for_their_user_alone(tmp_path):
    schema = tmp_path / "schema.toml"
    Schema.numbers(["x"]).save(schema)
    with pytest.raises(InvalidParameterError, match=r"no file .*north\.csv"):
        make_trial(tmp_path / "trial", ["north"], data=tmp_path, schema=schema)
    for name in ("north.csv", "target.csv"):
        (tmp_path / name).touch()
    folder = make_trial(tmp_path / "trial", ["north"], data=tmp_path, schema=schema)
    for secret in ("curator/ca.key", "curator/server.key", "north/key"):
        assert (folder / secret).stat().st_mode & 0o077 == 0
    for script in folder.glob("*/*.sh"):
        text = script.read_text()
        assert "FLWR_TELEMETRY_ENABLED=0" in text
        assert "--insecure" not in text
        assert "PRIVATE" not in text
    start = (folder / "curator" / "superlink.sh").read_text()
    assert "--enable-supernode-auth" in start
    assert "--disable-runtime-dependency-installation" in start
    node = tomllib.loads((folder / "north" / "node.toml").read_text())
    assert OwnerConfig.read(node).data == tmp_path / "north.csv"
    with pytest.raises(InvalidParameterError, match="exists already"):
        make_trial(folder, ["north"], data=tmp_path, schema=schema)
    for names in (["../x"], ["curator"], ["a", "a"], []):
        with pytest.raises(InvalidParameterError):
            make_trial(tmp_path / "other", names, data=tmp_path, schema=schema)

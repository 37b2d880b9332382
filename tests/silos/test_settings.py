"""Configurations of curator and owners: strict, and an owner's data are its own to name."""

import tomllib
from importlib import resources
from pathlib import Path

import pytest

from dpsumm import Offers, Schema
from dpsumm.data import File, FileFormat
from dpsumm.errors import InvalidParameterError
from dpsumm.flower.project import write_project
from dpsumm.flower.settings import CuratorFile, NodeConfig, Public
from dpsumm.flower.tasks import NAMES, learn, task_of
from dpsumm.flower.tasks.summarize import Summarize
from dpsumm.flower.trial import make_trial
from dpsumm.papers import Auction, Requests

PROJECT = Path(__file__).parents[2] / "deploy" / "flower" / "pyproject.toml"
DEFAULTS = tomllib.loads(PROJECT.read_text())["tool"]["flwr"]["app"]["config"]


@pytest.fixture
def curator(monkeypatch, tmp_path):
    """Read a curator's file of that text, beside files that it may name."""

    def read(text):
        path = tmp_path / "curator.toml"
        path.write_text(text)
        for name in ("t.csv", "s.toml"):
            (tmp_path / name).touch()
        monkeypatch.setenv("DPSUMM_CURATOR", str(path))
        return CuratorFile.read()

    return read


def settled(config, own):
    """The run, as the curator's app makes it."""
    public = Public.read(config)
    task = task_of(public.task).read(public, own)
    public.more.refuse_others()
    own.more.refuse_others()
    return task


def test_the_ready_project_has_every_parameter(curator):
    run = settled(DEFAULTS, curator(GIVEN))
    assert isinstance(run, Summarize)
    assert run.protocol == Offers()
    assert (run.size, run.public.seed, run.kernel) == (100, None, None)


def test_the_ready_project_is_the_one_that_a_trial_gets(tmp_path):
    write_project(tmp_path / "app")
    made = {p.relative_to(tmp_path / "app"): p.read_text() for p in (tmp_path / "app").rglob("*.*")}
    for path, text in made.items():
        assert (PROJECT.parent / path).read_text() == text
    assert len(made) == 4


def test_the_auction_and_its_parameters(curator):
    given = {"protocol": "auction", "batch": 5, "requests": "private", "spare-rounds": 2, "seed": 3}
    run = settled({**DEFAULTS, **given}, curator(GIVEN))
    assert run.protocol == Auction(batch=5, requests=Requests.PRIVATE, spare_rounds=2)
    assert run.public.seed == 3


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
        {"timeout": float("inf")},
        {"max-answer-mb": 0},
        {"unknown": 1},
        {"batch": 3},
        {"task": "telepathy"},
    ],
)
def test_a_wrong_parameter_is_refused(wrong, curator):
    own = curator(GIVEN)
    with pytest.raises(InvalidParameterError):
        settled({**DEFAULTS, **wrong}, own)


def test_a_missing_parameter_is_named(curator):
    own = curator(GIVEN)
    for key in ("epsilon", "size"):
        with pytest.raises(InvalidParameterError, match=f"{key} is missing"):
            settled({k: v for k, v in DEFAULTS.items() if k != key}, own)


NODE = {
    "name": "north",
    "data": "/data/north.csv",
    "schema": "/data/schema.toml",
    "max-points": 9,
}


def test_an_owners_data_are_named_by_its_node_alone():
    config = NodeConfig.read({**NODE, "partition-id": 1, "num-partitions": 2})
    assert (config.name, config.max_points) == ("north", 9)
    assert config.more("data", str) == "/data/north.csv"
    for key, named in (("data", "data"), ("schema", "schema"), ("max-points", "policy")):
        lacking = NodeConfig.read({k: v for k, v in NODE.items() if k != key})
        with pytest.raises(InvalidParameterError, match=f"{named} is missing"):
            Summarize.party(lacking)
    with pytest.raises(InvalidParameterError, match="max-points is for nodes without a policy"):
        NodeConfig.read({**NODE, "policy": "policy.toml"})
    more = NodeConfig.read({**NODE, "maxpoints": 3}).more
    for key in ("data", "schema"):
        more(key, str)
    with pytest.raises(InvalidParameterError, match="unknown key"):
        more.refuse_others()


@pytest.mark.parametrize("task", NAMES)
def test_a_node_answers_runs_of_its_own_task_alone(task):
    assert NodeConfig.read({**NODE, "task": task}, task).task == task
    with pytest.raises(InvalidParameterError, match="takes part in"):
        NodeConfig.read({**NODE, "task": task}, "another")


def test_a_simulated_owner_has_the_file_of_its_number(monkeypatch, tmp_path):
    # Beside the data lies what nodes of `learn` keep.
    for name in ("b.csv", "a.csv", "schema.toml", "a.csv.answers", "a.csv.answers.0123.lock"):
        (tmp_path / name).touch()
    monkeypatch.setenv("DPSUMM_SIMULATION", str(tmp_path))
    config = NodeConfig.read({"partition-id": 1})
    assert (config.name, config.more("data", str)) == ("b", str(tmp_path / "b.csv"))


GIVEN = 'target = "t.csv"\nschema = "s.toml"\nout = "s.csv"\nowners = ["a"]\n'


def test_the_curators_file(curator, monkeypatch, tmp_path):
    run = settled(DEFAULTS, curator(GIVEN + 'ledger = "l"\nrun = "r"\n'))
    assert run.target.path == tmp_path / "t.csv"
    assert (run.own.ledger, run.own.run) == (tmp_path / "l", "r")
    assert run.parties == ("a",)
    assert not run.own.claimed_names
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
            settled(DEFAULTS, curator(wrong))
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
    for secret in (
        "curator/ca.key",
        "curator/server.key",
        "curator/consumer.key",
        "north/key",
        "north/receipts.key",
        "north/receipts.db",
    ):
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
    assert NodeConfig.read(node).more("data", str) == str(tmp_path / "north.csv")
    with pytest.raises(InvalidParameterError, match="exists already"):
        make_trial(folder, ["north"], data=tmp_path, schema=schema)
    for names in (["../x"], ["curator"], ["a", "a"], []):
        with pytest.raises(InvalidParameterError):
            make_trial(tmp_path / "other", names, data=tmp_path, schema=schema)


def test_the_format_of_a_party_s_file(curator, tmp_path):
    said = 'separator = ";"\ndecimal = ","\nencoding = "cp1252"\nkind = "csv"\n'
    wanted = FileFormat(separator=";", decimal=",", encoding="cp1252", kind="csv")
    assert settled(DEFAULTS, curator(GIVEN + said)).target.format == wanted
    with pytest.raises(InvalidParameterError, match=r"curator\.toml: kind must be one of"):
        settled(DEFAULTS, curator(GIVEN + 'kind = "word"\n'))
    config = NodeConfig.read({**NODE, **tomllib.loads(said)})
    assert config.more.file(tmp_path / "a") == File(tmp_path / "a", wanted)


@pytest.mark.parametrize("allowed", [False, True])
def test_learning_is_told_whether_a_weak_budget_is_allowed(curator, monkeypatch, allowed):
    with resources.files("dpsumm.flower.tasks").joinpath("learn.toml").open("rb") as file:
        usual = tomllib.load(file)["tool"]["flwr"]["app"]["config"]
    own = curator(GIVEN.replace("target", "public-points"))
    run = settled({**usual, "classes": "no,yes", "allow-weak-privacy": allowed}, own)

    def stopped(*_, **given):
        raise RuntimeError(given["allow_weak_privacy"])

    monkeypatch.setattr(learn, "learn_silos", stopped)
    with pytest.raises(RuntimeError, match=str(allowed)):
        run.run(None)

"""Every task through both apps, in one process: settings, faults, what is saved."""

import re
import tomllib
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from deployment import BOUNDS, NAMES, SCHEMA, allow_all, make_columns, make_data, write_csv
from in_process import run

import dpsumm
from dpsumm.ensemble import load_model
from dpsumm.errors import InvalidParameterError, ProtocolError
from dpsumm.flower.trial import make_trial
from dpsumm.privacy import Ledger

# A few clinics are few.
pytestmark = pytest.mark.filterwarnings("ignore:learn")


@pytest.fixture
def trial(tmp_path, monkeypatch):
    """Make a trial of a task; return its public settings and its nodes' configurations."""

    def make(task, data, schema, names=NAMES, **public):
        folder = make_trial(tmp_path / "trial", names, data=data, schema=schema, task=task)
        allow_all(folder)
        monkeypatch.setenv("DPSUMM_CURATOR", str(folder / "curator" / "curator.toml"))
        project = tomllib.loads((folder / "app" / "pyproject.toml").read_text())
        own = tomllib.loads((folder / "curator" / "curator.toml").read_text())
        nodes = [tomllib.loads((folder / n / "node.toml").read_text()) for n in own["owners"]]
        return {
            **project["tool"]["flwr"]["app"]["config"],
            "timeout": 60.0,
            "purpose": "trial",
            **public,
        }, nodes

    return make


def allow(node, purpose):
    """Let the policy of a node allow this purpose alone."""
    path = Path(node["policy"])
    path.write_text(re.sub("purposes = .*", f'purposes = ["{purpose}"]', path.read_text()))


def test_summarize(trial, tmp_path):
    make_data(tmp_path / "data", NAMES)
    SCHEMA.save(tmp_path / "schema.toml")
    config, nodes = trial("summarize", tmp_path / "data", tmp_path / "schema.toml", size=12)
    # Another task's node says so, and is left out.
    nodes[2]["task"] = "learn"
    grid = run(nodes, config)
    assert any("takes part in 'learn', the run is for 'summarize'" in text for text in grid.told)
    assert not any(str(tmp_path) in text for text in grid.told)
    frame = pl.read_parquet(tmp_path / "trial" / "curator" / "summary.parquet")
    assert len(frame) == 12
    assert set(frame["owner"]) <= {"east", "north"}
    assert (tmp_path / "trial" / "curator" / "report.html").exists()


def test_a_budget_that_promises_nothing_is_refused_unless_it_is_accepted(trial, tmp_path):
    make_data(tmp_path / "data", NAMES)
    SCHEMA.save(tmp_path / "schema.toml")
    weak = {"size": 12, "epsilon": 12.0}
    config, nodes = trial("summarize", tmp_path / "data", tmp_path / "schema.toml", **weak)
    books = tmp_path / "trial" / "curator" / "books.db"
    with pytest.raises(InvalidParameterError, match=r"epsilon 12 promises next to nothing.*allow"):
        run(nodes, config)
    of_owners = {"epsilon": 1.0, "protocol": "auction", "requests": "private"}
    with pytest.raises(InvalidParameterError, match=r"epsilon_owners 12 promises.*allow"):
        run(nodes, {**config, **of_owners, "epsilon-owners": 12.0})
    with Ledger(books) as book:
        assert book.charges() == ()
    grid = run(nodes, {**config, "allow-weak-privacy": True})
    assert all(len(asked) == 2 for asked in grid.asked.values())


def test_copies_of_the_target_are_left_out_after_the_last_message(trial, tmp_path):
    """Owners get the same bytes with the option and without."""
    owners, target = make_data(tmp_path / "data", NAMES)
    # Half of an owner's records are the target's own.
    write_csv(tmp_path / "data" / "west.csv", np.vstack([owners["west"][:30], target[:30]]))
    SCHEMA.save(tmp_path / "schema.toml")
    config, nodes = trial("summarize", tmp_path / "data", tmp_path / "schema.toml", size=12, seed=3)
    curator = tmp_path / "trial" / "curator"
    kept = [x for x in (curator / "curator.toml").read_text().splitlines()
            if not x.startswith(("ledger", "run"))]  # fmt: skip
    (curator / "curator.toml").write_text("\n".join(kept))
    told, copies = [], []
    for drop in (False, True):
        grid = run(nodes, {**config, "drop-target-copies": drop})
        told.append(grid.asked)
        rows = pl.read_parquet(curator / "summary.parquet").select(list(BOUNDS)).rows()
        copies.append(len(set(rows) & set(map(tuple, target.tolist()))))
    assert copies[0] > 0
    assert copies[1] == 0
    assert told[0] == told[1]


CLINICS = tuple(f"clinic-{i}" for i in range(24))


def labelled(folder):
    """Files of clinics and of public points, and their schema."""
    rng = np.random.default_rng(2)
    schema = dpsumm.Schema(
        [dpsumm.Column("a", bounds=(-3, 3)), dpsumm.Column("b", bounds=(-3, 3)),
         dpsumm.Column("sick", "label")]
    )  # fmt: skip
    folder.mkdir()
    for name in (*CLINICS, "public"):
        x = rng.normal(size=(60 if name != "public" else 1000, 2))
        sick = np.where(x[:, 0] > 0, "yes", "no")
        pl.DataFrame({"a": x[:, 0], "b": x[:, 1], "sick": sick}).write_csv(folder / f"{name}.csv")
    schema.save(folder / "schema.toml")
    return folder, folder / "schema.toml"


PUBLIC = {"classes": "no,yes", "epsilon": 8.0}


@pytest.mark.parametrize(
    ("protocol", "charges", "said"),
    [
        ("", 8, "24 registered parties were sent a model of 2 classes"),
        ("votes", 1, "24 registered parties voted for 2 classes"),
    ],
)
def test_learn(trial, tmp_path, caplog, protocol, charges, said):
    data, schema = labelled(tmp_path / "data")
    config, nodes = trial("learn", data, schema, CLINICS, **PUBLIC, protocol=protocol)
    # A party of its own learner, one that takes part in summaries alone, and one whose file went.
    nodes[0]["learner"] = "tree"
    nodes[1]["task"] = "summarize"
    (data / "clinic-2.csv").unlink()
    # And one whose policy knows no such purpose.
    allow(nodes[3], "care")
    grid = run(nodes, config)
    assert len(grid.told) == 3
    assert sum("refused by the owner's policy" in text for text in grid.told) == 1
    assert not any(str(tmp_path) in text for text in grid.told)
    # In Flower's log, which the curator reads; once.
    assert caplog.text.count("counts as absent") == 3
    curator = tmp_path / "trial" / "curator"
    frame = pl.read_parquet(curator / "predictions.parquet")
    assert frame.columns == ["prediction", "p_no", "p_yes"]
    x = pl.read_csv(data / "public.csv")
    assert (frame["prediction"] == x["sick"]).mean() > 0.8
    model = load_model(curator / "model.dpsumm")
    assert (model.predict(x.drop("sick")) == frame["prediction"].to_numpy()).mean() > 0.99
    page = (curator / "report.html").read_text()
    assert said in page
    assert not any(name in page for name in CLINICS)
    with dpsumm.Ledger(curator / "books.db") as book:
        assert len(book.charges()) == charges
    # Again, with the file back: what was released is used, nobody is asked.
    labelled(tmp_path / "more")
    again = run(nodes, config)
    assert again.asked == {}


def test_learn_on_points_that_parties_do_not_see(trial, tmp_path):
    data, schema = labelled(tmp_path / "data")
    config, nodes = trial("learn", data, schema, CLINICS, **PUBLIC, **{"points-are": "consumer"})
    with pytest.raises(InvalidParameterError, match="leave model out"):
        run(nodes, config)
    own = tmp_path / "trial" / "curator" / "curator.toml"
    own.write_text("\n".join(x for x in own.read_text().splitlines() if not x.startswith("model")))
    grid = run(nodes, config)
    assert grid.told == []
    frame = pl.read_parquet(tmp_path / "trial" / "curator" / "predictions.parquet")
    assert (frame["prediction"] == pl.read_csv(data / "public.csv")["sick"]).mean() > 0.8
    assert all(len(messages) <= 2 for asked in grid.asked.values() for messages in asked)


def test_a_party_that_is_late_is_absent(trial, tmp_path):
    data, schema = labelled(tmp_path / "data")
    config, nodes = trial("learn", data, schema, CLINICS, **PUBLIC, seed=1, timeout=8.0)
    own = tmp_path / "trial" / "curator" / "curator.toml"
    kept = [x for x in own.read_text().splitlines() if not x.startswith(("ledger", "run"))]
    own.write_text("\n".join(kept))
    grid = run(nodes, config, faults={"clinic-3": "late"})
    # Late when it described its data: it is not asked in any round, and all others are.
    assert [len(grid.asked[name]) for name in CLINICS] == [9, 9, 9, 1] + 20 * [9]
    assert (tmp_path / "trial" / "curator" / "predictions.parquet").exists()


def test_synthesize(trial, tmp_path):
    make_columns(tmp_path / "data", tmp_path / "schemas", NAMES)
    more = {"ids": "person", "epsilon": 2.5, "bins": "income=0,40,70,100", "label": "smokes"}
    config, nodes = trial("synthesize", tmp_path / "data", tmp_path / "schemas", **more)
    assert [node["name"] for node in nodes] == [*NAMES, "helper"]
    helper = nodes[-1]
    assert set(helper) == {"name", "task", "policy", "secrets"}
    kept = [path for path in (tmp_path / "trial").rglob("*") if path.suffix == ".key"]
    kept.append(tmp_path / "trial" / "helper" / "secrets.toml")
    assert all(path.stat().st_mode & 0o077 == 0 for path in kept)
    # So does an owner that refuses, whose books are as they were.
    allow(nodes[1], "care")
    with pytest.raises(ProtocolError, match=r"'north' failed.*refused by the owner's policy"):
        run(nodes, config)
    with Ledger(tmp_path / "trial" / "north" / "books.db") as book:
        assert len(book.charges()) == 0
    allow(nodes[1], "trial")
    # A helper that is not there stops the run; it goes on under its name, charged once.
    with pytest.raises(ProtocolError, match=r"'helper' failed. The run needs every owner and the"):
        run(nodes, config, faults={"helper": "late"})
    grid = run(nodes, config)
    out = tmp_path / "trial" / "curator"
    rows = pl.read_parquet(out / "synthetic.parquet")
    assert rows.columns == ["smokes", "income", "owns"]
    assert len(rows) == 400
    means = dict(rows.group_by("smokes").agg(pl.col("income").mean()).iter_rows())
    assert means[1] > means[0]
    assert "the helper keeps the keys" in (out / "report.html").read_text()
    # The three exchanges before were kept: what is left is the last one.
    assert {name: len(asked) for name, asked in grid.asked.items()} == {
        **dict.fromkeys(NAMES, 1),
        "helper": 1,
    }
    for name in NAMES:
        with Ledger(tmp_path / "trial" / name / "books.db") as book:
            assert len(book.charges()) == 2
            assert 0 < book.spent("records")[0] < 3.5


def test_synthesize_of_the_same_columns_needs_no_helper(trial, tmp_path):
    make_data(tmp_path / "data", NAMES)
    SCHEMA.save(tmp_path / "schema.toml")
    config, nodes = trial("synthesize", tmp_path / "data", tmp_path / "schema.toml", epsilon=2.5)
    assert [node["name"] for node in nodes] == list(NAMES)
    assert set(nodes[0]) == {"name", "task", "policy", "data", "schema", "ledger"}
    run(nodes, config)
    out = tmp_path / "trial" / "curator"
    assert pl.read_parquet(out / "synthetic.parquet").columns == ["c0", "c1", "c2"]
    assert "adds them up" in (out / "report.html").read_text()
    for name in NAMES:
        with Ledger(tmp_path / "trial" / name / "books.db") as book:
            assert 0 < book.spent("records")[0] <= 2.5
    own = out / "curator.toml"
    own.write_text(re.sub("owners = .*", 'owners = ["east", "north", "helper"]', own.read_text()))
    with pytest.raises(InvalidParameterError, match="whose schemas are equal, need no helper"):
        run(nodes, config)


def test_synthesize_refuses_what_it_cannot_do(trial, tmp_path):
    make_columns(tmp_path / "data", tmp_path / "schemas", NAMES, 20)
    config, nodes = trial("synthesize", tmp_path / "data", tmp_path / "schemas", ids="person")
    for changes, message in (
        ({"seed": 1}, "seed: owners elsewhere"),
        ({"bins": "income=a,b"}, "bins: write"),
        ({"components": -3}, "components must be"),
        ({"label": "x"}, "no column 'x'"),
    ):
        with pytest.raises(InvalidParameterError, match=message):
            run(nodes, {**config, **changes})
    key = tmp_path / "trial" / "east" / "helper.key"
    key.write_text("nonsense")
    with pytest.raises(ProtocolError, match=r"'east' failed.*not a key") as caught:
        run(nodes, config)
    assert str(tmp_path) not in str(caught.value)
    with pytest.raises(InvalidParameterError, match="owner 'helper': use letters"):
        make_trial(
            tmp_path / "other", ["helper"], data=tmp_path / "data",
            schema=tmp_path / "schemas", task="synthesize",
        )  # fmt: skip

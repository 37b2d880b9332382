"""An owner's schema that changes within a run: a category would stand for another word."""

import tomllib

import numpy as np
import polars as pl
import pytest
from deployment import allow_all
from in_process import run

import dpsumm
from dpsumm.flower.trial import make_trial

NAMES = ("east", "north", "west")
FIRST, THEN = ("f", "m"), ("m", "f")
pytestmark = pytest.mark.filterwarnings("ignore:learn")
TASKS = {
    "offers": ("summarize", {"size": 12, "features": "landmarks"}),
    "random": ("summarize", {"size": 12, "features": "random", "n-features": 16}),
    "auction": (
        "summarize",
        {"size": 12, "protocol": "auction", "batch": 6, "spare-rounds": 1, "n-features": 16},
    ),
    "learn": ("learn", {"classes": "n,y", "epsilon": 1.0}),
}


def schema(sexes, labelled):
    columns = [dpsumm.Column("age", bounds=(0, 100)), dpsumm.Column("sex", categories=sexes)]
    return dpsumm.Schema([*columns, *([dpsumm.Column("sick", "label")] if labelled else [])])


@pytest.mark.parametrize("name", TASKS)
def test_an_owner_whose_schema_changes_between_rounds_is_left_out(tmp_path, monkeypatch, name):
    task, public = TASKS[name]
    (tmp_path / "data").mkdir()
    rng = np.random.default_rng(0)
    for who in (*NAMES, "target", "public"):
        rows = {"age": rng.integers(20, 80, 90), "sex": ["f"] * 45 + ["m"] * 45}
        more = {"sick": ["n", "y"] * 45} if task == "learn" else {}
        pl.DataFrame({**rows, **more}).write_csv(tmp_path / "data" / f"{who}.csv")
    file = tmp_path / "schema.toml"
    schema(FIRST, bool(more)).save(file)
    folder = make_trial(tmp_path / "trial", NAMES, data=tmp_path / "data", schema=file, task=task)
    allow_all(folder)
    monkeypatch.setenv("DPSUMM_CURATOR", str(folder / "curator" / "curator.toml"))
    project = tomllib.loads((folder / "app" / "pyproject.toml").read_text())
    usual = project["tool"]["flwr"]["app"]["config"]
    nodes = [tomllib.loads((folder / who / "node.toml").read_text()) for who in NAMES]

    def change(reply):
        schema(THEN, bool(more)).save(folder / "north" / "schema.toml")
        return reply

    given = {**usual, "timeout": 60.0, "purpose": "trial", **public}
    grid = run(nodes, given, faults={"north": change})
    assert set(grid.told) == {
        "its schema is another one than when the run began. Put the file back"
    }
    if task == "summarize":
        made = pl.read_parquet(folder / "curator" / "summary.parquet")
        assert set(made["owner"]) <= {"east", "west"}

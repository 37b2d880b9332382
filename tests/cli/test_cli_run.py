"""``dpsumm run FILE`` and `dpsumm.run`: a file's product, with the file's options."""

import warnings

import numpy as np
import polars as pl
import pytest

import dpsumm
from dpsumm.cli import main
from dpsumm.errors import InvalidParameterError


def run(*arguments):
    with pytest.raises(SystemExit) as caught:
        main([str(argument) for argument in arguments])
    return caught.value.code or 0


@pytest.fixture
def clinics(tmp_path, monkeypatch):
    """Labelled files of thirty clinics, public points, and their schema; elsewhere."""
    rng = np.random.default_rng(1)
    (tmp_path / "clinics").mkdir()
    (tmp_path / "elsewhere").mkdir()
    for i in range(31):
        x = rng.normal(size=(200 if i == 30 else 60, 2))
        frame = pl.DataFrame(x, schema=["a", "b"]).with_columns(
            sick=pl.Series(x.sum(1) > 0).replace_strict({False: "no", True: "yes"})
        )
        frame.write_csv(tmp_path / ("public.csv" if i == 30 else f"clinics/c{i:02}.csv"))
    (tmp_path / "schema.toml").write_text(
        'version = 1\n[columns.a]\nbounds = [-4, 4]\n[columns.b]\nbounds = [-4, 4]\n'
        '[columns.sick]\nkind = "label"\ncategories = ["no", "yes"]\n'
    )  # fmt: skip
    monkeypatch.chdir(tmp_path / "elsewhere")
    return tmp_path


def test_a_file_of_learn_runs_on_the_command_line_and_in_python(clinics, capsys):
    path = clinics / "learn.toml"
    path.write_text(
        'product = "learn"\nowner = ["clinics"]\npublic-points = "public.csv"\n'
        'schema = "schema.toml"\nclasses = ["no", "yes"]\nepsilon = 8\nseed = 3\n'
        'delta = 1e-3\nlearner = "bayes"\nout = "said.csv"\n'
    )
    assert run("run", path, "--report", "page.html") == 0
    assert "noisy votes of 30 parties on 200 points" in capsys.readouterr().out
    said = pl.read_csv(clinics / "said.csv")["prediction"]
    with warnings.catch_warnings(action="ignore"):  # few parties
        model = dpsumm.run(path)
    assert model.to_frame()["prediction"].to_list() == said.to_list()
    for words, match in (({"learner": "x"}, "learner"), ({"plan": True}, "plan")):
        with pytest.raises(InvalidParameterError, match=match):
            dpsumm.run(path, **words)
    # The file is an input: nothing is written over it.
    assert run("run", path, "--report", path) == 2
    assert "learn" in path.read_text()
    assert run("learn", "--help") == 0


def test_a_file_of_synthesize_runs_on_the_command_line_and_in_python(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(2)
    for name, column in (("left", "a"), ("right", "b")):
        pl.DataFrame({column: rng.integers(0, 10, 300)}).write_csv(f"{name}.csv")
        text = f"version = 1\n[columns.{column}]\nbounds = [0, 10]\n"
        (tmp_path / f"{name}.toml").write_text(text)
    path = tmp_path / "rows.toml"
    path.write_text(
        'product = "synthesize"\nepsilon = 2\ndelta = 1e-3\nseed = 1\nout = "rows.csv"\nrows = 50\n'
        "[bins]\na = 5\nb = [0, 2, 10]\n"
        '[schema]\nleft = "left.toml"\nright = "right.toml"\n'
        '[owner]\nleft = "left.csv"\nright = "right.csv"\n'
    )
    assert run("run", path) == 0
    assert len(pl.read_csv("rows.csv")) == 50
    synthetic = dpsumm.run(path)
    assert [level.size for level in synthetic.levels] == [5, 2]
    assert len(dpsumm.run(path, bins=4).levels) == 2
    with pytest.raises(InvalidParameterError, match="rows"):
        dpsumm.run(path, rows=0)


def test_a_file_comes_right_after_the_word(clinics, capsys):
    assert run("run") == 2
    assert run("run", "--help") == 0
    assert "FILE has product" in " ".join(capsys.readouterr().out.split())

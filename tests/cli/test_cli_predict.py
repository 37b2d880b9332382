"""``dpsumm predict``: a model's file and rows in, classes and probabilities out; refusals."""

import json
import pickle
import re
import warnings
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest

import dpsumm
from dpsumm import Column, Schema, Voting
from dpsumm.cli import main
from dpsumm.ensemble import Spectral, load_model
from helpers.same_draws import repeat

SCHEMA = Schema(
    [
        Column("age", bounds=(0, 100)),
        Column("smokes", "category", categories=("no", "yes")),
        Column("dose", bounds=(0, 9), when_missing="encode"),
        Column("visits", bounds=(0, 9), when_missing="drop"),
        Column("sick", "label"),
    ]
)


def people(n):
    rng = np.random.default_rng(n)
    return pl.DataFrame(
        {
            "age": rng.uniform(0, 100, n).round(1),
            "smokes": rng.choice(["no", "yes"], n),
            "dose": rng.integers(0, 10, n),
            "visits": rng.integers(0, 10, n),
        }
    )


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A model's file: sick is who is above 50, by sixty parties' votes."""
    points = people(1000)
    votes = np.eye(2, dtype=int)[(points["age"] > 50).cast(int).to_numpy()]
    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        repeat(patch, 0)
        warnings.simplefilter("ignore")
        made = dpsumm.learn(
            [votes] * 60, points, classes=["no", "yes"], epsilon=8, schema=SCHEMA,
            run="first", protocol=Voting(student=Spectral(("linear",))),
        )  # fmt: skip
    path = tmp_path_factory.mktemp("model") / "m.dpsumm"
    made.save(path)
    return path


@pytest.fixture(autouse=True)
def here(model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    Path("m").symlink_to(model)


def run(*arguments):
    with pytest.raises(SystemExit) as caught:
        main(("predict", *arguments))
    return int(caught.value.code or 0)


def test_classes_and_probabilities_stand_beside_the_rows(capsys):
    rows = people(500)
    # Another order, a column beside, and a value that the schema encodes.
    given = rows.select("visits", "dose", "smokes", "age", pl.lit("x").alias("name"))
    given[7, "dose"] = None
    given.write_csv("rows.csv")
    given.write_parquet("rows.parquet")
    assert run("m", "rows.csv", "--out", "p.csv") == 0
    told = capsys.readouterr().out
    assert re.search(r"run +first *\n", told)
    assert "500 predicted" in told
    assert "wrote p.csv" in told
    found = pl.read_csv("p.csv")
    assert found.columns == ["prediction", "p_no", "p_yes"]
    assert ((found["prediction"] == "yes") == (rows["age"] > 50)).mean() > 0.95
    np.testing.assert_allclose(
        found.select("p_no", "p_yes").to_numpy(),
        load_model("m").predict_proba(given.drop("name")),
        rtol=1e-6,
    )
    assert run("m", "rows.parquet") == 0
    about = json.loads(pq.read_metadata("predictions.parquet").metadata[b"dpsumm"])
    assert about["run"] == "first"
    assert "differential privacy for all records of a party" in about["privacy"][0]
    assert pl.read_parquet("predictions.parquet")["prediction"].equals(found["prediction"])


def test_files_without_a_header_and_with_other_separators():
    people(30).write_csv("rows.csv", include_header=False, separator=";")
    names = "age, smokes, dose, visits"
    assert (
        run(
            "m",
            "rows.csv",
            "--format",
            f"names={names}",
            "--format",
            "separator=;",
            "--out",
            "p.csv",
        )
        == 0
    )
    assert len(pl.read_csv("p.csv")) == 30


def test_a_german_csv_file_is_read(capsys):
    rows = people(30).with_columns(pl.lit("Ärztin").alias("by"))
    text = rows.write_csv(separator=";", decimal_comma=True)
    Path("rows.dat").write_bytes(text.encode("cp1252"))
    form = ("--format", "kind=csv", "--format", "separator=;", "--format", "decimal=,")
    assert run("m", "rows.dat", *form, "--out", "p.csv") == 2
    assert "--format encoding=cp1252" in " ".join(capsys.readouterr().err.split())
    assert run("m", "rows.dat", *form, "--format", "encoding=cp1252", "--out", "p.csv") == 0
    rows.write_csv("rows.csv")
    assert run("m", "rows.csv", "--out", "same.csv") == 0
    assert Path("p.csv").read_text() == Path("same.csv").read_text()


def with_value(column, value):
    def change(rows):
        return rows.with_columns(
            pl.when(pl.int_range(pl.len()) == 3).then(pl.lit(value)).otherwise(column).alias(column)
        )

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda rows: rows.drop("smokes"),
            "'points'.* lacks the column 'smokes'|no column.*smokes",
        ),
        (with_value("age", None), "'points'.*'age'.*missing"),
        (with_value("smokes", None), "'points'.*'smokes'.*missing"),
        (with_value("visits", None), "a row that is dropped has no prediction. Fill the values in"),
        (with_value("smokes", "SECRET"), "'smokes'"),
        (with_value("age", "SECRET"), "'age'"),
        (lambda rows: rows.head(0), "points"),
    ],
    ids=["column", "missing", "category", "dropped", "unknown", "text", "empty"],
)
def test_rows_that_do_not_fit_are_refused_without_a_value(change, message, capsys):
    rows = people(50).with_columns(pl.all().cast(pl.String))
    change(rows).write_csv("rows.csv")
    assert run("m", "rows.csv", "--out", "p.csv") == 2
    told = capsys.readouterr().err
    assert re.search(message, told)
    assert told.count("\n") == 1
    assert "SECRET" not in told
    assert not Path("p.csv").exists()


class Runs:
    def __reduce__(self):
        return Path.touch, (Path("ran"),)


def test_a_model_that_is_no_numbers_is_refused_and_not_run(capsys):
    people(50).write_csv("rows.csv")
    Path("pickle").write_bytes(pickle.dumps(Runs()))
    for file, message in (
        ("pickle", "pickle is not a model of this version of dpsumm"),
        ("rows.csv", "rows.csv is not a model"),
        ("none", "none cannot be read"),
    ):
        assert run(file, "rows.csv", "--out", "p.csv") == 2
        assert message in capsys.readouterr().err
    assert not Path("ran").exists()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("m", "rows.csv", "--out", "p.txt"), "--out must end in .parquet or .csv"),
        (("m", "rows.csv", "--out", "rows.csv"), "would be written over"),
        (("m", "rows.csv", "--out", "no/p.csv"), "there is no directory no."),
        (("m", "none.csv"), r"'points' \(none.csv\): no such file"),
    ],
)
def test_files_that_cannot_be(given, message, capsys):
    people(50).write_csv("rows.csv")
    before = Path("rows.csv").read_bytes()
    assert run(*given) == 2
    assert re.search(message, capsys.readouterr().err)
    assert Path("rows.csv").read_bytes() == before


def test_rows_in_other_units_are_told_of_on_standard_error(capsys):
    rows = people(100)
    rows.with_columns(pl.col("age") * 12 + 101).write_csv("rows.csv")
    assert run("m", "rows.csv", "--out", "p.csv") == 0
    told = " ".join(capsys.readouterr().err.split())
    assert "Look at this first: Of the rows' values 100% of age were clipped" in told
    assert "predict.py" not in told
    rows.write_csv("rows.csv")
    assert run("m", "rows.csv", "--out", "p.csv") == 0
    assert capsys.readouterr().err == ""

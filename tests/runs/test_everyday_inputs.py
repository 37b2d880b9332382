"""Inputs as people have them, in all products: what works, and what is refused with a way out."""

import io
import os
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression

import dpsumm
from dpsumm import Column, Schema, Voting
from dpsumm.cli import main
from dpsumm.errors import InvalidParameterError
from helpers.command_line import dpsumm as command

pytestmark = pytest.mark.filterwarnings("ignore")
BOTH = Schema(
    [Column("age", bounds=(20, 90)), Column("stay", bounds=(20, 90)), Column("t", "label")]
)


def people(rng, n):
    x = pd.DataFrame({"age": rng.uniform(20, 90, n), "stay": rng.uniform(20, 90, n)})
    return x, (x["age"] > 55).astype(int)


def orders(rng, kind=lambda frame: frame):
    """Half of the parties have their columns in another order, and pandas' rows other names."""
    parties = []
    for k in range(60):
        x, y = people(rng, 60)
        x = (x[["stay", "age"]] if k % 2 else x).sample(frac=1, random_state=k)
        parties.append((kind(x), y.loc[x.index]))
    return parties


@pytest.mark.parametrize("kind", [lambda x: x, pl.from_pandas, lambda x: pl.from_pandas(x).lazy()])
@pytest.mark.parametrize("given", [{}, {"schema": BOTH}])
def test_columns_of_a_frame_in_a_pair_have_names(rng, kind, given):
    model = dpsumm.learn(
        orders(rng, kind), people(rng, 400)[0], classes=[0, 1], epsilon=8.0, seed=1, **given
    )
    x, y = people(rng, 1000)
    assert (model.predict(x) == y).mean() > 0.9
    assert (model.predict(x[["stay", "age"]]) == y).mean() > 0.9


def test_a_fitted_classifier_has_columns_with_names(rng):
    x, y = people(rng, 200)
    made = [LogisticRegression().fit(x, y)] * 3
    public = people(rng, 300)[0]
    assert dpsumm.learn(made, public, classes=[0, 1], seed=1)
    for other in (public[["stay", "age"]], public.to_numpy(), public.rename(columns={"age": "a"})):
        with pytest.raises(InvalidParameterError, match="fitted on a data frame with the columns"):
            dpsumm.learn(made, other, classes=[0, 1], seed=1)


def test_whole_numbers_name_columns(rng):
    def frame(n):
        return pd.DataFrame(np.c_[rng.normal(0, 1, (n, 2)), rng.integers(0, 2, n)])

    owners, target = {"a": frame(200), "b": frame(200)}, frame(100)[[0, 1]]
    for schema in (
        {0: (-3, 3), 1: (-3, 3), 2: "label"},
        {"0": (-3, 3), np.int64(1): (-3, 3), "2": "label"},
    ):
        made = dpsumm.summarize(owners, target, size=9, seed=1, schema=schema)
        assert made.columns == ("0", "1")
    with pytest.raises(InvalidParameterError, match="name must be"):
        dpsumm.summarize(owners, target, size=9, schema={0.5: "number"}, kernel=dpsumm.RBF(1.0))


@pytest.mark.parametrize("scalar", [np.float32, np.float64, np.int64, np.float16])
def test_scalars_of_numpy_are_budgets(rng, scalar):
    one, delta = scalar(1), np.float32(1e-5)
    points = [rng.normal(size=(100, 2)) for _ in range(3)]
    dpsumm.summarize(
        points[:2], points[2], size=np.int64(3), kernel=dpsumm.RBF(0.3), epsilon=one, delta=delta
    )
    parties = [(x := rng.normal(size=(30, 2)), (x[:, 0] > 0).astype(int)) for _ in range(30)]
    dpsumm.learn(parties, points[0], classes=[0, 1], epsilon=one, delta=delta)
    schema = {name: Schema([Column(name, categories=(0, 1))]) for name in "ab"}
    data = {name: rng.integers(2, size=(300, 1)) for name in "ab"}
    dpsumm.synthesize(data, schema=schema, epsilon=one, delta=delta).sample(np.int64(5))
    assert dpsumm.plan(100, 5, epsilon=one, delta=delta).epsilon == 1
    assert dpsumm.plan_synthesis(schema, 300, epsilon=one, delta=delta).epsilon == 1
    assert dpsumm.plan_learning(30, 100, 2, epsilon=one, delta=delta).epsilon == 1


@pytest.mark.parametrize(
    ("options", "refused"),
    [
        ({"bounds": (0, 9), "missing": -9}, "missing must be a sequence"),
        ({"categories": 3}, "categories must be a sequence"),
        ({"bounds": (0, 9), "whole": np.True_}, None),
        ({"bounds": (0, 9), "whole": 1}, "whole must be True or False"),
        ({"categories": (1, 2), "ordered": "yes"}, "ordered must be True or False"),
        ({"bounds": tuple(map(pd.Timestamp, ("2020-01-01", "2021-01-01")))}, None),
        ({"bounds": np.array(["2020-01-01", "2021-01-01"], "M8[ns]")}, None),
        ({"bounds": np.array([0, 9], np.float32), "weight": np.float32(2)}, None),
        ({"categories": np.array([True, False])}, None),
        ({"categories": np.array(["a", "b"]), "other": np.str_("c")}, None),
    ],
)
def test_a_column_takes_scalars_of_other_libraries_and_its_file_says_the_same(
    tmp_path, options, refused
):
    if refused is not None:
        with pytest.raises(InvalidParameterError, match=refused):
            Column("x", **options)
        return
    schema = Schema([Column("x", **options)])
    schema.save(tmp_path / "schema.toml")
    assert Schema.read(tmp_path / "schema.toml") == schema


def test_settings_with_a_byte_order_mark_are_read(tmp_path, rng):
    for name in ("one", "two", "target"):
        pl.DataFrame({"a": rng.normal(0, 1, 200)}).write_csv(tmp_path / f"{name}.csv")
    text = "version = 1\n[columns.a]\nkind = 'number'\nbounds = [-4, 4]\n"
    (tmp_path / "s.toml").write_text(text, "utf-8-sig")
    (tmp_path / "run.toml").write_text(
        "product = 'summarize'\ntarget = 'target.csv'\nsize = 9\nschema = 's.toml'\n"
        "[owner]\none = 'one.csv'\ntwo = 'two.csv'\n",
        "utf-8-sig",
    )
    assert Schema.read(tmp_path / "s.toml").names == ("a",)
    assert command("run", "run.toml", cwd=tmp_path).returncode == 0


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1250"])
def test_a_terminal_that_lacks_a_character_makes_no_failure(tmp_path, rng, monkeypatch, encoding):
    for name in ("one", "two", "target"):
        pl.DataFrame({"ciśnienie": rng.normal(120, 9, 200)}).write_csv(tmp_path / f"{name}.csv")
    text = 'version = 1\n[columns."ciśnienie"]\nkind="number"\nbounds=[60, 200]\n'
    (tmp_path / "s.toml").write_text(text, "utf-8")
    monkeypatch.chdir(tmp_path)
    for words in (
        ["summarize", "--owner", "n=one.csv", "--owner", "s=two.csv", "--target", "target.csv",
         "--size", "9", "--schema", "s.toml", "--out", "out.csv"],
        ["schema", "check", "one.csv", "--schema", "s.toml"],
    ):  # fmt: skip
        out, err = (io.TextIOWrapper(io.BytesIO(), encoding=encoding) for _ in range(2))
        monkeypatch.setattr(sys, "stdout", out)
        monkeypatch.setattr(sys, "stderr", err)
        with pytest.raises(SystemExit) as ended:
            main(words)
        out.flush()
        monkeypatch.undo()
        monkeypatch.chdir(tmp_path)
        assert not ended.value.code
    assert Path("out.csv").exists()
    assert os.path.samefile(".", tmp_path)


def test_a_seed_repeats_rows(tmp_path, rng):
    for name, column in (("one", "a"), ("two", "b")):
        pl.DataFrame({column: rng.integers(0, 9, 300)}).write_csv(tmp_path / f"{name}.csv")
        text = f"version = 1\n[columns.{column}]\nkind = 'number'\nbounds = [0, 9]\n"
        (tmp_path / f"{name}.toml").write_text(text)
    files = {name: tmp_path / f"{name}.csv" for name in ("one", "two")}
    schemas = {name: tmp_path / f"{name}.toml" for name in ("one", "two")}
    first, second = (dpsumm.synthesize(files, schema=schemas, seed=1, label="a") for _ in range(2))
    assert first.to_frame().write_csv() == second.sample().write_csv()
    assert first.sample(seed=2).write_csv() != second.sample().write_csv()
    words = [word for name in files for word in ("--owner", f"{name}={name}.csv",
             "--schema", f"{name}={name}.toml")]  # fmt: skip
    for out in ("1.csv", "2.csv"):
        done = command("synthesize", "--seed", "1", *words, "--out", out, cwd=tmp_path)
        assert done.returncode == 0
    assert (tmp_path / "1.csv").read_bytes() == (tmp_path / "2.csv").read_bytes()


def test_an_advised_epsilon_is_enough():
    import re

    schema = {"a": Schema([Column("x", bounds=(0, 1)), Column("k", categories=("u", "v"))]),
              "b": Schema([Column("z", bounds=(0, 1))])}  # fmt: skip
    said = "would make the noise small"
    found = 0
    for m in range(60, 2400, 60):
        for notes in (
            lambda e, m=m: " ".join(dpsumm.plan_synthesis(schema, m, epsilon=e).notes),
            lambda e, m=m: " ".join(map(str, dpsumm.plan(m, 50, epsilon=e).notes)),
        ):
            advice = re.search(rf"[Aa]n epsilon of (\S+), .*{said}", notes(1.0))
            if advice:
                found += 1
                assert said not in notes(float(advice[1]))
    assert found > 10


def test_classes_with_fractions_are_classes(rng):
    parties = []
    for _ in range(30):
        x = rng.normal(0, 1, (40, 2))
        parties.append((x, np.where(x[:, 0] > 0, 1.5, 0.5)))
    points = rng.normal(0, 1, (300, 2))
    for given in (
        {},
        {"protocol": Voting(points_are="consumer", learner="logistic")},
        {"protocol": Voting(grid=7)},
    ):
        model = dpsumm.learn(parties, points, classes=[0.5, 1.5], epsilon=9.0, seed=1, **given)
        right = model.predict(points) == np.where(points[:, 0] > 0, 1.5, 0.5)
        assert right.mean() > 0.9


def test_no_label_that_matches_is_answered_with_what_is_free(rng):
    parties, points = [], rng.normal(0, 1, (500, 2))
    for _ in range(60):
        x = rng.normal(0, 1, (50, 2))
        parties.append((x, np.where(x[:, 0] > 0, "Yes", "No")))
    with pytest.warns(UserWarning, match="60 of 60 parties have labels"):
        model = dpsumm.learn(parties, points, classes=["no", "yes"], epsilon=3.0)
    alarm = next(note for note in model.notes if note.startswith("Do not use this model"))
    # The way out that costs something may be other points, which noise asks for now and then.
    assert alarm.index("spell their labels") < alarm.index("If so: ")
    assert "dpsumm schema check --classes" in alarm


def test_too_many_models_name_the_party_and_the_number(rng):
    parties = {f"clinic-{k}": people(rng, 3 if k == 41 else 60) for k in range(60)}
    with pytest.raises(InvalidParameterError, match=r"^models_per_owner: 'clinic-41' has 3 rec.*m"
                       r"ost 3,"):  # fmt: skip
        dpsumm.learn(
            parties, people(rng, 300)[0], classes=[0, 1], protocol=Voting(models_per_owner=5),
            unit="replace one record",
        )  # fmt: skip


def test_an_alarm_says_how_many_pairs_stand_out(rng):
    schema = {name: Schema([Column(name, bounds=(0, 1))]) for name in "ab"}
    data = {name: rng.random((3000, 1)) for name in "ab"}
    notes = dpsumm.synthesize(data, schema=schema, epsilon=3.0).notes
    (alarm,) = (note for note in notes if "two owners' columns" in note)
    assert "0 of 1 pairs of two owners' columns" in alarm
    assert alarm.index("the same records in the same order") < alarm.index("a larger epsilon")


def test_whole_numbers_beside_a_gap_keep_their_text(tmp_path, rng):
    schema = Schema([Column("x", bounds=(-3, 3)), Column("visit_no", "ignore")])
    visits = [None if k % 9 == 0 else 1000 + k for k in range(100)]
    rows = {"x": rng.normal(0, 1, 100), "visit_no": visits}
    frame = pl.DataFrame(rows)
    frame.write_parquet(tmp_path / "a.parquet")
    frame.write_csv(tmp_path / "a.csv")
    for source in (
        frame, pd.DataFrame(rows).astype({"visit_no": "Int64"}), frame.to_arrow(),
        tmp_path / "a.csv", tmp_path / "a.parquet",
    ):  # fmt: skip
        made = dpsumm.summarize(
            {"a": source}, frame.select("x")[:50], size=30, schema=schema, seed=1
        )
        made.save(tmp_path / "out.csv")
        texts = pl.read_csv(tmp_path / "out.csv", infer_schema=False)["visit_no"].drop_nulls()
        assert len(texts) > 10
        assert set(texts) <= {str(visit) for visit in visits}


def test_a_link_to_nowhere_is_found_before_anything_is_spent(tmp_path, rng):
    for name in ("one", "two", "target"):
        pl.DataFrame({"a": rng.random(200)}).write_csv(tmp_path / f"{name}.csv")
    (tmp_path / "out.csv").symlink_to(tmp_path / "nowhere" / "out.csv")
    dpsumm.Ledger.create(tmp_path / "books").close()
    done = command(
        "summarize", "--owner", "one=one.csv", "--owner", "two=two.csv", "--target", "target.csv",
        "--size", "5", "--schema", "a=0:1", "--ledger", "books", "--out", "out.csv", cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 2
    assert "there is no directory" in done.stderr
    with dpsumm.Ledger(tmp_path / "books") as book:
        assert book.charges() == ()

"""A schema as a dict: the same as one made of columns, and each mistake named."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field

import numpy as np
import polars as pl
import pytest

import dpsumm
from dpsumm import Column, Schema
from dpsumm.data.short import schema_of, schema_said
from dpsumm.data.words import Columns, as_typed
from dpsumm.errors import InvalidParameterError

SHORT = {
    "age": (20, 90),
    "seen": (dt.date(2020, 1, 1), dt.date(2024, 1, 1)),
    "sex": ["f", "m"],
    "smokes": [0, 1],
    "height": (100, 220),
    "pulse": {"bounds": (30, 220), "whole": True, "missing": ["?"], "when_missing": "drop"},
    "dose": "number",
    "note": "ignore",
    "outcome": "label",
}
LONG = Schema(
    [
        Column("age", bounds=(20, 90)),
        Column("seen", bounds=(dt.date(2020, 1, 1), dt.date(2024, 1, 1))),
        Column("sex", categories=("f", "m")),
        Column("smokes", categories=(0, 1)),
        Column("height", bounds=(100, 220)),
        Column("pulse", bounds=(30, 220), whole=True, missing=("?",), when_missing="drop"),
        Column("dose"),
        Column("note", "ignore"),
        Column("outcome", "label"),
    ]
)


def test_a_dict_is_the_schema_of_its_columns(tmp_path) -> None:
    assert schema_of(SHORT) == LONG
    assert schema_of(SHORT).fingerprint == LONG.fingerprint
    LONG.save(tmp_path / "schema.toml")
    assert schema_of(tmp_path / "schema.toml") == schema_of(LONG) == LONG


WORDS = [
    "age=20:90", "seen=2020-01-01:2024-01-01", "sex=f, m", "smokes=0,1", "height=1e2:220",
    "pulse={bounds = [30, 220], whole = true, missing = ['?'], when_missing = 'drop'}",
    "dose=number", "note=ignore", "outcome=label",
]  # fmt: skip


def test_words_are_the_same_schema(tmp_path) -> None:
    assert schema_said(WORDS) == LONG
    assert schema_said(None) is schema_said([]) is None
    path = tmp_path / "a=b.toml"
    LONG.save(path)
    assert schema_said([str(path)]) == LONG
    # Codes keep their zeros, and two whole numbers with a comma are no bounds.
    assert schema_said(["zip=01,02"]) == Schema([Column("zip", categories=("01", "02"))])
    assert schema_said(["code=1,-2"]) == Schema([Column("code", categories=(1, -2))])
    assert schema_said(["code=1,--2"]) == Schema([Column("code", categories=("1", "--2"))])


def test_dates_may_be_texts() -> None:
    days = dt.date(2020, 1, 31), dt.date(2021, 1, 1)
    assert schema_of({"day": ("2020-01-31", "2021-01-01")}) == schema_of({"day": days})


def test_a_list_describes_the_columns_of_arrays() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.random((90, 2)), rng.integers(0, 2, 90)
    known = [(0, 1), "number"]
    assert schema_of(known) == Schema([Column("x0", bounds=(0, 1)), Column("x1")])
    given = {"size": 5, "kernel": dpsumm.RBF(1.0), "seed": 1}
    summary = dpsumm.summarize([(x, y), (x[:50], y[:50])], x[:30], schema=known, **given)
    assert summary.columns == ("x0", "x1")
    assert summary.labels is not None
    with pytest.raises(InvalidParameterError, match="'x1' must be"):
        dpsumm.summarize([x], x, schema=[(0, 1), 3], **given)


def test_a_table_of_options_is_the_same_schema(tmp_path) -> None:
    @dataclass
    class Group:
        schema: list[str] | None = field(default=None, metadata={"kind": Columns})

    # Without tuples, as in TOML.
    text = SHORT | {
        "age": [20, 90],
        "seen": [dt.date(2020, 1, 1), dt.date(2024, 1, 1)],
        "height": [1e2, 220],
        "smokes": {"categories": [0, 1]},
    }
    made = as_typed({"schema": text}, [Group], tmp_path, "run.toml: ")
    assert schema_said(made["schema"]) == LONG


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["x=20:"], "column 'x' needs LOW:HIGH, two numbers or two dates"),
        (["x=2020-01-01:9"], "bounds"),
        (["x=90:20"], "column 'x' needs finite low < high"),
        (["x=labl"], "'x' needs NAME=LOW:HIGH, NAME=A,B,.* or one of 'number', .*, got 'labl'"),
        (["x="], "'x' needs NAME=LOW:HIGH"),
        (["=0:1"], "name"),
        (["x=a,"], "empty text is no category"),
        (["x={bounds=[0, 1]"], "column 'x'.* TOML"),
        (["x={bound=[0, 1]}"], "has unknown 'bound'"),
        (["x=0:1", "x=0:2"], "'x' is given twice"),
        (["x=0:1", "schema.toml"], "one file"),
        (["a.toml", "b.toml"], "one file"),
        (["none.toml"], "there is no file none.toml"),
    ],
)
def test_a_mistake_in_words_names_the_column_and_what_to_write(words, said) -> None:
    with pytest.raises(InvalidParameterError, match=said):
        schema_said(words)


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ((20, 90, 100), r"'x' must be a tuple \(low, high\)"),
        (("f", "m"), "'x' needs two numbers or two dates .* Categories are a list"),
        (("2020-01-01", "later"), "'x' needs two numbers or two dates"),
        (("2021-01-01", "2020-01-01"), "bounds"),
        ((90, 20), "bounds"),
        ((20, None), "bounds"),
        ([], "'x'"),
        ("labl", "'number', 'category', 'date', 'ignore', 'label'"),
        ("date", "bounds"),
        (None, "'x' must be"),
        (5, "'x' must be"),
        (Column("x"), "'x' must be"),
        ({"bound": (0, 1)}, "has unknown 'bound'. A column takes 'kind', 'bounds'"),
        ({"categories": "fm"}, "categories"),
        ({5: 1}, "has unknown '5'"),
    ],
)
def test_a_mistake_names_the_column_and_what_to_write(known, said) -> None:
    with pytest.raises(InvalidParameterError, match=said):
        schema_of({"age": (20, 90), "x": known})


@pytest.mark.parametrize("given", [{}, {"y": "label"}, {0.5: (0, 1)}, [("age", (0, 1))], 5, {" "}])
def test_what_is_no_schema_is_refused(given) -> None:
    with pytest.raises(InvalidParameterError, match=r"schema|bounds"):
        schema_of(given)


def data(seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": rng.uniform(20, 90, 200),
            "sex": rng.choice(["f", "m"], 200),
            "outcome": rng.integers(0, 2, 200),
        }
    )


def test_every_call_takes_it() -> None:
    known = {"age": (20, 90), "sex": ["f", "m"], "outcome": "label"}
    summary = dpsumm.summarize([data(0), data(1)], data(2), size=20, schema=known)
    assert summary.columns == ("age", "sex")
    assert summary.labels is not None
    public = pl.concat([data(i) for i in range(90, 102)]).drop("outcome")
    owners = {str(i): data(i) for i in range(20)}
    learned = dpsumm.learn(owners, public, schema=known, classes=[0, 1], epsilon=1)
    assert learned.predict(public[:3]).shape == (3,)
    halves = {"a": data(0).select("age"), "b": data(0).select("sex")}
    schemas = {"a": {"age": (20, 90)}, "b": {"sex": ["f", "m"]}}
    assert dpsumm.synthesize(halves, schema=schemas).to_frame().columns == ["age", "sex"]
    assert dpsumm.plan_synthesis(schemas, 200).verdict

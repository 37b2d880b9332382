"""A schema as a dict: the same as one made of columns, and each mistake named."""

from __future__ import annotations

import datetime as dt

import numpy as np
import polars as pl
import pytest

import dpsumm
from dpsumm import Column, Schema
from dpsumm.data.short import schema_of
from dpsumm.errors import InvalidParameterError

SHORT = {
    "age": (20, 90),
    "seen": (dt.date(2020, 1, 1), dt.date(2024, 1, 1)),
    "sex": ["f", "m"],
    "smokes": [0, 1],
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


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ((20, 90, 100), r"'x' must be a tuple \(low, high\)"),
        (("f", "m"), "'x' must be a tuple"),
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


@pytest.mark.parametrize("given", [{}, {"y": "label"}, {5: (0, 1)}, [("age", (0, 1))], 5, {" "}])
def test_what_is_no_schema_is_refused(given) -> None:
    with pytest.raises(InvalidParameterError, match="schema"):
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

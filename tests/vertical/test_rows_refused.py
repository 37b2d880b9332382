"""All that `synthesize` refuses, with the way out."""

import math

import numpy as np
import polars as pl
import pytest

import dpsumm
from dpsumm import Column, Schema, Tables, synthesize
from dpsumm.errors import InvalidDataError, InvalidParameterError
from helpers.joined import BANK, REGISTRY, SCHEMAS, frames


def changed(**columns):
    data = frames(50)
    return {**data, "bank": data["bank"].with_columns(**columns)}


def call(**changes):
    given = {"owners": frames(50), "schema": SCHEMAS, "ids": "person"} | changes
    return synthesize(given.pop("owners"), **given)


BINS = Schema([Column("person", "ignore"), Column("size", categories=tuple(range(600)))])


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        (
            lambda: {"owners": changed(person=pl.Series([f"q{i}" for i in range(50)]))},
            InvalidDataError,
            r"ids: those of 'bank' are not those of 'registry'.*openmined-psi",
        ),
        (
            lambda: {"owners": {**frames(50), "bank": frames(40)["bank"]}},
            InvalidDataError,
            "'bank' has 40 records and 'registry' has 50",
        ),
        (
            lambda: {"owners": changed(person=pl.lit("same"))},
            InvalidDataError,
            "'bank': column 'person' has an identifier twice",
        ),
        (
            lambda: {"owners": changed(person=pl.lit(None, pl.String))},
            InvalidDataError,
            "missing identifiers",
        ),
        (
            lambda: {"owners": changed(person=pl.lit(2.0**60))},
            InvalidDataError,
            "numbers that a float may have rounded",
        ),
        (
            lambda: {"schema": {**SCHEMAS, "bank": Schema([*BANK.columns, Column("x")])}},
            InvalidParameterError,
            "column 'x' needs public bounds",
        ),
        (
            lambda: {"owners": changed(kind=pl.lit("firm"))},
            InvalidDataError,
            "'bank'.*none of the schema's categories.*other",
        ),
        (
            lambda: {"owners": changed(kind=pl.lit(None, pl.String))},
            InvalidDataError,
            "missing values.*'encode'",
        ),
        (
            lambda: {"schema": {**SCHEMAS, "bank": Schema([*BANK.columns, REGISTRY.columns[1]])}},
            InvalidParameterError,
            "column 'age' is held by 'registry' and 'bank'. Leave it out",
        ),
        (
            lambda: {"schema": {"registry": REGISTRY, "bank": BINS}, "protocol": Tables(bins=1024)},
            InvalidParameterError,
            "bins: columns .* make a table of",
        ),
        (
            lambda: {
                "schema": {
                    "registry": Schema([
                        Column("person", "ignore"),
                        *(Column(f"x{i}", categories=tuple(range(350))) for i in range(7)),
                    ]),
                    "bank": BANK,
                }
            },
            InvalidParameterError,
            "together, at most 2048",
        ),
        (
            lambda: {
                "schema": {
                    "registry": Schema([*REGISTRY.columns, Column("status", categories=(0, 1))]),
                    "bank": BANK,
                },
                "label": "status",
            },
            InvalidParameterError,
            "column 'status' is held by 'registry' and 'bank'. Leave it out of one",
        ),
        (
            lambda: {"owners": {**frames(50), "bank": frames(50)["bank"][:0]}},
            InvalidDataError,
            "bank",
        ),
        (lambda: {"label": "profit"}, InvalidParameterError, "label: there is no column 'profit'"),
        (lambda: {"ids": None}, InvalidParameterError, "'person' of .* kind 'ignore'.*ids='p"),
        (lambda: {"ids": "age"}, InvalidParameterError, "ids: column 'age' has kind 'number' in"),
        (lambda: {"ids": "persn"}, InvalidParameterError, "column 'persn'.* It has 'person'. Corr"),
        (
            lambda: {"schema": {**SCHEMAS, "bank": Schema([*BANK.columns, Column("y", "label")])}},
            InvalidParameterError,
            "'y' is a label without categories.*Add `categories`",
        ),
        (lambda: {"schema": {"bank": BANK}}, InvalidParameterError, "a dict of each owner's name"),
        (lambda: {"owners": [1, 2]}, InvalidParameterError, "owners must be a dict"),
        (lambda: {"epsilon": 0}, InvalidParameterError, "epsilon"),
        (lambda: {"delta": 1}, InvalidParameterError, "delta"),
        (lambda: {"protocol": "tables"}, InvalidParameterError, r"protocol must be Tables\(\)"),
        (lambda: {"protocol": Tables(bins={"a": 3})}, InvalidParameterError, "no column 'a'"),
        (lambda: {"ledger": {"x": "y"}}, InvalidParameterError, "ledger must be a dict"),
        (
            lambda: {"ledger": {"bank": "y"}, "seed": 1},
            InvalidParameterError,
            "seed: a seeded run is not private",
        ),
        (
            lambda: {"owners": {**frames(50), "bank": dpsumm.data.Stream(np.ones((5, 3)))}},
            InvalidParameterError,
            "'bank': a Stream cannot be joined",
        ),
    ],
)  # fmt: skip
def test_bad_input_is_refused_with_the_way_out(changes, error, message):
    with pytest.raises(error, match=message):
        call(**changes())


def test_the_name_of_the_helper_is_taken():
    data, name = frames(50), "helper"
    with pytest.raises(InvalidParameterError, match="no owner can be called"):
        synthesize(
            {name: data["registry"], "bank": data["bank"]},
            schema={name: REGISTRY, "bank": BANK},
            ids="person",
        )


@pytest.mark.parametrize(
    "wrong",
    [{"first": 0}, {"first": 0.9}, {"first": "x"}, {"to_label": "2"}, {"to_label": 0.8},
     {"pairs": [("a", "a")]}, {"pairs": ["ab"]}, {"pairs": [("a", "b"), ("b", "a")]}, {"pairs": 1},
     {"keep": -1}, {"components": 0}, {"stop": math.nan}, {"rows": 0}, {"max_steps": 0.5}],
)  # fmt: skip
def test_parameters_of_the_tables_have_ranges(wrong):
    with pytest.raises(InvalidParameterError, match=next(iter(wrong))):
        Tables(**wrong)


def test_pairs_that_are_named_must_be_of_columns_without_the_label():
    data = frames(500)
    for pairs, why in (
        (("age", "status"), "leave out the label"),
        (("age", "x"), "'x' is missing"),
    ):
        with pytest.raises(InvalidParameterError, match=f"pairs.*{why}"):
            synthesize(data, schema=SCHEMAS, ids="person", label="status",
                       protocol=Tables(pairs=[pairs]))  # fmt: skip

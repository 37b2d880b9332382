"""Rehearsals: made-up data like the schema says, protocols beside each other, errors by name."""

import math
from dataclasses import replace
from datetime import date

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import dpsumm
from dpsumm import Column, Schema
from dpsumm.cli.app import app
from dpsumm.errors import InvalidParameterError
from dpsumm.summary.made_up import KINDS, NUMBERS, OF_TARGET, MadeUpOwners, coded, make_up

MIXED = Schema(
    [
        Column("age", bounds=(18, 90), whole=True),
        Column("sort", categories=("a", "b", "c"), other="others"),
        Column("day", bounds=(date(2020, 1, 1), date(2021, 1, 1)), when_missing="encode"),
        Column("grade", categories=("1", "2", "3"), ordered=True, when_missing="encode"),
        Column("ward", "ignore"),
        Column("ill", "label"),
    ]
)
FEW = MadeUpOwners(3, 200)
SMALL = {"size": 15, "target_size": 60, "runs": 2}


def made(schema, rarity, seed=0):
    return make_up(schema, seed, MadeUpOwners(4, 500, rarity), target_size=50, n_fresh=300)


@pytest.mark.parametrize("schema", [MIXED, NUMBERS])
def test_made_up_records_fit_the_schema_and_its_kernel(schema):
    found = made(schema, 0.2)
    assert dpsumm.RBF.for_schema(found.schema) == dpsumm.RBF.for_schema(schema)
    assert len(found.schema.cells) == len(schema.cells)
    for points in (*found.owners, found.target, found.fresh):
        assert found.schema.fits(points)
    assert [len(owner) for owner in found.owners] == [500] * 4
    assert (len(found.target), len(found.fresh)) == (50, 300)
    again, other = made(schema, 0.2), made(schema, 0.2, seed=1)
    np.testing.assert_array_equal(found.target, again.target)
    assert not np.array_equal(found.target, other.target, equal_nan=True)


def test_the_kernel_sees_the_same_of_codes_as_of_the_originals():
    frame = pl.DataFrame(
        {
            "age": [20, 90],
            "sort": ["b", "x"],
            "day": ["2020-03-01", None],
            "grade": [None, "3"],
            "ward": ["w", "w"],
            "ill": [0, 1],
        }
    )
    summary = dpsumm.summarize(
        [frame], frame, size=2, schema=MIXED, protocol=dpsumm.summary.Greedy(), seed=0
    )
    seen = coded(MIXED).encode(summary.points)
    np.testing.assert_allclose(seen, summary.scaled)


@pytest.mark.parametrize("rarity", [0.02, 0.9])
def test_the_rarity_is_that_of_the_targets_kinds(rarity):
    # Kinds of a narrow column hardly overlap: the nearest middle tells them.
    found = make_up(
        Schema([Column(f"x{j}", bounds=(0, 1)) for j in range(12)]),
        3,
        MadeUpOwners(2, 4000, rarity),
        target_size=500,
    )
    target, fresh = found.target, found.fresh
    # An owner's record is near some target record if it is of the target's kinds.
    rows = np.concatenate(found.owners)[::10]
    nearest = np.sqrt(((rows[:, None] - np.concatenate([target, fresh])[None, ::10]) ** 2).sum(2))
    share = np.mean(nearest.min(axis=1) < 0.45)
    assert share == pytest.approx(rarity, abs=0.05)
    assert OF_TARGET < KINDS


def test_rows_say_cost_and_quality():
    found = dpsumm.compare(FEW, **SMALL, schema=MIXED, epsilon=2.0)
    pool, offers, uniform = found.rows
    assert [row.protocol for row in found.rows] == ["random pool", "Offers", "uniform"]
    assert (pool.epsilon, uniform.epsilon, offers.epsilon_owners) == (0, 0, 0)
    assert 1.9 < offers.epsilon <= 2
    assert uniform.reads == 1 < pool.reads <= 4.2
    assert uniform.ratio > pool.ratio > 0
    assert pool.error > 0
    text = str(found)
    assert found.advice in text
    assert offers.shown() in text


def test_one_run_has_no_error():
    found = dpsumm.compare(FEW, **SMALL | {"runs": 1})
    assert math.isnan(found.rows[0].error)
    assert "(" not in found.rows[0].shown()


@pytest.mark.same_draws
def test_public_data_are_split_and_judged_by_what_is_left(rng):
    frame = pl.DataFrame({"a": rng.uniform(0, 1, 300), "b": rng.choice(["x", "y"], 300)})
    schema = Schema([Column("a", bounds=(0, 1)), Column("b", categories=("x", "y"))])
    owners = {"one": frame[:100], "two": frame[100:200]}
    found = dpsumm.compare(owners, frame[200:], size=10, target_size=60, schema=schema, runs=2)
    # The owners' records are like the target's: nothing is far from the greedy.
    assert found.rows[0].ratio < 20
    assert "public data" in found.title
    with pytest.raises(InvalidParameterError, match=r"target: has 100 rows.*81"):
        dpsumm.compare(owners, frame[200:], size=10, target_size=81, schema=schema)


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"runs": 0}, "runs"),
        ({"rarity": 0}, "rarity"),
        ({"rarity": 1.1}, "rarity"),
        ({"n_owners": 0}, "n_owners"),
        ({"n_records": 4}, "size must be at most"),
        ({"target_size": 1}, "target_size"),
        ({"reads_per_record": 0.5}, "reads_per_record"),
        ({"epsilon": -1}, "epsilon"),
        ({"target": np.ones((9, 2))}, "give both"),
        ({"schema": Schema([Column("a")])}, "bounds or categories"),
    ],
)
def test_what_is_out_of_range_is_named(given, named):
    of_owners = {key: given[key] for key in given if key in ("rarity", "n_owners", "n_records")}
    rest = {key: given[key] for key in given if key not in of_owners}
    with pytest.raises(InvalidParameterError, match=named):
        dpsumm.compare(replace(FEW, **of_owners), **SMALL | rest)


def test_the_command_prints_the_table(tmp_path):
    MIXED.save(tmp_path / "schema.toml")
    options = "--size 15 --target-size 60 --owners 3 --records 200 --runs 2 --schema".split()
    result = CliRunner().invoke(
        app, ["compare", *options, str(tmp_path / "schema.toml")], env={"COLUMNS": "100"}
    )
    assert result.exit_code == 0, result.output
    for word in ("random pool", "Offers", "uniform", "with weights", "made-up records"):
        assert word in result.output

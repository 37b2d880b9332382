"""Parquet files are read block by block: a value becomes the same wherever blocks end."""

from datetime import date
from decimal import Decimal

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpsumm import Column, Schema
from dpsumm.data import read_file
from dpsumm.data.extract import Wanted
from dpsumm.errors import InvalidDataError

MISSING = {"when_missing": "encode", "missing": ("-9",)}
SCHEMA = Schema(
    [
        Column("number", bounds=(0, 9), **MISSING),
        Column("whole", bounds=(0, 9), whole=True, **MISSING),
        Column("money", bounds=(0, 9), **MISSING),
        Column("fields", bounds=(0, 9), **MISSING),
        Column("day", bounds=(date(2020, 1, 1), date(2024, 1, 1)), when_missing="encode"),
        Column("colour", categories=("red", "blue"), other="else", **MISSING),
        Column("coded", categories=("red", "blue"), when_missing="encode"),
        Column("truth", categories=("true", "false"), when_missing="encode"),
        Column("empty", bounds=(0, 1), when_missing="encode"),
        Column("outcome", kind="label", when_missing="drop"),
        Column("note", kind="ignore"),
    ]
)


def table(rng, n):
    """Values of each column, every fifth of them none."""

    def some(values):
        return [None if rng.random() < 0.2 else values[rng.integers(len(values))] for _ in range(n)]

    return pa.table(
        {
            "note": some(["a", "longer", ""]),
            "number": pa.array(some([0.0, -0.0, 1.5, -9.0, 7.25]), pa.float64()),
            "whole": pa.array(some([0, 3, -9, 9]), pa.int16()),
            "money": pa.array(some([Decimal("1.10"), Decimal("2.25")]), pa.decimal128(9, 2)),
            "fields": some(["1", " 2.5", "-9", "1e0"]),
            "day": pa.array(some([date(2020, 1, 1), date(2023, 5, 6)]), pa.date32()),
            "colour": some(["red", "blue", "green", "-9"]),
            "coded": pa.array(some(["red", "blue"])).dictionary_encode(),
            "truth": pa.array(some([True, False]), pa.bool_()),
            "empty": pa.nulls(n, pa.float64()),
            "outcome": some(["yes", "no"]),
        }
    )


def outcome(path, schema=SCHEMA):
    """What reading gives, or says."""
    try:
        found = Wanted(schema=schema).extract(path, "north")
    except InvalidDataError as error:
        return str(error)
    parts = [found.values, found.labels, found.unlabelled, *found.carried]
    about = [(part.dtype, part.tolist()) for part in parts if part is not None]
    return repr((about, found.n_unreadable, found.values.tobytes()))


@pytest.mark.parametrize("rows", [1, 2, 7, 64])
def test_every_value_is_the_same_wherever_blocks_end(rng, rows, monkeypatch, tmp_path):
    path = tmp_path / "north.parquet"
    for _ in range(5):
        pq.write_table(table(rng, 40), path, row_group_size=int(rng.integers(1, 50)))
        whole = outcome(path)
        assert whole.startswith("(")
        with monkeypatch.context() as patch:
            patch.setattr(read_file, "PARQUET_ROWS", rows)
            assert outcome(path) == whole


@pytest.mark.parametrize("bad", ["number", "fields", "colour", "day"])
def test_a_fault_in_the_last_block_is_refused_as_in_one(rng, bad, monkeypatch, tmp_path):
    path = tmp_path / "north.parquet"
    made = pl.from_arrow(table(rng, 30)).with_columns(
        pl.col("day").cast(pl.String), pl.col("number").cast(pl.String)
    )
    values = made[bad].to_list()
    values[-1] = "x y"
    made.with_columns(pl.Series(bad, values)).write_parquet(path)
    found = [Wanted(schema=SCHEMA).extract(path, "north").n_unreadable]
    monkeypatch.setattr(read_file, "PARQUET_ROWS", 4)
    found.append(Wanted(schema=SCHEMA).extract(path, "north").n_unreadable)
    assert found[0] == found[1]
    assert found[0][SCHEMA.names.index(bad)] == (bad != "colour")  # which is another colour


def test_no_column_of_the_kernel_is_ever_there_as_a_whole(monkeypatch, tmp_path):
    path = tmp_path / "north.parquet"
    pl.DataFrame({"a": np.arange(100.0), "b": ["x", "y"] * 50}).write_parquet(path)
    monkeypatch.setattr(read_file, "PARQUET_ROWS", 16)
    schema = Schema([Column("a", bounds=(0, 100)), Column("b", categories=("x", "y"))])
    sizes = []
    read = type(schema.columns[0].how).read

    def listening(self, cells):
        sizes.append(len(cells))
        return read(self, cells)

    monkeypatch.setattr(type(schema.columns[0].how), "read", listening)
    found = Wanted(schema=schema).extract(path, "north")
    assert sizes == [16] * 6 + [4]
    np.testing.assert_array_equal(found.values[:, 0], np.arange(100))

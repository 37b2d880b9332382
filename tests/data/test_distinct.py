"""A column is worked out once for each distinct value: the same as value by value."""

import itertools
import math
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsumm.data.column import Column
from dpsumm.data.frame import frame_of, once
from dpsumm.data.inputs import read_table
from dpsumm.data.schema import Schema

TEXTS = ["", " ", "?", "NA", "nan", "1", " 1", "01", "1.0", "-9", "-0.0", "x", "f", "2020-01-05"]
COLUMNS = [
    Column("a", bounds=(-10, 10), missing=("?", -9), when_missing="encode"),
    Column("a", categories=("1", "01", "NA"), other="o", when_missing="encode"),
    Column("a", categories=(1, 2), other=0, missing=("?",), when_missing="encode"),
    Column("a", bounds=(date(2000, 1, 1), date(2030, 1, 1)), when_missing="encode"),
    Column("a", "label"),
    Column("a", "ignore"),
]
MAKERS: dict[str, Any] = {
    "polars": lambda items: pl.DataFrame({"a": items}),
    "pandas": lambda items: pd.DataFrame({"a": items}),
    "pyarrow": lambda items: pa.table({"a": items}),
    "dictionary": lambda items: pa.table({"a": pa.array(items).dictionary_encode()}),
}


def told(column: Column, frame: Any) -> list[str]:
    cells = frame_of(frame, "here").take(["a"])["a"]
    read = column.how.read(cells)
    absent = np.zeros(len(cells), bool) if read.absent is None else read.absent
    assert read.n_unreadable <= len(cells)
    return [
        "missing" if gone else repr(item)
        for item, gone in zip(read.values.tolist(), absent, strict=True)
    ]


@pytest.mark.parametrize("column", COLUMNS, ids=lambda column: column.kind.value)
@pytest.mark.parametrize("maker", MAKERS)
@given(st.lists(st.sampled_from(TEXTS), min_size=1, max_size=12))
def test_by_distinct_value_is_value_by_value(column: Column, maker: str, items: list[str]) -> None:
    whole = told(column, MAKERS[maker](items))
    assert len(whole) == len(items)
    for item, one in zip(items, whole, strict=True):
        alone = told(column, MAKERS[maker]([item]))[0]
        # A column of labels may hold numbers as floats beside others: equal, see `labels_of`.
        assert one == alone or float(one) == float(alone)


@given(st.lists(st.sampled_from(TEXTS) | st.none(), min_size=1, max_size=12), st.integers(1, 5))
def test_texts_of_a_parquet_file_are_those_of_the_frame(
    tmp_path_factory: Any, items: list[str | None], rows: int
) -> None:
    path = tmp_path_factory.mktemp("parquet") / "a.parquet"
    table = pa.table({"x": np.arange(len(items)), "a": pa.array(items, pa.string())})
    pq.write_table(table, path, row_group_size=rows)
    schema = Schema([Column("x"), Column("a", "ignore")])
    read, framed = (
        read_table(one, name="n", schema=schema) for one in (path, pl.read_parquet(path))
    )
    assert read.carried[0].tolist() == framed.carried[0].tolist()
    np.testing.assert_array_equal(read.values, framed.values)


def test_a_column_that_the_schema_does_not_name_is_not_read(tmp_path: Any) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"x": [1.0, 2.0], "z": ["damaged", "there"]}), path, compression="none")
    data = path.read_bytes()
    place = data.index(b"damaged")
    path.write_bytes(data[:place] + b"\xff" * 7 + data[place + 7 :])
    read = read_table(path, name="n", schema=Schema([Column("x")]))
    assert read.values[:, 0].tolist() == [1.0, 2.0]


@pytest.mark.parametrize("maker", MAKERS)
def test_each_value_is_there_once(maker: str) -> None:
    cells = frame_of(MAKERS[maker](["b", "a", None, "b", "b"]), "here").take(["a"])["a"]
    items, places = cells.distinct
    assert sorted(map(str, items)) == ["None", "a", "b"]
    assert [items[place] for place in places] == ["b", "a", None, "b", "b"]


def test_what_only_a_dictionary_has_is_not_read(tmp_path: Any) -> None:
    """A part of a file, or of a frame, may keep the texts of all rows in its dictionary."""
    coded = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0]), ["f", "m", "x\0y" + "z" * 5000])
    table = pa.table({"x": [1.0, 2.0, 3.0], "y": coded, "n": coded})
    pq.write_table(table, tmp_path / "a.parquet", store_schema=False)
    assert pq.read_table(tmp_path / "a.parquet", read_dictionary=["y"])["y"].chunk(0).dictionary[2]
    schema = Schema(
        [Column("x"), Column("n", "ignore"), Column("y", "label", categories=("f", "m"))]
    )
    for source in (tmp_path / "a.parquet", table, pl.from_arrow(table), table.to_pandas()):
        read = read_table(source, name="n", schema=schema)
        assert read.labels is not None
        assert read.labels.tolist() == read.carried[0].tolist() == ["f", "m", "f"]


EAST = timezone(timedelta(hours=1))
EQUAL: list[list[Any]] = [
    [1, True, 1.0, "1"],
    [(True,), (1,)],
    [frozenset([1.0]), frozenset([1])],
    [time(10, tzinfo=UTC), time(11, tzinfo=EAST)],
    [datetime(2020, 1, 1, tzinfo=UTC), datetime(2020, 1, 1, 1, tzinfo=EAST)],
    [np.datetime64("2020-01-01"), np.datetime64("2020-01-01T00")],
]


@pytest.mark.parametrize("items", EQUAL, ids=str)
def test_items_that_are_equal_and_not_the_same_stay_apart(items: list[Any]) -> None:
    assert once(items) == (items, None)
    told = [
        read_table(frame, name="n", schema=Schema([Column("x"), Column("a", "ignore")])).carried[0]
        for some in (items, items[::-1], items[1:])
        for frame in [pd.DataFrame({"x": 1.0, "a": pd.Series(some, dtype=object)})]
    ]
    assert told[0].tolist() == told[1].tolist()[::-1]
    assert told[0].tolist()[1:] == told[2].tolist()


OBJECTS = [*itertools.chain(*EQUAL), "b", None, 2, Decimal("1.10"), Decimal("1.1"), -0.0, 0.0]


@pytest.mark.parametrize("column", [Column("a", "ignore"), Column("a", "ignore", missing=())])
@given(st.lists(st.sampled_from(OBJECTS), min_size=1))
def test_no_object_changes_what_another_is_read_as(column: Column, items: list[Any]) -> None:
    def read(some: list[Any]) -> list[str]:
        return told(column, pd.DataFrame({"a": pd.Series(some, dtype=object)}))

    assert read(items) == [read([item])[0] for item in items]


INFINITE = [math.inf, -math.inf, "inf", "-Infinity", "1e999"]


@pytest.mark.parametrize("kind", ["number", "label", "ignore"])
@pytest.mark.parametrize("item", INFINITE)
def test_an_infinite_mark_is_one_whatever_holds_it(kind: str, item: Any) -> None:
    """pandas holds it as a number or as text, for the sake of the other values."""
    rule = {"when_missing": "encode", "bounds": (0, 9)} if kind == "number" else {}
    column = Column("a", kind, missing=("inf",), **rule)
    for frame in (
        pd.DataFrame({"a": pd.Series([item, "1"], dtype=object)}),
        pd.DataFrame({"a": [float(item), 1.0]}),
        pl.DataFrame({"a": [str(item), "1"]}),
    ):
        assert told(column, frame)[0] in ("missing", "nan", "''")

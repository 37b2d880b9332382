"""Files are read block by block: a value becomes the same wherever blocks end."""

from datetime import date
from decimal import Decimal

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsumm import Column, Schema
from dpsumm.data import read_file, text_file
from dpsumm.data.extract import Wanted
from dpsumm.data.file import File, FileFormat
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


FIELDS = st.sampled_from(
    [
        "1",
        " 2.5 ",
        "-9",
        "",
        "red",
        "x y",
        "\ufeff",
        "\ufeffred",
        "'=1",
        "'",
        "\r",
        '"',
        '"a;b"',
        "ä",
    ]
)
TEXTS = Schema(
    [
        Column("x0", "ignore"),
        Column("x1", bounds=(0, 9), missing=("-9",), when_missing="encode"),
        Column("x2", categories=("red", "ä"), other="else", when_missing="encode"),
    ]
)


@given(
    rows=st.lists(st.lists(FIELDS, min_size=3, max_size=3), min_size=1, max_size=9),
    odd=st.sampled_from(["", "\n", "1;2\n", "1;2;3;4\n", ";;\n", "1;2;NO UTF-8\n"]),
    end=st.sampled_from(["\n", "\r\n"]),
    last=st.booleans(),
    piece=st.integers(1, 30),
    decimal=st.sampled_from(".,"),
)
def test_every_field_is_the_same_wherever_pieces_end(
    tmp_path_factory, rows, odd, end, last, piece, decimal
):
    path = tmp_path_factory.mktemp("pieces") / "north.csv"
    text = end.join([";".join(row) for row in rows] + [odd] * bool(odd)) + end * last
    path.write_bytes(text.encode().replace(b"NO UTF-8", b"\xff"))
    file = File(path, FileFormat(header=False, separator=";", decimal=decimal))
    whole = outcome(file, TEXTS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_file, "PIECE", piece)
        assert outcome(file, TEXTS) == whole


def test_a_large_file_of_text_is_parsed_in_pieces_and_typed_as_a_whole(monkeypatch, tmp_path):
    path = tmp_path / "north.csv"
    path.write_text("a,b\n" + "".join(f"{i},{'x' if i % 2 else 'y'}\n" for i in range(100)))
    monkeypatch.setattr(text_file, "PIECE", 64)
    sizes = []
    read = type(SCHEMA.columns[0].how).read

    def listening(self, cells):
        sizes.append(len(cells))
        return read(self, cells)

    monkeypatch.setattr(type(SCHEMA.columns[0].how), "read", listening)
    schema = Schema([Column("a", bounds=(0, 100)), Column("b", categories=("x", "y"))])
    found = Wanted(schema=schema).extract(path, "north")
    assert len(sizes) > 5
    assert sum(sizes) == 100
    np.testing.assert_array_equal(found.values[:, 0], np.arange(100))
    cells = Wanted().frame(path, "north", typed=True).take(["a", "b"])
    assert cells["a"].items == list(range(100))


@pytest.mark.parametrize("rows", [["a;1", "\ufeffb;2"], ["a", "", "b"], ["a", "b", "", ""]])
@pytest.mark.parametrize("piece", [1, 2, 3])
def test_a_mark_of_byte_order_and_blank_lines_mean_the_same_in_pieces(
    rows, piece, monkeypatch, tmp_path
):
    path = tmp_path / "north.csv"
    path.write_text("\n".join(rows), encoding="utf-8")
    columns = [Column("x0", categories=("a", "b"), other="c", when_missing="encode")]
    schema = Schema([*columns, Column("x1", bounds=(0, 9))][: 1 + rows[0].count(";")])
    file = File(path, FileFormat(header=False, separator=";"))
    whole = outcome(file, schema)
    monkeypatch.setattr(text_file, "PIECE", piece)
    assert outcome(file, schema) == whole

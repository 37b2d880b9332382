"""A record's numbers are a function of that record and public facts, whatever reads it.

The sensitivity of every release rests on this. So a table of nasty fields is read as a whole, with
one record replaced, and record by record: each record must give the same integers every time, and a
table is refused exactly if one of its records is. Libraries that guess a column's type from all of
its fields may make a table unreadable, never silently another one.
"""

import csv
import io
import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from dpsumm import kernels
from dpsumm.data.column import Column
from dpsumm.data.inputs import Source, Table, read_owners, read_table
from dpsumm.data.kinds.kind import Kind
from dpsumm.data.schema import Schema
from dpsumm.data.shards import Shard, ShardWorker, Work
from dpsumm.data.stream import Stream, StreamTable
from dpsumm.errors import InvalidDataError
from dpsumm.kernels import Draws
from helpers.effort import examples
from helpers.sheets import write_sheet

DAYS = (date(1990, 1, 1), date(2030, 1, 1))
ZIP = Column("zip", categories=("02139", "02140", "NA"), other="else", when_missing="encode")
CODE = Column("code", categories=("1", "2", "0.5", "True"), other="else", when_missing="encode")
STEP = Column("step", categories=("1", "02", "x"), ordered=True, other="o", when_missing="encode")
LONG = Column("long", categories=("123456789012345678", "123456789012345679"), other="x")
GRADE = Column("grade", categories=(1, 2, 1000), other=0, missing=("?", -9), when_missing="encode")
FLAG = Column("flag", categories=(False, True), when_missing="encode")
SIZE = Column("size", bounds=(-10, 2000), missing=("?", -9, "NaN"), when_missing="encode")
RAW = Column("raw")
DAY = Column("day", bounds=DAYS, when_missing="encode")
MINE = Column("mine", bounds=DAYS, date_format="%d.%m.%Y", when_missing="encode")
COLUMNS = (ZIP, CODE, STEP, LONG, GRADE, FLAG, SIZE, RAW, DAY, MINE)
SCHEMA = Schema([*COLUMNS, Column("note", "ignore", missing=()), Column("y", "label")])

NASTY = (
    *(
        "",
        " ",
        "NA",
        "NaN",
        "nan",
        "?",
        "-9",
        "-9.0",
        "None",
        "1",
        "1.0",
        " 1",
        "01",
        "+1",
        "1.",
        "1e3",
    ),
    *(
        "02139",
        "2139",
        "02140",
        "2140.0",
        "02",
        "2",
        "2.0",
        "0.5",
        ".5",
        "5e-1",
        "x",
        "K1A 0B1",
        "1,000",
    ),
    *(
        "1_000",
        "0x10",
        "inf",
        "-inf",
        "1e400",
        "-0",
        "0",
        "true",
        "True",
        "FALSE",
        "yes",
        "٣",
        "\uff11",
        "½",
    ),
    *("123456789012345678", "123456789012345679", "123456789012345678.0", "9007199254740993"),
    *("2020-01-01", "2020-01-01T23:30:00", "2020-01-01T23:30:00Z", "2020-01-01T23:30:00+05:00"),
    *(
        "20200101",
        "2020-02-30",
        "31.12.2020",
        "12/31/2020",
        'a "quote"',
        "two\nlines",
        "a;b",
        "\x1c1",
    ),
)
# What each column takes, so that most tables can be read; the rest is for refusals.
FITTING = {
    "flag": ("true", "FALSE", "0", "1", "1.0", "", "?", " True"),
    "size": (
        "1",
        "1.0",
        " 2",
        "+3",
        "4e2",
        ".5",
        "",
        "?",
        "-9",
        "-9.0",
        "1e-320",
        "0.30000000000000004",
    ),
    "raw": ("1", "01", " 2.", "0.1", "-1e3", "123456789012345678"),
    "day": ("2020-01-01", "2021-02-03T23:59:59", " 1999-12-31", "NA", ""),
    "mine": ("31.12.2020", "1.2.2021", "?", ""),
    "long": ("123456789012345678", "123456789012345679", "0.5", "-1", "7", "A"),
}
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6)
ANY = st.one_of(
    st.sampled_from(NASTY), st.integers().map(str), st.floats().map(repr), st.dates().map(str), TEXT
)
Record = tuple[str, ...]


def field(name: str) -> st.SearchStrategy[str]:
    if name not in FITTING:
        return ANY
    fitting = st.sampled_from(FITTING[name])
    return st.integers(0, 39).flatmap(lambda i: ANY if i == 0 else fitting)


NAMES = tuple(column.name for column in SCHEMA.columns)
RECORD: st.SearchStrategy[Record] = st.tuples(*map(field, NAMES))
TABLE = st.lists(RECORD, min_size=2, max_size=5)
FEATURES = kernels.RandomFeatures(len(SCHEMA.cells), 64, gamma=0.3, seed=1)


def text_of(records: list[Record]) -> str:
    out = io.StringIO(newline="")
    csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows([NAMES, *records])
    return out.getvalue()


def columns_of(records: list[Record]) -> dict[str, list[str]]:
    return {name: [record[j] for record in records] for j, name in enumerate(NAMES)}


def numbers(table: Table) -> list[tuple[bytes, ...]]:
    """What of every record enters a computation: coded, scaled and on the grid."""
    return [
        (value.tobytes(), point.tobytes(), FEATURES.sum_on_grid(point[None], 2**20).tobytes())
        for value, point in zip(table.values, table.scaled, strict=True)
    ]


def written(directory: Path, records: list[Record], kind: str) -> Path:
    path = directory / f"north.{kind}"
    if kind == "csv":
        path.write_bytes(text_of(records).encode())
    else:
        pl.DataFrame(columns_of(records), schema=dict.fromkeys(NAMES, pl.String)).write_parquet(
            path
        )
    return path


def by_sheet(directory: Path, records: list[Record]) -> Table:
    """From an Excel sheet with a column that is never empty; plain numbers are such cells."""

    def cell(field: str) -> str | float:
        if re.fullmatch(r"-?[0-9]{1,9}(\.[0-9]{1,15})?", field, re.ASCII):
            return float(field)
        return "".join(x for x in field if x.isprintable() or x == "\n")  # what XML holds

    note = NAMES.index("note")
    rows = [[f"n{x}" if j == note else x for j, x in enumerate(record)] for record in records]
    write_sheet(directory / "north.xlsx", [NAMES, *([*map(cell, row)] for row in rows)])
    return one(directory / "north.xlsx")


def by_query(directory: Path, records: list[Record]) -> Table:
    """From SQLite, whose columns have no type: whole numbers are stored as such."""

    def cell(field: str) -> str | int:
        return int(field) if re.fullmatch(r"0|-?[1-9][0-9]{0,17}", field, re.ASCII) else field

    with closing(sqlite3.connect(directory / "north.db")) as database:
        names = ", ".join(f'"{name}"' for name in NAMES)
        database.execute(f"CREATE TABLE records (id, {names})")
        marks = ", ".join("?" * (1 + len(NAMES)))
        rows = [(-i, *map(cell, record)) for i, record in enumerate(records)]
        database.executemany(f"INSERT INTO records VALUES ({marks})", reversed(rows))
        database.commit()
    query = "-- database: north.db\n-- key: place\nSELECT -id AS place, * FROM records"
    (directory / "north.sql").write_text(query)
    return one(directory / "north.sql")


def zero(points: NDArray[Any]) -> NDArray[np.float64]:
    return np.zeros((len(points), 2))


def streamed(source: Any, head: Any) -> Table:
    """All rows as candidates, read in blocks of two."""
    (table,) = read_owners({"north": source}, schema=SCHEMA)
    assert isinstance(table, StreamTable)
    return table.sift(zero, Draws(bytes(32)), 1)[0]


def by_stream(directory: Path, records: list[Record]) -> Table:
    path = written(directory, records, "parquet")
    return streamed(Stream(path, block_rows=2), path)


def by_shards(directory: Path, records: list[Record]) -> Table:
    """What a worker does for Ray, here without it: a file for each two records."""
    shards = []
    for start in range(0, len(records), 2):
        part = records[start : start + 2]
        pl.DataFrame(columns_of(part)).write_parquet(directory / f"{start}.parquet")
        shards.append(Shard(str(directory / f"{start}.parquet"), None, start, len(part)))

    def read(raw: Any) -> Table:
        return read_table(raw, name="north", schema=SCHEMA)

    work = Work(len(records), 2, read, zero, Draws(bytes(32)))
    rows = np.arange(len(records))
    try:
        return ShardWorker().fetch(shards, work, rows)
    finally:
        kernels.set_threads(0)  # a worker takes one


def by_silo(directory: Path, records: list[Record]) -> Table:
    """As a silo's own app reads its file."""
    (table,) = read_owners({"north": written(directory, records, "csv")}, schema=SCHEMA)
    assert isinstance(table, Table)
    return table.astype(np.dtype(np.float64))


def one(source: Source) -> Table:
    return read_table(source, name="north", schema=SCHEMA)


# Sources that say of every field that it is text.
TEXTS: dict[str, Callable[[Path, list[Record]], Table]] = {
    "csv": lambda at, records: one(written(at, records, "csv")),
    "parquet": lambda at, records: one(written(at, records, "parquet")),
    "excel": by_sheet,
    "sqlite": by_query,
    "pandas": lambda at, records: one(pd.DataFrame(columns_of(records), dtype=object)),
    "pandas str": lambda at, records: one(pd.DataFrame(columns_of(records), dtype="string")),
    "pandas categorical": lambda at, records: one(
        pd.DataFrame(columns_of(records), dtype="category")
    ),
    "polars": lambda at, records: one(pl.DataFrame(columns_of(records))),
    "polars lazy": lambda at, records: one(pl.LazyFrame(columns_of(records))),
    "pyarrow": lambda at, records: one(pa.table(columns_of(records))),
    "dictionary": lambda at, records: one(
        pa.table({name: pa.array(x).dictionary_encode() for name, x in columns_of(records).items()})
    ),
    "stream": by_stream,
    "shards": by_shards,
    "silo": by_silo,
}


def test_every_kind_of_column_is_among_them() -> None:
    assert {column.kind for column in SCHEMA.columns} == set(Kind)


def read_by(source: str, records: list[Record]) -> list[tuple[bytes, ...]] | None:
    """Return the numbers of all records, None if the table is refused."""
    with TemporaryDirectory() as directory:
        try:
            return numbers(TEXTS[source](Path(directory), records))
        except InvalidDataError:
            return None


@pytest.mark.parametrize("source", TEXTS)
@examples(8, suppress_health_check=list(HealthCheck))
@given(records=TABLE, other=RECORD, place=st.integers(0, 4))
def test_a_table_is_its_records_read_one_by_one(
    source: str, records: list[Record], other: Record, place: int
) -> None:
    replaced = list(records)
    replaced[place % len(records)] = other
    by_itself = {record: read_by(source, [record]) for record in {*records, other}}
    for table in (records, replaced):
        alone = [by_itself[record] for record in table]
        whole = read_by(source, table)
        if None in alone:
            assert whole is None
        else:
            assert whole == [numbers for row in alone if row is not None for numbers in row]


# Libraries that guess types from all fields.
GUESSING: dict[str, Callable[[str], Any]] = {
    "pandas": lambda text: pd.read_csv(io.StringIO(text)),
    "polars": lambda text: pl.read_csv(
        text.encode(), infer_schema_length=None, try_parse_dates=True
    ),
    "pyarrow": lambda text: pyarrow.csv.read_csv(
        io.BytesIO(text.encode()),
        convert_options=pyarrow.csv.ConvertOptions(strings_can_be_null=True),
    ),
}
# What the columns of a table have in common with each other, so that types are guessed.
ALIKE = (
    ("02139", "02140", "2139"),
    ("1", "2", "3", "1000", ""),
    ("1.0", "2.0", "0.5", "1e3"),
    ("true", "TRUE", "False"),
    ("123456789012345678", "123456789012345679", "7"),
    ("2020-01-01", "2021-02-03"),
    ("2020-01-01T23:30:00+05:00", "2020-01-01T00:30:00Z"),
)


@st.composite
def guessed(draw: st.DrawFn) -> tuple[str, str, list[str]]:
    """A column of one kind of field in which one record may have another."""
    kind, values = draw(st.sampled_from(COLUMNS)).name, draw(st.sampled_from(ALIKE))
    fields = draw(st.lists(st.sampled_from(values), min_size=2, max_size=5))
    return kind, draw(st.sampled_from(["A", "K1A", "0.5", "?", *values])), fields


def read_guessed(library: str, column: Column, fields: list[str]) -> NDArray[Any] | None:
    text = f"other,{column.name}\n" + "".join(f"1,{field}\n" for field in fields)
    schema = Schema([Column("other"), column])
    try:
        return read_table(GUESSING[library](text), name="north", schema=schema).scaled
    except (InvalidDataError, pl.exceptions.ComputeError):
        return None


@pytest.mark.parametrize("library", GUESSING)
@examples(100)
@given(guessed())
def test_a_guessed_type_changes_no_other_record(
    library: str, case: tuple[str, str, list[str]]
) -> None:
    name, odd, fields = case
    column = next(column for column in COLUMNS if column.name == name)
    one, two = (read_guessed(library, column, [first, *fields]) for first in (odd, fields[0]))
    if one is not None and two is not None:
        np.testing.assert_array_equal(one[1:], two[1:])


FLOATS = st.one_of(
    st.none(), st.floats(-(2.0**46), 2.0**46, width=32), st.sampled_from([-9.0, -0.0])
)


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table, None])
@pytest.mark.parametrize("rows", [1, 1200])  # 1200: more than are encoded all columns at once
@examples(10)
@given(
    columns=st.lists(st.tuples(FLOATS, FLOATS, FLOATS), min_size=1, max_size=4),
    single=st.booleans(),
)
def test_numbers_are_encoded_one_by_one(
    library: Any, rows: int, columns: Any, single: bool
) -> None:
    grade = Column("g", categories=(0, 1, -1), other=5, when_missing="encode")
    far = Column("f", bounds=(-1, 7), weight=3, when_missing="encode")
    schema = Schema([far, grade, Column("s", bounds=(0, 3), missing=(-9,), when_missing="encode")])
    values = np.array(columns * rows, np.float32 if single else np.float64)

    def scaled(part: NDArray[Any]) -> NDArray[Any]:
        source = part if library is None else library(dict(zip("fgs", part.T, strict=True)))
        return read_table(source, name="north", schema=schema).scaled

    whole = scaled(values)
    for i in range(len(columns)):
        np.testing.assert_array_equal(whole[i], scaled(values[i : i + 1])[0])
    np.testing.assert_array_equal(whole, np.tile(whole[: len(columns)], (rows, 1)))


PLAIN = st.sampled_from(
    ["1", "1.0", " 2", "1e3", "-9", "?", "", "nan", "0.1", "x", "1_0", "inf", "٣"]
)


@examples(25)
@given(st.lists(st.tuples(PLAIN, PLAIN, PLAIN), min_size=2, max_size=5))
def test_without_a_schema_too(records: list[Record]) -> None:
    """Numbers, field by field."""

    def kept(part: list[Record], at: Path) -> dict[int, bytes] | None:
        (at / "north.csv").write_text(
            "a,b,y\n" + "".join(",".join(r) + "\n" for r in part) + "1,1,1\n"
        )
        try:
            table = read_table(at / "north.csv", name="north")
        except InvalidDataError:
            return None
        rows = table.rows.tolist()
        return {row: point.tobytes() for row, point in zip(rows, table.scaled, strict=True)}

    with TemporaryDirectory() as directory:
        alone = [kept([record], Path(directory)) for record in records]
        whole = kept(records, Path(directory))
    if None in alone:
        assert whole is None
    else:
        assert whole is not None
        assert {row: point for row, point in whole.items() if row < len(records)} == {
            row: found[0] for row, found in enumerate(alone) if found is not None and 0 in found
        }

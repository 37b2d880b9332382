"""Cases in which one record once changed, or could have changed, how another one is read."""

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pytest

from dpsumm.data.column import Column
from dpsumm.data.file import File, FileFormat
from dpsumm.data.inputs import Table, read_inputs, read_table
from dpsumm.data.kinds.along import joined
from dpsumm.data.schema import Schema
from dpsumm.errors import InvalidDataError
from helpers.sheets import write_sheet

DAYS = (date(1990, 1, 1), date(2030, 1, 1))
ZIP = Column("zip", categories=("02139", "02140", "NA"), other="else", when_missing="encode")
DAY = Column("day", bounds=DAYS, when_missing="encode")


def test_a_label_s_mark_is_found_whatever_the_other_labels_are(tmp_path: Path) -> None:
    schema = Schema([Column("a"), Column("y", "label", missing=(-9, "?"), when_missing="drop")])
    for first in ("1", "A"):
        rows = "".join(f"0,{label}\n" for label in (first, "-9.0", " -9 ", "?", "", "-9x"))
        (tmp_path / "north.csv").write_text("a,y\n" + rows)
        table = read_table(tmp_path / "north.csv", name="north", schema=schema)
        assert table.rows.tolist() == [0, 5]
        (tmp_path / "north.csv").write_text("a,y\n" + rows.removesuffix("0,-9x\n"))
        table = read_table(tmp_path / "north.csv", name="north", schema=schema)
        assert table.rows.tolist() == [0]


def test_the_target_s_types_do_not_depend_on_one_record_either(tmp_path: Path) -> None:
    schema = Schema([ZIP, Column("age", bounds=(0, 100))])
    scaled = []
    for first in ("K1A 0B1", "02139"):
        for name in ("north", "target"):
            fields = [first, *["02139", "02140"] * 20]
            rows = "".join(f"{field},50\n" for field in fields)
            (tmp_path / f"{name}.csv").write_text("zip,age\n" + rows)
        tables, goal = read_inputs([tmp_path / "north.csv"], tmp_path / "target.csv", schema=schema)
        assert isinstance(tables[0], Table)
        np.testing.assert_array_equal(tables[0].scaled, goal.scaled)
        scaled.append(goal.scaled)
    assert (scaled[0] != scaled[1]).any(axis=1).sum() == 1


MOMENT = datetime(2019, 12, 31, 23, 30, tzinfo=UTC)
EAST = MOMENT.astimezone(timezone(timedelta(hours=1)))  # the same moment, another day


@pytest.mark.parametrize(
    "frame",
    [
        lambda items: pd.DataFrame({"day": pd.Series(items, dtype=object)}),
        lambda items: pl.DataFrame({"day": pl.Series(items, dtype=pl.Object)}),
    ],
    ids=["pandas", "polars"],
)
@pytest.mark.parametrize("kind", [lambda item: item, pd.Timestamp], ids=["datetime", "Timestamp"])
def test_a_time_of_one_zone_does_not_move_the_day_of_another(
    frame: Callable[[list[Any]], Any], kind: Callable[[Any], Any]
) -> None:
    schema, later = Schema([DAY]), MOMENT + timedelta(days=90)
    one, two = (
        read_table(frame([kind(first), kind(EAST)]), name="north", schema=schema).values.ravel()
        for first in (later, MOMENT)
    )
    assert MOMENT == EAST
    assert one[1] == two[1] == two[0] + 1


@pytest.mark.parametrize("gone", ["", "?", "NA", '""'])
@pytest.mark.parametrize("format_", [FileFormat(), FileFormat(names=("size",))])
def test_no_record_of_a_single_column_decides_how_many_others_there_are(
    tmp_path: Path, gone: str, format_: FileFormat
) -> None:
    """A blank line is a record or none by what its field holds: it is refused everywhere."""
    head = ["size"] if format_.header and format_.names is None else []
    column = Column("size", bounds=(0, 9), missing=("?", "NA"), when_missing="encode")
    path = tmp_path / "north.csv"

    def count(fields: list[str]) -> int | None:
        path.write_text("\n".join([*head, *fields]) + "\n")
        try:
            file = File(path, format_)
            return len(read_table(file, name="north", schema=Schema([column])))
        except InvalidDataError:
            return None

    counts = [count(["1", gone, gone, last]) for last in ("5", gone)]
    assert counts == ([None, None] if gone == "" else [4, 4])


@pytest.mark.parametrize("last", ['5,6",5', '5,6" wide,5', '5,"6""",5', '5,"6" wide,5', "5,e,5"])
@pytest.mark.parametrize("other", ['2,"b,2', '2,b",2', '2,"",2', '2,"\n",2', '2,"b"b,2'])
@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_no_quote_of_a_record_reaches_another(
    tmp_path: Path, last: str, other: str, end: str
) -> None:
    """polars takes a quote inside the last field of a file; a record could open it before."""
    schema = Schema([Column("x"), Column("note", "ignore"), Column("y")])
    path = tmp_path / "north.csv"

    def rows_of(second: str) -> list[list[float]] | None:
        lines = ["x,note,y", "1,a,1", second, "3,c,3", "4,d,4", last]
        path.write_bytes(("\n".join(lines) + end).encode())
        try:
            values: list[list[float]] = read_table(path, name="n", schema=schema).values.tolist()
        except InvalidDataError:
            return None
        return values

    one, two = rows_of("2,b,2"), rows_of(other)
    every = [[row, row] for row in range(1, 6)]
    valid = last in ("5,e,5", '5,"6""",5')
    assert one == (every if valid else None)
    if valid:  # else the two are no neighbours: one of them is refused
        assert two == (every if other in ('2,"",2', '2,"\n",2') else None)


OTHERS = ["9007199254740995", "0.5", "18446744073709551616"]


@pytest.mark.parametrize(
    ("kind", "other"), [("ignore", ""), *((k, o) for k in ("ignore", "label") for o in OTHERS)]
)
def test_no_other_record_rounds_a_large_whole_number(tmp_path, kind, other):
    schema = Schema([Column("x"), Column("id", kind=kind)])
    path = tmp_path / "a.csv"
    path.write_text(f"x,id\n1,9007199254740993\n2,{other}\n")
    table = read_table(path, name="a", schema=schema)
    assert str((table.labels if kind == "label" else table.carried[0])[0]) == "9007199254740993"


def test_no_null_and_no_other_owner_rounds_a_large_whole_number():
    schema = Schema([Column("x"), Column("id", kind="ignore")])
    large, small = (
        read_table(pl.DataFrame({"x": [1.0, 2.0], "id": ids}), name="a", schema=schema).carried[0]
        for ids in ([2**53 + 1, 5], [None, 0.5])
    )
    frame = pl.DataFrame({"x": [1.0, 2.0], "id": [2**53 + 1, None]})
    alone = read_table(frame, name="a", schema=schema).carried[0]
    for ids in (alone, joined([large, small])):
        assert str(ids[0]) == "9007199254740993"


@pytest.mark.parametrize("other", ["0.5", "0.5000000000000000000000001"])
def test_no_other_decimal_moves_a_mark_of_a_missing_value(other):
    column = Column("x", bounds=(-100, 10), missing=("-99.99",), when_missing="encode")
    table = pa.table({"x": pa.array([Decimal("-99.99"), Decimal("2.25"), Decimal(other)])})
    read = read_table(table, name="a", schema=Schema([column]))
    assert np.isnan(read.values[0, 0])
    assert read.values[1, 0] == 2.25


@pytest.mark.parametrize("other", [None, 0, 1.0])
def test_a_float_at_the_end_of_whole_numbers_is_no_category(other):
    first, second = 2**53, 2**53 + 1
    column = Column("x", kind="category", categories=(str(first), str(second)), other="else")
    frame = pd.DataFrame({"x": pd.Series([second, other], dtype=float), "y": [1.0, 2.0]})
    with pytest.raises(InvalidDataError, match="no category"):
        read_table(frame, name="a", schema=Schema([column, Column("y")]))


def test_no_record_of_a_sheet_decides_how_many_others_there_are(tmp_path):
    """Blank rows at the end of a sheet are no rows; so none before the end may be one."""
    column = Column("size", bounds=(0, 9), missing=("NA",), when_missing="encode")

    def count(fields):
        write_sheet(tmp_path / "a.xlsx", [["size"], *([field] for field in fields)])
        try:
            return len(read_table(tmp_path / "a.xlsx", name="a", schema=Schema([column])))
        except InvalidDataError:
            return None

    assert [count([1, "", "", last]) for last in (5, "")] == [None, 1]
    assert [count([1, "NA", last]) for last in (5, "NA", "")] == [3, 3, 2]

"""No text out of a file is in a message: neither at home nor in what an owner tells the curator."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from dpsumm import Column, Schema
from dpsumm.data.check import check
from dpsumm.data.file import File, FileFormat
from dpsumm.data.inputs import read_inputs, read_owners
from dpsumm.data.stream import Stream
from dpsumm.errors import DpsummError
from dpsumm.exchange.across import reason

MARK = "MARKER"  # in every name and every field of the files
DAYS = (date(2000, 1, 1), date(2030, 1, 1))
SCHEMA = Schema(
    [
        Column("city", categories=("Boston", "Paris"), other="else"),
        Column("size", bounds=(0, 9)),
        Column("day", bounds=DAYS),
        Column("note", "ignore"),
        Column("y", "label"),
    ]
)
STRICT = Schema([Column("city", categories=("Boston", "Paris")), Column("size", whole=True)])
M = MARK
CSV = {
    "no header": (f"{M} 1,{M} 2,{M} 3,{M} 4,{M} 5\n" * 2, {}),
    "no header, one column": (f"{M}\n{M}\n", {}),
    "other separator": (f"{M};{M} 2;{M} 3\n" * 2, {}),
    "some names": (f"city,size,{M},note,y\nBoston,1,2020-01-01,a,b\n", {}),
    "no number": (f"city,size,day,note,y\nBoston,1{M},2020-01-01,a,b\n", {}),
    "no date": (f"city,size,day,note,y\nBoston,1,{M},a,b\n", {}),
    "long note": (f"city,size,day,note,y\nBoston,1,2020-01-01,{M * 2000},b\n", {}),
    "no label": (f"city,size,day,note,y\n{M},1,2020-01-01,{M},\n", {}),
    "ragged": (f"city,size,day,note,y\n{M},1,2020-01-01\n{M},{M},{M},{M},{M},{M}\n", {}),
    "quotes": (f'city,size,day,note,y\n"{M},1,2020-01-01\n{M}"{M},1\n', {}),
    "same names": (f"{M},{M}\n1,2\n", {}),
    "no category": (f"city,size\n{M},1\n", {"schema": STRICT}),
    "not whole": (f"city,size,{M}\nBoston,1.5,{M}\n", {"schema": STRICT}),
    "no schema, text": (f"{M} 1,{M} 2\n{M},1\n", {"schema": None}),
    "no schema, missing": (f"{M} 1,{M} 2\n1,2\n1,\n", {"schema": None}),
    "no schema, infinite": (f"{M} 1,{M} 2\n1,inf\n1,2\n", {"schema": None}),
    "numbers and label": (f"{M} 1,{M} 2\n1,2\n", {"schema": Schema.numbers("a", label="y")}),
    "numbers": (f"{M} 1,{M} 2\n1,2\n", {"schema": Schema.numbers("a")}),
    "names": (f"{M},1\n{M},2\n", {"schema": None, "names": ("a",)}),
}


def refused(read: Callable[[], Any], path: Path) -> None:
    with pytest.raises(DpsummError) as caught:
        read()
    assert MARK not in str(caught.value)
    # What is printed of it, causes included: all but the source lines of this file.
    printed = traceback.TracebackException.from_exception(caught.value)
    while printed is not None:
        assert MARK not in "".join(printed.format_exception_only())
        hidden = None if printed.__suppress_context__ else printed.__context__
        printed = printed.__cause__ or hidden  # type: ignore[assignment]
    told = reason(caught.value, [path])
    assert MARK not in told
    assert str(path) not in told
    assert path.name not in told


@pytest.mark.parametrize("case", CSV)
def test_of_a_csv_file(tmp_path: Path, case: str) -> None:
    text, options = CSV[case]
    schema = options.get("schema", SCHEMA)
    path = tmp_path / "patients.csv"
    path.write_text(text)
    file = File(path, FileFormat(names=options.get("names")))
    refused(lambda: read_owners({"north": file}, schema=schema), path)
    refused(lambda: read_inputs({"north": file}, file, schema=schema), path)


FRAMES: dict[str, Any] = {
    "names": {f"{M} 1": [1.0], f"{M} 2": [2.0]},
    "texts": {"city": [M], "size": [M]},
    "list": {"city": [[M]], "size": [1]},
    "category": {"city": [M], "size": [1]},
}


@pytest.mark.parametrize("case", FRAMES)
def test_of_a_parquet_file_and_a_stream(tmp_path: Path, case: str) -> None:
    path = tmp_path / "patients.parquet"
    pl.DataFrame(FRAMES[case]).write_parquet(path)
    refused(lambda: read_owners({"north": path}, schema=STRICT), path)
    refused(lambda: read_owners({"north": Stream(path)}, schema=STRICT), path)
    if case not in ("names",):
        refused(lambda: read_owners({"north": path}), path)


@pytest.mark.parametrize(
    "frame",
    [
        pl.DataFrame({"city": [MARK], "size": [1]}, schema_overrides={"city": pl.Enum([MARK])}),
        pl.LazyFrame({"city": [MARK], "size": [1]}).with_columns(pl.col("city").cast(int)),
        pd.DataFrame({"city": pd.Categorical([MARK]), "size": [1]}),
        pd.DataFrame({"city": pd.Series([{MARK: MARK}], dtype=object), "size": [1]}),
        pd.DataFrame({"city": [1], "size": pd.Series([MARK], dtype=object)}),
        pa.table({"city": pa.array([MARK]).dictionary_encode(), "size": [1]}),
        pa.table({"city": pa.array([{"a": MARK}]), "size": [1]}),
    ],
)
def test_of_a_frame(frame: Any, tmp_path: Path) -> None:
    refused(lambda: read_owners({"north": frame}, schema=STRICT), tmp_path)


def test_of_two_files_that_differ(tmp_path: Path) -> None:
    one, two = tmp_path / "one.csv", tmp_path / "two.csv"
    one.write_text(f"a{MARK},b{MARK}\n1,2\n3,4\n")
    two.write_text(f"a{MARK},c{MARK}\n1,2\n3,4\n")
    refused(lambda: read_owners([one, two]), two)
    refused(lambda: read_inputs([one], two), two)


def test_counts_name_columns_of_the_schema_only(tmp_path: Path) -> None:
    path = tmp_path / "north.csv"
    path.write_text(f"{MARK},size\n{MARK},1\n")
    refused(lambda: check(path, STRICT), path)


def test_of_other_errors_the_kind_alone_is_told() -> None:
    assert reason(ValueError(MARK)) == "failed with ValueError"
    assert reason(DpsummError("'n' (~/a.csv): bad"), ["~/a.csv", ""]) == "'n' (...): bad"
    assert reason(DpsummError("data in data/x, not here"), ["a"]) == "data in data/x, not here"


def test_decimals_of_pandas_are_refused_with_the_way_out_that_is_accepted():
    held = pd.DataFrame({"a": [Decimal(i) / 8 for i in range(9)], "b": range(9)})
    with pytest.raises(DpsummError, match=r"column 'a' .*, or make it numbers by astype\(float\)$"):
        read_owners([held])
    (table,) = read_owners([held.astype({"a": float})])
    assert table.values[:, 0].tolist() == [i / 8 for i in range(9)]

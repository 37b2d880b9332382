"""Values that a library holds in another type, or merges, because of another record.

Each case has fields of which one record's is odd: it makes the library that reads them choose
another type for the column. Either the other records keep their codes, or a table is refused.
"""

import io
import tempfile
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pytest

from dpsumm.data.column import Column
from dpsumm.data.inputs import read_table
from dpsumm.data.kinds.along import joined
from dpsumm.data.kinds.label import labels_of
from dpsumm.data.records import Records
from dpsumm.data.schema import Schema
from dpsumm.errors import InvalidDataError, InvalidParameterError

DAYS = (date(1990, 1, 1), date(2030, 1, 1))


def by_csv(text: str) -> pa.Table:
    options = pyarrow.csv.ConvertOptions(strings_can_be_null=True)
    return pyarrow.csv.read_csv(io.BytesIO(text.encode()), convert_options=options)


def by_duckdb(text: str) -> pa.Table:
    with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
        file.write(text)
        file.flush()
        return (
            duckdb.sql(f"SELECT * FROM read_csv('{file.name}', header = true)").arrow().read_all()
        )


GUESSING: dict[str, Callable[[str], Any]] = {
    "pandas": lambda text: pd.read_csv(io.StringIO(text)),
    "polars": lambda text: pl.read_csv(
        text.encode(), infer_schema_length=None, try_parse_dates=True
    ),
    "pyarrow": by_csv,
    "pyarrow, text is never null": lambda text: pyarrow.csv.read_csv(io.BytesIO(text.encode())),
    "DuckDB": by_duckdb,
}
# Such as a user may choose in place of the usual ones, which have nan and NA.
FEW = {"missing": ("?",), "when_missing": "encode"}
MISSING = ("nan", "NaN", "-nan", "NA", "null", "n/a", "N/A", "NULL")
TRUTH = ("1", "0", "1")  # pyarrow takes these for truth values beside a word for one
CASES = [
    # Column, the others' fields, odd ones.
    *(
        (Column("a", categories=known, other=other, **FEW), (text, "2"), ("1", "A", "2"))
        for text in MISSING
        for known, other in (((1, 2), 0), (("1", "2"), "o"), (("A", "2"), "o"), (("NA", "2"), "o"))
    ),
    (Column("a", bounds=(0, 1), **FEW), ("nan", "1"), ("0.5", "?")),
    (Column("a", categories=("1", "0", "x")), TRUTH, ("true", "x", "FALSE")),
    (Column("a", categories=("True", "False"), other="o"), TRUTH, ("true", "2", "x")),
    (Column("a", categories=("1", "True"), other="o"), TRUTH, ("true", "2", "x")),
    (Column("a", categories=("1", "2"), other="o"), TRUTH, ("true", "2", "x")),
    (
        Column("a", categories=("True", "no"), other="o", missing=("1",), when_missing="encode"),
        TRUTH,
        ("true", "2", "x"),
    ),
    (
        Column("a", categories=(False, True), missing=("1", "?"), when_missing="encode"),
        TRUTH,
        ("true", "?", "1"),
    ),
    (
        Column("a", categories=(1, 2), missing=("1.0", "?"), when_missing="encode"),
        ("1.0", "2.0"),
        ("?", "2.0"),
    ),
    (
        Column("a", categories=("-9.0", "2"), missing=(-9,), other="o", when_missing="encode"),
        ("-9.0", "-9.0"),
        ("x", "-9.0"),
    ),
    (
        Column("a", bounds=DAYS, missing=("1900-01-01", "?"), when_missing="encode"),
        ("1900-01-01", "2001-02-03"),
        ("?", "2000-01-01", "2000-01-01T00:00:00"),
    ),
    (
        Column("a", bounds=(-1, 1), missing=("?",), when_missing="encode"),
        ("-0", "1"),
        ("0.5", "?", "1"),
    ),
]


def codes(library: str, column: Column, fields: list[str]) -> bytes | None:
    """Return the bits of all values but the first; None if the table is refused."""
    text = "other,a\n" + "".join(f"1,{field}\n" for field in fields)
    try:
        schema = Schema([Column("other"), column])
        return read_table(GUESSING[library](text), name="n", schema=schema).values[1:].tobytes()
    except InvalidDataError:
        return None


@pytest.mark.parametrize("library", GUESSING)
@pytest.mark.parametrize(("column", "others", "odd"), CASES)
def test_no_odd_field_changes_what_the_others_mean(
    library: str, column: Column, others: tuple[str, ...], odd: tuple[str, ...]
) -> None:
    found = {codes(library, column, [first, *others]) for first in (others[0], *odd)} - {None}
    assert len(found) == 1


@pytest.mark.parametrize("name", ["nan", "NaN", " -nan "])
def test_what_a_library_may_hold_as_no_number_is_no_category(name: str) -> None:
    with pytest.raises(InvalidParameterError, match="'nan' is no category"):
        Column("a", categories=(name, "x"))


@pytest.mark.parametrize("library", GUESSING)
def test_no_odd_label_makes_nan_a_label(library: str) -> None:
    label = Column("y", "label", missing=(), when_missing="drop")
    rows = [
        read_table(
            GUESSING[library](f"a,y\n1,{odd}\n1,nan\n1,2\n"),
            name="n",
            schema=Schema([Column("a"), label]),
        ).rows
        for odd in ("1", "x")
    ]
    assert rows[0].tolist() == rows[1].tolist() == [0, 2]


@pytest.mark.parametrize("library", GUESSING)
@pytest.mark.parametrize("marks", [("true",), ("TRUE", "True", "true", "1", "x"), ("1", "x")])
def test_no_odd_label_changes_which_labels_are_missing(
    library: str, marks: tuple[str, ...]
) -> None:
    label = Column("y", "label", missing=marks, when_missing="drop")
    found = set()
    for odd in ("x", "false", "true", "0"):
        text = "a,y\n" + "".join(f"1,{field}\n" for field in ("true", "false", "true", odd))
        try:
            schema = Schema([Column("a"), label])
            rows = read_table(GUESSING[library](text), name="n", schema=schema).rows
        except InvalidDataError:
            continue
        found.add(frozenset(row for row in rows.tolist() if row < 3))
    assert len(found) <= 1


def test_a_mark_of_a_date_is_one_in_an_array_too() -> None:
    column = Column("a", bounds=DAYS, missing=("1990-01-03",), when_missing="encode")
    day = (date(1990, 1, 3) - date(1970, 1, 1)).days
    table = read_table(np.array([[day], [day + 1.0]]), name="n", schema=Schema([column]))
    assert np.isnan(table.values[:, 0]).tolist() == [True, False]


MOMENT = datetime(2019, 12, 31, 23, 30, tzinfo=UTC)
EAST = MOMENT.astimezone(timezone(timedelta(hours=1)))  # the same moment, another day
CATEGORY = Column("a", categories=("1", "x"), other="o", when_missing="encode")
DAY = Column("a", bounds=DAYS, when_missing="encode")
MERGED = [
    (CATEGORY, [True, 1, 1]),
    (CATEGORY, ["x", b"x"]),
    (DAY, [MOMENT, EAST]),
    (Column("a", bounds=(0, 9)), [1, 2]),
    # A fraction is no number alone, and the library makes it the 1 that came first.
    (Column("a", bounds=(0, 9)), [1, Fraction(1)]),
    (Column("a", categories=(0, 1)), [1, 1 + 0j]),
]


@pytest.mark.parametrize(("column", "items"), MERGED)
def test_categories_that_are_not_text_are_refused(column: Column, items: list[Any]) -> None:
    frame = pd.DataFrame({"a": pd.Series(items, dtype=object).astype("category")})
    for schema in (Schema([column]), Schema([Column("b"), Column("a", "label")])):
        with pytest.raises(InvalidDataError, match="type Categorical"):
            read_table(frame.assign(b=1.0), name="n", schema=schema)


def test_a_dictionary_of_numbers_is_refused_and_one_of_text_is_read() -> None:
    schema = Schema([CATEGORY])
    for items in ([1, 2], [b"x", b"y"], [date(2020, 1, 1)]):
        frame = pa.table({"a": pa.array(items).dictionary_encode()})
        with pytest.raises(InvalidDataError, match="Convert it to numbers, text or dates"):
            read_table(frame, name="n", schema=schema)
    parts = [pa.array(x).dictionary_encode() for x in (["x", "1", None], ["1", "y", "x"])]
    table = read_table(pa.table({"a": pa.chunked_array(parts)}), name="n", schema=schema)
    expected = [1, 0, np.nan, 0, 2, 1]
    np.testing.assert_array_equal(table.values[:, 0], expected)


@pytest.mark.parametrize("odd", [b"x", MOMENT, date(2020, 1, 1), 1j, object(), ("x",)])
@pytest.mark.parametrize("categories", [("1", "x"), (1, 2)])
def test_what_is_no_text_and_no_number_is_no_category(odd: Any, categories: Any) -> None:
    """As in a column that holds nothing else, whose type is refused."""
    frame = pd.DataFrame({"a": pd.Series([categories[0], odd], dtype=object)})
    other = "o" if isinstance(categories[0], str) else 7
    column = Column("a", categories=categories, other=other)
    with pytest.raises(InvalidDataError, match="no category"):
        read_table(frame, name="n", schema=Schema([column]))


@pytest.mark.parametrize("zero", [-0.0, 0.0, "-0", Decimal("-0.0")])
def test_zero_has_one_sign_whichever_came_first(zero: Any) -> None:
    column = Column("a", bounds=(-1, 1), missing=("?",), when_missing="encode")
    frame = pd.DataFrame({"a": pd.Series([zero, -0.0, 0.0, "?"], dtype=object)})
    table = read_table(frame, name="n", schema=Schema([column]))
    assert not np.signbit(table.values[:3]).any()


@pytest.mark.parametrize("other", [-0.0, 0.0, 7.0, "text", Decimal("-0.0")])
def test_zero_is_one_label_whichever_comes_last(other: Any) -> None:
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0], "y": pd.Series([0.0, -0.0, other], dtype=object)})
    table = read_table(frame, name="n", schema=Schema([Column("x"), Column("y", "label")]))
    assert table.labels is not None
    assert not np.signbit([float(label) for label in table.labels[:2]]).any()


@pytest.mark.parametrize("dtype", [float, object])
def test_zero_is_one_label_whatever_type_others_make_the_column(dtype: Any) -> None:
    labels = pd.Series([-0.0, 0.0, 1.5], dtype=dtype)
    pair = np.ones((3, 1)), labels.to_numpy()
    schema = Schema([Column("x"), Column("y", "label")])
    for source in (pd.DataFrame({"x": 1.0, "y": labels}), pair):
        table = read_table(source, name="n", schema=schema)
        assert table.labels is not None
        assert not np.signbit(table.labels[:2].astype(float)).any()


LARGE = [2**53 + 1, 2**63 + 1, 2**64 - 1]


@pytest.mark.parametrize("number", LARGE)
def test_large_labels_stay_what_they_are(number: int) -> None:
    schema = Schema([Column("x"), Column("id", "ignore"), Column("y", "label")])
    frame = pl.DataFrame(
        {"x": [1.0, 2.0], "id": [number, 5], "y": [number, 5]},
        schema_overrides={"id": pl.UInt64, "y": pl.UInt64},
    )
    table = read_table(frame, name="n", schema=schema)
    assert table.labels is not None
    assert str(table.labels[0]) == str(table.carried[0][0]) == str(number)


@pytest.mark.parametrize(
    "others", [np.array([0.5]), np.array([3], np.uint64), np.array([2**63 + 1], np.uint64)]
)
def test_another_owner_s_labels_round_none(others: Any) -> None:
    number = 2**53 + 1
    labels = joined([np.array([number, -number]), others])
    assert [str(label) for label in labels] == [str(number), str(-number), str(others[0])]
    parts = [Records(np.arange(len(x)), np.zeros((len(x), 1)), x) for x in (labels[:2], others)]
    found = Records.concat(parts).labels
    assert found is not None
    assert found.tolist() == labels.tolist()


def test_labels_that_do_not_round_stay_numbers() -> None:
    for parts in ([np.array([1, 2]), np.array([0.5])], [np.array([True]), np.array([3])]):
        labels = labels_of(joined(parts).tolist())
        assert labels.dtype.kind in "if"

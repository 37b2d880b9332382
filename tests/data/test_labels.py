"""A label is what it is by itself, in every source; so is a column that travels along."""

import io
import math
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpsumm
from dpsumm.data.column import Column
from dpsumm.data.inputs import read_owners, read_table
from dpsumm.data.kinds.along import joined, typed
from dpsumm.data.kinds.items import text_of
from dpsumm.data.kinds.label import are_distinct, label_of, labels_of, places_of
from dpsumm.data.schema import Schema
from dpsumm.errors import InvalidDataError, InvalidParameterError
from dpsumm.summary.protocols.owner import points_of
from helpers.effort import examples

TEXTS = ("1", "1.0", "2", "0.5", "1.50", "-3", "1e3", "1e-05", "007", "12e4", "A", "True", "x y")
TEXTS += ("9007199254740993", "18446744073709551616", "true", "٣", "2020-01-31")
SCHEMA = Schema([Column("x"), Column("note", "ignore"), Column("y", "label", when_missing="drop")])


def by_path(tmp_path: Path, suffix: str, columns: dict[str, list[str]]) -> Path:
    path = tmp_path / f"north.{suffix}"
    frame = pl.DataFrame(columns)
    frame.write_csv(path) if suffix == "csv" else frame.write_parquet(path)
    return path


SOURCES: dict[str, Callable[[Path, dict[str, list[str]]], Any]] = {
    "csv": lambda at, columns: by_path(at, "csv", columns),
    "parquet": lambda at, columns: by_path(at, "parquet", columns),
    "pandas": lambda at, columns: pd.DataFrame(columns),
    "polars": lambda at, columns: pl.DataFrame(columns),
    "pyarrow": lambda at, columns: pa.table(columns),
    # These choose types by all fields.
    "pandas guess": lambda at, columns: pd.read_csv(io.StringIO(pl.DataFrame(columns).write_csv())),
    "polars guess": lambda at, columns: pl.read_csv(
        pl.DataFrame(columns).write_csv().encode(), infer_schema_length=None
    ),
}


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize(
    "others", [("1", "2", "-3"), ("1.0", "0.5", "2"), ("True", "FALSE", "true")]
)
@pytest.mark.parametrize("odd", ["A", "007", "9007199254740993", "0.5", ""])
def test_no_label_changes_another(
    tmp_path: Path, source: str, others: tuple[str, ...], odd: str
) -> None:
    """As it was: one text among numbers made all of an owner's labels text."""
    found = []
    for last in (others[0], odd):
        labels = [*others, last]
        columns = {"x": ["1"] * len(labels), "note": labels, "y": labels}
        try:
            table = read_table(SOURCES[source](tmp_path, columns), name="n", schema=SCHEMA)
        except InvalidDataError:
            assert source in ("pandas", "polars", "pyarrow", "parquet")  # text is no number
            columns["x"] = [1.0] * len(labels)  # type: ignore[list-item]
            table = read_table(SOURCES[source](tmp_path, columns), name="n", schema=SCHEMA)
        assert table.labels is not None
        # And as a message.
        sent = points_of(table, np.arange(len(table)))
        assert sent.labels is not None
        assert labels_of(sent.labels.tolist()).tolist() == table.labels.tolist()
        found.append(table.labels.tolist()[: len(others)])
    assert found[0] == found[1] == [label_of(text) for text in others]


@pytest.mark.parametrize("labels", [["1", "2"], [1, 2], [1.0, 2.0], [True, 2], ["1.0", "2"]])
def test_owners_of_other_types_have_the_same_labels(labels: list[Any]) -> None:
    """As it was: owners whose labels a library holds as text and as numbers were all refused."""
    points = np.linspace(0, 1, 40).reshape(20, 2)
    one = (points, np.array(labels * 10, dtype=object))
    two = (points, np.array(["1", "A"] * 10))
    summary = dpsumm.summarize(
        {"one": one, "two": two},
        points,
        size=40,
        protocol=dpsumm.Pool(),
        kernel=dpsumm.RBF(1),
        seed=1,
    )
    assert summary.labels is not None
    by_owner = [set(summary.labels[summary.owner == i].tolist()) for i in (0, 1)]
    assert by_owner == [{1, 2}, {1, "A"}]
    for library in ("pandas", "polars", "pyarrow"):  # which hold one type in a column
        assert len(summary.to_frame(library)) == 40


def test_numbers_alone_stay_numbers() -> None:
    for items, kind in (
        ([1, 2], "i"),
        (["1", "2"], "i"),
        ([1, 0.5], "f"),
        ([True, False], "b"),
        ([True, 3], "i"),
        (["a", "1x"], "U"),
        ([2**53 + 1, 0.5], "O"),
        (["a", 1], "O"),
        ([2**63, 1], "O"),
    ):
        labels = labels_of(items)
        assert labels.dtype.kind == kind
        assert labels.tolist() == [label_of(item) for item in items]


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("1.50", 1.5),
        (" 2 ", 2),
        ("+2", 2),
        ("1e-05", 1e-5),
        ("1e3", "1e3"),
        ("12e4", "12e4"),
        ("007", "007"),
        ("-007", "-007"),
        ("1_0", "1_0"),
        ("٣", "٣"),
        ("nan", "nan"),
        ("True", True),
        ("true", True),
        ("FALSE", False),
        ("tRue", "tRue"),
        ("9007199254740993", 9007199254740993),
    ],
)
def test_what_a_text_is(text: str, label: Any) -> None:
    assert label_of(text) == label
    assert type(label_of(text)) is type(label)


LABEL = st.one_of(
    st.sampled_from(TEXTS),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.booleans(),
)


@examples(50)
@given(st.lists(LABEL, min_size=1, max_size=6))
def test_the_way_to_the_consumer_changes_no_label(items: list[Any]) -> None:
    """Of whatever types owners send it, alone and together."""
    alone = [label_of(item) for item in items]
    assert labels_of(items).tolist() == alone
    assert labels_of(joined([labels_of([item]) for item in items]).tolist()).tolist() == alone
    assert [label_of(text_of(label)) for label in alone] == alone
    classes = list(dict.fromkeys(alone))
    assert places_of(labels_of(items), classes).tolist() == [classes.index(x) for x in alone]


def test_a_label_that_lists_its_categories_is_one_of_them() -> None:
    """So codes stay text, and what is in no category is refused or counts as `other`."""
    label = Column("y", "label", categories=("5", "250.10", "250.1"), other="else")
    frame = pd.DataFrame({"x": [1.0] * 4, "y": ["5", "250.10", "250.1", "secret"]})
    points = np.array([[0.0], [1.0]])
    summary = dpsumm.summarize(
        [frame], points, size=4, schema=Schema([Column("x", bounds=(0, 1)), label]), seed=1,
        protocol=dpsumm.Pool(),
    )  # fmt: skip
    assert summary.labels is not None
    assert sorted(summary.labels.tolist()) == ["250.1", "250.10", "5", "else"]
    strict = Schema([Column("x"), Column("y", "label", categories=("5", "250.10", "250.1"))])
    with pytest.raises(InvalidDataError, match="none of the schema's categories") as caught:
        read_table(frame, name="n", schema=strict)
    assert "secret" not in str(caught.value)
    for values, found in (([5, 5], ["5", "5"]), (["5", None], None)):
        part = pd.DataFrame({"x": [1.0, 1.0], "y": values})
        if found is None:
            with pytest.raises(InvalidDataError, match="labels are missing"):
                read_table(part, name="n", schema=Schema([Column("x"), replace_other(label)]))
        else:
            with pytest.raises(InvalidDataError, match="none of the schema's categories"):
                read_table(part, name="n", schema=Schema([Column("x"), label]))
    numbers = Column("y", "label", categories=(1, 2))
    for values in ([1, 2], ["1.0", 2], ["1", "2"]):
        part = pd.DataFrame({"x": [1.0, 1.0], "y": pd.Series(values, dtype=object)})
        table = read_table(part, name="n", schema=Schema([Column("x"), numbers]))
        assert table.labels is not None
        assert table.labels.tolist() == [1, 2]
    with pytest.raises(InvalidParameterError, match="other needs categories"):
        Column("y", "label", other="x")


def test_a_mark_that_is_one_of_the_words_for_a_truth_value_refuses_truth_values() -> None:
    """Beside a null a library holds them as objects, alone as truth values, beside text as text."""
    schema = Schema([Column("x"), Column("y", "label", missing=("True",), when_missing="drop")])
    for labels in ([True, False], [True, None], pd.array([True, None], dtype="boolean")):
        frame = pd.DataFrame({"x": [1.0, 2.0], "y": pd.Series(labels)})
        with pytest.raises(InvalidDataError, match="holds truth values, and missing has some"):
            read_table(frame, name="n", schema=schema)
    every = Column("y", "label", missing=("True", "true", "TRUE", 1), when_missing="drop")
    for labels in ([True, False], [True, None, False], ["TRUE", "False"], [1, 0]):
        frame = pd.DataFrame({"x": 1.0, "y": pd.Series(labels, dtype=object)})
        table = read_table(frame, name="n", schema=Schema([Column("x"), every]))
        assert table.labels is not None
        assert table.labels.tolist() == [False]


def is_nan(item: Any) -> bool:
    return isinstance(item, float) and np.isnan(item)


def replace_other(label: Column) -> Column:
    return Column("y", "label", categories=label.categories, other=label.other)


@pytest.mark.parametrize("labels", [["a", "b\0"], ["a\0", "a"]])
def test_a_nul_character_is_refused(labels: list[str]) -> None:
    """At the end of a text an array drops it, so that two labels were one."""
    frame = pd.DataFrame({"x": [1.0, 2.0], "note": ["a", "b"], "y": labels})
    for name in ("y", "note"):
        given = frame.assign(**{"y": "a", name: labels})
        with pytest.raises(InvalidDataError, match="NUL character"):
            read_table(given, name="n", schema=SCHEMA)
    with pytest.raises(InvalidDataError, match="NUL character"):
        read_table((np.ones((2, 1)), np.array(labels, dtype=object)), name="n")


@pytest.mark.parametrize("text", ["inf", "-Infinity", "1e400"])
def test_an_infinite_label_is_refused_as_text_too(text: str) -> None:
    """Beside text a library leaves it text, beside numbers it makes a number of it."""
    for items in ([text, "A"], [text, "1"], [np.inf, 1.0]):
        frame = pd.DataFrame({"x": [1.0, 2.0], "note": "a", "y": items})
        with pytest.raises(InvalidDataError, match="labels are infinite"):
            read_table(frame, name="n", schema=SCHEMA)


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["1", "-2", "0"], [1, -2, 0]),
        (["1", "", "3"], ["1", "", "3"]),
        (["1.5", "", "3.0"], [1.5, None, 3.0]),
        (["1", "2.5"], [1.0, 2.5]),
        (["1.0", "2.5", "1e-05"], [1.0, 2.5, 1e-5]),
        (["True", "False"], [True, False]),
        (["250.10", "250.1"], ["250.10", "250.1"]),
        (["1", "1.0"], ["1", "1.0"]),
        (["007", "8"], ["007", "8"]),
        (["12e4", "5"], ["12e4", "5"]),
        (["9007199254740993", ""], ["9007199254740993", ""]),
        (["9007199254740993", "1"], [9007199254740993, 1]),
        (["18446744073709551616", "1"], ["18446744073709551616", "1"]),
        (["-0", "1"], ["-0", "1"]),
        (["True", ""], ["True", ""]),
        (["", ""], ["", ""]),
    ],
)
def test_a_column_that_travels_along_gets_a_type_that_keeps_every_text(
    texts: list[str], expected: list[Any]
) -> None:
    for array in (np.array(texts), np.array(texts, dtype=object)):
        found = [None if is_nan(item) else item for item in typed(array).tolist()]
        assert found == expected
        if not all(isinstance(item, str) for item in expected):
            spelled = {str: str, int: str, bool: str, float: text_of}
            for item, text in zip(found, texts, strict=True):
                assert item is None or text in (repr(item), spelled[type(item)](item))


@pytest.mark.parametrize("value", [5, 0.25, True, date(2020, 1, 31), datetime(2020, 1, 31, 7)])
@pytest.mark.parametrize("other", [None, "A", 7.5])
def test_no_value_that_travels_along_changes_another(value: Any, other: Any) -> None:
    """As it was: a null made 5 to 5.0, and a truth value to text, whatever text came beside it."""
    texts = set()
    for last in (value, other):
        frame = pd.DataFrame({"x": [1.0, 2.0], "note": [value, last], "y": ["a", "b"]})
        owners = read_owners([frame, frame.assign(note="text")], schema=SCHEMA)
        texts.add(str(joined([table.head.carried[0] for table in owners]).tolist()[0]))
    assert texts == {text_of(value)}


@pytest.mark.parametrize(
    ("spelled", "text"),
    [
        ("1.10", "1.1"),
        ("2.00", "2"),
        ("1E+3", "1000"),
        ("-0.0", "0"),
        ("9007199254740993", "9007199254740993"),
        ("12345678901234567890.10", "12345678901234567890.1"),
    ],
)
@pytest.mark.parametrize("other", [Decimal(2), Decimal("0.001"), None, True, "A", 2.5])
def test_a_decimal_that_travels_along_has_one_text(spelled: str, text: str, other: Any) -> None:
    """Beside another decimal it was a float, beside a truth value its digits with all zeros."""
    schema, value = Schema([Column("x"), Column("note", "ignore")]), Decimal(spelled)
    for library in (pl.DataFrame, pd.DataFrame):
        lax = {"strict": False} if library is pl.DataFrame else {}
        frame = library({"x": [1.0, 2.0], "note": [value, other]}, **lax)
        held = frame["note"].to_list()[0]
        if isinstance(held, Decimal) and held == value:  # else the library rounded it
            first = read_table(frame, name="n", schema=schema).carried[0].tolist()[0]
            assert text_of(first) == text


def test_the_text_of_a_decimal_is_that_of_the_same_number() -> None:
    for number in (0.1, -2.5, 3.0, 1e-7, 1e300, 0.1 + 0.2, math.inf):
        assert text_of(Decimal(repr(number))) == text_of(number)
    for far in ("1E+1000000", "1E-999999999"):
        assert text_of(Decimal(far)) == far
    assert text_of(Decimal("0E+999999")) == "0"
    assert text_of(Decimal("NaN")) == text_of(Decimal("sNaN")) == ""


@pytest.mark.parametrize("marks", [("-9",), (-9,)])
def test_a_mark_means_missing_in_numbers_and_in_text(marks: tuple[Any, ...]) -> None:
    schema = Schema([Column("x"), Column("note", "ignore", missing=marks)])
    for notes in ([-9, 1], ["-9", "A"], ["-9.0", "1"], [-9.0, 0.5], [-9, None]):
        frame = pd.DataFrame({"x": [1.0, 2.0], "note": pd.Series(notes)})
        first = read_table(frame, name="n", schema=schema).carried[0][0]
        assert first == "" or np.isnan(first)


@pytest.mark.parametrize(
    "empty", [pd.Series([None, None], dtype=object), pl.Series([None, None]), pa.nulls(2)]
)
def test_a_column_without_any_value_is_one_of_missing_ones(empty: Any) -> None:
    """One value of another record made the same column readable."""
    frame = {pd.Series: pd.DataFrame, pl.Series: pl.DataFrame}.get(type(empty), pa.table)(
        {"x": empty, "z": [1.0, 2.0]}
    )
    encoded = Schema([Column("x", bounds=(0, 1), missing=(), when_missing="encode"), Column("z")])
    assert np.isnan(read_table(frame, name="n", schema=encoded).values[:, 0]).all()
    with pytest.raises(InvalidDataError, match="has missing values"):
        read_table(frame, name="n", schema=Schema([Column("x"), Column("z")]))


@pytest.mark.parametrize("field", ["a\rb", "q" * 140_000, '"a\rb"'])
def test_an_empty_last_field_refuses_no_other_record(tmp_path: Path, field: str) -> None:
    """Rows are counted again for its sake: by rules that are no stricter than the reader's."""
    for last in ("1", ""):
        (tmp_path / "n.csv").write_bytes(f"x,z,y\n1,{field},1\n2,b,{last}\n".encode())
        schema = Schema([Column("x"), Column("y", bounds=(0, 2), when_missing="encode")])
        values = read_table(tmp_path / "n.csv", name="n", schema=schema).values
        assert values[0].tolist() == [1, 1]
        assert len(values) == 2
    (tmp_path / "n.csv").write_bytes(b'x,z,y\n1,"a\n,b",1\n2,b\n')  # a short row
    with pytest.raises(InvalidDataError, match="not a well-formed"):
        read_table(tmp_path / "n.csv", name="n", schema=Schema([Column("x"), Column("y")]))


def test_classes_are_distinct_as_labels_are() -> None:
    assert are_distinct(["a", "1", 2, True]) is False  # "1" and True
    assert are_distinct(["01", "1"])
    assert places_of(np.array(["1", "b", "01", "1.0"]), [1, "01"]).tolist() == [0, -1, 1, 0]
    assert places_of(np.array([[1], None, 1j], dtype=object), [1, 2]).tolist() == [-1, -1, -1]


def test_the_two_times_of_an_hour_that_comes_twice_are_two_labels() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    first, second = (datetime(2024, 10, 27, 2, 30, fold=fold, tzinfo=berlin) for fold in (0, 1))
    alone, apart = labels_of([first]), labels_of([first, second])
    assert apart[0] == alone[0] != apart[1]

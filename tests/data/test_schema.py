"""The schema: its own rules, its file, and the kernel's space that follows from it."""

from __future__ import annotations

import datetime as dt
import itertools
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsumm import RBF, Column, Schema
from dpsumm.basics.visible import visible
from dpsumm.data import WhenMissing
from dpsumm.data.frame import as_series
from dpsumm.data.inputs import read_table
from dpsumm.data.kinds.items import spells_nan
from dpsumm.data.schema import FEW
from dpsumm.data.schema_toml import to_toml
from dpsumm.errors import InvalidParameterError

YEARS = (dt.date(2000, 1, 1), dt.date(2020, 1, 1))
MIXED = Schema(
    [
        Column("note", "ignore"),
        Column("age", bounds=(20, 90), when_missing="encode"),
        Column("sex", categories=("f", "m"), other="x", when_missing="encode", weight=3),
        Column("pain", categories=("no", "some", "bad"), ordered=True, when_missing="encode"),
        Column("grade", categories=(1, 2, 3, 4), ordered=True, other=9, weight=0.5),
        Column("visit", bounds=YEARS),
        Column("raw"),
        Column("y", "label", when_missing="drop"),
    ]
)


def slow(schema: Schema, row: list[float]) -> list[float]:
    """One record in the kernel's space, as the documentation says it."""
    point: list[float] = []
    for column, x in zip(schema.kernel, row, strict=True):
        w, k = column.weight, len(column.categories)
        missing = math.isnan(x)
        if k and not column.ordered:
            n_cells = k + (column.other is not None) + column.encodes_missing
            cells = [0.0] * n_cells
            cells[-1 if missing else int(x)] = w / math.sqrt(2)
        else:
            if k:
                positions = [i / (k - 1) for i in range(k)]
                place = 0.5 if missing or x == k else x / (k - 1)
                deviation = float(np.std(positions))
            elif column.limits:
                low, high = column.limits
                place = 0.5 if missing else (min(max(x, low), high) - low) / (high - low)
                deviation = math.sqrt(1 / 12)
            else:
                place, deviation = x, math.nan
            cells = [w * place]
            if column.other is not None:
                cells.append(w * deviation if x == k else 0.0)
            if column.encodes_missing:
                cells.append(w * deviation if missing else 0.0)
        point += cells
    return point


@st.composite
def rows(draw: Any) -> list[list[float]]:
    def value(column: Column) -> st.SearchStrategy[float]:
        if column.categories:
            codes = st.integers(0, len(column.categories) - (column.other is None)).map(float)
        else:
            codes = st.floats(-1e5, 1e5)
        return codes | st.just(math.nan) if column.encodes_missing else codes

    return draw(st.lists(st.tuples(*map(value, MIXED.kernel)).map(list), min_size=1, max_size=6))


@given(rows())
def test_encoding_is_that_of_the_documentation(given_rows: list[list[float]]) -> None:
    values = np.array(given_rows)
    assert MIXED.fits(values)
    scaled = MIXED.encode(values)
    n_clipped = [kind.n_clipped(x) for kind, x in zip(MIXED.seen, values.T, strict=True)]
    np.testing.assert_allclose(scaled, [slow(MIXED, row) for row in given_rows], rtol=1e-12)
    assert scaled.shape == (len(values), len(MIXED.cells))
    assert np.isfinite(scaled).all()
    outside = [(row[0] < 20) or (row[0] > 90) for row in given_rows]
    assert n_clipped[0] == sum(outside)
    assert n_clipped[1:4] == [0, 0, 0]


@given(rows(), st.sampled_from([np.float32, np.float64]))
def test_a_record_s_point_depends_on_that_record_alone(
    given_rows: list[list[float]], dtype: Any
) -> None:
    values = np.array(given_rows, dtype)
    together = MIXED.encode(values)
    assert together.dtype == dtype
    for row, point in zip(values, together, strict=True):
        np.testing.assert_array_equal(MIXED.encode(row[None])[0], point)


@given(rows(), st.sampled_from([np.float32, np.float64]))
def test_few_rows_are_encoded_as_many_are(given_rows: list[list[float]], dtype: Any) -> None:
    values = np.array(given_rows, dtype)
    few = MIXED.encode(values)
    times = FEW // len(values) + 1
    many = MIXED.encode(np.tile(values, (times, 1)))
    np.testing.assert_array_equal(many[-len(values) :], few)


def test_cells_are_named_in_their_order() -> None:
    assert MIXED.cells == (
        *("age", "age missing", "sex=f", "sex=m", "sex=x", "sex missing", "pain", "pain missing"),
        *("grade", "grade=9", "visit", "raw"),
    )
    assert MIXED.names == ("age", "sex", "pain", "grade", "visit", "raw")
    assert [column.name for column in MIXED.carried] == ["note"]
    assert MIXED.label is not None
    assert MIXED.label.name == "y"
    assert MIXED.for_target().columns == MIXED.kernel


@pytest.mark.parametrize("weight", [0.3, 1, 5])
def test_two_categories_are_at_distance_weight(weight: float) -> None:
    schema = Schema(
        [Column("c", categories=("a", "b", "c"), other="o", when_missing="encode", weight=weight)]
    )
    points = schema.encode(np.array([[0.0], [1], [2], [3], [np.nan]]))
    for one, two in itertools.combinations(points, 2):
        assert np.linalg.norm(one - two) == pytest.approx(weight)
    low_high = Schema([Column("x", bounds=(-3, 8), weight=weight)]).encode(
        np.array([[-3.0], [8.0]])
    )
    assert abs(low_high[0] - low_high[1]).item() == pytest.approx(weight)


@pytest.mark.parametrize(
    "column",
    [
        Column("x", bounds=(-4, 8), when_missing="encode", weight=2),
        Column("x", categories=(1, 2, 5), ordered=True, when_missing="encode", weight=0.7),
        Column("x", categories=(False, True), ordered=True, when_missing="encode"),
    ],
)
def test_a_missing_value_is_as_far_as_two_values_are(column: Column) -> None:
    schema = Schema([column])
    k = len(column.categories)
    # Midpoints of 2000 cells: their variance is that of the uniform law to 1e-6.
    uniform = np.arange(k) if k else -4 + 12 * (np.arange(2000) + 0.5) / 2000
    values = schema.encode(uniform.astype(float)[:, None])
    [missing] = schema.encode(np.array([[np.nan]]))
    between = np.mean((values[:, None] - values[None]) ** 2) * values.shape[1]
    to_missing = np.mean(np.sum((values - missing) ** 2, axis=1))
    assert to_missing == pytest.approx(between, rel=1e-5)
    assert schema.worth == pytest.approx(6 * between, rel=1e-5)


def test_bandwidth_is_the_mean_squared_distance_of_uniform_records(rng: Any) -> None:
    schema = Schema(column for column in MIXED.columns if column.name not in ("raw", "note"))
    n = 40_000
    draws = [
        rng.integers(0, len(c.categories), n).astype(float)
        if c.categories
        else rng.uniform(*(c.limits or ()), n)
        for c in schema.kernel
    ]
    points = schema.encode(np.stack(draws, axis=1))
    squared = np.sum((points[: n // 2] - points[n // 2 :]) ** 2, axis=1)
    # Of the mean of 20000: six standard errors.
    error = 6 * squared.std() / math.sqrt(n / 2)
    assert abs(squared.mean() - 1 / RBF.for_schema(schema).gamma) < error
    assert abs(squared.mean() - 1.2 / RBF.for_schema(schema).gamma) > error  # power


@pytest.mark.parametrize("n", [1, 3, 7, 49, 784])
def test_columns_of_numbers_have_the_bandwidth_of_the_unit_box(n: int) -> None:
    schema = Schema([Column(f"x{j}", bounds=(j, j + 5)) for j in range(n)])
    assert RBF.for_schema(schema) == RBF.for_unit_box(n)


def test_no_bandwidth_from_a_space_without_bounds() -> None:
    assert not MIXED.bounded
    with pytest.raises(InvalidParameterError, match="bounds or categories"):
        RBF.for_schema(MIXED)
    with pytest.raises(InvalidParameterError, match="one category only"):
        RBF.for_schema(Schema([Column("x", categories=("a",))]))


def test_whole_numbers_have_no_fractions() -> None:
    schema = Schema([Column("n", bounds=(0, 9), whole=True, when_missing="encode")])
    assert schema.fits(np.array([[3.0], [np.nan], [-(2.0**53)]]))
    for wrong in (0.5, 2.0**54):
        assert not schema.fits(np.array([[wrong]]))


@pytest.mark.parametrize(
    "row",
    [
        [np.nan, 0, 0, 0, 0, np.nan],
        [np.nan, 0, 0, np.nan, 0, 0],
        [50, 3, 0, 0, 0, 0],
        [50, -1, 0, 0, 0, 0],
        [50, 0.5, 0, 0, 0, 0],
        [50, 0, 3, 0, 0, 0],
        [np.inf, 0, 0, 0, 0, 0],
        [1e101, 0, 0, 0, 0, 0],
    ],
)
def test_values_that_are_no_record_do_not_fit(row: list[float]) -> None:
    assert MIXED.fits(np.array([[50.0, 2, 2, 4, 0, 0], [np.nan, np.nan, np.nan, 0, 0, 0]]))
    assert not MIXED.fits(np.array([row, row], float))


# --- refusals ---------------------------------------------------------------------------------

REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"name": " "}, "name"),
    ({"name": "a\0"}, "control characters"),
    ({"kind": "text"}, "kind must be one of 'number', 'category', 'date', 'ignore', 'label'"),
    ({"when_missing": "impute"}, "when_missing must be one of"),
    ({"when_missing": "encode"}, "needs bounds"),
    ({"bounds": (1, 1)}, "low < high"),
    ({"bounds": 3}, "needs a pair"),
    ({"bounds": (YEARS[0], 3)}, "pair of dates"),
    ({"bounds": YEARS[::-1]}, "low < high"),
    ({"bounds": YEARS, "kind": "number"}, "pair of numbers"),
    ({"kind": "date"}, "a date needs bounds"),
    ({"kind": "category"}, "needs categories"),
    ({"categories": "fm"}, "must be a sequence"),
    ({"categories": ("a", 1)}, "all text, all truth values, or all numbers"),
    ({"categories": (True, 1)}, "all text"),
    ({"categories": (1, math.nan)}, "all text"),
    ({"categories": ("a", "a ")}, "distinct"),
    ({"categories": (1, 1.0)}, "distinct"),
    ({"categories": (1, 2**53 + 1)}, "all text"),
    ({"categories": ("a", "")}, "empty text"),
    ({"categories": ("a",), "other": "a"}, "distinct"),
    ({"categories": ("a",), "other": 3}, "all text"),
    ({"categories": ("a",), "ordered": True}, "at least 2"),
    ({"categories": ("a",), "bounds": (0, 1)}, "bounds means nothing for kind 'category'"),
    ({"categories": ("a",), "kind": "number"}, "categories means nothing for kind 'number'"),
    ({"ordered": True}, "ordered means nothing"),
    ({"kind": "ignore", "whole": True}, "whole means nothing"),
    ({"date_format": "%d"}, "date_format means nothing"),
    ({"kind": "ignore", "weight": 2}, "weight means nothing"),
    ({"kind": "ignore", "when_missing": "drop"}, "when_missing means nothing"),
    ({"kind": "label", "when_missing": "encode"}, "label can be refused or dropped"),
    ({"weight": 0}, "weight must be"),
    ({"weight": True}, "weight must be"),
    ({"weight": math.inf}, "weight must be"),
    ({"missing": "?"}, "must be a sequence"),
    ({"missing": (math.nan,)}, "missing must hold"),
    ({"missing": (None,)}, "missing must hold"),
]


@pytest.mark.parametrize(("given", "message"), REFUSED, ids=[str(given) for given, _ in REFUSED])
def test_a_senseless_column_is_refused_by_name(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message) as caught:
        Column(**{"name": "pulse", **given})
    assert "pulse" in str(caught.value) or "name" in given


def test_senseless_schemas_are_refused() -> None:
    one, two = Column("a"), Column("b", "label")
    with pytest.raises(InvalidParameterError, match="kernel sees no column"):
        Schema([two])
    with pytest.raises(InvalidParameterError, match="same name"):
        Schema([one, Column("a", "ignore")])
    with pytest.raises(InvalidParameterError, match="more than one column has kind 'label'"):
        Schema([one, two, Column("c", "label")])
    with pytest.raises(InvalidParameterError, match=r"list of dpsumm\.Column"):
        Schema(["a"])  # type: ignore[list-item]
    with pytest.raises(InvalidParameterError, match="at most 100"):
        Schema([one, *(Column(f"t{i}", "ignore") for i in range(101))])


# --- the file ---------------------------------------------------------------------------------

TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(str.strip)
CATEGORY = TEXT.map(str.strip).filter(lambda text: not spells_nan(text))
NUMBER = st.floats(-(2.0**53), 2.0**53) | st.integers(-(2**53), 2**53)


@st.composite
def columns(draw: Any) -> Column:
    missing = draw(st.lists(st.text() | NUMBER, max_size=3).map(tuple))
    rule = draw(st.sampled_from(["refuse", "drop", "encode"]))
    weight = draw(st.floats(1e-6, 1e6))
    name = draw(TEXT.filter(lambda text: visible(text) == text))
    known: dict[str, Any] = {"name": name, "missing": missing}
    kind = draw(st.sampled_from(["number", "category", "date", "ignore", "label"]))
    if kind == "number":
        pair = draw(st.tuples(st.floats(-1e9, 0), st.floats(1, 1e9)))
        whole = draw(st.booleans())
        return Column(**known, bounds=pair, when_missing=rule, weight=weight, whole=whole)
    if kind == "date":
        pair = draw(st.tuples(st.dates(dt.date(1, 1, 1), dt.date(1999, 1, 1)), st.just(YEARS[1])))
        formats = draw(st.none() | TEXT)
        return Column(**known, bounds=pair, when_missing=rule, weight=weight, date_format=formats)
    if kind == "category":
        values = draw(
            st.lists(CATEGORY, min_size=2, max_size=4, unique=True)
            | st.lists(NUMBER, min_size=2, max_size=4, unique=True)
            | st.just([True, False])
        )
        last = values.pop() if len(values) > 2 and draw(st.booleans()) else None
        ordered = draw(st.booleans())
        return Column(
            **known,
            categories=values,
            other=last,
            ordered=ordered,
            when_missing=rule,
            weight=weight,
        )
    return Column(**known, kind=kind)


@given(st.lists(columns(), max_size=4, unique_by=lambda column: column.name))
def test_a_file_gives_the_same_schema_back(given: list[Column]) -> None:
    labels = [column for column in given if column.kind == "label"]
    kept = [column for column in given if column not in labels[1:]]
    schema = Schema([*kept, Column("the kernel's own column, surely")])
    text = to_toml(schema.columns)
    again = Schema.from_toml(text, "schema.toml")
    assert again == schema
    assert to_toml(again.columns) == text
    for one, two in zip(again.columns, schema.columns, strict=True):
        assert list(map(type, one.categories)) == list(map(type, two.categories))


def test_saved_and_read(tmp_path: Path) -> None:
    path = tmp_path / "schema.toml"
    MIXED.save(path)
    assert Schema.read(path) == MIXED
    assert path.read_text("utf-8").startswith("# The public schema")
    assert WhenMissing(Schema.read(path).columns[1].when_missing) is WhenMissing.ENCODE


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("version = 1\n[columns.a", "not TOML"),
        ("[columns.a]\n", "version = 1"),
        ("version = 2\n[columns.a]\n", "version = 1"),
        ("version = 1\n", r"needs tables such as \[columns.age\]"),
        ("version = 1\ncolumns = [1]\n", "needs tables"),
        ("version = 1\n[columns]\na = 1\n", "must be a table"),
        ("version = 1\nmore = 1\n[columns.a]\n", "unknown 'more'"),
        ("version = 1\n[columns.a]\nbound = [0, 1]\n", "column 'a': unknown 'bound'. Known"),
        ("version = 1\n[columns.a]\nbounds = 3\n", "bounds must be a list"),
        ("version = 1\n[columns.a]\nbounds = [3, 2]\n", "low < high"),
        ('version = 1\n[columns.a]\ncategories = ["x"]\nordered = 1\n', "true or false"),
        ("version = 1\n[columns.a]\nweight = '3'\n", "weight must be a number"),
        ("version = 1\n[columns.a]\nkind = 3\n", "kind must be one of"),
        ("version = 1\n[columns.a]\nmissing = [[1]]\n", "missing must hold"),
        ("version = 1\n[columns.a]\ncategories = [[1]]\n", "all text"),
        ("version = 1\n[columns.a]\nkind='date'\nbounds = [2000-01-01, 10:00:00]\n", "of dates"),
    ],
)
def test_a_wrong_file_is_refused_with_its_name(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "schema.toml"
    path.write_text(text)
    with pytest.raises(InvalidParameterError, match=message) as caught:
        Schema.read(path)
    assert str(path) in str(caught.value)


def test_the_fingerprint_tells_schemas_apart() -> None:
    assert MIXED.fingerprint == Schema(MIXED.columns).fingerprint
    assert len(MIXED.fingerprint) == 12
    others = [
        Schema(MIXED.columns[::-1]),
        Schema(MIXED.columns[1:]),
        MIXED.for_target(),
        Schema([*MIXED.columns[:-2], Column("raw", bounds=(0, 1)), MIXED.columns[-1]]),
        Schema([*MIXED.columns[:-1], Column("y", "label")]),
    ]
    assert len({MIXED.fingerprint, *(schema.fingerprint for schema in others)}) == 6


# --- there and back ---------------------------------------------------------------------------


@given(st.data(), st.sampled_from(["polars", "pandas", "pyarrow"]))
def test_codes_come_back_through_what_users_see(data: Any, backend: Any) -> None:
    column = data.draw(columns().filter(lambda column: column.in_kernel))
    column = replace(column, missing=("?", -1e10))  # no value drawn below
    if column.categories:
        value = st.integers(0, len(column.categories) - (column.other is None)).map(float)
    elif column.kind == "date":
        value = st.integers(-700_000, 2_900_000).map(float)
    else:
        value = st.integers(-(2**53), 2**53).map(float) if column.whole else st.floats(-1e9, 1e9)
    value = value | st.just(math.nan) if column.encodes_missing else value
    codes = np.array(data.draw(st.lists(value, min_size=1, max_size=5)))
    seen = as_series(column.name, *column.how.originals(codes), backend)
    frame = nw.from_dict({column.name: seen}, backend=backend).to_native()
    if backend == "pandas" and column.kind == "date" and np.nanmax([*codes, 0]) > 100_000:
        return  # beyond what pandas can hold in every version
    table = read_table(frame, name="a", schema=Schema([column]))
    kept = codes[~np.isnan(codes)] if column.when_missing == "drop" else codes
    np.testing.assert_array_equal(table.values[:, 0], kept)


@pytest.mark.parametrize("backend", ["polars", "pandas", "pyarrow"])
def test_whole_categories_with_a_fraction_for_the_others_come_back_as_fractions(
    backend: Any,
) -> None:
    column = Column("a", categories=(0, -1), other=1.5)
    seen = as_series("a", *column.how.originals(np.array([0.0, 1.0, 2.0])), backend)
    back = nw.from_dict({"a": seen}, backend=backend)["a"].to_list()
    assert back == [0.0, -1.0, 1.5]


def test_no_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(InvalidParameterError, match=r"no file .*dpsumm schema init"):
        Schema.read(tmp_path / "schema.toml")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")
    for path in (tmp_path, tmp_path / "binary.toml"):
        with pytest.raises(InvalidParameterError, match=r"cannot be read|no text file"):
            Schema.read(path)

"""Mixed tables through a schema: the same from every kind of source, and back as they were."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from dpsumm import Column, Schema, summarize
from dpsumm.data.check import check, draft
from dpsumm.data.inputs import Table, read_table
from dpsumm.errors import InvalidDataError, InvalidParameterError
from dpsumm.report.notes import Severity
from dpsumm.summary import Greedy
from helpers.mixed import SCHEMA

DAY = dt.date
# As a person would type it: spaces, marks of missing values, quotes, a value nobody has heard of.
CSV = """\
note,age,sex,pain,visit,grade,smoker,born,beds,outcome,unused
"fell, hip pain",63,f,some,2001-01-01,1,true,1950-02-03,12,yes,a
, 101 ,m,bad,2021-01-01,3,False,,7,no,b
"said ""hello"" é",?,f,?,2011-01-01,2,NA,1961-12-31,9,no,c
x,44.5,, no,,1.0,true,1900-01-01,1,yes,d
y,-9,unheard-of,no,1990-05-06,7,false,2000-02-29,2,yes,e
z,30,f,no,2002-03-04,1,true,2000-01-01,3,,f
"""
AGE = [63.0, 101.0, None, 44.5, None]
SEX = ["f", "m", "f", None, "other"]
PAIN = ["some", "bad", None, "no", "no"]
VISIT = [DAY(2001, 1, 1), DAY(2021, 1, 1), DAY(2011, 1, 1), None, DAY(1990, 5, 6)]
GRADE = [1, 3, 2, 1, 0]
SMOKER = [True, False, None, True, False]
BORN = [DAY(1950, 2, 3), None, DAY(1961, 12, 31), DAY(1900, 1, 1), DAY(2000, 2, 29)]
NOTE = ["fell, hip pain", None, 'said "hello" é', "x", "y"]
OUTCOME = ["yes", "no", "no", "yes", "yes"]


def polars_frame() -> pl.DataFrame:
    """The table with the types a careful person would give it."""
    raw = {
        "note": [*NOTE, "z"],
        "age": [63.0, 101.0, None, 44.5, -9.0, 30.0],
        "sex": ["f", "m", "f", None, "unheard-of", "f"],
        "pain": ["some", "bad", None, "no", "no", "no"],
        "visit": [*VISIT, DAY(2002, 3, 4)],
        "grade": [1, 3, 2, 1, 7, 1],
        "smoker": [*SMOKER, True],
        "born": [*BORN, DAY(2000, 1, 1)],
        "beds": [12, 7, 9, 1, 2, 3],
        "outcome": [*OUTCOME, None],
        "unused": list("abcdef"),
    }
    return pl.DataFrame(raw).with_columns(pl.col("pain").cast(pl.Categorical))


def sources(folder: Path) -> dict[str, Any]:
    frame = polars_frame()
    (folder / "a.csv").write_text(CSV, "utf-8")
    frame.write_parquet(folder / "a.parquet")
    columns = frame.to_dict(as_series=False)
    text = pl.read_csv(CSV.encode(), infer_schema=False)
    return {
        "csv": folder / "a.csv",
        "parquet": folder / "a.parquet",
        "polars": frame,
        "lazy": frame.lazy(),
        "polars text": text,
        "pyarrow": pa.table(columns),
        "pandas": pd.DataFrame(columns),
        "pandas dates": pd.DataFrame(columns).assign(
            visit=lambda f: pd.to_datetime(f["visit"]), sex=lambda f: f["sex"].astype("category")
        ),
        "pandas nullable": pd.DataFrame(columns).convert_dtypes(),
        "pandas text": pd.read_csv(folder / "a.csv", dtype=str, keep_default_na=False),
    }


KINDS = (
    *("csv", "parquet", "polars", "lazy", "polars text", "pyarrow", "pandas", "pandas dates"),
    *("pandas nullable", "pandas text"),
)
NAN = np.nan
VALUES = np.array(
    [
        [63, 0, 1, 11323, 0, 0],
        [101, 1, 2, 18628, 2, 1],
        [NAN, 0, NAN, 14975, 1, NAN],
        [44.5, NAN, 0, NAN, 0, 0],
        [NAN, 2, 0, 7430, 3, 1],
    ]
)


def read(source: Any, schema: Schema = SCHEMA, **options: Any) -> Table:
    return read_table(source, name="north", schema=schema, **options)


@pytest.mark.parametrize("kind", KINDS)
def test_every_source_gives_the_same_table(kind: str, tmp_path: Path) -> None:
    table = read(sources(tmp_path)[kind])
    np.testing.assert_array_equal(table.values, VALUES)
    assert table.values.dtype == table.scaled.dtype == np.float64
    np.testing.assert_array_equal(table.scaled, SCHEMA.encode(VALUES))
    assert np.isfinite(table.scaled).all()
    assert table.columns == ("age", "sex", "pain", "visit", "grade", "smoker")
    assert table.labels is not None
    assert table.labels.tolist() == OUTCOME
    assert table.rows.tolist() == [0, 1, 2, 3, 4]
    assert table.n_dropped == 1
    assert table.n_clipped == (1, 0, 0, 1, 0, 0)
    assert table.n_missing == (2, 1, 1, 1, 0, 1)
    assert table.n_unknown == (0, 1, 0, 0, 1, 0)


@pytest.mark.parametrize("kind", KINDS)
def test_the_summary_has_the_columns_as_they_were(kind: str, tmp_path: Path) -> None:
    source = sources(tmp_path)[kind]
    # No label and nothing beside: the target needs what the kernel sees.
    target = polars_frame().select("age", "sex", "pain", "visit", "grade", "smoker")
    summary = summarize([source], target, size=5, schema=SCHEMA, protocol=Greedy())
    frame = pl.DataFrame(summary.to_frame("polars")).sort("index")
    assert frame.columns == [*(c.name for c in SCHEMA.columns), "owner", "index"]
    found = frame.to_dict(as_series=False)
    assert found["age"] == AGE
    assert found["sex"] == SEX
    assert found["pain"] == PAIN
    assert found["visit"] == VISIT
    assert found["grade"] == GRADE
    assert found["smoker"] == SMOKER
    assert found["outcome"] == OUTCOME
    assert found["note"] == NOTE
    assert frame.schema["visit"] == pl.Date
    assert frame.schema["grade"] == pl.Int64
    # Ignored columns come back with the type they had; of text, dates are dates.
    assert found["born"] == BORN or kind.startswith("pandas")
    assert [int(beds) for beds in found["beds"]] == [12, 7, 9, 1, 2]
    assert summary.gamma == 6 / SCHEMA.worth
    for suffix in (".csv", ".parquet"):
        summary.save(tmp_path / f"summary{suffix}")
    again = pl.read_parquet(tmp_path / "summary.parquet").sort("index")
    assert again.equals(frame)
    # A summary is a table of the same schema: it can be an owner's data.
    for suffix in (".csv", ".parquet"):
        table = read(tmp_path / f"summary{suffix}")
        np.testing.assert_array_equal(table.values, VALUES[pl.Series(summary.index)])


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_the_same_kind_comes_out(backend: str, tmp_path: Path) -> None:
    source = sources(tmp_path)[backend]
    goal = polars_frame().select(SCHEMA.names)
    summary = summarize([source], goal, size=5, schema=SCHEMA, protocol=Greedy())
    frame = summary.to_frame()
    assert type(frame).__module__.startswith(backend)
    if backend == "pandas":
        frame = frame.sort_values("index")
        assert frame["age"].isna().tolist() == [False, False, True, False, True]
        assert frame["sex"].isna().tolist() == [False, False, False, True, False]
        assert frame["smoker"].tolist() == SMOKER
        assert frame["visit"].dt.year.fillna(0).tolist() == [2001, 2021, 2011, 0, 1990]
        assert frame["grade"].tolist() == GRADE


def test_an_array_s_columns_are_the_schema_s_by_position() -> None:
    schema = Schema([Column("age", bounds=(0, 10)), Column("n", categories=(1, 5), other=0)])
    values = np.array([[5.0, 1], [20, 5], [0, 3]])
    table = read(values, schema)
    np.testing.assert_array_equal(table.values, [[5, 0], [20, 1], [0, 2]])
    assert table.n_clipped == (1, 0)
    assert table.n_unknown == (0, 1)
    plain = Schema([Column("a", bounds=(0, 1)), Column("b", missing=())])
    assert read(values.astype(np.float32), plain).values.dtype == np.float32
    masked = Schema([Column("a", bounds=(0, 9), missing=(5,), when_missing="encode"), Column("b")])
    assert read(values, masked).n_missing == (1, 0)
    with pytest.raises(InvalidDataError, match=r"'north': has 2 columns, the schema 1: 'a'"):
        read(values, Schema([Column("a")]))
    with pytest.raises(InvalidParameterError, match="no columns for 'note'"):
        read(values, Schema([Column("a"), Column("b"), Column("note", "ignore")]))
    with pytest.raises(InvalidParameterError, match=r"give a pair \(values, labels\)"):
        read(values, Schema([Column("a"), Column("b"), Column("y", "label")]))
    labelled = Schema([Column("a"), Column("b"), Column("y", "label")])
    assert read((values, np.arange(3)), labelled).labels is not None


# --- refusals ---------------------------------------------------------------------------------

SECRET = "31.4159"
REFUSED: list[tuple[Any, Any, str]] = [
    (Column("a"), [SECRET, "1 mm"], "column 'a' has values that are no number.*missing"),
    (Column("a"), ["1", SECRET + "_0"], "are no number"),
    (Column("a"), ["1", "٣"], "are no number"),
    (Column("a", missing=()), [SECRET], "is not numeric .*schema"),
    (Column("a"), [1.0, None], "column 'a' has missing values.*when_missing"),
    (Column("a", missing=(0,)), [1, 0], "column 'a' has missing values"),
    (Column("a"), ["1", "inf"], "infinite values"),
    (Column("a", whole=True), [1, 31.4159], "not whole.*leave out whole"),
    (Column("a"), [[1]], "type List.*kind 'number'|not numeric"),
    (Column("a", categories=("u",)), ["u", SECRET], "none of the schema's categories.*other"),
    (Column("a", categories=("u",)), ["u", " "], "missing values"),
    (Column("a", categories=("u",)), [DAY(2000, 1, 1)], "type Date, which does not fit"),
    (Column("a", bounds=(DAY(2000, 1, 1), DAY(2001, 1, 1))), ["31.12.2000"], "are no date.*format"),
    (Column("a", bounds=(DAY(2000, 1, 1), DAY(2001, 1, 1))), ["2000-02-30"], "are no date"),
    (Column("a", bounds=(DAY(2000, 1, 1), DAY(2001, 1, 1))), ["20000203"], "are no date"),
    (Column("a", bounds=(DAY(2000, 1, 1), DAY(2001, 1, 1))), [1.5], "type Float64, which does not"),
]


@pytest.mark.parametrize(("column", "items", "message"), REFUSED)
def test_data_that_break_the_schema_are_refused(column: Column, items: Any, message: str) -> None:
    with pytest.raises(InvalidDataError, match=f"'north'.*{message}") as caught:
        read(pl.DataFrame({"a": items}, strict=False), Schema([column]))
    assert SECRET not in str(caught.value)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_whole_numbers_come_back_whole(backend: Any) -> None:
    frame = pl.DataFrame({"n": [1, 2, None, 40], "m": [1.0, 2, 3, 4]})
    schema = Schema(
        [
            Column("n", bounds=(0, 9), whole=True, when_missing="encode"),
            Column("m", bounds=(0, 9), whole=True),
        ]
    )
    summary = summarize([frame], frame, size=4, schema=schema, protocol=Greedy())
    found = pl.DataFrame(summary.to_frame(backend)).sort("index")
    assert found["m"].dtype == pl.Int64
    assert found["m"].to_list() == [1, 2, 3, 4]
    if backend == "pandas":
        return  # its integers have no missing ones
    assert found["n"].dtype == pl.Int64
    assert found["n"].to_list() == [1, 2, None, 40]


def test_columns_of_objects_are_read_item_by_item() -> None:
    items = [1, True, " 1", 1.0, None, float("nan"), "?", "x", 7]
    frame = pd.DataFrame({"a": pd.Series(items, dtype=object)})

    def codes(**given: Any) -> list[float]:
        column = Column("a", other=given.pop("other"), when_missing="encode", **given)
        return read(frame, Schema([column])).values[:, 0].tolist()

    expected = [0, 0, 0, 0, -1, -1, -1, 2, 1]
    found = codes(categories=("1", "7"), other="o")
    assert [-1 if np.isnan(code) else code for code in found] == expected
    found = codes(categories=(1, 7), other=0)
    assert [-1 if np.isnan(code) else code for code in found] == [0, 0, 0, 0, -1, -1, -1, 2, 1]
    unhashable = pd.DataFrame({"a": pd.Series([1, {}], dtype=object)})
    with pytest.raises(InvalidDataError, match=r"are no category|are no number"):
        read(unhashable, Schema([Column("a", categories=(1, 2))]))


def test_what_travels_along_has_a_length_and_a_label_a_value() -> None:
    schema = Schema([Column("a"), Column("t", "ignore"), Column("y", "label")])
    frame = pl.DataFrame({"a": [1, 2], "t": ["x", "y" * 4097], "y": [1, None]})
    with pytest.raises(InvalidDataError, match=r"'north': column 't' has texts of more than 4096"):
        read(frame, schema)
    with pytest.raises(InvalidDataError, match=r"labels are missing.*when_missing"):
        read(frame.with_columns(t=pl.lit("x")), schema)
    with pytest.raises(InvalidDataError, match="has no label column 'y'"):
        read(frame.drop("y"), schema)
    marked = frame.with_columns(t=pl.lit("x"), y=pl.Series([1, -1]))
    dropping = Schema([Column("a"), Column("y", "label", missing=(-1,), when_missing="drop")])
    assert len(read(marked, dropping)) == 1


def test_a_schema_is_one() -> None:
    with pytest.raises(InvalidParameterError, match=r"Schema\.read"):
        read(polars_frame(), {"age": (0, 1)})  # type: ignore[arg-type]


def test_counts_of_a_schema_in_somebody_s_data(tmp_path: Path) -> None:
    for source in sources(tmp_path).values():
        checked = check(source, SCHEMA)
        n_rows, found = checked.rows, checked.columns
        assert n_rows == 6
        by_name = {one.column.name: one for one in found}
        assert list(by_name) == [column.name for column in SCHEMA.columns]
        assert (by_name["age"].missing, by_name["age"].clipped) == (2, 1)
        assert (by_name["sex"].missing, by_name["sex"].unknown) == (1, 1)
        assert by_name["note"].missing == 1
        assert by_name["outcome"].missing == 1
        assert not any(one.refused for one in found)
    strict = Schema(
        [
            Column("note", categories=("x",)),
            Column("sex", bounds=(0, 1)),
            Column("age", missing=()),
            Column("outcome", "label"),
        ]
    )
    refused = {one.column.name: one.refused for one in check(polars_frame(), strict).columns}
    assert refused == {
        "note": ("in no category", "missing"),
        "sex": ("no number", "missing"),
        "age": ("missing",),
        "outcome": ("missing labels",),
    }


def test_a_draft_of_a_public_sample_takes_it(tmp_path: Path) -> None:
    sample = polars_frame()
    sample = pl.concat([sample] * 3)
    made, reasons = draft(sample, label="outcome")
    assert reasons == {}
    kinds = {column.name: str(getattr(column.kind, "value", "")) for column in made.columns}
    assert kinds == {
        **dict.fromkeys(("note", "sex", "pain", "smoker", "unused"), "category"),
        **dict.fromkeys(("age", "beds"), "number") | {"grade": "category", "beds": "category"},
        **dict.fromkeys(("visit", "born"), "date"),
        "outcome": "label",
    }
    table = read(sample, made)
    assert table.n_dropped == 3  # without a label
    assert sum(table.n_clipped) + sum(table.n_unknown) == 0
    made.save(tmp_path / "schema.toml")
    assert Schema.read(tmp_path / "schema.toml") == made
    (tmp_path / "sample.csv").write_text("zip,age\n" + "02139,20\n10001,80\n" * 9)
    codes, _ = draft(tmp_path / "sample.csv")
    assert codes.columns[0].categories == ("02139", "10001")  # not 2139: zeros are part of a code
    texts = pl.DataFrame({"t": [f"free text {i}" for i in range(9)], "x": np.arange(9) + 21.5})
    free, reasons = draft(texts)
    assert free.carried[0].name == "t"
    assert reasons == {"t": "it has 9 different texts"}
    assert free.kernel[0].bounds == (21, 30)


@pytest.mark.parametrize(
    ("labels", "categories"),
    [
        (["yes", "no", "yes "], ("no", "yes")),
        ([1, 0, 1], (0, 1)),
        ([1.0, None, 0.0], (0, 1)),
        ([0.5, 2.0, float("nan")], (0.5, 2)),
        ([True, None, False], (False, True)),
        (["ill", "?", "well"], ("ill", "well")),  # a mark is no class
        ([*range(20)], tuple(range(20))),
        ([*range(21)], ()),
        ([1.0, float("inf")], ()),
        ([2**60, 1], ()),
        ([DAY(2020, 1, 1), DAY(2021, 1, 1)], ()),
        ([None, None], ()),
        ([[1], [2]], ()),
    ],
)
def test_a_draft_lists_few_labels_and_no_other(
    labels: list[Any], categories: tuple[Any, ...], tmp_path: Path
) -> None:
    made, reasons = draft(
        pl.DataFrame({"y": labels}).with_row_index("x").with_columns(pl.col("x") % 9 + 0.5),
        label="y",
    )
    assert reasons == {}
    assert made.label is not None
    assert made.label.other is None
    assert list(map(repr, made.label.categories)) == list(map(repr, categories))
    made.save(tmp_path / "schema.toml")
    assert Schema.read(tmp_path / "schema.toml") == made


def odd_sample(rng: np.random.Generator, n: int = 400) -> pl.DataFrame:
    """Return a table with what real exports have."""
    some = rng.random(n)
    return pl.DataFrame(
        {
            "id": np.arange(n) + 7,
            "site": np.full(n, 3),
            "unit": ["kg"] * n,
            "cost": np.where(some < 0.85, 0.0, rng.lognormal(6, 1, n)).round(2),
            "lab": np.where(rng.random(n) < 0.2, -9999.0, rng.normal(5, 2, n).round(1)),
            "weeks": np.where(rng.random(n) < 0.05, 999, rng.integers(1, 53, n)),
            "flag": rng.integers(0, 2, n),
            "ward": rng.choice(["a", "b", "c"], n),
            "outcome": rng.choice(["ill", "well"], n),
        }
    )


def test_a_draft_finds_nothing_strange_in_its_own_sample(rng: np.random.Generator) -> None:
    sample = odd_sample(rng)
    made, reasons = draft(sample, label="outcome")
    assert reasons == {
        "id": "no value comes twice, as in an identifier",
        "site": "it has one value in all rows",
        "unit": "it has one value in all rows",
    }
    columns = {column.name: column for column in made.columns}
    assert set(columns) == set(sample.columns) - set(reasons)
    assert columns["lab"].missing[-1] == -9999
    assert columns["weeks"].missing[-1] == 999
    assert columns["weeks"].bounds is not None
    assert columns["weeks"].bounds[1] < 100
    checked = check(sample, made)
    n, found, strange = checked.rows, checked.columns, checked.hints
    assert n == len(sample)
    assert [one.refused for one in found if one.refused] == []
    assert {one.rule for one in strange} <= {"copies"}


def test_a_run_by_a_draft_of_its_own_sample_is_no_alarm(rng: np.random.Generator) -> None:
    sample = odd_sample(rng, 3000)
    made, _ = draft(sample, label="outcome")
    parts = {"north": sample[:1300], "south": sample[1300:2600]}
    summary = summarize(parts, sample[2600:], size=100, epsilon=1.0, schema=made)
    assert not summary.verdict.text.startswith("Do not use")
    alarms = [note for note in summary.notes if getattr(note, "severity", None) is Severity.ALARM]
    assert alarms == []


def test_a_drafted_label_refuses_another_spelling() -> None:
    made, _ = draft(pl.DataFrame({"x": [1.5, 2.5], "y": ["yes", "no"]}), label="y")
    for labels in ([1, 0], ["Yes", "No"], ["yes", "perhaps"], [True, False]):
        other = pl.DataFrame({"x": [1.5, 2.5], "y": labels})
        for see in (read, check):  # a run, and a check at home
            with pytest.raises(InvalidDataError, match=r"'y'.* none of the schema's categories"):
                see(other, made)


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"patient_id": [*range(40, 20, -1)]}, "no value comes twice, as in an identifier"),
        ({"case": [*range(100, 120)]}, "no value comes twice, as in an identifier"),
        ({"case": [*range(100, 119)]}, None),  # so few may rise by chance
        ({"case": [*range(40, 20, -1)]}, None),  # neither a name nor an order says so
        ({"patient_id": [*range(19), 5]}, None),  # a value comes twice
        (
            {"patient_id": [f"B-{i}" for i in range(20)]},
            "no value comes twice, as in an identifier",
        ),
        ({"note": [f"B-{i}" for i in range(20)]}, "it has 20 different texts"),  # no name says so
        ({"patient_id": [f"B-{i}" for i in range(19)]}, "it has 19 different texts"),
        (
            {"bp": [f"{i},5" for i in range(99)] + ["7"]},
            "it has 100 different texts, of which most are numbers with a decimal comma; read it "
            "with `decimal=','`",
        ),
        ({"bp": [f"{i},5" for i in range(80)] + ["x"] * 20}, "it has 81 different texts"),
        ({"age": [*map(str, range(99)), "12o"]}, "1 of 100 cells is not a number: '12o'"),
        (
            {"age": [*map(str, range(50)), *(f"{i}o" for i in range(50))]},
            "it has 100 different texts",
        ),
        ({"gone": [None, None]}, "it is empty"),
        ({"list": [[1], [2]]}, "it is of type List(Int64)"),
    ],
)
def test_a_draft_says_why_it_leaves_out(values: dict[str, Any], reason: str | None) -> None:
    made, reasons = draft(
        pl.DataFrame(values).with_columns(weight=pl.int_range(pl.len()) % 9 + 70.5)
    )
    assert reasons == ({} if reason is None else dict.fromkeys(values, reason))
    # An identifier is not read at all, by whatever run; the rest travels along.
    unread = reason is not None and "identifier" in reason
    assert [column.name for column in made.carried] == ([] if unread else list(reasons))
    assert set(made.names) == {"weight"} | (set() if reason else set(values))

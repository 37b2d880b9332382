"""A drafted schema: whatever the sample holds, it is made, saved, and fits its own sample."""

import math

import pandas as pd
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dpsumm import Schema
from dpsumm.data.check import check, draft
from dpsumm.data.file import File, FileFormat
from dpsumm.errors import InvalidDataError

ITEMS = st.sampled_from(
    ["", "NA", "nan", "null", "None", "?", "inf", "True", "false", "yes", "1", "1.0", "01", "-0",
     "007", "1e3", "2e400", "9007199254740993", "1.5", "1,5", " a", "a ", "a", "é", "2020-01-31",
     "31/01/2020", "P7"]
) | st.integers(-50, 10**19).map(str) | st.integers(0, 10**4).map("{:05d}".format)  # fmt: skip


def _number(text):
    try:
        return float(text)
    except ValueError:
        return 0.0


@given(
    st.lists(ITEMS, min_size=1, max_size=8),
    st.integers(1, 70),
    st.sampled_from(["csv", "parquet", "polars", "pandas", "numbers"]),
    st.booleans(),
)
# Too large for a category.
@example(items=["9007199254740994"], times=1, form="numbers", is_label=False)
# A mark of no value, and too large for a whole number in TOML.
@example(items=["", "184467440737095506"], times=61, form="numbers", is_label=False)
# Labels of which none is there.
@example(items=[""], times=50, form="numbers", is_label=True)
def test_a_draft_fits_its_own_sample(tmp_path_factory, items, times, form, is_label):
    values = [f"{item}{k}" if times > 60 else item for k in range(times) for item in items]
    frame = pl.DataFrame({"c": values, "x": [k % 7 for k in range(len(values))]})
    folder = tmp_path_factory.mktemp("draft")
    if form == "csv":
        source = folder / "sample.csv"
        frame.write_csv(source)
    elif form == "parquet":
        source = folder / "sample.parquet"
        frame.write_parquet(source)
    elif form == "pandas":
        source = pd.DataFrame(frame.to_dict(as_series=False))
    elif form == "polars":
        source = frame
    else:
        source = frame.with_columns(pl.col("c").cast(float, strict=False))
    made, reasons = draft(source, label="c" if is_label else None)
    made.save(folder / "schema.toml")
    assert Schema.read(folder / "schema.toml") == made
    assert all(text.strip() and "\n" not in text for text in reasons.values())
    try:
        found = check(source, made).columns
    except InvalidDataError:  # no schema fits infinite labels
        if not (is_label and any(math.isinf(_number(value)) for value in values)):
            raise
        return
    for one in found:
        assert (one.refused, one.clipped, one.unknown, one.unreadable) == ((), 0, 0, 0)


@pytest.mark.parametrize(
    "codes", [[f"{i:05d}" for i in range(1000, 1300)], [f"{i / 8}" for i in range(300)]]
)
def test_many_texts_that_spell_numbers_are_left_out_in_a_word(codes):
    frame = pl.DataFrame({"code": codes * 2, "x": [i % 7 / 3 for i in range(600)]})
    made, reasons = draft(frame)
    assert made.names == ("x",)
    assert "all spell numbers" in reasons["code"]


def test_several_samples_count_together(tmp_path):
    (tmp_path / "n.csv").write_text("age;bmi\n" + "\n".join(f"{20 + i};2{i},5" for i in range(9)))
    south = pl.DataFrame({"age": [80, 31, 44, 62], "ward": ["a", "b", "a", "b"]})
    south.write_parquet(tmp_path / "s.parquet")
    north = File(tmp_path / "n.csv", FileFormat(separator=";", decimal=","))
    made, _ = draft(north, tmp_path / "s.parquet")
    age, bmi, ward = made.columns
    assert age.bounds == (20, 80)
    assert age.when_missing == "refuse"
    assert bmi.bounds == (20, 29)
    assert bmi.when_missing == ward.when_missing == "encode"
    assert ward.categories == ("a", "b")
    assert check(tmp_path / "s.parquet", Schema([age, ward])).accepted


@pytest.mark.parametrize("as_float", [False, True])
def test_few_whole_numbers_leave_room_for_others(as_float):
    children = [0] * 40 + [1] * 9 + [2, 3]
    sample = pl.DataFrame({"k": [float(k) if as_float else k for k in children]})
    made, _ = draft(sample)
    assert (made.columns[0].categories, made.columns[0].other) == ((0, 1, 2, 3), 4)
    found = check(pl.DataFrame({"k": [0, 1, 4, 7]}), made).columns[0]
    assert (found.refused, found.unknown) == ((), 2)


def test_a_sample_without_rows_is_refused(tmp_path):
    (tmp_path / "sample.csv").write_text("age,sex\n")
    with pytest.raises(InvalidDataError, match="sample has no rows"):
        draft(tmp_path / "sample.csv")

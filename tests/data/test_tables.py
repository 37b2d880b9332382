"""Reading arrays, data frames and files: exact values, and refusals that leak nothing."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsumm.data.files import FileFormat
from dpsumm.data.inputs import Table, read_inputs, read_owners, read_table
from dpsumm.errors import InvalidDataError, InvalidParameterError, MissingExtraError

SECRET = "31.4159"  # a data value; must never be in a message


def read(source: Any, **options: Any) -> Table:
    return read_table(source, name="north", **options)


def write(path: Path, text: str) -> Path:
    path.write_bytes(text.encode())
    return path


# --- arrays -----------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_fitting_array_is_not_copied(dtype: Any) -> None:
    values = np.ones((3, 2), dtype)
    table = read(values)
    assert table.values is values
    assert table.scaled is values
    assert table.columns == ("x0", "x1")
    assert table.backend is None
    assert table.labels is None
    assert table.rows.tolist() == list(range(len(table)))


@pytest.mark.parametrize("dtype", [np.int8, np.uint64, np.bool_, np.float16, ">f8", np.longdouble])
def test_other_real_types_become_float64(dtype: Any) -> None:
    table = read(np.array([[0, 1], [1, 0]], dtype))
    assert table.values.dtype == np.dtype("=f8")
    np.testing.assert_array_equal(table.values, [[0, 1], [1, 0]])


def test_non_contiguous_array_becomes_contiguous() -> None:
    values = np.arange(12.0).reshape(4, 3).T
    table = read(values)
    assert table.values.flags.c_contiguous
    np.testing.assert_array_equal(table.values, values)


@pytest.mark.parametrize(
    ("source", "way_out"),
    [
        (np.ones(3), r"reshape\(-1, 1\)"),
        (np.ones((2, 2, 2)), "3 dimensions"),
        (np.array([["a"]]), "astype"),
        (np.array([[1j]]), "astype"),
        (np.array([[None]]), "astype"),
        (np.empty((0, 3)), "empty"),
        (np.empty((3, 0)), "empty"),
        (np.array([[1.0, np.nan]]), "column 'x1' has missing values.*drop_missing"),
        (np.array([[1.0, -np.inf]]), "column 'x1' has infinite values"),
        ((np.ones((3, 1)), np.ones(2)), "one label per row"),
        ((np.ones((3, 1)), np.ones((3, 1))), "one label per row"),
        ((np.ones((1, 1)), np.array([np.nan])), "labels are missing"),
        ((np.ones((1, 1)), np.array([np.inf])), "labels are infinite"),
        ((np.ones((1, 1)), np.array([{}], object)), "labels must be"),
        ((np.ones((1, 1)), np.array(["2020-01-01"], "M8[D]")), "labels must be"),
    ],
)
def test_unusable_array_is_refused_with_the_way_out(source: Any, way_out: str) -> None:
    with pytest.raises(InvalidDataError, match=f"'north'.*{way_out}"):
        read(source)


@pytest.mark.parametrize(
    "source", [[[1.0, 2.0]], 3, None, pd.Series([1.0]), (np.ones((1, 1)), np.ones(1), 0)]
)
def test_unknown_source_is_refused(source: Any) -> None:
    with pytest.raises(InvalidParameterError, match=r"'north'.*(array|pair)"):
        read(source)


def test_names_do_not_go_with_arrays() -> None:
    for options in ({"columns": ["a"]}, {"label": "a"}):
        with pytest.raises(InvalidParameterError, match="data frame"):
            read(np.ones((2, 2)), **options)


def test_labelled_pair_of_arrays() -> None:
    for labels in (np.array([1, 2]), np.array(["a", "b"]), np.array(["a", "b"], object)):
        table = read((np.ones((2, 1)), labels))
        assert table.labels is not None
        assert table.labels.dtype.kind in "iU"
        assert list(table.labels) == list(labels)


def test_labels_of_a_file_keep_the_zeros_that_they_begin_with(tmp_path: Path) -> None:
    for labels, kept in ((["02139", "501"], ["02139", "501"]), (["0", "-0.5"], [0.0, -0.5])):
        file = tmp_path / "data.csv"
        file.write_text("x,label\n" + "".join(f"1.5,{label}\n" for label in labels))
        table = read(file, label="label")
        assert table.labels is not None
        assert table.labels.tolist() == kept


def test_masked_entries_are_missing_not_their_hidden_values() -> None:
    values = np.ma.masked_equal(np.array([[1, 2], [3, 4]]), 2)
    labels = np.ma.masked_equal(np.array([5, 6]), 6)
    with pytest.raises(InvalidDataError, match="missing"):
        read(values)
    with pytest.raises(InvalidDataError, match="labels are missing"):
        read((np.ones((2, 1)), labels))
    drop = FileFormat(drop_missing=True)
    np.testing.assert_array_equal(read(values, file_format=drop).values, [[3, 4]])


def test_dropping_maps_kept_rows_to_the_data_as_given() -> None:
    values = np.array([[1.0], [np.nan], [3.0], [4.0]])
    labels = np.array([1.0, 2.0, np.nan, 4.0])
    table = read((values, labels), file_format=FileFormat(drop_missing=True))
    assert table.labels is not None
    assert table.n_dropped == 2
    np.testing.assert_array_equal(table.rows, [0, 3])
    np.testing.assert_array_equal(table.labels, [1, 4])
    np.testing.assert_array_equal(values[table.take(np.array([1, 0])).rows], [[4], [1]])
    assert np.isnan(values).sum() == 1  # the input is not changed


def test_nothing_left_after_dropping_is_refused() -> None:
    with pytest.raises(InvalidDataError, match="no row is complete"):
        read(np.full((2, 1), np.nan), file_format=FileFormat(drop_missing=True))


# --- data frames ------------------------------------------------------------------------------

FRAMES = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "pyarrow": pa.table,
}


@pytest.mark.parametrize("backend", FRAMES)
def test_frame_columns_labels_and_backend(backend: str) -> None:
    frame = FRAMES[backend]({"a": [1, 2], "b": [True, False], "c": [0.5, 1.5], "y": ["u", "vv"]})
    table = read(frame, label="y")
    assert table.columns == ("a", "b", "c")
    assert table.values.dtype == np.float64
    assert table.values.flags.c_contiguous
    np.testing.assert_array_equal(table.values, [[1, 1, 0.5], [2, 0, 1.5]])
    assert table.labels is not None
    assert table.labels.tolist() == ["u", "vv"]
    assert table.backend == backend
    assert read(frame, columns=["c", "a"]).columns == ("c", "a")
    np.testing.assert_array_equal(read(frame, columns=["c", "a"]).values, [[0.5, 1], [1.5, 2]])


@pytest.mark.parametrize("backend", FRAMES)
def test_frame_missing_values(backend: str) -> None:
    frame = FRAMES[backend]({"a": [1, None, 3], "b": [True, None, False], "y": [7, 8, None]})
    if backend == "pandas":
        frame = frame.astype({"b": "boolean"})
    with pytest.raises(InvalidDataError, match="column 'a' has missing"):
        read(frame)
    with pytest.raises(InvalidDataError, match="labels are missing"):
        read(frame.loc[[0, 2]] if backend == "pandas" else frame[::2], label="y")
    table = read(frame, label="y", file_format=FileFormat(drop_missing=True))
    np.testing.assert_array_equal(table.values, [[1, 1]])
    assert table.labels is not None
    assert table.labels.tolist() == [7]


@pytest.mark.parametrize("backend", FRAMES)
def test_float32_stays_only_if_all_columns_are(backend: str) -> None:
    make = FRAMES[backend]
    single, double = np.array([0.1, 0.2], np.float32), np.array([0.1, 0.2])
    assert read(make({"a": single, "b": single})).values.dtype == np.float32
    assert read(make({"a": single, "b": double})).values.dtype == np.float64


@pytest.mark.parametrize("dtype", ["Int64", "Float64", "int64[pyarrow]", "boolean", "float32"])
def test_pandas_extension_types(dtype: str) -> None:
    table = read(pd.DataFrame({"a": pd.array([1, 0], dtype=dtype)}), label=None)
    np.testing.assert_array_equal(table.values, [[1], [0]])


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        (pd.array([3, None, 5], dtype="Int64"), "i"),
        (pd.array([True, None, False], dtype="boolean"), "b"),
        (pd.Categorical(["u", None, "v"]), "U"),
        (np.array(["u", None, "v"], object), "U"),
        (np.array([3.5, np.nan, 5]), "f"),
    ],
)
def test_labels_keep_their_kind_when_rows_are_dropped(labels: Any, kind: str) -> None:
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "y": labels})
    table = read(frame, label="y", file_format=FileFormat(drop_missing=True))
    assert table.labels is not None
    assert table.labels.dtype.kind == kind
    assert table.labels.tolist() == [labels[0], labels[2]]
    assert table.rows.tolist() == [0, 2]


def test_lazy_frame_is_collected_and_unnamed_pandas_columns_are_named() -> None:
    np.testing.assert_array_equal(read(pl.LazyFrame({"a": [1, 2]})).values, [[1], [2]])
    table = read(pd.DataFrame(np.ones((2, 2))), label="1")
    assert table.columns == ("0",)


@pytest.mark.parametrize(
    ("frame", "options", "message"),
    [
        (pl.DataFrame({"a": ["31.4159"]}), {}, "column 'a' is not numeric .type String.*encode"),
        (pl.DataFrame({"a": [None]}), {}, "column 'a' is not numeric"),
        (pd.DataFrame({"a": [1, "x"]}), {}, "column 'a' is not numeric"),
        (pl.DataFrame({"a": [1]}), {"columns": ["b"]}, "has no column 'b'; all parties"),
        (pl.DataFrame({"a": [1]}), {"label": "b"}, "no label column 'b'"),
        (pl.DataFrame({"a": [1]}), {"label": "a"}, "empty"),
        (pl.DataFrame({"a": []}, schema={"a": pl.Int64}), {}, "empty"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), {}, "same name"),
        (pd.DataFrame([[1, 2]], columns=["1", 1]), {}, "same name"),
        (pl.DataFrame({"a": [1], "": [2]}), {}, "no name"),
        (pl.DataFrame({"a\0": [1]}), {}, "NUL"),
        (pl.DataFrame({"a": [1], "y": [[1]]}), {"label": "y"}, "label column 'y' must hold"),
        (pl.LazyFrame({"a": ["31.4159"]}).with_columns(pl.col("a").cast(int)), {}, "lazy"),
    ],
)
def test_unusable_frame_is_refused(frame: Any, options: Any, message: str) -> None:
    with pytest.raises(InvalidDataError, match=f"'north'.*{message}") as caught:
        read(frame, **options)
    assert SECRET not in str(caught.value)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


@pytest.mark.parametrize(
    "options",
    [{"columns": ["a", "a"]}, {"columns": "a"}, {"columns": ["a", "b"], "label": "b"}],
)
def test_contradictory_columns_are_refused(options: Any) -> None:
    with pytest.raises(InvalidParameterError, match="columns"):
        read(pl.DataFrame({"a": [1], "b": [2]}), **options)


# --- bounds -----------------------------------------------------------------------------------


def test_bounds_scale_and_clip_for_the_kernel_only() -> None:
    frame = pl.DataFrame({"a": [-1.0, 5.0, 20.0], "b": [7.0, 8.0, 9.0]})
    table = read(frame, bounds={"a": (0, 10)})
    np.testing.assert_array_equal(table.values, [[-1, 7], [5, 8], [20, 9]])
    np.testing.assert_array_equal(table.scaled, [[0, 7], [0.5, 8], [1, 9]])
    assert table.n_clipped == (2, 0)


@given(
    st.lists(st.floats(-(2.0**49), 2.0**49, width=32), min_size=1, max_size=20),
    st.floats(-1e30, 1e30),
    st.floats(1e-30, 1e30),
    st.sampled_from([np.float32, np.float64]),
)
def test_bounded_columns_are_in_the_unit_interval(
    numbers: list[float], low: float, width: float, dtype: Any
) -> None:
    high = low + width
    if low == high:
        return
    values = np.array(numbers, dtype).reshape(-1, 1)
    table = read(values, bounds={"x0": (low, high)})
    assert table.scaled.dtype == dtype
    assert np.all((table.scaled >= 0) & (table.scaled <= 1))
    order = np.argsort(values[:, 0], kind="stable")
    assert np.all(np.diff(table.scaled[order, 0]) >= 0)


@pytest.mark.parametrize(
    "pair",
    [(1, 1), (2, 1), (0, np.inf), (np.nan, 1), (-1e308, 1e308), (0,), 3, ("a", "b"), None],
)
def test_senseless_bounds_are_refused(pair: Any) -> None:
    with pytest.raises(InvalidParameterError, match="bounds: column 'x0'"):
        read(np.ones((2, 1)), bounds={"x0": pair})


def test_bounds_of_an_unknown_column_are_refused() -> None:
    with pytest.raises(InvalidParameterError, match="no column 'z'; bounds go by the names"):
        read(np.ones((2, 1)), bounds={"z": (0, 1)})


# --- files ------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".csv", ".data", ".txt", ".csv.gz", ".parquet"])
def test_file_equals_the_frame_it_was_written_from(tmp_path: Path, suffix: str) -> None:
    frame = pl.DataFrame({"a": [1, 2], "b": [0.1, 1e-300], "y": ["u", "v, w"]})
    path = tmp_path / f"north{suffix}"
    if suffix == ".parquet":
        frame.write_parquet(path)
    else:
        text = frame.write_csv().encode()
        path.write_bytes(gzip.compress(text) if suffix.endswith("gz") else text)
    for source in (path, str(path)):
        table = read(source, label="y")
        np.testing.assert_array_equal(table.values, frame.select("a", "b").to_numpy())
        assert table.labels is not None
        assert table.labels.tolist() == ["u", "v, w"]
        assert table.backend == "polars"


def test_headerless_file_with_question_marks(tmp_path: Path) -> None:
    path = write(tmp_path / "heart.data", "28,1,?,0\n 29.5,0, 5 ,1\n30,,7,2\n")
    names = FileFormat(names=("age", "sex", "ca", "num"), drop_missing=True)
    table = read(path, label="num", file_format=names)
    np.testing.assert_array_equal(table.values, [[29.5, 0, 5]])
    assert table.rows.tolist() == [1]
    assert table.labels is not None
    assert table.labels.dtype.kind == "i"
    table = read(path, columns=["x0"], file_format=FileFormat(header=False))
    np.testing.assert_array_equal(table.values, [[28], [29.5], [30]])


def test_separator_and_own_missing_token(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "a;b\n1;-9\n2;3\n")
    form = FileFormat(separator=";", missing=("-9",), drop_missing=True)
    np.testing.assert_array_equal(read(path, file_format=form).values, [[2, 3]])


def test_late_text_is_refused_and_neither_it_nor_the_header_is_quoted(tmp_path: Path) -> None:
    rows = "1\n" * 5000 + SECRET + "x\n"
    with pytest.raises(InvalidDataError, match="column 1 of the file is not numeric") as caught:
        read(write(tmp_path / "a.csv", "a\n" + rows))
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("end", ["", "\n", "\n\n\n", "\r\n\r\n"])
def test_blank_lines_at_the_end_are_not_rows(tmp_path: Path, end: str) -> None:
    for head, width in (("a,b\n1,2\n3,4", 2), ("a\n1\n3", 1)):
        assert read(write(tmp_path / "a.csv", head + end)).values.shape == (2, width)


MALFORMED = {
    "long row": "a,b\n1,2\n31.4159,4,5\n",
    "short row": "a,b\n1,2\n31.4159\n5,6\n",
    "blank row": "a,b\n1,2\n\n31.4159,6\n",
    "blank row, one column": "a\n1\n\n31.4159\n",
    "open quote": 'a,b\n1,"31.4159\n3,4\n',
    "binary": "\x00\x01\x02\x00",
    "empty": "",
    "blank": "\n\n",
    "header only": "a,b\n",
    "repeated name": "a,a\n1,31.4159\n",
    "nameless column": ",a\n0,31.4159\n",
    "no header": "31.4159,2\n3,4\n",
    "no header, one column": "0\n31.4159\n",
}


@pytest.mark.parametrize("case", MALFORMED)
def test_malformed_file_is_refused_without_quoting_it(tmp_path: Path, case: str) -> None:
    path = write(tmp_path / "a.csv", MALFORMED[case])
    for drop in (False, True):
        with pytest.raises(InvalidDataError, match=r"'north' \(.*a\.csv\)") as caught:
            read(path, file_format=FileFormat(drop_missing=drop))
        assert SECRET not in str(caught.value)
        assert caught.value.__suppress_context__ or caught.value.__context__ is None


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet"])
def test_random_bytes_are_refused(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a{suffix}"
    path.write_bytes(np.random.default_rng(7).bytes(4000))
    with pytest.raises(InvalidDataError, match="not a well-formed"):
        read(path)


@pytest.mark.parametrize(("mark", "told"), [(";", "';'"), ("\t", r"'\t'"), ("|", "'|'")])
def test_another_separator_is_named_and_no_record_quoted(
    tmp_path: Path, mark: str, told: str
) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f"{SECRET}{mark}x\n1{mark}2\n3{mark}4\n")  # no header: the first is a record
    with pytest.raises(InvalidDataError) as caught:
        read(path)
    assert f"FileFormat(separator={told}) (--separator {told})" in str(caught.value)
    assert SECRET not in str(caught.value)
    path.write_text(f'"a{mark}b"\n1\n2\n')
    assert len(read(path, file_format=FileFormat(separator=mark))) == 2


@pytest.mark.parametrize("field", [SECRET, "1931-04-15", "15.4.1931", "4/15/1931"])
def test_a_first_row_that_is_a_record_is_no_header(tmp_path: Path, field: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f"Smith,{field}\nJones,{field}\n")
    with pytest.raises(InvalidDataError, match="the first row looks like data") as caught:
        read(path)
    assert field not in str(caught.value)
    assert "Smith" not in str(caught.value)


def test_another_encoding_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(f"a,b\n1,früher {SECRET}\n".encode("cp1252"))
    with pytest.raises(InvalidDataError, match="that it is UTF-8 text") as caught:
        read(path)
    assert SECRET not in str(caught.value)


def test_cut_off_gzip_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * 100)[:-9])
    with pytest.raises(InvalidDataError, match="not a well-formed CSV"):
        read(path)


def test_wrong_paths_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidDataError, match="no such file"):
        read(tmp_path / "none.csv")
    with pytest.raises(InvalidDataError, match="directory"):
        read(tmp_path)
    with pytest.raises(InvalidParameterError, match=r"suffix must be one of \.csv"):
        read(write(tmp_path / "a.xlsx", "a\n1\n"))
    write(tmp_path / "b.csv", "a\n1\n")
    with pytest.raises(InvalidDataError, match="no such file"):
        read(tmp_path / "*.csv")  # a pattern is not a file


def test_names_must_fit_the_file(tmp_path: Path) -> None:
    with pytest.raises(InvalidParameterError, match="has 2 columns, but 3 names"):
        read(write(tmp_path / "a.csv", "1,2\n"), file_format=FileFormat(names=("a", "b", "c")))


@pytest.mark.parametrize(
    "options",
    [{"separator": ",,"}, {"separator": ""}, {"separator": "é"}, {"separator": '"'},
     {"names": ()}, {"names": ("a", "a")}, {"names": ("",)}, {"names": "abc"}, {"missing": "?"}],
)  # fmt: skip
def test_senseless_file_formats_are_refused(options: Any) -> None:
    with pytest.raises(InvalidParameterError, match=r"separator|names"):
        FileFormat(**options)


def test_missing_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "polars", None)
    with pytest.raises(MissingExtraError, match=r"dpsumm\[files\]"):
        read(tmp_path / "a.csv")


# --- several parties --------------------------------------------------------------------------


def test_owners_are_named_by_key_file_or_position(tmp_path: Path) -> None:
    path = write(tmp_path / "clinic.csv", "x0\n1\n")
    array = np.ones((1, 1))
    assert [t.name for t in read_owners({"b": array, "a": array})] == ["b", "a"]
    assert [t.name for t in read_owners([path, array])] == ["clinic", "owner-1"]
    for owners in ([], {}, [path, path], {"": array}, {1: array, "1": array}, array, path):
        with pytest.raises(InvalidParameterError, match="owners"):
            read_owners(owners)


def test_owners_share_columns_by_name_and_keep_their_precision() -> None:
    one = pl.DataFrame({"a": [1.0], "b": [2.0]}, schema={"a": pl.Float32, "b": pl.Float32})
    two = pd.DataFrame({"b": [20.0], "a": [10.0]})
    tables = read_owners([one, two, np.array([[100, 200]])], bounds={"b": (0, 200)})
    assert {table.columns for table in tables} == {("a", "b")}
    assert [table.dtype for table in tables] == [np.float32, np.float64, np.float64]
    values = np.concatenate([table.values for table in tables])
    np.testing.assert_array_equal(values, [[1, 2], [10, 20], [100, 200]])
    scaled = np.concatenate([table.scaled for table in tables])
    np.testing.assert_allclose(scaled, [[1, 0.01], [10, 0.1], [100, 1]], rtol=1e-7)


@pytest.mark.parametrize(
    ("two", "message"),
    [
        (pl.DataFrame({"a": [1]}), "'two': lacks column 'b', which 'one' has"),
        (pl.DataFrame({"a": [1], "b": [1], "c": [1]}), "'one': lacks column 'c', which 'two' has"),
        (np.ones((1, 3)), "'two': has 3 columns and 'one' has 2"),
    ],
)
def test_owners_with_other_columns_are_refused(two: Any, message: str) -> None:
    with pytest.raises(InvalidDataError, match=message):
        read_owners({"one": pl.DataFrame({"a": [1], "b": [2]}), "two": two})


def test_labels_are_needed_from_all_owners_or_none() -> None:
    values = np.ones((2, 1))
    with pytest.raises(InvalidDataError, match="'plain': has no labels although 'full' has"):
        read_owners({"plain": values, "full": (values, np.ones(2))})
    with pytest.raises(InvalidDataError, match=r"'words': labels are text.*'full' are numbers"):
        read_owners({"full": (values, np.ones(2)), "words": (values, np.array(["a", "b"]))})
    frames = {"one": pl.DataFrame({"a": [1], "y": [1]}), "two": pl.DataFrame({"a": [1]})}
    with pytest.raises(InvalidDataError, match=r"'two'.*no label column 'y'"):
        read_owners(frames, label="y")


def test_target_takes_the_columns_of_the_owners() -> None:
    owner = pl.DataFrame({"a": [1.0], "b": [2.0], "y": [0]})
    target = pd.DataFrame({"y": [9], "id": ["k"], "b": [4.0], "a": [3.0]})
    _tables, goal = read_inputs([owner], target, label="y", bounds={"a": (0, 6)})
    assert goal.name == "target"
    assert goal.labels is None
    np.testing.assert_array_equal(goal.values, [[3, 4]])
    np.testing.assert_array_equal(goal.scaled, [[0.5, 4]])
    _, goal = read_inputs([owner], np.array([[3, 4]], np.float32), label="y", bounds={"a": (0, 6)})
    np.testing.assert_array_equal(goal.scaled, [[0.5, 4]])
    assert goal.values.dtype == np.float64


def test_target_that_does_not_fit_is_refused() -> None:
    owner = pl.DataFrame({"a": [1.0], "b": [2.0]})
    with pytest.raises(InvalidDataError, match="'target': has no column 'b'"):
        read_inputs([owner], pl.DataFrame({"a": [1]}))
    with pytest.raises(InvalidDataError, match="'target': has 3 columns and 'owner-0' has 2"):
        read_inputs([owner], np.ones((1, 3)))
    with pytest.raises(InvalidParameterError, match="target: labels are not used"):
        read_inputs([owner], (np.ones((1, 2)), np.ones(1)))


def test_repr_shows_no_data() -> None:
    table = read((np.array([[31.4159]]), np.array([31.4159])), bounds={"x0": (0, 1)})
    assert SECRET not in repr(table)
    assert "n_clipped" not in repr(table)

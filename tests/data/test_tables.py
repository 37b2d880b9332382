"""Reading arrays, data frames and files: exact values, and refusals that leak nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsumm.data.inputs import Table, read_table
from dpsumm.data.schema import Column, Schema
from dpsumm.data.short import schema_of
from dpsumm.errors import InvalidDataError, InvalidParameterError

SECRET = "31.4159"  # a data value; must never be in a message


def read(source: Any, **options: Any) -> Table:
    return read_table(source, name="north", **options)


def dropping(*names: str, label: str | None = None) -> Schema:
    """Return a schema of numbers whose rows with missing values are left out."""
    columns = [Column(name, when_missing="drop") for name in names]
    return Schema([*columns, *([Column(label, "label", when_missing="drop")] if label else [])])


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
        (np.array([[1.0, np.nan]]), "column 'x1' has missing values.*when_missing='drop'"),
        (np.array([[1.0, -np.inf]]), "column 'x1' has infinite values"),
        ((np.ones((3, 1)), np.ones(2)), "one label per row"),
        ((np.ones((3, 1)), np.ones((3, 1))), "one label per row"),
        ((np.ones((1, 1)), np.array([np.nan])), "labels are missing"),
        ((np.ones((1, 1)), np.array([np.inf])), "labels are infinite"),
        ((np.ones((1, 1)), np.array([{}], object)), "labels must hold"),
        ((np.ones((1, 1)), np.array(["2020-01-01"], "M8[D]")), "labels must hold"),
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


@pytest.mark.parametrize("single", [False, True])
def test_columns_of_a_frame_stand_side_by_side(single: bool) -> None:
    # More columns than are written at a time, and more rows.
    values = np.random.default_rng(0).normal(size=(9_000, 35))
    values[::7] = -0.0
    frame = pl.DataFrame(values, schema=[f"x{j}" for j in range(35)])
    read = read_table(frame, name="owner", single=single).values
    assert read.flags.c_contiguous
    assert read.dtype == (np.float32 if single else np.float64)
    np.testing.assert_array_equal(read, values.astype(read.dtype))
    assert not np.signbit(read[read == 0]).any()


def test_labelled_pair_of_arrays() -> None:
    for labels in (np.array([1, 2]), np.array(["a", "b"]), np.array(["a", "b"], object)):
        table = read((np.ones((2, 1)), labels))
        assert table.labels is not None
        assert table.labels.dtype.kind in "iU"
        assert list(table.labels) == list(labels)


def test_labels_of_a_file_keep_the_zeros_that_they_begin_with(tmp_path: Path) -> None:
    for labels, kept in ((["02139", "501"], ["02139", 501]), (["0", "-0.5"], [0.0, -0.5])):
        file = tmp_path / "data.csv"
        file.write_text("x,label\n" + "".join(f"1.5,{label}\n" for label in labels))
        table = read(file, schema=Schema.numbers(["x"], label="label"))
        assert table.labels is not None
        assert table.labels.tolist() == kept


def test_masked_entries_are_missing_not_their_hidden_values() -> None:
    values = np.ma.masked_equal(np.array([[1, 2], [3, 4]]), 2)
    labels = np.ma.masked_equal(np.array([5, 6]), 6)
    with pytest.raises(InvalidDataError, match="missing"):
        read(values)
    with pytest.raises(InvalidDataError, match="labels are missing"):
        read((np.ones((2, 1)), labels))
    np.testing.assert_array_equal(read(values, schema=dropping("a", "b")).values, [[3, 4]])


def test_dropping_maps_kept_rows_to_the_data_as_given() -> None:
    values = np.array([[1.0], [np.nan], [3.0], [4.0]])
    labels = np.array([1.0, 2.0, np.nan, 4.0])
    table = read((values, labels), schema=dropping("x", label="y"))
    assert table.labels is not None
    assert table.n_dropped == 2
    np.testing.assert_array_equal(table.rows, [0, 3])
    np.testing.assert_array_equal(table.labels, [1, 4])
    np.testing.assert_array_equal(values[table.take(np.array([1, 0])).rows], [[4], [1]])
    assert np.isnan(values).sum() == 1  # the input is not changed


def test_nothing_left_after_dropping_is_refused() -> None:
    with pytest.raises(InvalidDataError, match="no row is complete"):
        read(np.full((2, 1), np.nan), schema=dropping("x"))


# --- data frames ------------------------------------------------------------------------------

FRAMES = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "pyarrow": pa.table,
}


@pytest.mark.parametrize("backend", FRAMES)
def test_frame_columns_labels_and_backend(backend: str) -> None:
    frame = FRAMES[backend]({"a": [1, 2], "b": [True, False], "c": [0.5, 1.5], "y": ["u", "vv"]})
    table = read(frame, schema=Schema.numbers("abc", label="y"))
    assert table.columns == ("a", "b", "c")
    assert table.values.dtype == np.float64
    assert table.values.flags.c_contiguous
    np.testing.assert_array_equal(table.values, [[1, 1, 0.5], [2, 0, 1.5]])
    assert table.labels is not None
    assert table.labels.tolist() == ["u", "vv"]
    assert table.backend == backend
    two = read(frame, schema=Schema.numbers("ca"))
    assert two.columns == ("c", "a")
    np.testing.assert_array_equal(two.values, [[0.5, 1], [1.5, 2]])


@pytest.mark.parametrize("backend", FRAMES)
def test_frame_missing_values(backend: str) -> None:
    frame = FRAMES[backend]({"a": [1, None, 3], "b": [True, None, False], "y": [7, 8, None]})
    if backend == "pandas":
        frame = frame.astype({"b": "boolean"})
    with pytest.raises(InvalidDataError, match="column 'a' has missing"):
        read(frame)
    with pytest.raises(InvalidDataError, match="labels are missing"):
        read(
            frame.loc[[0, 2]] if backend == "pandas" else frame[::2],
            schema=Schema.numbers("ab", label="y"),
        )
    table = read(frame, schema=dropping("a", "b", label="y"))
    np.testing.assert_array_equal(table.values, [[1, 1]])
    assert table.labels is not None
    assert table.labels.tolist() == [7]


@pytest.mark.parametrize("backend", FRAMES)
def test_a_frame_has_the_precision_that_is_said_whatever_its_columns_have(backend: str) -> None:
    for kind in (np.float32, np.float64):
        frame = FRAMES[backend]({"a": np.array([0.1, 0.2], kind), "b": np.array([0.3, 0.4], kind)})
        for single, dtype in ((False, np.float64), (True, np.float32)):
            values = read(frame, single=single).values
            assert values.dtype == dtype
            exact = np.array([[0.1, 0.3], [0.2, 0.4]], kind).astype(dtype)
            np.testing.assert_array_equal(values, exact)
    far = FRAMES[backend]({"a": [1e39], "b": [1.0]})
    with pytest.raises(InvalidDataError, match="infinite"):
        read(far, single=True)


@pytest.mark.parametrize("dtype", ["Int64", "Float64", "int64[pyarrow]", "boolean", "float32"])
def test_pandas_extension_types(dtype: str) -> None:
    table = read(pd.DataFrame({"a": pd.array([1, 0], dtype=dtype)}))
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
    table = read(frame, schema=dropping("a", label="y"))
    assert table.labels is not None
    assert table.labels.dtype.kind == kind
    assert table.labels.tolist() == [labels[0], labels[2]]
    assert table.rows.tolist() == [0, 2]


def test_lazy_frame_is_collected_and_unnamed_pandas_columns_are_named() -> None:
    np.testing.assert_array_equal(read(pl.LazyFrame({"a": [1, 2]})).values, [[1], [2]])
    assert read(pd.DataFrame(np.ones((2, 2)))).columns == ("0", "1")


LABELLED = {"schema": Schema.numbers("a", label="y")}


@pytest.mark.parametrize(
    ("frame", "options", "message"),
    [
        (pl.DataFrame({"a": ["31.4159"]}), {}, "column 'a' is not numeric .type String.*schema"),
        (pl.DataFrame({"a": [None]}), {}, "column 'a' has missing values"),
        (pd.DataFrame({"a": [1, "x"]}), {}, "column 'a' is not numeric"),
        (pl.DataFrame({"b": [1]}), LABELLED, "has no column 'a', which its schema"),
        (pl.DataFrame({"a": [1]}), LABELLED, "no label column 'y'"),
        (pl.DataFrame(), {}, "empty"),
        (pl.DataFrame({"a": []}, schema={"a": pl.Int64}), {}, "empty"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), {}, "same name"),
        (pd.DataFrame([[1, 2]], columns=["1", 1]), {}, "same name"),
        (pl.DataFrame({"a": [1], "": [2]}), {}, "no name"),
        (pl.DataFrame({"a\0": [1]}), {}, "NUL"),
        (pl.DataFrame({"a": [1], "y": [[1]]}), LABELLED, "label column 'y' must hold"),
        (pl.LazyFrame({"a": ["31.4159"]}).with_columns(pl.col("a").cast(int)), {}, "lazy"),
    ],
)
def test_unusable_frame_is_refused(frame: Any, options: Any, message: str) -> None:
    with pytest.raises(InvalidDataError, match=f"'north'.*{message}") as caught:
        read(frame, **options)
    assert SECRET not in str(caught.value)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


# --- bounds -----------------------------------------------------------------------------------


def test_bounds_scale_and_clip_for_the_kernel_only() -> None:
    frame = pl.DataFrame({"a": [-1.0, 5.0, 20.0], "b": [7.0, 8.0, 9.0]})
    table = read(frame, schema=schema_of({"a": (0, 10), "b": "number"}))
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
    table = read(values, schema=schema_of({"x0": (low, high)}))
    assert table.scaled.dtype == dtype
    assert np.all((table.scaled >= 0) & (table.scaled <= 1))
    order = np.argsort(values[:, 0], kind="stable")
    assert np.all(np.diff(table.scaled[order, 0]) >= 0)


def test_repr_shows_no_data() -> None:
    table = read((np.array([[31.4159]]), np.array([31.4159])), schema=schema_of({"x0": (0, 1)}))
    assert SECRET not in repr(table)
    assert "n_clipped" not in repr(table)

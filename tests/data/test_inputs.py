"""The data of several parties: the same columns in the same order, or a refusal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse

from dpsumm.data.column import Column
from dpsumm.data.inputs import Table, read_inputs, read_owners, read_table, read_target
from dpsumm.data.schema import Schema
from dpsumm.errors import InvalidDataError, InvalidParameterError

SECRET = "31.4159"  # a data value; must never be in a message


def read(source: Any, **options: Any) -> Table:
    return read_table(source, name="north", **options)


def write(path: Path, text: str) -> Path:
    path.write_bytes(text.encode())
    return path


def test_owners_are_named_by_key_file_or_position(tmp_path: Path) -> None:
    path = write(tmp_path / "clinic.csv", "x0\n1\n")
    array = np.ones((1, 1))
    assert [t.name for t in read_owners({"b": array, "a": array})] == ["b", "a"]
    assert [t.name for t in read_owners([path, array])] == ["clinic", "owner-1"]
    assert [t.name for t in read_owners(path)] == ["clinic"]
    for owners in ([], {}, [path, path], {"": array}, {1: array, "1": array}, array):
        with pytest.raises(InvalidParameterError, match="owners"):
            read_owners(owners)


def test_owners_share_columns_by_name_and_keep_their_precision() -> None:
    one = np.array([[1, 2]], np.float32)
    two = pd.DataFrame({"a": [10.0], "b": [20.0]})
    schema = Schema([Column("a"), Column("b", bounds=(0, 200))])
    tables = read_owners([one, two, np.array([[100, 200]])], schema=schema)
    assert tables[1].columns == ("a", "b")
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
    frames = {"one": pl.DataFrame({"a": [1], "y": [1]}), "two": pl.DataFrame({"a": [1]})}
    with pytest.raises(InvalidDataError, match=r"'two'.*no label column 'y'"):
        read_owners(frames, schema=Schema.numbers("a", label="y"))


def test_target_takes_the_columns_of_the_owners() -> None:
    owner = pl.DataFrame({"a": [1.0], "b": [2.0], "y": [0]})
    target = pd.DataFrame({"y": [9], "id": ["k"], "b": [4.0], "a": [3.0]})
    schema = Schema([Column("a", bounds=(0, 6)), Column("b"), Column("y", "label")])
    _tables, goal = read_inputs([owner], target, schema=schema)
    assert goal.name == "target"
    assert goal.labels is None
    np.testing.assert_array_equal(goal.values, [[3, 4]])
    np.testing.assert_array_equal(goal.scaled, [[0.5, 4]])
    _, goal = read_inputs([owner], np.array([[3, 4]], np.float32), schema=schema)
    np.testing.assert_array_equal(goal.scaled, [[0.5, 4]])
    assert goal.values.dtype == np.float64


def test_no_owner_has_the_name_of_the_consumers_data() -> None:
    owners = {"target": np.ones((2, 1)), "south": np.ones((2, 1))}
    with pytest.raises(InvalidParameterError, match=r"must not be called 'target'.*another name"):
        read_inputs(owners, np.ones((2, 1)))
    assert read_inputs(owners, np.ones((2, 1)), target_name="public_points")


def test_target_that_does_not_fit_is_refused() -> None:
    owner = pl.DataFrame({"a": [1.0], "b": [2.0]})
    with pytest.raises(InvalidDataError, match="'target': has no column 'b'"):
        read_inputs([owner], pl.DataFrame({"a": [1]}))
    with pytest.raises(InvalidDataError, match="'target': has 3 columns and 'owner-0' has 2"):
        read_inputs([owner], np.ones((1, 3)))
    with pytest.raises(InvalidParameterError, match="target: labels are not used"):
        read_inputs([owner], (np.ones((1, 2)), np.ones(1)))


SCHEMA = Schema([Column("a", bounds=(0, 6)), Column("note", "ignore"), Column("y", "label")])
OWNER = pl.DataFrame({"a": [1.0, 2], "note": ["u", "v"], "y": [0, 1]})


@pytest.mark.parametrize(
    ("y", "labels"),
    [
        ([1, 0, 1], [1, 0, 1]),
        ([1, None, 0], [1, None, 0]),
        ([None, None, None], [None] * 3),
        (["1", "nan", "nan"], [1, None, None]),
        (None, None),
    ],
)
@pytest.mark.parametrize("how", ["frame", "file"])
def test_the_targets_own_labels_change_nothing_else(
    tmp_path: Path, how: str, y: list[Any] | None, labels: list[Any] | None
) -> None:
    target = pl.DataFrame({"a": [3.0, 9, 5]}).with_columns(
        *([] if y is None else [pl.Series("y", y, strict=False)])
    )
    plain = read_inputs([OWNER], target.select("a"), schema=SCHEMA)[1]
    wanted: dict[str, Any] = {"schema": SCHEMA}
    source: Any = target
    if how == "file":
        source = tmp_path / "clinic.csv"
        target.write_csv(source)
    _, goal = read_inputs([OWNER], source, own_labels=True, **wanted)
    for one in (goal, read_target(source, SCHEMA)):
        assert (one.labels if labels is None else one.labels.tolist()) == labels
        np.testing.assert_array_equal(one.scaled, plain.scaled)
        assert one.n_dropped == 0
        assert one.carried == ()
    # Nobody else sees them.
    assert read_inputs([OWNER], source, **wanted)[1].labels is None


def test_the_targets_labels_beside_its_points() -> None:
    owner, points = (np.ones((2, 1)), np.array([0, 1])), np.zeros((3, 1))
    y = np.array([1.0, np.nan, 0])
    _, goal = read_inputs([owner], (points, y), own_labels=True)
    assert goal.labels.tolist() == [1.0, None, 0.0]
    schema = SCHEMA.for_target(label=True)
    assert read_inputs([owner], (points, y), own_labels=True, schema=schema)[1].labels is not None
    assert read_inputs([owner], points, own_labels=True, schema=schema)[1].labels is None
    frame = pl.DataFrame({"a": [0.0, 0, 0], "y": [5, 5, 5]})
    _, goal = read_inputs([OWNER], (frame, y), own_labels=True, schema=schema)
    assert goal.labels.tolist() == [1.0, None, 0.0]
    with pytest.raises(InvalidParameterError, match="target: has labels, although no owner has"):
        read_inputs([owner[0]], (points, y), own_labels=True)
    with pytest.raises(InvalidDataError, match="'target': needs one label per row"):
        read_inputs([owner], (points, y[:2]), own_labels=True)


def test_labels_of_the_target_that_the_schema_does_not_know_are_refused() -> None:
    listed = Schema([Column("a"), Column("y", "label", categories=(0, 1))])
    target = pl.DataFrame({"a": [3.0], "y": [31]})
    with pytest.raises(InvalidDataError, match="in none of the schema's categories") as refusal:
        read_inputs([OWNER], target, own_labels=True, schema=listed)
    assert "31" not in str(refusal.value)


@pytest.mark.parametrize("kind", ["csr_matrix", "coo_array"])
@pytest.mark.parametrize("labelled", [False, True])
def test_a_sparse_matrix_is_refused_with_the_way_out(kind: str, labelled: bool) -> None:
    sparse = getattr(scipy.sparse, kind)(np.eye(4))
    source = (sparse, np.zeros(4)) if labelled else sparse
    with pytest.raises(InvalidParameterError, match=r"sparse .*\.toarray\(\).*TruncatedSVD"):
        read_owners([source])
    assert len(read_owners([sparse.toarray()])[0]) == 4


def test_a_name_that_is_there_twice_is_refused_in_pairs_too() -> None:
    frame = pd.DataFrame([[1.0, 2.0, 3.0]] * 9, columns=["a", "b", "a"])
    for source in (frame, (frame, np.arange(9) % 2)):
        with pytest.raises(InvalidDataError, match="two columns have the same name"):
            read_owners({"north": source})

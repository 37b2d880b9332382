"""What no message holds is refused when data are read: later, other owners would see a run stop."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from dpsumm import Column, Schema
from dpsumm.data.inputs import read_table
from dpsumm.errors import InvalidDataError

SCHEMA = Schema([Column("x"), Column("note", "ignore"), Column("y", "label")])
LONG, HALF = "q" * 4097, "\ud800"


def frame(make, **one):
    """Return a table of three records, the last of them with these values."""
    rows = {"x": [1.0, 2.0, 3.0], "note": ["a", "b", "c"], "y": ["p", "q", "p"]}
    for name, value in one.items():
        rows[name][-1] = value
    return make(rows)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
@pytest.mark.parametrize("column", ["note", "y"])
def test_a_long_text_is_refused(make, column):
    read_table(frame(make, **{column: LONG[1:]}), name="a", schema=SCHEMA)
    with pytest.raises(
        InvalidDataError, match=r"^'a': (label )?column '.*' has texts of more than 4096"
    ) as told:
        read_table(frame(make, **{column: LONG}), name="a", schema=SCHEMA)
    assert "qq" not in str(told.value)


@pytest.mark.parametrize("column", ["note", "y"])
def test_half_a_character_is_refused(column):
    rows = pd.DataFrame({"x": [1.0, 2.0], "note": ["a", "b"], "y": ["p", "q"]}, dtype=object)
    rows.loc[1, column] = HALF
    with pytest.raises(InvalidDataError, match=r"'a': .*(half a character|cannot be read)") as told:
        read_table(rows.astype({"x": float}), name="a", schema=SCHEMA)
    assert HALF not in str(told.value)


@pytest.mark.parametrize("dtype", [object, np.str_])
@pytest.mark.parametrize(("bad", "message"), [(LONG, "more than 4096"), (HALF, "half a character")])
def test_labels_of_arrays(dtype, bad, message):
    labels = np.array(["p", bad], dtype=dtype)
    with pytest.raises(InvalidDataError, match=f"'a': labels has texts .*{message}"):
        read_table((np.ones((2, 1)), labels), name="a")
    wide = read_table((np.ones((2, 1)), np.array(["p", "q"], dtype="<U9000")), name="a")
    assert wide.labels.dtype == np.dtype("<U1")


@pytest.mark.parametrize(
    "wrap", [pa.table, lambda rows: pa.table(rows).to_pandas(types_mapper=pd.ArrowDtype)]
)
def test_whole_numbers_that_a_float_rounds_are_read_as_elsewhere(wrap):
    """Arrow's cast refuses them, one because of another record's null, and quotes them."""
    schema = Schema([Column("x", bounds=(0, 1)), Column("note", "ignore"), Column("y", "label")])
    rows = {
        "x": pa.array([2**60 + 1, 0, 1], pa.int64()),
        "note": pa.array([2**60 + 1, None, 1], pa.int64()),
        "y": pa.array([2**63, 1, 2], pa.uint64()),
    }
    table = read_table(wrap(rows), name="a", schema=schema)
    expected = read_table(pl.from_arrow(pa.table(rows)), name="a", schema=schema)
    assert table.labels.tolist() == expected.labels.tolist() == [2**63, 1, 2]
    np.testing.assert_array_equal(table.scaled, expected.scaled)
    assert [c.tolist() for c in table.carried] == [c.tolist() for c in expected.carried]

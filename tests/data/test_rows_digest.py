"""The digest of a file's rows: it holds however they are laid out, and shows every change."""

import datetime
import json

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsumm.data.written import _columns, _digest, _texts, check_rows, read_about, write_rows

DAY = datetime.date(1969, 5, 1)
FRAME = pl.DataFrame(
    {
        "text": ["a", None, "", "ä,"],
        "whole": [1, None, -3, 0],
        "number": [0.5, float("nan"), None, -0.0],
        "truth": [True, False, None, True],
        "day": [DAY, None, DAY, DAY],
    }
)


def written(path, frame=FRAME):
    write_rows(path, frame, {"run": "r"})
    return check_rows(path, read_about(path))


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_rows_have_their_digest(tmp_path, suffix):
    assert written(tmp_path / f"rows{suffix}").holds


def test_the_layout_of_the_file_is_no_change(tmp_path):
    path = tmp_path / "rows.parquet"
    assert written(path).holds
    table = pq.read_table(path)
    narrow = table.set_column(1, "whole", table["whole"].cast(pa.int16()))
    narrow = narrow.set_column(0, "text", table["text"].cast(pa.string()))
    pq.write_table(narrow, path, row_group_size=1, use_dictionary=False)
    assert check_rows(path, read_about(path)).holds


CHANGES = {
    "text": ["a", "", None, "ä,"],
    "whole": [1, 0, -3, 0],
    "number": [0.5, float("nan"), 0.0, -0.0],
    "truth": [True, False, False, True],
    "day": [DAY, DAY, DAY, DAY],
}


@pytest.mark.parametrize("name", CHANGES)
def test_every_change_is_seen(tmp_path, name):
    """Also one between a missing value and the value that is written in its place."""
    path = tmp_path / "rows.parquet"
    written(path)
    table = pq.read_table(path)
    changed = FRAME.with_columns(pl.Series(name, CHANGES[name])).to_arrow()
    pq.write_table(changed.replace_schema_metadata(table.schema.metadata), path)
    assert not check_rows(path, read_about(path)).holds


@given(st.lists(st.text(max_size=3), min_size=2, max_size=5))
def test_where_one_text_ends_counts(texts):
    joined = ["".join(texts), *[""] * (len(texts) - 1)]
    one, other = (pa.table({"t": pa.array(of, pa.string())}) for of in (texts, joined))
    same = _digest(b"", _columns(one)) == _digest(b"", _columns(other))
    assert same == (texts == joined)


def test_a_file_of_an_earlier_version_is_known(tmp_path):
    path = tmp_path / "rows.parquet"
    written(path)
    table = pq.read_table(path)
    salt = bytes(32)
    rows = {"salt": salt.hex(), "digest": _digest(salt, _texts(table))}
    about = json.dumps({"run": "r", "rows": rows})
    pq.write_table(table.replace_schema_metadata({"dpsumm": about}), path)
    assert check_rows(path, read_about(path)).holds

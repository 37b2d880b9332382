"""Reading files: what their writer meant, or a refusal that quotes nothing of them."""

from __future__ import annotations

import bz2
import gzip
import lzma
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from dpsumm import Column, Schema
from dpsumm.data.file import File, FileFormat
from dpsumm.data.inputs import Table, read_table
from dpsumm.data.read_file import read_file
from dpsumm.errors import InvalidDataError, InvalidParameterError, MissingExtraError
from helpers.sheets import write_sheet

SECRET = "31.4159"  # a data value; must never be in a message


def read(source: Any, **options: Any) -> Table:
    return read_table(source, name="north", **options)


def write(path: Path, text: str) -> Path:
    path.write_bytes(text.encode())
    return path


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
        table = read(source, schema=Schema.numbers("ab", label="y"))
        np.testing.assert_array_equal(table.values, frame.select("a", "b").to_numpy())
        assert table.labels is not None
        assert table.labels.tolist() == ["u", "v, w"]
        assert table.backend == "polars"


def test_headerless_file_with_question_marks(tmp_path: Path) -> None:
    path = write(tmp_path / "heart.data", "28,1,?,0\n 29.5,0, 5 ,1\n30,,7,2\n")
    names = FileFormat(names=("age", "sex", "ca", "num"))
    columns = [Column(name, when_missing="drop") for name in names.names[:3]]
    schema = Schema([*columns, Column("num", "label")])
    table = read(File(path, names), schema=schema)
    np.testing.assert_array_equal(table.values, [[29.5, 0, 5]])
    assert table.rows.tolist() == [1]
    assert table.labels is not None
    assert table.labels.dtype.kind == "i"
    table = read(File(path, FileFormat(header=False)), schema=Schema.numbers(["x0"]))
    np.testing.assert_array_equal(table.values, [[28], [29.5], [30]])


def test_separator_and_own_missing_token(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "a;b\n1;-9\n2;3\n")
    schema = Schema([Column("a"), Column("b", missing=("-9",), when_missing="drop")])
    table = read(File(path, FileFormat(separator=";")), schema=schema)
    np.testing.assert_array_equal(table.values, [[2, 3]])


def test_late_text_is_refused_and_neither_it_nor_the_header_is_quoted(tmp_path: Path) -> None:
    rows = "1\n" * 5000 + SECRET + "x\n"
    with pytest.raises(InvalidDataError, match="column 1 of the file is not numeric") as caught:
        read(write(tmp_path / "a.csv", "a\n" + rows))
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("end", ["", "\n", "\n\n\n", "\r\n\r\n"])
def test_blank_lines_at_the_end_are_not_rows(tmp_path: Path, end: str) -> None:
    assert read(write(tmp_path / "a.csv", "a,b\n1,2\n3,4" + end)).values.shape == (2, 2)
    column = write(tmp_path / "a.csv", "a\n1\n3" + end)
    if end.strip("\r") in ("", "\n"):
        assert read(column).values.shape == (2, 1)
        return
    with pytest.raises(InvalidDataError, match=r'a line is blank. .* write "" for a missing'):
        read(column)


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
    with pytest.raises(InvalidDataError, match=r"'north' \(.*a\.csv\)") as caught:
        read(path)
    assert SECRET not in str(caught.value)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet"])
def test_random_bytes_are_refused(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a{suffix}"
    path.write_bytes(np.random.default_rng(7).bytes(4000))
    with pytest.raises(InvalidDataError, match=r"not a well-formed|is not utf-8"):
        read(path)


@pytest.mark.parametrize(("mark", "told"), [(";", "';'"), ("\t", r"'\t'"), ("|", "'|'")])
def test_another_separator_is_named_and_no_record_quoted(
    tmp_path: Path, mark: str, told: str
) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f"{SECRET}{mark}x\n1{mark}2\n3{mark}4\n")  # no header: the first is a record
    with pytest.raises(InvalidDataError) as caught:
        read(path)
    assert f"Give `File(path, FileFormat(separator={told}))`" in str(caught.value)
    assert SECRET not in str(caught.value)
    if mark != "\t":  # no name of a column has one
        path.write_text(f'"a{mark}b"\n1\n2\n')
        assert len(read(File(path, FileFormat(separator=mark)))) == 2


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
    with pytest.raises(InvalidDataError, match=r"is not utf-8 text.*cp1252") as caught:
        read(path)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("suffix", [".tsv", ".TSV", ".tsv.gz"])
def test_a_file_of_tabs_is_known_by_its_suffix(tmp_path: Path, suffix: str) -> None:
    data = b"x\tc\n1\ta,b\n2\ta\n"
    path = tmp_path / f"a{suffix}"
    path.write_bytes(gzip.compress(data) if suffix.endswith(".gz") else data)
    schema = Schema([Column("x", bounds=(0, 9)), Column("c", categories=["a", "a,b"])])
    table = read_table(path, schema=schema, name="north")
    np.testing.assert_array_equal(table.values, [[1, 1], [2, 0]])
    assert File(path, FileFormat(kind="csv")).format.separator == ","
    assert File(path, FileFormat(separator=";")).format.separator == ";"
    assert File(tmp_path / "a.csv").format.separator == ","


@pytest.mark.parametrize("pack", [bz2.compress, lzma.compress])
def test_a_packed_file_says_what_it_is(tmp_path: Path, pack: Any) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(pack(b"a,b\n1,2\n"))
    with pytest.raises(InvalidDataError, match="is compressed, not CSV text"):
        read(path)


def test_a_text_may_begin_as_a_packed_file_does(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("BZh9,b\n1,2\n")
    assert read(path).columns == ("BZh9", "b")


@pytest.mark.parametrize(
    ("suffix", "said"),
    [
        (
            ".xlsx",
            r"is an Excel workbook .*kind='excel'\)\)`",
        ),
        (".parquet", r"is a Parquet file, not CSV text. .*kind='parquet'"),
        (".xls", r"is an old Excel workbook .* save it as \.xlsx or CSV"),
        (".csv", None),
    ],
)
def test_a_file_that_is_no_csv_says_what_it_is(
    tmp_path: Path, suffix: str, said: str | None
) -> None:
    path, named = tmp_path / f"a{suffix}", tmp_path / "named.csv"
    # A text that begins as a Parquet file does is a text.
    frame = pl.DataFrame({"PAR1": ["1", "2"], "b": ["3", "PAR1"]})
    if suffix == ".xlsx":
        write_sheet(path, [["a", "b"], [1, 2]])
    elif suffix == ".xls":
        path.write_bytes(bytes.fromhex("d0cf11e0a1b11ae1") + bytes(500))
    elif suffix == ".parquet":
        frame.write_parquet(path)
    else:
        path.write_text(frame.write_csv().removesuffix("\n"))
    named.write_bytes(path.read_bytes())
    if said is None:
        frame = read_file(named, FileFormat(), where="'a'")
        assert [len(cells) for cells in frame.take(frame.names).values()] == [2, 2]
        return
    with pytest.raises(InvalidDataError, match=said):
        read_file(named, FileFormat(), where="'a'")


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
        read(write(tmp_path / "a.ods", "a\n1\n"))
    write(tmp_path / "b.csv", "a\n1\n")
    with pytest.raises(InvalidDataError, match="no such file"):
        read(tmp_path / "*.csv")  # a pattern is not a file


def test_names_must_fit_the_file(tmp_path: Path) -> None:
    with pytest.raises(InvalidParameterError, match="has 2 columns, but 3 names"):
        read(File(write(tmp_path / "a.csv", "1,2\n"), FileFormat(names=("a", "b", "c"))))


@pytest.mark.parametrize(
    "options",
    [{"separator": ",,"}, {"separator": ""}, {"separator": "é"}, {"separator": '"'},
     {"names": ()}, {"names": ("a", "a")}, {"names": ("",)}, {"names": "abc"}],
)  # fmt: skip
def test_senseless_file_formats_are_refused(options: Any) -> None:
    with pytest.raises(InvalidParameterError, match=r"separator|names"):
        FileFormat(**options)


def test_missing_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "polars", None)
    with pytest.raises(MissingExtraError, match=r"dpsumm\[files\]"):
        read(tmp_path / "a.csv")

"""Small files that unpack to more than a machine has: refused in words, or read in little."""

import gzip
import io
import subprocess
import sys
import zipfile

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpsumm.data import guard as limits
from dpsumm.data.inputs import read_table
from dpsumm.errors import InvalidDataError
from helpers.sheets import MAIN, OFFICE, write_sheet

LIMIT = 3 << 30
READ = f"""
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, ({LIMIT}, {LIMIT}))
from dpsumm.data.inputs import read_table
from dpsumm.errors import InvalidDataError
for path in sys.argv[1:]:
    try:
        print(len(read_table(path, name="north")), "rows")
    except InvalidDataError as error:
        print("refused:", error)
"""
SHEET = (
    '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>{}'
    "</sheetData></worksheet>"
)


def workbook(path, edit):
    """An Excel file whose parts are edited: name -> bytes."""
    buffer = io.BytesIO()
    write_sheet(buffer, [["a", "b"], [1.0, 3.0], [2.0, 4.0]])
    with zipfile.ZipFile(buffer) as book, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        for name in book.namelist():
            out.writestr(name, edit(name, book.read(name)))


def sheet(text):
    return lambda name, data: SHEET.format(text).encode() if "worksheets" in name else data


def cell(place, value=1):
    return f'<c r="{place}"><v>{value}</v></c>'


def far_cells(path):
    rows = f'<row r="1">{cell("A1")}</row><row r="1048576">{cell("CV1048576")}</row>'
    workbook(path, sheet(rows))


def far_column(path):
    workbook(path, sheet(f'<row r="1">{cell("A1")}{cell("XFD1")}</row>'))


def much_space(path):
    blank = b" " * (1 << 20)

    def edit(name, data):
        return data + 500 * blank if "worksheets" in name else data

    workbook(path, edit)


def lying_size(path):
    """Its directory says that a part of 500 MB has 10 bytes."""
    much_space(path)
    data = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as book:
        (part,) = (one for one in book.infolist() if "worksheets" in one.filename)
    true = part.file_size.to_bytes(4, "little")
    assert true in data
    path.write_bytes(bytes(data).replace(true, (10).to_bytes(4, "little")))


def far_without_places(path):
    """Cells without a place stand beside each other, and rows below each other."""
    row = "<row>" + "<c><v>1</v></c>" * 9000 + "</row>"
    workbook(path, sheet(row + "<row><c><v>1</v></c></row>" * 100_000))


def one_text_in_many_cells(path):
    cells = "".join(f'<row r="{i}"><c r="A{i}" t="s"><v>0</v></c></row>' for i in range(1, 2000))
    rest = "<si><t>a</t></si></sst>"
    shared = f'<sst xmlns="{MAIN}"><si><t>' + "x" * 2_000_000 + "</t></si>" + rest

    def edit(name, data):
        if name.endswith("workbook.xml.rels"):
            more = (
                f'<Relationship Id="s" Type="{OFFICE}/sharedStrings" Target="sharedStrings.xml"/>'
            )
            return data.replace(b"</Relationships>", more.encode() + b"</Relationships>")
        return sheet(cells)(name, data)

    workbook(path, edit)
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as book:
        book.writestr("xl/sharedStrings.xml", shared)


def one_text_in_many_rows(path):
    texts = pa.DictionaryArray.from_arrays(np.zeros(60_000, np.int32), ["x" * 100_000])
    pq.write_table(pa.table({"x": texts}), path, store_schema=False, compression="zstd")


def one_long_list(path):
    n = 100_000_000
    lists = pa.ListArray.from_arrays([0, 1, n], pa.array(np.zeros(n, np.int8)))
    pq.write_table(pa.table({"x": lists}), path, compression="zstd")


def quoted_columns(path):
    names = ",".join(f'"c\n{i}"' for i in range(100_000))
    path.write_text(names + "\n" + ",".join(["1"] * 100_000) + "\n")


def packed_csv(path):
    with gzip.open(path, "wb", 1) as file:
        file.write(b"x\n")
        for _ in range(400):
            file.write(b"1\n" * 2**19)


def repeated_parquet(path):
    with pq.ParquetWriter(path, pa.schema([("x", pa.float64())])) as file:
        group = pa.table({"x": np.ones(10_000_000)})
        for _ in range(12):
            file.write_table(group, row_group_size=10_000_000)


def many_columns(path):
    n = 100_000
    path.write_text(",".join(f"c{i}" for i in range(n)) + "\n" + ",".join(["1"] * n) + "\n")


BOMBS = {
    "packed.csv.gz": packed_csv, "repeated.parquet": repeated_parquet, "wide.csv": many_columns,
    "far.xlsx": far_cells, "wide.xlsx": far_column, "space.xlsx": much_space,
    "lying.xlsx": lying_size, "places.xlsx": far_without_places,
    "shared.xlsx": one_text_in_many_cells, "texts.parquet": one_text_in_many_rows,
    "list.parquet": one_long_list, "quoted.csv": quoted_columns,
}  # fmt: skip


@pytest.mark.deep
@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are Linux's")
def test_no_small_file_ends_the_process(tmp_path):
    for name, make in BOMBS.items():
        make(tmp_path / name)
        assert (tmp_path / name).stat().st_size < 2e6
    done = subprocess.run(
        [sys.executable, "-c", READ, *(tmp_path / name for name in BOMBS)],
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    said = done.stdout.splitlines()
    assert len(said) == len(BOMBS)
    for name, line in zip(BOMBS, said, strict=True):
        assert line.startswith("refused: "), (name, line)
        words = ("memory", "columns", "is not numeric")
        assert any(word in line for word in words), (name, line)


def test_a_file_within_the_limits_is_read(tmp_path, monkeypatch):
    frame = pl.DataFrame({f"c{i}": [0.5, 1.5] for i in range(2000)})
    frame.write_csv(tmp_path / "w.csv")
    frame.write_parquet(tmp_path / "w.parquet")
    workbook(tmp_path / "w.xlsx", lambda _, data: data)
    for name, columns in (("w.csv", 2000), ("w.parquet", 2000), ("w.xlsx", 2)):
        assert read_table(tmp_path / name, name="north").values.shape == (2, columns)
    monkeypatch.setattr(limits, "memory", lambda: 1000)
    for name in ("w.csv", "w.parquet", "w.xlsx"):
        with pytest.raises(InvalidDataError, match=r"more than there is\. Give its rows"):
            read_table(tmp_path / name, name="north")


SPELLED_OTHERWISE = {
    "a place in small letters": f'<row r="1">{cell("a1")}</row><row>{cell("cv1048576")}</row>',
    "a place with a leading zero": f'<row r="1">{cell("A1")}{cell("CV01048576")}</row>',
    "a row beyond the last": f'<row r="1">{cell("A1")}{cell("CV99999999")}</row>',
    "an entity": f'<!DOCTYPE a [<!ENTITY b "c">]><row r="1">{cell("A1")}</row>',
    "no end": '<row r="1">',
}


@pytest.mark.parametrize("what", SPELLED_OTHERWISE)
def test_a_sheet_that_two_parsers_could_read_in_two_ways_is_refused(what, tmp_path):
    workbook(tmp_path / "a.xlsx", sheet(SPELLED_OTHERWISE[what]))
    with pytest.raises(InvalidDataError, match="not a well-formed Excel"):
        read_table(tmp_path / "a.xlsx", name="north")


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_workbook_packed_in_another_way_is_refused(method, tmp_path):
    """These unpack whole blocks of hundreds of megabytes at once."""
    workbook(tmp_path / "a.xlsx", lambda _, data: data)
    with zipfile.ZipFile(tmp_path / "a.xlsx", "a", method) as book:
        book.writestr("xl/more.xml", "<a/>")
    with pytest.raises(InvalidDataError, match="not a well-formed Excel"):
        read_table(tmp_path / "a.xlsx", name="north")


def test_texts_of_a_parquet_file_keep_their_values_and_types(tmp_path):
    texts = ["a", None, "b", "a"]
    columns = {
        "x": [1.0, 2.0, 3.0, 4.0],
        "s": texts,
        "l": pa.array(texts, pa.large_string()),
        "b": pa.array([b"a", None, b"b", b"a"]),
        "d": pa.array(texts).dictionary_encode(),
        "n": pa.nulls(4, pa.string()),
    }
    pq.write_table(pa.table(columns), tmp_path / "t.parquet", row_group_size=3)
    read, texts = limits.read_batches(pa, tmp_path / "t.parquet", 2, "north")
    assert texts == ["s", "l", "b", "n"]
    whole = pq.read_table(tmp_path / "t.parquet")
    assert read.select(["x", "d"]).equals(whole.select(["x", "d"]))
    assert read.select(texts).cast(whole.select(texts).schema).equals(whole.select(texts))


def test_batches_of_texts_have_one_dictionary(tmp_path):
    """Each of Arrow's has all texts before it, so all of them are as large as the rows squared."""
    texts = [f"text {i}" for i in range(1000)]
    pq.write_table(pa.table({"s": texts}), tmp_path / "t.parquet", row_group_size=300)
    read, _ = limits.read_batches(pa, tmp_path / "t.parquet", 10, "north")
    assert read["s"].to_pylist() == texts
    kept = sum(len(chunk.dictionary) for chunk in read["s"].chunks)
    assert kept < 2 * len(texts)


@pytest.mark.parametrize("blockwise", [False, True])
def test_long_texts_of_a_small_parquet_file_are_counted(blockwise, tmp_path, monkeypatch):
    texts = [f"{i:0>1000}" for i in range(1000)]
    pq.write_table(pa.table({"s": texts}), tmp_path / "t.parquet", compression="zstd")
    how = ([], ["s"], lambda *_: None) if blockwise else (["s"],)

    def read():
        limits.read_batches(pa, tmp_path / "t.parquet", 100, "north", *how)

    monkeypatch.setattr(limits, "memory", lambda: 5_000_000)
    read()
    monkeypatch.setattr(limits, "memory", lambda: 500_000)
    with pytest.raises(InvalidDataError, match="GiB of memory, more than there is"):
        read()


NESTED = [
    pa.array([[1.0, 2.0], [3.0, 4.0]]),
    pa.array([[[1.0]], [[2.0]]]),
    pa.array([{"a": 1.0}, {"a": 2.0}]),
    pa.array([[("k", 1.0)], []], pa.map_(pa.string(), pa.float64())),
    pa.array([b"ab", b"cd"]),
]


@pytest.mark.parametrize("column", NESTED, ids=lambda column: str(column.type))
def test_nested_columns_of_a_parquet_file_are_refused_in_words(column, tmp_path):
    pq.write_table(pa.table({"x": [1.0, 2.0], "n": column}), tmp_path / "t.parquet")
    with pytest.raises(InvalidDataError, match="column 2 of the file is not numeric"):
        read_table(tmp_path / "t.parquet", name="north")


def test_dictionaries_are_read_as_their_values(tmp_path):
    column = pa.array([1.5, 2.5, 1.5]).dictionary_encode()
    pq.write_table(pa.table({"x": column}), tmp_path / "t.parquet")
    read = read_table(tmp_path / "t.parquet", name="north")
    np.testing.assert_array_equal(read.values[:, 0], [1.5, 2.5, 1.5])


def test_no_changed_byte_of_a_footer_ends_the_process_or_adds_a_record(tmp_path):
    """Rows, offsets, types and statistics lie; whatever is read has the rows that the file has."""
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"x": np.arange(20) / 8}), path)
    whole = path.read_bytes()
    start = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    rng = np.random.default_rng(1)
    read = 0
    for place in range(start, len(whole)):
        data = bytearray(whole)
        data[place] ^= int(rng.integers(1, 256))
        path.write_bytes(data)
        try:
            table = read_table(path, name="north")
        except InvalidDataError:
            continue
        read += 1
        assert len(table) <= 20
        assert table.values.shape[1] == 1
    assert read  # else it says nothing

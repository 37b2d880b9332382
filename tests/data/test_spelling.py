"""Files as people have them: other encodings, decimal commas, Excel sheets; nothing is guessed."""

import codecs

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsumm.data import File, FileFormat
from dpsumm.data.column import Column
from dpsumm.data.file import ENCODINGS
from dpsumm.data.inputs import read_table
from dpsumm.data.kinds.items import EPOCH
from dpsumm.data.read_file import read_sheet
from dpsumm.data.schema import Schema
from dpsumm.data.text_file import as_utf8
from dpsumm.errors import InvalidDataError, InvalidParameterError
from helpers.effort import examples
from helpers.sheets import write_sheet

SCHEMA = Schema([Column("weight", bounds=(0, 10)), Column("town", categories=("Köln", "Bonn"))])
GERMAN = "weight;town\n1,5;Köln\n+2,25;Bonn\n3;Köln\n"


def read(path, **form):
    return read_table(File(path, FileFormat(**form)), name="own", schema=SCHEMA).values.tolist()


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "utf-16"])
def test_text_of_any_encoding_with_decimal_commas(tmp_path, encoding):
    path = tmp_path / "a.csv"
    path.write_bytes(GERMAN.encode(encoding))
    named = "utf-8" if encoding == "utf-8-sig" else encoding
    found = read(path, separator=";", decimal=",", encoding=named)
    assert found == [[1.5, 0], [2.25, 1], [3, 0]]


@pytest.mark.parametrize(("encoding", "likely"), [("cp1252", "cp1252"), ("utf-16", "utf-16")])
def test_another_encoding_is_named_in_the_error(tmp_path, encoding, likely):
    path = tmp_path / "a.csv"
    path.write_bytes(GERMAN.encode(encoding))
    with pytest.raises(InvalidDataError, match=rf"is not utf-8 text.*encoding='{likely}'"):
        read(path, separator=";", decimal=",")


def test_a_number_that_may_mean_two_things_is_refused(tmp_path):
    path = tmp_path / "a.csv"
    for number in ("1.234", "1.234,5"):
        path.write_text(f"weight;town\n{number};Bonn\n")
        with pytest.raises(InvalidDataError, match="weight"):
            read(path, separator=";", decimal=",")
    # Points that separate no thousands are as they were, in dates above all.
    path.write_text("weight;town\n0.5;Bonn\n")
    assert read(path, separator=";", decimal=",") == [[0.5, 1]]
    dates = Schema([Column("day", "date", bounds=DAYS, date_format="%d.%m.%Y")])
    path.write_text("day;x\n31.12.2024;1\n")
    file = File(path, FileFormat(separator=";", decimal=","))
    assert len(read_table(file, name="own", schema=dates)) == 1


@pytest.mark.parametrize(
    "form",
    [{"decimal": ","}, {"decimal": "x"}, {"encoding": "none"}, {"encoding": None}]
    # These decode to no text, or let one line change how the next are read.
    + [{"encoding": name} for name in ("hex", "rot13", "zlib", "utf-7", "hz", "a\0b")]
    + [{"encoding": f"iso2022_{name}"} for name in ("jp", "jp_1", "jp_2", "jp_ext", "kr")],
)
def test_formats_that_make_no_sense_are_refused(form):
    with pytest.raises(InvalidParameterError, match=r"decimal|encoding"):
        FileFormat(**form)


# What changes state, begins a character, or is an order of bytes, in one encoding or another.
NASTY = (
    *(b"\x1b(J", b"\x1b$B", b"\x1b$)C", b"\x0e", b"~{", b"+", b"+AGE-", b"\\", b"C:\\a", b"~b"),
    *(b"\x81", b"\x8f\xa1", b"\x810\x81", b"\xa4\xd4\xa4\xa1\xa4", b"\x88b", b"\xa1\xa1", b"\x80"),
    *(codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, b"\x00\xd8", b"\xd8\x00", b"a,"),
)


def decoded(encoding, lines):
    """What stands after a header line, None if the file is refused."""
    unit = {"utf-16": "utf-16-le"}.get(encoding, encoding)
    head, end = "h\n".encode(unit), "\n".encode(unit.removesuffix("-sig"))
    mark = codecs.BOM_UTF16_LE if encoding == "utf-16" else b""
    # UTF-16: whole units, so that the line break is one.
    even = [line + b"a" * (len(line) % 2) if "16" in encoding else line for line in lines]
    try:
        text = as_utf8(mark + head + b"".join(line + end for line in even), encoding, "own")
        text.decode()  # as the reader of UTF-8 does
    except (InvalidDataError, UnicodeDecodeError):
        return None
    assert text.startswith(b"h\n")
    return text[2:]


def check_lines(encoding, lines):
    alone = [decoded(encoding, [line]) for line in lines]
    whole = decoded(encoding, lines)
    assert whole == (None if None in alone else b"".join(alone))


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_no_lead_byte_reaches_the_next_line(encoding):
    for lead in range(256):
        if lead != ord("\n"):
            check_lines(encoding, [bytes([lead]), b"C:\\a~b`,41"])


@examples(300)
@given(
    st.sampled_from(ENCODINGS),
    st.lists(
        st.lists(st.sampled_from(NASTY) | st.binary(max_size=2), max_size=3).map(b"".join),
        min_size=2,
        max_size=4,
    ),
)
def test_a_text_is_its_lines_decoded_one_by_one(encoding, lines):
    check_lines(encoding, lines)


def test_utf16_needs_the_mark_that_says_its_order(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(GERMAN.encode("utf-16-be"))
    with pytest.raises(InvalidDataError, match=r"byte order mark.*utf-16-le"):
        read(path, separator=";", decimal=",", encoding="utf-16")
    assert len(read(path, separator=";", decimal=",", encoding="utf-16-be")) == 3


DAYS = (np.datetime64("2020-01-01").item(), np.datetime64("2030-01-01").item())


def test_an_excel_sheet_is_read_cell_by_cell(tmp_path):
    path = tmp_path / "a.xlsx"
    rows = [["weight", "town"], [1.5, "Köln"], ["2.25", "Bonn"], [3, "Köln"]]
    write_sheet(path, rows)
    assert read(path) == [[1.5, 0], [2.25, 1], [3, 0]]
    # All decimals, where the library gives nine as text; text that is a number stays that text.
    write_sheet(path, [["weight", "town"], [0.1234567894321, "Bonn"], ["1e-10", "Bonn"]])
    assert [weight for weight, _ in read(path)] == [0.1234567894321, 1e-10]
    write_sheet(path, [["1e-10", "town"], [1, "0.10"], [1, "02139"], [1, 1e-10], [1, 3.0], [1, 0]])
    shown = ["town", "0.10", "02139", "1e-10", "3", "0"]
    assert read_sheet(path, "'a'").to_series(1).to_list() == shown
    # One cell of another type changes nothing about the others.
    write_sheet(path, [*rows, ["x", "Bonn"]])
    with pytest.raises(InvalidDataError, match="weight"):
        read(path)
    write_sheet(path, rows, sheets=2)
    with pytest.raises(InvalidDataError, match=r"the workbook has 2 sheets, .* own, or as CSV"):
        read(path)
    path.write_bytes(b"weight,town\r\n1.5,K\xc3\xb6ln\n")
    with pytest.raises(InvalidDataError, match=r"is text, not an Excel workbook. Name it \.csv"):
        read(path)
    path.write_bytes(b"PK\x03\x04no zip")
    with pytest.raises(InvalidDataError, match="not a well-formed Excel file"):
        read(path)


BLANK = Schema([Column(name, bounds=(0, 10), when_missing="encode") for name in "ab"])


def read_blank(path, rows, **form):
    write_sheet(path, rows)
    return read_table(File(path, FileFormat(**form)), name="own", schema=BLANK).values[:, 0]


@pytest.mark.parametrize("form", [{"header": False}, {"names": ("a", "b")}])
def test_a_sheet_without_a_header_row_is_refused(tmp_path, form):
    # A value in the first column of one record would move all others' columns.
    with pytest.raises(InvalidParameterError, match=r"first row.*CSV"):
        read_blank(tmp_path / "a.xlsx", [[1, 2], [3, 4]], **form)


def test_a_blank_record_of_a_sheet_is_refused_but_at_the_end(tmp_path):
    path, head, blank = tmp_path / "a.xlsx", ["a", "b"], ["", ""]
    for row in range(2):
        rows = [[1, 2], [3, 4], [5, 6]]
        rows[row] = blank
        with pytest.raises(InvalidDataError, match="a row of the sheet is blank"):
            read_blank(path, [head, *rows])
    # The file does not hold where its last record was: see docs/privacy/known-limits.md.
    np.testing.assert_array_equal(read_blank(path, [head, [1, 2], blank]), [1])


@pytest.mark.parametrize(
    "rows", [[["", ""], ["a", "b"]], [["a", "b"], [1, 2, 3]], [["", "b"], [1]]]
)
def test_a_sheet_begins_with_its_header_row_and_is_as_wide(tmp_path, rows):
    with pytest.raises(
        InvalidDataError, match=r"no name in the header row|row of the sheet is blank"
    ):
        read_blank(tmp_path / "a.xlsx", [*rows, [3, 4]])


NUMBERS = st.floats(-1e15, 1e15) | st.floats(-1e-6, 1e-6) | st.integers(-(2**53), 2**53)


@examples(30)
@given(st.lists(NUMBERS, min_size=1, max_size=30))
def test_a_number_is_the_same_in_an_excel_file_and_in_a_csv_file(tmp_path_factory, numbers):
    """To the last bit, for numbers and for categories that are numbers."""
    folder = tmp_path_factory.mktemp("sheet")
    rows = [["number", "code"], *([number, number] for number in numbers)]
    write_sheet(folder / "a.xlsx", rows)
    (folder / "a.csv").write_text("".join(f"{a},{b}\n" for a, b in rows))
    codes = Column("code", categories=tuple({float(number): None for number in numbers}))
    schema = Schema([Column("number", bounds=(-1e16, 1e16)), codes])
    excel, csv = (
        read_table(folder / f"a.{kind}", name="own", schema=schema).values
        for kind in ("xlsx", "csv")
    )
    assert excel.tobytes() == csv.tobytes()
    if len(numbers) > 1:  # no cell is read by another one
        write_sheet(folder / "one.xlsx", [rows[0], rows[-1]])
        alone = read_table(folder / "one.xlsx", name="own", schema=schema).values
        assert alone.tobytes() == excel[-1:].tobytes()


@pytest.mark.parametrize("form", [None, "%d.%m.%Y"])
def test_a_cell_that_is_a_date_is_one_whatever_format_the_text_has(tmp_path, form):
    day, texts = np.datetime64("2024-12-31").item(), {None: "2024-12-31", "%d.%m.%Y": "31.12.2024"}
    schema = Schema([Column("day", "date", bounds=DAYS, date_format=form)])
    path = tmp_path / "a.xlsx"
    write_sheet(path, [["day"], [day], [texts[form]]])
    table = read_table(path, name="own", schema=schema)
    assert table.values[0] == table.values[1]
    assert table.values[0, 0] == day.toordinal() - EPOCH
    # The number alone is no date, nor is a text of another form: what it means would be a guess.
    other = "31.12.2024" if form is None else "2024-12-31"
    for wrong in (45657, other):
        write_sheet(path, [["day"], [day], [wrong]])
        with pytest.raises(InvalidDataError, match="no date"):
            read_table(path, name="own", schema=schema)

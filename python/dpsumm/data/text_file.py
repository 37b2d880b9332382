"""Rows of text files (CSV, or a sheet read as text), strictly.

A CSV reader that guesses is dangerous here: a row silently padded, or a first record that is
silently taken for a header, is a record lost or leaked. So rows of unequal length are refused, a
header that looks like data is refused, and messages never quote the file's contents.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dpsumm.basics.checks import counted
from dpsumm.basics.names import from_cell
from dpsumm.data.file import FileFormat, name_of
from dpsumm.data.frame import Cells, Each, Frame, check_names
from dpsumm.data.guard import CELL, check_memory, guarded, import_polars, read_text_file
from dpsumm.errors import InvalidDataError, InvalidParameterError

if TYPE_CHECKING:
    import polars as pl

# Bytes of a field's number, which is there twice while those of all pieces are joined.
_NUMBER = 16
# Bytes of a piece of a large file, to the next end of a line, and rows of one in memory.
PIECE, ROWS = 1 << 23, 65_536
SEPARATORS = (";", "\t", "|", ",")
_SEPARATED = (
    "there is one column only, and its name has {0!r} in it. Does that separate its fields? Give "
    "`File(path, FileFormat(separator={0!r}))`; or rename the column"
)
# A cell as `names.to_cell` makes it.
_QUOTED = re.compile(rb"'[=+\-@\t\r\n\xef]")
_DATE = re.compile(r"\d{4}-\d\d-\d\d|\d{1,2}[./]\d{1,2}[./]\d{4}")
# A number with a comma before its fraction, or points between its thousands.
_WITH_COMMA = r"^[+-]?[0-9]+(?:\.[0-9]{3})*(?:,[0-9]+)?(?:[eE][+-]?[0-9]+)?$"
# What files of bzip2, xz and Zstandard begin with. Those of gzip are unpacked.
_PACKED = re.compile(rb"BZh[1-9]1AY&SY|\xfd7zXZ\0|\x28\xb5\x2f\xfd")
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class Texts:
    """All fields of a CSV file as text, the header row included, some rows at a time.

    Lines alone tell the rows if no field is quoted and all lines have as many separators. Then a
    large file is parsed in pieces, and its fields are never there as a whole.
    """

    def __init__(self, path: Path, file_format: FileFormat, where: str) -> None:
        raw = guarded(lambda: read_text_file(path, file_format.separator, where), where, "CSV")
        _check_text(raw, where)
        self._format, self._where = file_format, where
        data = as_utf8(raw, file_format.encoding, where)
        self._ends = _ends(data, file_format.separator)
        if self._ends:
            check_memory(_NUMBER * _n_fields(data, file_format.separator), where)
        self._kept = data if self._ends else self._rows(data)

    def __iter__(self) -> Iterator[pl.DataFrame]:
        if not isinstance(self._kept, bytes):
            yield from self._kept.iter_slices(ROWS)
            return
        for start, end in pairwise([0, *self._ends]):
            yield self._rows(self._kept[start:end])

    def _rows(self, data: bytes) -> pl.DataFrame:
        polars, where = import_polars(), self._where
        mark = self._format.separator

        def parse() -> pl.DataFrame:
            check_memory(CELL * _n_fields(data, mark), where)
            if _has_stray_quote(data, mark):
                raise ValueError("a quote inside a field")
            # Everything as text, the header row included: polars would otherwise rename duplicate
            # columns and guess types from the first rows only.
            frame: pl.DataFrame = polars.read_csv(
                data, has_header=False, infer_schema=False, separator=mark
            )
            return frame

        try:
            frame = guarded(parse, where, "CSV")
        except InvalidDataError:
            check_encoding(data, "utf-8", where)  # the likeliest reason, if it is one
            raise
        if frame[:, -1].null_count():
            # polars pads short rows, and a padded row ends in a null: count the fields exactly.
            frame = frame.head(_count_rows(data, frame.shape, self._format, where))
        if re.search(_QUOTED, data):
            quoted = [series for series in frame if series.str.starts_with("'").any()]
            frame = frame.with_columns(one.map_elements(from_cell, polars.String) for one in quoted)
        return frame


def _n_fields(data: bytes, separator: str) -> int:
    return data.count(separator.encode()) + data.count(b"\n")


def _ends(data: bytes, separator: str) -> list[int]:
    """Return where pieces of whole rows end, or nothing if lines alone do not tell the rows."""
    mark = separator.encode()
    # A reader drops a byte order mark from the start of what it gets.
    if len(data) < 2 * PIECE or b'"' in data or codecs.BOM_UTF8 in data:
        return []
    found, width = [0], None
    while (start := found[-1]) < len(data):
        end = data.find(b"\n", start + PIECE) + 1 or len(data)
        piece = np.frombuffer(data, np.uint8, end - start, start)
        lines = np.flatnonzero(piece == ord("\n"))
        if piece[-1] != ord("\n"):
            lines = np.append(lines, len(piece))
        marks = np.diff(np.searchsorted(np.flatnonzero(piece == mark[0]), lines), prepend=0)
        width = marks[0] if width is None else width
        if (marks != width).any():
            return []
        found.append(end)
    return found[1:]


def _check_text(data: bytes, where: str) -> None:
    """Refuse a file that is no text by what stands at its ends, and say what it is."""
    if data.startswith(b"PK\x03\x04"):
        what = (
            "is an Excel workbook (or another zip archive), not CSV text; name it so, or say so by "
            "`File(path, FileFormat(kind='excel'))`"
        )
    elif data.startswith(b"PAR1") and data.endswith(b"PAR1") and b"\0" in data[-8:]:
        what = (
            "is a Parquet file, not CSV text; name it so, or say so by "
            "`File(path, FileFormat(kind='parquet'))`"
        )
    elif data.startswith(b"\xd0\xcf\x11\xe0"):
        what = "is an old Excel workbook (.xls), not CSV text; save it as .xlsx or CSV"
    elif _PACKED.match(data):
        what = "is compressed, not CSV text; unpack it, or compress it by gzip"
    else:
        return
    raise InvalidDataError(f"{where}: {what}")


def named_texts(
    rows: Iterable[pl.DataFrame],
    file_format: FileFormat,
    where: str,
    missing: Sequence[str],
    typed: bool,
) -> Frame:
    """Return rows of text as `read_file` does, some at a time. The first may be the header."""
    import narwhals as nw

    polars = import_polars()
    first = next(iter(rows), None)
    if first is None or not first.height:
        raise InvalidDataError(f"{where}: the file is empty")
    names = _column_names(first, file_format, where)
    check_names(names, where)
    header = file_format.header and file_format.names is None

    def field(column: str, name: str) -> pl.Expr:
        text = polars.col(column).str.strip_chars()
        if file_format.decimal == ",":
            text = with_points(text)
        there = ~text.is_in(["", *missing]) if missing else text != ""
        made: pl.Expr = polars.when(there).then(text).alias(name)
        return made

    def cells(some: pl.DataFrame, wanted: Sequence[str]) -> dict[str, Cells]:
        frame = nw.from_native(some, eager_only=True)
        return {name: Cells(frame.get_column(name), are_fields=True) for name in wanted}

    def take(
        whole: Sequence[str], blockwise: Sequence[str] = (), each: Each | None = None
    ) -> dict[str, Cells]:
        kept: dict[str, list[pl.Series]] = {name: [] for name in whole}
        for i, frame in enumerate(rows):
            given = dict(zip(names, frame.columns, strict=True))
            fields = [field(given[name], name) for name in (*blockwise, *whole)]
            some = frame.slice(int(header and not i)).select(fields)
            if each is not None:
                each(cells(some, blockwise))
            for name in whole:
                kept[name].append(some[name])
        made = polars.DataFrame([polars.concat(parts) for parts in kept.values()])
        return cells(made.with_columns(map(as_number, made)) if typed else made, whole)

    return Frame(names, take, "polars")


def as_number(column: pl.Series) -> pl.Series:
    """Return a text column as Int64 or Float64, itself if a field is not a finite number.

    Itself, too, if a number begins with a zero, as postcodes do: ``02139`` would become 2139.
    """
    polars = import_polars()
    if column.str.contains("^[+-]?0[0-9]").any():
        return column
    number: pl.Series = column.cast(polars.Float64, strict=False)
    if number.null_count() != column.null_count() or not number.is_finite().all():
        return column
    whole: pl.Series = column.cast(polars.Int64, strict=False)
    if whole.null_count() == column.null_count():
        return whole
    # A float would round a large whole number, such as an id, to that of another record.
    large = column.str.contains(r"^[+-]?[0-9]+$") & (number.abs() >= 2**53)
    return column if large.any() else number


def _has_stray_quote(data: bytes, separator: str) -> bool:
    """Return whether a quote is anywhere but around a field, or doubled inside it (RFC 4180).

    polars takes some such files. A record that opens a quote could then end it at another's, and
    swallow all between. Where every quote of each record is paired, no record reaches another.
    """
    quotes = data.count(b'"')
    if not quotes:
        return False
    mark = re.escape(separator.encode())
    field = rb'(?:(?<=[\n%b])|\A)"[^"]*+(?:""[^"]*+)*+"(?=%b|\r?\n|\r?\Z)' % (mark, mark)
    paired = sum(found[0].count(b'"') for found in re.finditer(field, data))
    return paired != quotes


def _count_rows(data: bytes, shape: tuple[int, int], file_format: FileFormat, where: str) -> int:
    """Return the number of rows before trailing blank lines. Refuse rows of another length.

    What polars takes is taken here, too: a record with an empty last field, for which rows are
    counted, must not decide whether another is refused.
    """
    height, width = shape
    mark = file_format.separator.encode()

    def count() -> int:
        rows = full = 0
        # Quotes are in pairs, see above; what is between them ends no field and no row.
        lines = re.sub(rb'"[^"]*"', b"x", data).removesuffix(b"\n").split(b"\n")
        for line in (line.removesuffix(b"\r") for line in lines):
            rows += 1
            # Blank lines at the end are no rows. In a single column each would be a record or none
            # by what its field holds.
            if not line and width == 1:
                raise InvalidDataError(
                    f'{where}: a line is blank. In a file of one column write "" for a missing '
                    "value, and remove blank lines"
                )
            if not line:
                continue
            if line.count(mark) != width - 1 or full != rows - 1:
                raise ValueError("rows differ in length")
            full = rows
        if rows != height:
            raise ValueError("two readers disagree")
        return full

    return guarded(count, where, "CSV")


def _column_names(frame: pl.DataFrame, file_format: FileFormat, where: str) -> tuple[str, ...]:
    if file_format.names is not None:
        if len(file_format.names) != frame.width:
            raise InvalidParameterError(
                f"{where}: has {counted(frame.width, 'column', 'columns')}, but "
                f"{counted(len(file_format.names), 'name was', 'names were')} given. Give one name "
                f"per column, or check the separator"
            )
        return file_format.names
    if not file_format.header:
        return tuple(f"x{j}" for j in range(frame.width))
    names = tuple("" if name is None else name.strip() for name in frame.row(0))
    others = [mark for mark in SEPARATORS if mark != file_format.separator]
    likely = next((mark for mark in others if len(names) == 1 and mark in names[0]), None)
    if likely is not None:
        # The name is not quoted: without a header it would be a record.
        raise InvalidDataError(f"{where}: {_SEPARATED.format(likely)}")
    if any(not name for name in names):
        raise InvalidDataError(
            f"{where}: a column has no name in the header row. Name it, or leave the column out "
            f"(pandas: to_csv(index=False))"
        )
    # Taking a record for the header would lose it and, worse, quote it in later messages.
    numbered = len(names) > 1 and names == tuple(map(str, range(len(names))))
    if not numbered and any(_is_number(name) or _DATE.match(name) for name in names):
        raise InvalidDataError(
            f"{where}: the first row looks like data, not like column names. "
            f"Give `File(path, FileFormat(names=...))`"
        )
    if len(set(names)) < len(names):
        raise InvalidDataError(f"{where}: two columns have the same name. Rename one")
    return names


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return text.lower() not in ("nan", "inf", "infinity")


def as_utf8(data: bytes, encoding: str, where: str) -> bytes:
    """Return a text file's bytes as UTF-8, without its byte order mark.

    UTF-8 itself is left to the reader, who checks it too. One undecodable byte refuses the file:
    no other record is read otherwise because of it.
    """
    if name_of(encoding) == "utf-8":
        return data.removeprefix(codecs.BOM_UTF8)
    if name_of(encoding) == "utf-16" and not data.startswith(_UTF16):
        # Without one the machine's own order would count.
        raise InvalidDataError(
            f"{where}: has no byte order mark. Give "
            "`File(path, FileFormat(encoding='utf-16-le'))`, or utf-16-be"
        )
    check_encoding(data, encoding, where)
    return data.decode(encoding).removeprefix("\ufeff").encode()


def check_encoding(data: bytes, encoding: str, where: str) -> None:
    """Refuse bytes that are not text of this encoding, naming the likely one."""
    try:
        data.decode(encoding)
    except UnicodeError:
        likely = "utf-16" if data.startswith(_UTF16) else "cp1252"
        raise InvalidDataError(
            f"{where}: is not {encoding} text. If it comes from Excel or Windows, try "
            f"`File(path, FileFormat(encoding={likely!r}))`"
        ) from None


def with_points(text: pl.Expr) -> pl.Expr:
    """Return fields in which a number's decimal comma is a point.

    Points between thousands become commas, so that such a number is refused: ``1.234`` may mean
    either. All other text is as it was, such as a date's points.
    """
    import polars

    swapped = text.str.replace_many([",", "."], [".", ","])
    return polars.when(text.str.contains(_WITH_COMMA)).then(swapped).otherwise(text)

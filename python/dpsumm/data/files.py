"""Read one data file (CSV or Parquet) into a polars frame, strictly.

A CSV reader that guesses is dangerous here: a row silently padded, or a first record that is
silently taken for a header, is a record lost or leaked. So rows of unequal length are refused, a
header that looks like data is refused, and messages never quote the file's contents.
"""

from __future__ import annotations

import gzip
import io
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from dpsumm.checks import counted
from dpsumm.data.spelling import (
    ENCODINGS,
    as_utf8,
    check_encoding,
    name_of,
    read_sheet,
    with_points,
)
from dpsumm.errors import InvalidDataError, InvalidParameterError, MissingExtraError

if TYPE_CHECKING:
    import polars as pl

CSV_SUFFIXES = (".csv", ".data", ".txt")
KINDS = {
    "csv": (*CSV_SUFFIXES, *(f"{s}.gz" for s in CSV_SUFFIXES)),
    "parquet": (".parquet",),
    "excel": (".xlsx",),
}
KNOWN_SUFFIXES = tuple(suffix for suffixes in KINDS.values() for suffix in suffixes)
PARQUET_ROWS = 65_536
_DATE = re.compile(r"\d{4}-\d\d-\d\d|\d{1,2}[./]\d{1,2}[./]\d{4}")
T = TypeVar("T")

SEPARATORS = (";", "\t", "|", ",")
MISSING = ("", "?", "NA", "N/A", "NaN", "nan", "null", "NULL", "None")


@dataclass(frozen=True)
class FileFormat:
    """How the rows of a file (or, for `drop_missing`, of any source) are to be read.

    Parameters
    ----------
    header
        Whether the first row of a CSV file holds the column names. Without a header and without
        `names` the columns are called ``x0``, ``x1``, and so on, as they are for arrays. An Excel
        sheet needs a header row: without one, single records would decide where it begins.
    names
        Column names of a CSV file that has no header row; implies ``header=False``.
    missing
        Fields of a CSV file that mean "no value" (after removing spaces around them). An empty
        field is always missing. In a file of one column it is written ``""``: a blank line is no
        row at the end, and is refused elsewhere.
    separator
        One ASCII character between the fields of a CSV file.
    drop_missing
        Leave out rows with a missing value in a selected column, for every kind of source. When
        false (default) such data are refused.
    encoding
        Of a CSV file's text, such as ``"cp1252"`` or ``"utf-16"``: one in which a line means the
        same wherever it stands (the error lists them). A byte that it does not know refuses the
        file.
    decimal
        ``","`` for a CSV or Excel file whose numbers have a comma before their fraction. One that
        has points too, as between thousands, is then refused: ``1.234`` may mean either.
    single
        Round the numbers of files and data frames to float32, whatever type their columns have:
        half the memory and about half the time. By default they are float64. One record can make
        a column of float32 text, so the columns' types do not decide. An array's type does.
    kind
        ``"csv"``, ``"parquet"`` or ``"excel"``, for a file whose suffix does not say which; by the
        suffix if None. A CSV file whose name ends in ``.gz`` is unpacked either way.

    Raises
    ------
    InvalidParameterError
        `kind` is none of the three, `separator` is not a single ASCII character or is `decimal`,
        `names` is empty or repeats a name, or `encoding` is not one of the list.
    """

    header: bool = True
    names: tuple[str, ...] | None = None
    missing: tuple[str, ...] = MISSING
    separator: str = ","
    drop_missing: bool = False
    single: bool = False
    encoding: str = "utf-8"
    decimal: str = "."
    kind: str | None = None

    def __post_init__(self) -> None:
        """Check the parameters."""
        if self.kind is not None and self.kind not in KINDS:
            raise InvalidParameterError(
                f"kind must be one of {', '.join(KINDS)}, or None to go by the suffix, got "
                f"{self.kind!r}"
            )
        if len(self.separator) != 1 or not self.separator.isascii() or self.separator in '"\r\n':
            raise InvalidParameterError(
                f"separator must be one ASCII character other than a quote or line break, "
                f"got {self.separator!r}; use ',' or ';' or '\\t'"
            )
        if self.decimal not in (".", ",") or self.decimal == self.separator:
            raise InvalidParameterError(
                f"decimal must be '.' or ',' and not the separator, got {self.decimal!r}; a file "
                "with decimal commas usually has separator=';' (--separator)"
            )
        if name_of(self.encoding) is None:
            raise InvalidParameterError(
                f"encoding must be one in which no line changes how another is read, got "
                f"{self.encoding!r}; convert the file, or take one of {', '.join(ENCODINGS)}"
            )
        if isinstance(self.names, str) or isinstance(self.missing, str):
            raise InvalidParameterError("names and missing must be sequences of strings")
        if self.names is not None:
            object.__setattr__(self, "names", tuple(self.names))
            if not self.names or len(set(self.names)) < len(self.names) or "" in self.names:
                raise InvalidParameterError("names must be distinct, non-empty column names")
        object.__setattr__(self, "missing", tuple(self.missing))

    def kind_of(self, path: Path, where: str) -> str:
        """Return what a file is, one of `KINDS`.

        Raises
        ------
        InvalidParameterError
            Nothing says it: neither `kind` nor the suffix.
        """
        name = path.name.lower()
        found = (kind for kind, suffixes in KINDS.items() if name.endswith(suffixes))
        kind = self.kind or next(found, None)
        if kind is None:
            raise InvalidParameterError(
                f"{where}: the suffix must be one of {', '.join(KNOWN_SUFFIXES)}; say what the "
                f"file is by FileFormat(kind=...) (--format), convert it, or pass a data frame or "
                f"array instead"
            )
        return kind


def read_file(
    path: Path,
    file_format: FileFormat,
    *,
    where: str,
    marks: Mapping[str, tuple[str, ...]] | None = None,
    typed: bool = False,
) -> pl.DataFrame:
    """Return the rows of a file, read as what its format or its suffix says that it is.

    Columns of a CSV file come back as trimmed text, null where a field means "no value", so that
    every record is read by itself; Parquet columns keep their types.

    Parameters
    ----------
    path
        File ending in one of `KNOWN_SUFFIXES`, or of a kind that the format names.
    file_format
        See `FileFormat`; most of it is for CSV only.
    where
        Name of the source for messages, such as ``"owner 'north' (north.csv)"``.
    marks
        Per column of a CSV file what means "no value" there, instead of `FileFormat.missing`; other
        columns have none.
    typed
        Columns of a CSV file come back as Int64 or Float64 if every present field is such a number,
        and none begins with a zero as codes do. For public data only: one record decides the type
        of all.

    Raises
    ------
    InvalidDataError
        The file does not exist, is not a file, is empty, cannot be read, or is malformed.
    InvalidParameterError
        Unknown suffix, `FileFormat.names` does not fit the number of columns, or an Excel sheet is
        to be read without a header row.
    MissingExtraError
        polars, or pyarrow for a Parquet file, is not installed.
    """
    _import_polars()
    if path.is_dir():
        raise InvalidDataError(f"{where}: is a directory; give one file per owner")
    if not path.exists():
        raise InvalidDataError(f"{where}: no such file; check the path")
    kind = file_format.kind_of(path, where)
    if kind == "parquet":
        return _read_parquet(path, where)
    if kind == "excel":
        if not file_format.header or file_format.names is not None:
            raise InvalidParameterError(
                f"{where}: an Excel sheet without a header row begins where single records do; "
                f"write the column names into its first row and leave header=False and names "
                f"(--names) out, or save it as CSV"
            )
        frame = guarded(lambda: read_sheet(path), where, "Excel")
        return _named_texts(frame, file_format, where, marks, typed)
    return _read_csv(path, file_format, where, marks, typed)


def _read_parquet(path: Path, where: str) -> pl.DataFrame:
    polars = _import_polars()
    pyarrow = import_pyarrow()

    def parse() -> pl.DataFrame:
        # Arrow's reader, not polars' own: on damaged files polars panics in threads of its own,
        # which can end the whole process; Arrow returns errors.
        with pyarrow.parquet.ParquetFile(path, pre_buffer=False) as file:
            # In pieces: a damaged file may declare rows that it does not hold, and memory for all
            # of them would be taken at once.
            batches = list(file.iter_batches(batch_size=PARQUET_ROWS))
            table = pyarrow.Table.from_batches(batches, schema=file.schema_arrow)
        table.validate(full=True)
        frame: pl.DataFrame = polars.from_arrow(table)
        return frame

    return guarded(parse, where, "Parquet")


def _read_csv(
    path: Path,
    file_format: FileFormat,
    where: str,
    marks: Mapping[str, tuple[str, ...]] | None,
    typed: bool,
) -> pl.DataFrame:
    polars = _import_polars()

    def load() -> bytes:
        opener = gzip.open if path.name.lower().endswith(".gz") else io.open
        with opener(path, "rb") as stream:
            return stream.read()

    data = as_utf8(guarded(load, where, "CSV"), file_format.encoding, where)

    def parse() -> pl.DataFrame:
        if _has_stray_quote(data, file_format.separator):
            raise ValueError("a quote inside a field")
        # Everything as text, the header row included: polars would otherwise rename duplicate
        # columns and guess types from the first rows only.
        frame: pl.DataFrame = polars.read_csv(
            data, has_header=False, infer_schema=False, separator=file_format.separator
        )
        return frame

    try:
        frame = guarded(parse, where, "CSV")
    except InvalidDataError:
        check_encoding(data, "utf-8", where)  # the likeliest reason, if it is one
        raise
    if frame[:, -1].null_count():
        # polars pads short rows, and a padded row ends in a null: count the fields exactly.
        frame = frame.head(_count_rows(data, frame.shape, file_format, where))
    return _named_texts(frame, file_format, where, marks, typed)


def _named_texts(
    frame: pl.DataFrame,
    file_format: FileFormat,
    where: str,
    marks: Mapping[str, tuple[str, ...]] | None,
    typed: bool,
) -> pl.DataFrame:
    """Return rows of text, of which the first may be the header, as `read_file` does."""
    polars = _import_polars()
    if not frame.height:
        raise InvalidDataError(f"{where}: the file is empty")
    names = _column_names(frame, file_format, where)
    if file_format.header and file_format.names is None:
        frame = frame.slice(1)
    frame.columns = list(names)
    texts = []
    for name in names:
        text = polars.col(name).str.strip_chars()
        if file_format.decimal == ",":
            text = with_points(text)
        missing = ["", *(file_format.missing if marks is None else marks.get(name, ()))]
        texts.append(polars.when(~text.is_in(missing)).then(text).alias(name))
    frame = frame.with_columns(texts)
    return frame.with_columns(map(_as_number, frame)) if typed else frame


def _as_number(column: pl.Series) -> pl.Series:
    """Return a text column as Int64 or Float64, itself if a field is not a finite number.

    Itself, too, if a number begins with a zero, as postcodes do: ``02139`` would become 2139.
    """
    polars = _import_polars()
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
    swallow all between; where every quote of each record is paired, no record reaches another.
    """
    quotes = data.count(b'"')
    if not quotes:
        return False
    mark = re.escape(separator.encode())
    field = rb'(?:(?<=[\n%b])|\A)"[^"]*+(?:""[^"]*+)*+"(?=%b|\r?\n|\r?\Z)' % (mark, mark)
    paired = sum(found[0].count(b'"') for found in re.finditer(field, data))
    return paired != quotes


def _count_rows(data: bytes, shape: tuple[int, int], file_format: FileFormat, where: str) -> int:
    """Return the number of rows before trailing blank lines; refuse rows of another length.

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
            # Blank lines at the end are no rows. Others are refused in a single column too: as
            # missing values they would be rows or not by what the records after them hold.
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
                f"{counted(len(file_format.names), 'name was', 'names were')} given; give one name "
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
        raise InvalidDataError(
            f"{where}: there is one column only, and its name has {likely!r} in it; give "
            f"FileFormat(separator={likely!r}) (--separator {likely!r}), or rename the column"
        )
    if any(not name for name in names):
        raise InvalidDataError(
            f"{where}: a column has no name in the header row; name it, or leave the column out "
            f"(pandas: to_csv(index=False))"
        )
    # Taking a record for the header would lose it and, worse, quote it in later messages.
    numbered = len(names) > 1 and names == tuple(map(str, range(len(names))))
    if not numbered and any(_is_number(name) or _DATE.match(name) for name in names):
        raise InvalidDataError(
            f"{where}: the first row looks like data, not like column names; "
            f"give FileFormat(names=...) (--names), or FileFormat(header=False)"
        )
    if len(set(names)) < len(names):
        raise InvalidDataError(f"{where}: two columns have the same name; rename one")
    return names


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return text.lower() not in ("nan", "inf", "infinity")


def guarded(read: Callable[[], T], where: str, kind: str) -> T:
    """Run a reader; its own messages may quote data, so they are replaced, never passed on."""
    try:
        return read()
    except MissingExtraError:
        raise
    except MemoryError:
        raise InvalidDataError(
            f"{where}: the file needs more memory than there is, or is damaged; check it, or give "
            f"its rows in smaller files"
        ) from None
    except PermissionError:
        raise InvalidDataError(f"{where}: no permission to read the file") from None
    except BaseException as error:
        # polars' panics are no `Exception`; whoever has not imported polars cannot meet one.
        if type(error).__name__ == "NoDataError":
            raise InvalidDataError(f"{where}: the file is empty") from None
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        advice = (
            "that it is complete, that it is UTF-8 text, that all rows have the same number of "
            "fields, that no line but the last ones is blank, that quotes are around fields or "
            "doubled inside them, and that the separator is right"
            if kind == "CSV"
            else "that it is complete and has one sheet"
            if kind == "Excel"
            else "that it is complete and what its suffix says"
        )
        raise InvalidDataError(f"{where}: not a well-formed {kind} file; check {advice}") from None


def _import_polars() -> Any:
    try:
        import polars
    except ImportError:
        raise MissingExtraError(
            "reading files needs polars: pip install dpsumm[files], or pass arrays or data frames"
        ) from None
    return polars


def import_pyarrow() -> Any:
    """Return pyarrow with its Parquet reader.

    Raises
    ------
    MissingExtraError
        It is not installed.
    """
    try:
        import pyarrow.parquet
    except ImportError:
        raise MissingExtraError(
            "reading Parquet files needs pyarrow: pip install dpsumm[files], or pass arrays or "
            "data frames"
        ) from None
    return pyarrow

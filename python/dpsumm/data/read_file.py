"""Read one data file (CSV, Parquet or Excel) into a polars frame."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from dpsumm.data.csv_rows import named_texts, read_csv
from dpsumm.data.files import FileFormat
from dpsumm.data.guarded import guarded, import_polars, import_pyarrow
from dpsumm.data.limits import read_batches
from dpsumm.data.spelling import read_sheet
from dpsumm.errors import InvalidDataError, InvalidParameterError

if TYPE_CHECKING:
    import polars as pl

PARQUET_ROWS = 65_536


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
    import_polars()
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
                f"write the column names into its first row and leave header=False or names=... "
                f"(--names, or --format NAME:names=...) out, or save it as CSV"
            )
        frame = guarded(lambda: read_sheet(path, where), where, "Excel")
    else:
        frame = read_csv(path, file_format, where)
    return named_texts(frame, file_format, where, marks, typed)


def _read_parquet(path: Path, where: str) -> pl.DataFrame:
    polars = import_polars()
    pyarrow = import_pyarrow()

    def parse() -> pl.DataFrame:
        # Arrow's reader, not polars' own: on damaged files polars panics in threads of its own,
        # which can end the whole process; Arrow returns errors.
        # In pieces: a damaged file may declare rows that it does not hold, and memory for all of
        # them would be taken at once.
        table = read_batches(pyarrow, path, PARQUET_ROWS, where)
        table.validate(full=True)
        frame: pl.DataFrame = polars.from_arrow(table)
        return frame

    return guarded(parse, where, "Parquet")

"""Read one data file: CSV, Parquet, Excel, or a query of a database."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpsumm.data.file import FileFormat
from dpsumm.data.frame import Cells, Coded, Each, Frame, check_names, frame_of
from dpsumm.data.guard import check_workbook, guarded, import_polars, import_pyarrow, read_batches
from dpsumm.data.query import read_query
from dpsumm.data.text_file import Texts, named_texts
from dpsumm.errors import InvalidDataError, InvalidParameterError, MissingExtraError

if TYPE_CHECKING:
    import polars as pl

PARQUET_ROWS = 65_536


def read_file(
    path: Path,
    file_format: FileFormat,
    *,
    where: str,
    missing: Sequence[str] = (),
    typed: bool = False,
) -> Frame:
    """Return the columns of a file, read as what its format or its suffix says that it is.

    Columns of a text file come back as trimmed text, null where a field means "no value", so that
    every record is read by itself; Parquet columns keep their types.

    Parameters
    ----------
    where
        Name of the source for messages, such as ``"owner 'north' (north.csv)"``.
    missing
        Fields of a text file that mean "no value", besides empty ones.
    typed
        Columns of a text file come back as Int64 or Float64 if every present field is such a
        number, and none begins with a zero as codes do. For public data only: one record decides
        the type of all.
    """
    import_polars()
    if path.is_dir():
        raise InvalidDataError(f"{where}: is a directory. Give one file per owner")
    if not path.exists():
        raise InvalidDataError(f"{where}: no such file. Check the path")
    kind = file_format.kind_of(path, where)
    if kind == "parquet":
        return _read_parquet(path, where)
    if kind == "sql":
        return read_query(path, where, typed=typed)
    if kind == "excel":
        if not file_format.header or file_format.names is not None:
            raise InvalidParameterError(
                f"{where}: an Excel sheet without a header row begins where single records do. "
                f"Write the column names into its first row and leave `header=False` or "
                f"`names=...` out, or save it as CSV"
            )
        rows: Iterable[pl.DataFrame] = [guarded(lambda: read_sheet(path, where), where, "Excel")]
    else:
        rows = Texts(path, file_format, where)
    return named_texts(rows, file_format, where, missing, typed)


def _read_parquet(path: Path, where: str) -> Frame:
    polars = import_polars()
    pyarrow = import_pyarrow()

    def present() -> tuple[str, ...]:
        with pyarrow.parquet.ParquetFile(path, pre_buffer=False) as file:
            return tuple(file.schema_arrow.names)

    names = guarded(present, where, "Parquet")
    check_names(names, where)

    def cells(table: Any, texts: Sequence[str]) -> dict[str, Cells]:
        table.validate(full=True)
        texts = [name for name in texts if name in table.column_names]
        rest = frame_of(polars.from_arrow(table.drop_columns(texts)), where)
        coded = {name: Coded(name, _combined(pyarrow, table[name])) for name in texts}
        return {**rest.take(rest.names), **coded}

    def take(
        whole: Sequence[str], blockwise: Sequence[str] = (), each: Each | None = None
    ) -> Mapping[str, Cells]:
        # Arrow's reader, not polars' own: on damaged files polars panics in threads of its own,
        # which can end the whole process; Arrow returns errors.
        # In pieces: a damaged file may declare rows that it does not hold, and memory for all of
        # them would be taken at once.
        def of_batch(batch: Any, texts: list[str]) -> None:
            assert each is not None
            each(cells(pyarrow.Table.from_batches([batch]), texts))

        how = (blockwise, of_batch) if blockwise else ()
        table, texts = read_batches(pyarrow, path, PARQUET_ROWS, where, whole, *how)
        return cells(table, texts) if whole else {}

    return Frame(names, lambda *how: guarded(lambda: take(*how), where, "Parquet"), "polars")


def _combined(pyarrow: Any, column: Any) -> Any:
    """Return a column of several dictionaries as one array."""
    if not column.num_chunks:
        return pyarrow.array([], column.type)
    if column.num_chunks == 1:
        return column.chunk(0)
    return column.unify_dictionaries().combine_chunks()


def read_sheet(path: Path, where: str) -> pl.DataFrame:
    """Return the only sheet of an Excel file, every cell as text, the header row included.

    From the first row on and as wide as cells are used. Only a header row keeps single records from
    deciding both. Rows after the last used cell do not count, and a
    blank row before it is refused. A number is the shortest text
    of its float64, a date is ``2024-12-31 00:00:00``, a truth value ``true`` or ``false``. An error
    such as ``#N/A``, or a formula that was never calculated, is an empty cell.
    """
    if _is_text(path):
        raise InvalidDataError(
            f"{where}: is text, not an Excel workbook. Name it .csv, or say so by "
            "`File(path, FileFormat(kind='csv'))`"
        )
    try:
        import fastexcel
        import polars
    except ImportError:
        raise MissingExtraError(
            "reading Excel files needs fastexcel: pip install 'dpsumm[excel]', or save as CSV"
        ) from None
    check_workbook(path, where)
    book: Any = fastexcel.read_excel(path)
    if (n_sheets := len(book.sheet_names)) != 1:
        raise InvalidDataError(
            f"{where}: the workbook has {n_sheets} sheets, and nothing says which to read. Save "
            "the one with the records as a workbook of its own, or as CSV"
        )
    # As text: types guessed from the first rows would let one record change how others are read.
    texts, numbers = (
        book.load_sheet(0, header_row=None, skip_rows=0, dtypes=kind).to_polars()
        for kind in ("string", "float")
    )
    # After the last used cell it would be no record: one there would decide about those before it.
    if any(texts.select(polars.all_horizontal(polars.all().is_null())).to_series()):
        raise InvalidDataError(
            f"{where}: a row of the sheet is blank. Delete blank rows, and write a mark such as NA "
            "where a record has no value at all"
        )
    return _exact(texts, numbers)


def _is_text(path: Path) -> bool:
    """Return whether a file begins as text does: with no control character but white space."""
    with path.open("rb") as file:
        head = file.read(4096)
    return bool(head) and not any(byte < 32 and byte not in b"\t\n\r\f" for byte in head)


def _exact(texts: pl.DataFrame, numbers: pl.DataFrame) -> pl.DataFrame:
    """Return cells as text, where fastexcel writes numbers to nine decimals, with all of them.

    Each cell by itself: by its own text, if that is a number and not the cell's.
    """
    import polars

    def exact(text: pl.Series) -> pl.Series:
        number = numbers[text.name]
        rounded = text.cast(polars.Float64, strict=False)
        return polars.select(
            polars.when(number.is_finite() & (rounded != number))
            .then(number.cast(polars.String))
            .otherwise(text)
            .alias(text.name)
        ).to_series()

    return texts.with_columns(map(exact, texts))

"""Text of files that is written otherwise: encodings, decimal commas, cells of Excel sheets."""

from __future__ import annotations

import codecs
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpsumm.data.limits import check_workbook
from dpsumm.errors import InvalidDataError, MissingExtraError

if TYPE_CHECKING:
    import polars as pl

# A number with a comma before its fraction, or points between its thousands.
_WITH_COMMA = r"^[+-]?[0-9]+(?:\.[0-9]{3})*(?:,[0-9]+)?(?:[eE][+-]?[0-9]+)?$"
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_CODE_PAGES = (
    437,
    737,
    775,
    850,
    852,
    855,
    857,
    858,
    *range(860, 867),
    869,
    874,
    *range(1250, 1259),
)
# Encodings in which every line means the same wherever it stands: one byte a character, or several
# of which none is a line break. Not iso2022_jp, hz, utf-7: there a sequence in one record changes
# how all later records are read.
ENCODINGS = (
    *("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "ascii"),
    *(f"iso8859-{part}" for part in (*range(1, 12), *range(13, 17))),
    *(f"cp{page}" for page in _CODE_PAGES),
    *("koi8-r", "koi8-u", "mac-roman"),
    *("shift_jis", "cp932", "euc_jp", "euc_kr", "cp949"),
    *("gb2312", "gbk", "gb18030", "big5", "cp950"),
)


def name_of(encoding: str) -> str | None:
    """Return the name in `ENCODINGS` of an encoding, such as ``"iso8859-1"`` for ``"latin-1"``.

    None if it is not among them.
    """
    try:
        name = codecs.lookup(encoding).name
    except (LookupError, TypeError, ValueError):
        return None
    return name if name in ENCODINGS else None


def as_utf8(data: bytes, encoding: str, where: str) -> bytes:
    """Return a text file's bytes as UTF-8, without its byte order mark.

    UTF-8 itself is left to the reader, who checks it too. One undecodable byte refuses the file:
    no other record is read otherwise because of it.

    Raises
    ------
    InvalidDataError
        They are not of this encoding.
    """
    if name_of(encoding) == "utf-8":
        return data.removeprefix(codecs.BOM_UTF8)
    if name_of(encoding) == "utf-16" and not data.startswith(_UTF16):
        # Without one the machine's own order would count.
        raise InvalidDataError(
            f"{where}: has no byte order mark; give FileFormat(encoding='utf-16-le') "
            "(--encoding utf-16-le), or utf-16-be"
        )
    check_encoding(data, encoding, where)
    return data.decode(encoding).removeprefix("\ufeff").encode()


def check_encoding(data: bytes, encoding: str, where: str) -> None:
    """Refuse bytes that are not text of this encoding, naming the likely one.

    Raises
    ------
    InvalidDataError
        They are not.
    """
    try:
        data.decode(encoding)
    except UnicodeError:
        likely = "utf-16" if data.startswith(_UTF16) else "cp1252"
        raise InvalidDataError(
            f"{where}: is not {encoding} text; if it comes from Excel or Windows, try "
            f"FileFormat(encoding={likely!r}) (--encoding {likely})"
        ) from None


def with_points(text: pl.Expr) -> pl.Expr:
    """Return fields in which a number's decimal comma is a point.

    Points between thousands become commas, so that such a number is refused: ``1.234`` may mean
    either. All other text is as it was, such as a date's points.
    """
    import polars

    swapped = text.str.replace_many([",", "."], [".", ","])
    return polars.when(text.str.contains(_WITH_COMMA)).then(swapped).otherwise(text)


def read_sheet(path: Path, where: str) -> pl.DataFrame:
    """Return the only sheet of an Excel file, every cell as text, the header row included.

    From the first row on and as wide as cells are used: only a header row keeps both from being
    decided by single records. Rows after the last used cell are none, and a
    blank row before it is refused. A number is the shortest text
    of its float64, a date is ``2024-12-31 00:00:00``, a truth value ``true`` or ``false``; an error
    such as ``#N/A``, or a formula that was never calculated, is an empty cell.

    Raises
    ------
    InvalidDataError
        The file is text, or there is another number of sheets than one.
    MissingExtraError
        fastexcel is not installed.
    """
    if _is_text(path):
        raise InvalidDataError(
            f"{where}: is text, not an Excel workbook; name it .csv, or say so by "
            "FileFormat(kind='csv') (--kind csv, or --format NAME:kind=csv)"
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
            f"{where}: the workbook has {n_sheets} sheets, and nothing says which to read; save "
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
            f"{where}: a row of the sheet is blank; delete blank rows, and write a mark such as NA "
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

"""What a data file is, by its suffix, and how its rows are to be read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dpsumm.data.spelling import ENCODINGS, name_of
from dpsumm.errors import InvalidParameterError

CSV_SUFFIXES = (".csv", ".data", ".txt")
KINDS = {
    "csv": (*CSV_SUFFIXES, *(f"{s}.gz" for s in CSV_SUFFIXES)),
    "parquet": (".parquet",),
    "excel": (".xlsx",),
}
KNOWN_SUFFIXES = tuple(suffix for suffixes in KINDS.values() for suffix in suffixes)
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

    See Also
    --------
    dpsumm.data.File : One file with a format of its own.

    Examples
    --------
    >>> from dpsumm.data import FileFormat
    >>> german = FileFormat(separator=";", decimal=",", encoding="cp1252")
    >>> german.separator, german.decimal
    (';', ',')
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
                f"kind must be one of {', '.join(KINDS)}, or left out to go by the suffix, got "
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
                "with decimal commas usually has separator=';' (--separator ';')"
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
                f"file is by FileFormat(kind=...) (--kind, or --format NAME:kind=...), convert it, "
                f"or pass a data frame or array instead"
            )
        return kind

"""The kind of a file by its suffix or format, the way to read its rows, and its owner."""

from __future__ import annotations

import codecs
import glob
import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from dpsumm.errors import InvalidParameterError

TABBED = (".tsv", ".tsv.gz")
CSV_SUFFIXES = (".csv", ".data", ".txt", ".tsv")
KINDS = {
    "csv": (*CSV_SUFFIXES, *(f"{s}.gz" for s in CSV_SUFFIXES)),
    "parquet": (".parquet",),
    "excel": (".xlsx",),
    "sql": (".sql",),
}
KNOWN_SUFFIXES = tuple(suffix for suffixes in KINDS.values() for suffix in suffixes)
MISSING = ("", "?", "NA", "N/A", "NaN", "nan", "null", "NULL", "None")
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


@dataclass(frozen=True)
class FileFormat:
    """How the rows of a file are to be read.

    Parameters
    ----------
    header
        Whether the first row of a CSV file holds the column names. Without a header and without
        `names` the columns are called ``x0``, ``x1``, and so on, as they are for arrays. An Excel
        sheet needs a header row: without one, single records would decide where it begins.
    names
        Column names of a CSV file without a header row (implies ``header=False``).
    separator
        One ASCII character between the fields of a CSV file. A file in ``.tsv`` has tabs.
    encoding
        Encoding of a CSV file, such as ``"utf-8"``, ``"cp1252"`` or ``"utf-16"``. Encodings with
        states are refused, because one line would change how others are read. So is a file with a
        byte that the encoding does not know.
    decimal
        ``","`` for a CSV or Excel file with a comma before the fraction of numbers. A file that
        also has points, for example between thousands, is then refused, since ``1.234`` may mean
        either.
    single
        Round the file's numbers to float32, for half the memory and about half the time. By default
        they are float64. The types of the file's columns do not decide, because one record can turn
        a column of float32 into text.
    kind
        ``"csv"``, ``"parquet"``, ``"excel"`` or ``"sql"``, by default by the suffix. A CSV file
        whose name ends in ``.gz`` is unpacked either way.

    Raises
    ------
    InvalidParameterError
        `kind` is not one of the four, `separator` is not a single ASCII character or is `decimal`,
        `names` is empty or repeats a name, or `encoding` is not one of the list.

    See Also
    --------
    dpsumm.data.File : A file with its format.

    Examples
    --------
    >>> from dpsumm.data import FileFormat
    >>> german = FileFormat(separator=";", decimal=",", encoding="cp1252")
    >>> german.separator, german.decimal
    (';', ',')
    """

    header: bool = True
    names: tuple[str, ...] | None = None
    separator: str = ","
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
                f"got {self.separator!r}. Use ',' or ';' or '\\t'"
            )
        if self.decimal not in (".", ",") or self.decimal == self.separator:
            raise InvalidParameterError(
                f"decimal must be '.' or ',' and not the separator, got {self.decimal!r}. A file "
                "with decimal commas usually has `separator=';'`"
            )
        if name_of(self.encoding) is None:
            raise InvalidParameterError(
                f"encoding must be one in which no line changes how another is read, got "
                f"{self.encoding!r}. Convert the file, or take one of {', '.join(ENCODINGS)}"
            )
        if isinstance(self.names, str):
            raise InvalidParameterError("names must be a sequence of strings")
        if self.names is not None:
            object.__setattr__(self, "names", tuple(self.names))
            if not self.names or len(set(self.names)) < len(self.names) or "" in self.names:
                raise InvalidParameterError("names must be distinct, non-empty column names")

    def kind_of(self, path: Path, where: str) -> str:
        """Return the kind of a file, one of `KINDS`.

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
                f"{where}: the suffix must be one of {', '.join(KNOWN_SUFFIXES)}. Say what the "
                f"file is by `File(path, FileFormat(kind=...))`, "
                f"convert it, or pass a data frame or array instead"
            )
        return kind


@dataclass(frozen=True)
class File:
    """A file and how it is read. It may take the place of any path.

    The suffix of a file shows whether it is CSV, Parquet, Excel or a query of a database (see
    docs/databases.md). Only other files, and text files in another format, need a `File`.

    Parameters
    ----------
    path
        Of a CSV, Parquet, Excel or SQL file. For all owners together also a folder, or a pattern
        such as ``"sites/*.csv"``: each is called by its file's name.
    format
        How it is read.

    See Also
    --------
    dpsumm.data.FileFormat : How it is read.

    Examples
    --------
    >>> from dpsumm.data import File, FileFormat
    >>> south = File("export.dat", FileFormat(kind="csv", separator=";", decimal=","))
    >>> owners = {"north": "north.parquet", "south": south}
    """

    path: str | os.PathLike[str]
    format: FileFormat = field(default_factory=FileFormat)

    def __post_init__(self) -> None:
        """Check the parameters."""
        if not isinstance(self.path, (str, os.PathLike)):
            raise InvalidParameterError(
                f"File: path must be the path of a file, got {type(self.path).__name__}. Give "
                "other sources as they are"
            )
        if not isinstance(self.format, FileFormat):
            raise InvalidParameterError(
                f"File: format must be a dpsumm.data.FileFormat, got {type(self.format).__name__}"
            )
        path, how = Path(self.path), self.format
        object.__setattr__(self, "path", path)
        by_suffix = how.kind is None and how.separator == FileFormat.separator
        if by_suffix and path.name.lower().endswith(TABBED):
            object.__setattr__(self, "format", replace(how, separator="\t"))


def file_of(source: object) -> File | None:
    """Return a source that is a file, None for any other."""
    if isinstance(source, File):
        return source
    return File(source) if isinstance(source, (str, os.PathLike)) else None


def each_file(sources: Any) -> Any:
    """Return a folder's or a pattern's files by owner (`owner_files`), and all else as it is."""
    every = file_of(sources)
    if every is None:
        return sources
    files = owner_files(os.fspath(every.path))
    return {name: replace(every, path=file) for name, file in files.items()}


def owner_files(pattern: str) -> dict[str, Path]:
    """Return files in the order of their names. An owner is called by its file's name."""
    folder = Path(pattern)
    if folder.is_dir():
        known = (*KNOWN_SUFFIXES, ".npy")
        files = [file for file in folder.iterdir() if file.name.lower().endswith(known)]
    else:
        files = list(map(Path, glob.glob(pattern)))
    found: dict[str, Path] = {}
    for file in sorted(file for file in files if file.is_file()):
        name = file.name.split(".")[0]
        if not name or name in found:
            raise InvalidParameterError(
                f"owners: two files of {pattern} would be the owner {name!r}. Name each file by "
                "its owner, or give a dict of names"
            )
        found[name] = file
    if not found:
        raise InvalidParameterError(
            f"owners: {pattern} matches no file. Give a folder of {', '.join(KNOWN_SUFFIXES)} "
            "files, or a pattern such as 'sites/*.csv' (in quotes, so that the shell leaves it)"
        )
    return found

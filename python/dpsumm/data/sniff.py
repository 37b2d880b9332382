"""How a public sample's text is spelt: a guess for drafts, never for the data of a run.

One line may decide here, so a file of private records is read as its owner says, by `FileFormat`.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import re
import zlib
from dataclasses import replace
from pathlib import Path

from dpsumm.data.file import MISSING, FileFormat

# Bytes and lines that are looked at.
_BYTES, _LINES = 2**18, 200
_COMMA = re.compile(r"[+-]?\d+(,\d+)?")


def sniffed(path: Path, given: FileFormat) -> FileFormat:
    """Return `given` with the encoding, separator and decimal sign that a CSV file seems to have.

    Fields of `given` that differ from the defaults stay, and so does all that the first lines do
    not show. The reader then refuses the file, with the reason.

    Privacy
    -------
    None: for public samples.

    Examples
    --------
    >>> from pathlib import Path
    >>> import tempfile
    >>> from dpsumm.data import FileFormat
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "a.csv").write_bytes("age;r\\xe9sultat\\n30;1,5\\n".encode("cp1252"))
    ...     found = sniffed(Path(folder, "a.csv"), FileFormat())
    >>> found.separator, found.decimal, found.encoding
    (';', ',', 'cp1252')
    """
    if given.kind_of(path, str(path)) != "csv":
        return given
    opener = gzip.open if path.name.lower().endswith(".gz") else open
    try:
        with opener(path, "rb") as stream:
            start = stream.read(_BYTES)
    except (OSError, EOFError, zlib.error):  # the reader says it
        return given
    default = FileFormat()
    encoding = _encoding(start) if given.encoding == default.encoding else given.encoding
    text = codecs.getincrementaldecoder(encoding)("replace").decode(start)
    # The last line may be cut.
    lines = text.splitlines()[: -1 if len(start) == _BYTES else None][:_LINES]
    separator = _separator(lines) if given.separator == default.separator else given.separator
    decimal = given.decimal
    if decimal == default.decimal and separator != ",":
        decimal = _decimal(_rows(lines, separator))
    return replace(given, encoding=encoding, separator=separator, decimal=decimal)


def _encoding(start: bytes) -> str:
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    for encoding in ("utf-8", "cp1252"):
        try:
            codecs.getincrementaldecoder(encoding)().decode(start)
        except UnicodeError:
            continue
        return encoding
    return "utf-8"


def _rows(lines: list[str], separator: str) -> list[list[str]]:
    try:
        return list(csv.reader(lines, delimiter=separator))
    except csv.Error:  # a field that never ends
        return []


def _separator(lines: list[str]) -> str:
    """Return what gives all lines the same number of fields, two or more, commas if they do."""
    for separator in (",", ";", "\t", "|"):
        counts = {len(row) for row in _rows(lines, separator)}
        if len(counts) == 1 and min(counts) > 1:
            return separator
    return ","


def _decimal(rows: list[list[str]]) -> str:
    """Return a comma if a column below the header has numbers with one, and nothing else."""
    for column in zip(*rows[1:], strict=False):
        fields = [field.strip() for field in column if field.strip() not in MISSING]
        if any("," in field for field in fields) and all(map(_COMMA.fullmatch, fields)):
            return ","
    return "."

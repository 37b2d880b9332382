"""The options that say how files are read, of several calls that take words."""

from __future__ import annotations

from dataclasses import dataclass, replace

from dpsumm.data.arguments import file_format_of
from dpsumm.data.files import FileFormat


@dataclass(frozen=True, kw_only=True)
class Spelling:
    """How text files are spelt.

    Parameters
    ----------
    separator
        Character between CSV fields.
    encoding
        Of CSV files, such as cp1252 or utf-16.
    decimal
        ',' if numbers have a comma before their fraction.
    """

    separator: str = ","
    encoding: str = "utf-8"
    decimal: str = "."


@dataclass(frozen=True, kw_only=True)
class Reading(Spelling):
    """How text files are read.

    Parameters
    ----------
    names : A,B,C
        Column names, for CSV files without a header row.
    """

    names: str | None = None


@dataclass(frozen=True, kw_only=True)
class Format(Reading):
    """How the file is read.

    Parameters
    ----------
    kind
        What it is, if the suffix does not say: csv, parquet or excel.
    """

    kind: str | None = None

    @property
    def file_format(self) -> FileFormat:
        """How the file is read."""
        form = file_format_of(
            self.names, self.separator, encoding=self.encoding, decimal=self.decimal
        )
        return replace(form, kind=self.kind)

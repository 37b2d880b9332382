"""A file with a format of its own, where the owners' files differ."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from dpsumm.data.files import FileFormat
from dpsumm.errors import InvalidParameterError


@dataclass(frozen=True)
class File:
    """A file and how it is read, wherever a path may be given.

    Owners whose files are alike need none: they share the call's ``file_format``, and whether a
    file is CSV, Parquet or Excel is said by its suffix.

    Parameters
    ----------
    path
        Of a CSV, Parquet or Excel file.
    format
        How this file is read, instead of the call's ``file_format``.

    Raises
    ------
    InvalidParameterError
        `format` drops rows with missing values: that is one rule for all data of a run, given by
        its ``file_format``.

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
                f"File: path must be the path of a file, got {type(self.path).__name__}; give "
                "other sources as they are"
            )
        if not isinstance(self.format, FileFormat):
            raise InvalidParameterError(
                f"File: format must be a dpsumm.data.FileFormat, got {type(self.format).__name__}"
            )
        if self.format.drop_missing:
            raise InvalidParameterError(
                "File: drop_missing is one rule for all data of a run; say it in the call's "
                "file_format (--drop-missing)"
            )
        object.__setattr__(self, "path", Path(self.path))

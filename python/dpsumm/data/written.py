"""Rows as a Parquet or CSV file, whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from dpsumm.atomic import write_atomically
from dpsumm.errors import InvalidParameterError, MissingExtraError


def write_rows(path: str | os.PathLike[str], rows: Any, about: str) -> None:
    """Write a polars data frame, by suffix.

    Parameters
    ----------
    path
        Ends in ``.parquet`` or ``.csv``.
    rows
        The frame.
    about
        JSON for a Parquet file's metadata (key ``dpsumm``); a CSV file has no place for it.

    Raises
    ------
    InvalidParameterError
        Another suffix, or the file cannot be written.
    MissingExtraError
        A library is not installed.
    """
    target = Path(path)
    if target.suffix not in (".parquet", ".csv"):
        raise InvalidParameterError(f"path must end in .parquet or .csv, got {target.name!r}")
    if target.suffix == ".csv":
        write_atomically(target, lambda temporary: rows.write_csv(str(temporary)))
        return
    try:
        import pyarrow.parquet as pq
    except ImportError:
        raise MissingExtraError(
            "path: Parquet needs pyarrow; pip install 'dpsumm[files]'"
        ) from None
    table = rows.to_arrow().replace_schema_metadata({"dpsumm": about})
    write_atomically(target, lambda temporary: pq.write_table(table, str(temporary)))

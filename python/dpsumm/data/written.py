"""Rows as a Parquet or CSV file, whole or not at all."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from dpsumm.atomic import write_atomically, write_text
from dpsumm.errors import InvalidDataError, InvalidParameterError, MissingExtraError


def write_rows(path: str | os.PathLike[str], rows: Any, about: str) -> None:
    """Write a polars data frame, by suffix, and what it is.

    Parameters
    ----------
    path
        Ends in ``.parquet`` or ``.csv``.
    rows
        The frame.
    about
        JSON for a Parquet file's metadata (key ``dpsumm``); for a CSV file it stands beside it,
        see `beside`.

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
        write_text(beside(target), about + "\n")
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


def beside(path: Path) -> Path:
    """Return where what a CSV file is stands: ``FILE.csv.json``."""
    return path.with_name(f"{path.name}.json")


def read_about(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return what `write_rows` said of a file.

    Raises
    ------
    InvalidParameterError
        Another suffix, or there is no such file.
    InvalidDataError
        The file says nothing of itself.
    MissingExtraError
        A library is not installed.
    """
    target = Path(path)
    if target.suffix not in (".parquet", ".csv"):
        raise InvalidParameterError(f"path must end in .parquet or .csv, got {target.name!r}")
    if not target.is_file():
        raise InvalidParameterError(f"there is no file {target}")
    try:
        if target.suffix == ".csv":
            about = json.loads(beside(target).read_text("utf-8"))
        else:
            about = json.loads(_metadata(target)[b"dpsumm"])
    except (OSError, ValueError, KeyError):
        about = None
    if not isinstance(about, dict):
        where = beside(target) if target.suffix == ".csv" else target
        raise InvalidDataError(
            f"{where} does not say of which run it is; give rows as a run of dpsumm wrote them"
        )
    return about


def _metadata(path: Path) -> dict[bytes, bytes]:
    try:
        import pyarrow.parquet as pq
    except ImportError:
        raise MissingExtraError(
            "path: Parquet needs pyarrow; pip install 'dpsumm[files]'"
        ) from None
    metadata: dict[bytes, bytes] = pq.read_schema(path).metadata or {}
    return metadata

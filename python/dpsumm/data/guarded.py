"""Readers of other libraries, whose messages may quote data and whose absence must be told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from dpsumm.errors import InvalidDataError, MissingExtraError

T = TypeVar("T")


def guarded(read: Callable[[], T], where: str, kind: str) -> T:
    """Run a reader; its own messages may quote data, so they are replaced, never passed on."""
    try:
        return read()
    except (InvalidDataError, MissingExtraError):  # words of this package's own
        raise
    except MemoryError:
        raise InvalidDataError(
            f"{where}: the file needs more memory than there is, or is damaged; check it, or give "
            f"its rows in smaller files"
        ) from None
    except PermissionError:
        raise InvalidDataError(f"{where}: no permission to read the file") from None
    except BaseException as error:
        # polars' panics are no `Exception`; whoever has not imported polars cannot meet one.
        if type(error).__name__ == "NoDataError":
            raise InvalidDataError(f"{where}: the file is empty") from None
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        advice = (
            "that it is complete, that it is UTF-8 text, that all rows have the same number of "
            "fields, that no line but the last ones is blank, that quotes are around fields or "
            "doubled inside them, and that the separator is right"
            if kind == "CSV"
            else "that it is complete and what its suffix says"
        )
        raise InvalidDataError(f"{where}: not a well-formed {kind} file; check {advice}") from None


def import_polars() -> Any:
    """Return polars.

    Raises
    ------
    MissingExtraError
        It is not installed.
    """
    try:
        import polars
    except ImportError:
        raise MissingExtraError(
            "reading files needs polars: pip install dpsumm[files], or pass arrays or data frames"
        ) from None
    return polars


def import_pyarrow() -> Any:
    """Return pyarrow with its Parquet reader.

    Raises
    ------
    MissingExtraError
        It is not installed.
    """
    try:
        import pyarrow.compute
        import pyarrow.parquet
    except ImportError:
        raise MissingExtraError(
            "reading Parquet files needs pyarrow: pip install dpsumm[files], or pass arrays or "
            "data frames"
        ) from None
    return pyarrow

"""Columns as a data frame of the library that is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from dpsumm.data.extract import Backend
from dpsumm.errors import InvalidParameterError, MissingExtraError


def backend_of(asked: Backend | None, usual: Backend | None) -> Backend:
    """Return the library that is asked for, else the usual one, else polars.

    Raises
    ------
    InvalidParameterError
        Another one is asked for.
    """
    backend = asked or usual or "polars"
    if backend not in get_args(Backend):
        raise InvalidParameterError(
            f"backend must be 'pandas', 'polars' or 'pyarrow', got {backend!r}"
        )
    return backend


def framed(columns: Mapping[str, Any], backend: Backend) -> Any:
    """Return columns as a data frame.

    Raises
    ------
    MissingExtraError
        The library is not installed.
    """
    import narwhals as nw

    try:
        return nw.from_dict(columns, backend=backend).to_native()
    except ImportError:
        raise MissingExtraError(
            f"backend: {backend} is not installed; pip install {backend}, or "
            "pip install 'dpsumm[files]' for polars"
        ) from None

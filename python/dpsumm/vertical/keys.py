"""Files with a party's secret key."""

from __future__ import annotations

import os
from pathlib import Path

from dpsumm.errors import InvalidParameterError

SECRET_BYTES = 32


def read_key(path: str | os.PathLike[str]) -> bytes:
    """Return a key of 32 bytes from a file of 64 hexadecimal digits.

    Raises
    ------
    InvalidParameterError
        There is no such file, or it holds something else.
    """
    path = Path(path)
    try:
        return key_of(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise InvalidParameterError(
            f"{path}: not a key. Make one of {2 * SECRET_BYTES} hexadecimal digits, such as "
            f"`openssl rand -hex {SECRET_BYTES}` prints"
        ) from None


def key_of(text: str) -> bytes:
    """Return a key from its hexadecimal digits; ValueError if they are no digits."""
    key = bytes.fromhex(text.strip())
    if len(key) != SECRET_BYTES:
        raise ValueError
    return key
